"""The server: its parts put together, on a thread with an event loop of its own."""

import asyncio
import logging
import secrets
import ssl
import threading
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType

from aiohttp import StreamReader, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_parser import RawRequestMessage
from aiohttp.web_protocol import RequestHandler

from backend.embedded.apiserver import bootstrap
from backend.embedded.apiserver.auth import ADMIN, ANONYMOUS, Rbac, Tokens
from backend.embedded.apiserver.budgets import Budgets
from backend.embedded.apiserver.clock import Clock, wall_clock
from backend.embedded.apiserver.deletion import Deletion
from backend.embedded.apiserver.faults import Faults
from backend.embedded.apiserver.garbage import Garbage, Namespaces
from backend.embedded.apiserver.handlers import Api, Door
from backend.embedded.apiserver.housekeeping import Housekeeping, Reaper
from backend.embedded.apiserver.inside import Inside
from backend.embedded.apiserver.resources import Registry
from backend.embedded.apiserver.rest import Rest
from backend.embedded.apiserver.store import HISTORY, Change, Store
from backend.embedded.apiserver.tls import Certificates, generate, write_kubeconfig
from backend.embedded.apiserver.watch import Bell
from backend.embedded.apiserver.workloads import Workloads

_LOG = logging.getLogger(__name__)
LOOPBACK = "127.0.0.1"
# Seconds that the changes of one moment are gathered before watchers are woken: with twenty watchers and a thousand
# writes a second, a wake-up for each would cost more than the writes.
_GATHER_S = 0.002
# Seconds for the server to come up or go down before that counts as a failure.
_PATIENCE_S = 30.0
_LARGEST_BODY = 3 * 1024 * 1024
_CRDS = "customresourcedefinitions.apiextensions.k8s.io"


def _request(
    message: RawRequestMessage,
    payload: StreamReader,
    protocol: RequestHandler,
    writer: AbstractStreamWriter,
    task: "asyncio.Task[None]",
) -> web.BaseRequest:
    """A request that may be as large as the real server allows."""
    loop = asyncio.get_running_loop()
    return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=_LARGEST_BODY)


class ApiServer:
    """An API server with an empty cluster in it.

    `inside` is the door for code in the same process, `faults` breaks things on demand.
    """

    def __init__(self, *, host: str = LOOPBACK, history: int = HISTORY, clock: Clock = wall_clock) -> None:
        self._host = host
        self._store = Store(history)
        self._registry = Registry()
        self._rest = Rest(self._store, self._registry, clock)
        self._deletion = Deletion(self._rest)
        self._tokens = Tokens(clock)
        self._rbac = Rbac(self._store)
        self._bell = Bell()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._stopping: asyncio.Event | None = None
        self._certificates: Certificates | None = None
        self._token: str | None = None
        self._port = 0
        self._due = threading.Lock()
        garbage = Garbage(self._rest, self._deletion)
        self._budgets = Budgets(self._rest, self._deletion)
        self._reaper = Reaper(self._rest, self._deletion)
        workloads = Workloads(self._rest, self._deletion, garbage)
        namespaces = Namespaces(self._rest, self._deletion)
        parts = (garbage, self._reaper, workloads, self._budgets, namespaces)
        self._housekeeping = Housekeeping(parts, self._wake)
        self._store.listen(self._definitions)
        self._store.listen(self._housekeeping.observe)
        self.faults = Faults(self._expire, self._cut)
        # Without TLS nobody has a token (kubectl sends none over plain HTTP), so everybody is the administrator.
        self._api = Api(
            self._rest,
            self._deletion,
            self._budgets,
            self._rbac,
            self._tokens,
            self.faults,
            self._bell,
            ADMIN,
        )
        self.inside = Inside(self._rest, self._deletion, self._reaper, self._api.logs, self._api.metrics)
        bootstrap.furnish(self._rest)
        self._housekeeping.run()

    @property
    def url(self) -> str:
        """Where it listens."""
        scheme = "https" if self._certificates else "http"
        return f"{scheme}://{self._host}:{self._port}"

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return self._port

    @property
    def token(self) -> str | None:
        """The administrator's token; None without TLS."""
        return self._token

    def start(self, port: int = 0, *, tls: bool = True) -> None:
        """Listen; port 0 is any free one.

        Raises:
            OSError: the port is taken.
            TlsUnavailableError: there is nothing to make certificates with.
        """
        if self._thread is not None:
            raise RuntimeError(f"the server is running already, at {self.url}")
        if not tls:
            self._certificates = None
        elif self._certificates is None:
            # Kept over a stop and a start, so that the kubeconfig stays good.
            self._certificates = generate(tuple(dict.fromkeys((self._host, LOOPBACK))))
        certificates = self._certificates
        if certificates is not None and self._token is None:
            self._token = f"podshift.{secrets.token_urlsafe(32)}"
            self._tokens.add(self._token, ADMIN)
        self._api.anonymous = ANONYMOUS if certificates is not None else ADMIN
        # A flag that the last life of the server left up would keep this one from ever being woken.
        self._due = threading.Lock()
        up: Future[int] = Future()
        context = certificates.context if certificates else None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main(port, context, up)), name="apiserver")
        self._thread.daemon = True
        self._thread.start()
        try:
            self._port = up.result(_PATIENCE_S)
        except OSError:
            self._thread.join(_PATIENCE_S)
            self._loop = self._thread = None
            raise

    async def _main(self, port: int, context: ssl.SSLContext | None, up: "Future[int]") -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        # A watch whose client has left is cancelled at once; nobody would notice otherwise until the next change.
        server = web.Server(self._api.handle, handler_cancellation=True, request_factory=_request, access_log=None)
        runner = web.ServerRunner(server, shutdown_timeout=0.5)
        await runner.setup()
        try:
            site = web.TCPSite(runner, self._host, port, ssl_context=context, backlog=1024)
            await site.start()
        except OSError as problem:
            await runner.cleanup()
            up.set_exception(problem)
            return
        bound = runner.addresses[0]
        up.set_result(bound[1])
        self._work()
        await self._stopping.wait()
        self._cut_now()
        await runner.cleanup()

    def stop(self) -> None:
        """Stop listening, cut what is open, and wait until the thread has ended."""
        loop, thread, stopping = self._loop, self._thread, self._stopping
        if loop is None or thread is None or stopping is None:
            return
        self._loop = None
        loop.call_soon_threadsafe(stopping.set)
        thread.join(_PATIENCE_S)
        self._thread = None

    def __enter__(self) -> "ApiServer":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def open_door(self, prefix: str, door: Door) -> None:
        """Have requests whose path begins with /`prefix`/ answered by `door`, for those who may do everything."""
        self._api.doors[prefix] = door

    def kubeconfig(self, path: Path | str, namespace: str = "default") -> Path:
        """Write a kubeconfig for the administrator. Returns its path."""
        path = Path(path)
        certificates = self._certificates
        token, authority = (self._token, certificates.authority) if certificates else (None, None)
        write_kubeconfig(path, self.url, token, authority, namespace)
        return path

    def _wake(self) -> None:
        """Have the loop look after what was written. From any thread, and for many writes at once."""
        loop = self._loop
        # The lock is the flag "asked for already": taken here, released by the loop.
        if loop is None or not self._due.acquire(blocking=False):
            return
        if threading.current_thread() is self._thread:
            loop.call_later(_GATHER_S, self._work)
            return
        try:
            loop.call_soon_threadsafe(loop.call_later, _GATHER_S, self._work)
        except RuntimeError:
            # The loop has closed meanwhile: there is nobody left to wake.
            self._due.release()

    def _work(self) -> None:
        if self._due.locked():
            self._due.release()
        try:
            self._housekeeping.run()
        except Exception:  # noqa: BLE001
            # A fault in a controller must not silence the watchers; it would be in the log of a real one, too.
            _LOG.exception("a controller of the embedded cluster failed")
        self._bell.ring()

    def _definitions(self, change: Change) -> None:
        """Serve a custom kind from the moment that its definition is stored."""
        if change.collection == _CRDS:
            if change.type == "DELETED":
                self._drop_kind(change)
            else:
                self._registry.define(change.obj)

    def _drop_kind(self, change: Change) -> None:
        """The objects of a kind go with its definition."""
        spec = change.obj["spec"]
        collection = f"{spec['names']['plural']}.{spec['group']}"
        for obj in self._store.items(collection):
            self._store.remove(collection, obj)
        self._registry.forget(change.obj)

    def _expire(self) -> None:
        self._store.compact()
        self._wake()

    def _cut(self) -> None:
        loop = self._loop
        if loop is not None:
            loop.call_soon_threadsafe(self._cut_now)

    def _cut_now(self) -> None:
        self._bell.cut += 1
        self._bell.ring()
