"""create_app: the HTTP API over one store, with the runner that executes what is launched."""

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool

from backend.experiments.runner import Runner, recover
from backend.service import problems
from backend.service.context import Service
from backend.service.guard import Guard
from backend.service.launches import Launches
from backend.service.limits import BodyLimit
from backend.service.problems import RequestId
from backend.service.routes import catalogue, comparisons, experiments, health, imports, runs
from backend.store.store import Store


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
        try:
            yield
        finally:
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
    for module in (health, catalogue, experiments, runs, comparisons, imports):
        app.include_router(module.router)
    # The last one added sees a request first.
    app.add_middleware(BodyLimit)
    app.add_middleware(Guard, token=token, hosts=hosts, origins=origins)
    app.add_middleware(RequestId)
    return app
