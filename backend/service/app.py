"""create_app: the HTTP API over one store, with the runner that executes what is launched."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path

from fastapi import FastAPI, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from backend.experiments.runner import Runner, recover
from backend.service import problems
from backend.service.context import Service
from backend.service.guard import Guard
from backend.service.launches import Launches
from backend.service.limits import BodyLimit
from backend.service.problems import RequestId
from backend.service.routes import catalogue, comparisons, experiments, health, imports, runs
from backend.store.errors import StoreError, UnknownError, UnusableError, is_disk_fault, unusable
from backend.store.store import Store

SWEEP_S = 5.0
"""How often runs of processes that are gone are looked for: `podshift run` may be killed while the service lives."""


def create_app(
    home: Path,
    *,
    url: str | None = None,
    jobs: int | None = None,
    token: str | None = None,
    hosts: Collection[str] = (),
    origins: Collection[str] = (),
) -> FastAPI:
    """The service over the store in `home` (its database at `url`, if it is another than the file there).

    `jobs` runs are executed at the same time, one a processor by default. With a `token`, each request but the health
    checks has to bear it. `hosts` and `origins` are accepted besides the loopback names and the own origin.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        store = Store(home, url)
        await run_in_threadpool(recover, store)
        runner = Runner(store, jobs=jobs)
        app.state.service = Service(store=store, runner=runner, launches=Launches(store, runner))
        sweep = asyncio.create_task(_sweep(store, runner))
        try:
            yield
        finally:
            sweep.cancel()
            await run_in_threadpool(runner.close)
            store.close()

    app = FastAPI(
        title="Podshift",
        version=version("podshift"),
        description="Experiments on a simulated cluster: launch, watch, compare.",
        lifespan=lifespan,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,  # its page loads scripts from elsewhere; nothing here leaves the machine
        redoc_url=None,
    )
    problems.install(app)

    @app.exception_handler(StoreError)
    async def _store(request: Request, error: StoreError) -> Response:
        """What is not there is a 404, a store that cannot be used a 503; what else it refuses is a conflict."""
        status = 404 if isinstance(error, UnknownError) else 503 if isinstance(error, UnusableError) else 409
        message = str(error)
        text = message[:1].upper() + message[1:] + ("" if message.endswith(".") else ".")
        return problems.error_response(status, text, (), problems.request_id_of(request.scope))

    @app.exception_handler(OSError)
    async def _disk(request: Request, error: OSError) -> Response:
        """A full disk is no fault of the service."""
        if not is_disk_fault(error):
            raise error
        return await _store(request, unusable(home, error))

    for module in (health, catalogue, experiments, runs, comparisons, imports):
        # What the guard and the store answer with, whatever is asked for.
        common = problems.answers(503) if module is health else problems.answers(401, 403, 422, 503)
        app.include_router(module.router, responses=common)
    # The last one added sees a request first.
    app.add_middleware(BodyLimit)
    app.add_middleware(Guard, token=token, hosts=hosts, origins=origins)
    app.add_middleware(RequestId)
    return app


async def _sweep(store: Store, runner: Runner) -> None:
    while True:
        await asyncio.sleep(SWEEP_S)
        with contextlib.suppress(UnusableError):  # its disk may have room again the next time
            await run_in_threadpool(recover, store)
            await run_in_threadpool(runner.record_ends)
