"""Calls to an API server: JSON in, JSON out, every call with timeouts, every failure one ApiError.

The official client finds the server and the credentials and moves the bytes; its typed models are left out, as they
cost three times what the JSON does and refuse some of what servers answer (a binding, for instance).
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlencode

import msgspec
import urllib3
import yaml
from kubernetes import config
from kubernetes.client import ApiClient, ApiException, Configuration
from kubernetes.config.config_exception import ConfigException
from urllib3.util.retry import Retry

Json = dict[str, Any]
Query = Mapping[str, str | int | bool | None]

CONNECT_S, READ_S = 3.0, 15.0
"""Seconds for the connection and for each wait for bytes: a server that hangs costs a call no more."""
CONNECTIONS = 32
"""Connections kept open; more threads than that call at a time nowhere."""
LONGEST_MESSAGE = 500
"""Characters of an answer that is no Status object and is quoted in an error."""


class ApiError(Exception):
    """A call that did not succeed."""

    def __init__(self, status: int, reason: str, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(f"{status} {reason}: {message}" if status else f"{reason}: {message}")
        self.status = status
        """HTTP status; 0 where no answer came."""
        self.reason = reason
        """The reason of the Status object ("AlreadyExists"), else that of HTTP."""
        self.message = message
        self.retry_after_s = retry_after_s

    @property
    def transient(self) -> bool:
        """Whether the same call may succeed later: no answer, too many requests, a server's own failure."""
        return self.status in (0, 408, 429) or self.status >= 500


class ConnectError(Exception):
    """There is no telling which server to call, or with which credentials."""


class Stream:
    """Lines of an answer that goes on. May be cut from another thread: then it ends."""

    def __init__(self, response: Any) -> None:
        self._response = response
        self._cut = False

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._response.close()

    def lines(self) -> Iterator[bytes]:
        """Whole lines, as they come. Raises ApiError where the stream breaks off; half a line at the end is dropped."""
        rest = b""
        while not self._cut:
            try:
                chunk = self._response.read1(1 << 16)
            except (urllib3.exceptions.HTTPError, OSError, ValueError, AttributeError) as error:
                if self._cut:
                    return
                raise ApiError(0, type(error).__name__, str(error)) from None
            if not chunk:
                return
            *whole, rest = (rest + chunk).split(b"\n")
            yield from (line for line in whole if line)

    def cut(self) -> None:
        """End the stream, also one whose reader waits for bytes."""
        self._cut = True
        try:
            self._response.shutdown()
        except (OSError, ValueError, RuntimeError):
            self._response.close()


class Api:
    """One server. Safe to use from many threads."""

    def __init__(self, client: ApiClient, *, connect_s: float = CONNECT_S, read_s: float = READ_S) -> None:
        self._configuration: Any = client.configuration
        self._rest: Any = client.rest_client
        self._connect_s = connect_s
        self._read_s = read_s
        self._decode = msgspec.json.Decoder().decode

    @property
    def server(self) -> str:
        """Where it is."""
        return str(self._configuration.host)

    def get(self, path: str, query: Query | None = None) -> Json:
        """The object or list at a path. Raises ApiError, as all calls do."""
        return self._json("GET", path, query)

    def post(self, path: str, body: Json, query: Query | None = None) -> Json:
        """Create."""
        return self._json("POST", path, query, body)

    def put(self, path: str, body: Json, query: Query | None = None) -> Json:
        """Replace."""
        return self._json("PUT", path, query, body)

    def patch(self, path: str, body: Json, query: Query | None = None) -> Json:
        """Merge (RFC 7386)."""
        return self._json("PATCH", path, query, body, "application/merge-patch+json")

    def delete(self, path: str, body: Json | None = None, query: Query | None = None) -> Json:
        """Delete; `body` is a DeleteOptions."""
        return self._json("DELETE", path, query, body)

    def text(self, path: str, query: Query | None = None) -> str:
        """An answer that is text, such as a log."""
        return self._read(self._request("GET", path, query)).decode(errors="replace")

    def stream(self, path: str, query: Query | None = None, *, read_s: float) -> Stream:
        """An answer that goes on; `read_s` is how long it may be silent."""
        response = self._request("GET", path, query)  # an answer that does not even begin is not waited for so long
        socket = getattr(response.connection, "sock", None)
        if socket is not None:
            socket.settimeout(read_s)
        return Stream(response)

    def close(self) -> None:
        """Close the connections."""
        self._rest.close()

    # -- the wire

    def _json(self, method: str, path: str, query: Query | None, body: Json | None = None, kind: str = "") -> Json:
        data = self._read(self._request(method, path, query, body, kind or "application/json"))
        try:
            value = self._decode(data) if data else {}
        except msgspec.DecodeError as error:
            raise ApiError(0, "NotJson", f"{method} {path} gave no JSON: {error}") from None
        if not isinstance(value, dict):
            raise ApiError(0, "NotJson", f"{method} {path} gave no JSON object")
        return value

    def _read(self, response: Any) -> bytes:
        try:
            return bytes(response.data)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise ApiError(0, type(error).__name__, str(error)) from None

    def _request(
        self,
        method: str,
        path: str,
        query: Query | None,
        body: Json | None = None,
        kind: str = "application/json",
    ) -> Any:
        url = self.server + path
        given = {key: _text(value) for key, value in (query or {}).items() if value is not None}
        if given:
            url += "?" + urlencode(given)
        headers = {"Accept": "application/json, */*", "Content-Type": kind, "User-Agent": "podshift"}
        token = self._configuration.get_api_key_with_prefix("BearerToken", alias="authorization")
        if token:
            headers["authorization"] = token
        timeout = (self._connect_s, self._read_s)
        try:
            answer = self._rest.request(method, url, headers, body, _request_timeout=timeout).response
        except ApiException as error:
            raise ApiError(int(error.status or 0), str(error.reason or "ApiException"), str(error.reason)) from None
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise ApiError(0, type(error).__name__, f"{method} {self.server}{path}: {error}") from None
        if not 200 <= answer.status < 300:
            raise error_of(answer.status, answer.reason or "", self._read(answer), answer.headers.get("Retry-After"))
        return answer


def error_of(status: int, reason: str, body: bytes, retry_after: str | None = None) -> ApiError:
    """The error that an answer stands for; the body may be a Status object, any text, or nothing."""
    message = ""
    try:
        value = msgspec.json.decode(body)
    except msgspec.DecodeError:
        message = body.decode(errors="replace").strip()[:LONGEST_MESSAGE]
    else:
        if isinstance(value, dict):
            reason = str(value.get("reason") or reason)
            message = str(value.get("message") or "")
    seconds = float(retry_after) if retry_after and retry_after.isdecimal() else None
    return ApiError(status, reason or f"HTTP {status}", message or f"HTTP {status} without a message", seconds)


def connect(
    *,
    kubeconfig: str | Path | None = None,
    context: str | None = None,
    url: str | None = None,
    in_cluster: bool = False,
    connect_s: float = CONNECT_S,
    read_s: float = READ_S,
) -> Api:
    """An Api by a URL, by the service account of the pod we run in, or by a kubeconfig (default: where kubectl looks).

    Raises ConnectError.
    """
    settings = Configuration()
    loading: Any = config
    try:
        if url:
            settings.host = url.rstrip("/")
        elif in_cluster:
            loading.load_incluster_config(client_configuration=settings)
        else:
            path = str(kubeconfig) if kubeconfig else None
            loading.load_kube_config(path, context, client_configuration=settings, persist_config=False)
        # Only what never reached the server is tried again here; who calls decides about all else.
        settings.retries = Retry(total=2, connect=2, read=0, status=0, other=0, redirect=0, backoff_factor=0.1,
                                 respect_retry_after_header=False)  # fmt: skip
        settings.connection_pool_maxsize = CONNECTIONS
        return Api(ApiClient(settings), connect_s=connect_s, read_s=read_s)
    except (ConfigException, yaml.YAMLError, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        where = "the service account" if in_cluster else url or kubeconfig or "the default kubeconfig"
        raise ConnectError(f"no cluster by {where}: {error}") from None


def _text(value: str | int | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
