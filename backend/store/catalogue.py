"""The catalogue: experiments, runs and the audit in SQL. Each method is one short transaction."""

import json
import os
import re
import secrets
import string
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy import Connection, Select, delete, func, insert, or_, select, update

from backend.store.errors import FinishedError, StoreError, UnknownError
from backend.store.process import process_started
from backend.store.rows import OPEN, AuditRow, ExperimentRow, RunProgress, RunRow, RunStatus, check_id
from backend.store.schema import audit, connect, database_errors, experiments, runs, truncate

MAX_ROWS = 1_000
"""Rows of one page at most: a list without a limit is what kills dashboards (ux.md, finding 10)."""
MAX_OFFSET = 2**62
"""Databases count rows in 64 bits."""
_ALPHABET = string.ascii_lowercase + string.digits


def now() -> str:
    """The wall-clock time as the catalogue writes it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class Catalogue:
    """Rows of experiments, runs and the audit. Safe to use from several threads and processes."""

    def __init__(self, home: Path, url: str | None = None) -> None:
        self.home = home
        self._engine = connect(home, url)

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()

    def make_room(self) -> None:
        """Give back what the database holds beyond its content: on a full disk, the next transaction may need it."""
        truncate(self._engine)

    # -- experiments

    def create_experiment(
        self, name: str, specification: Mapping[str, Any] | None, *, source: str = "simulator", note: str = ""
    ) -> str:
        """A new experiment; its id is the name with four random characters, as in seven-jobs-7k3f."""
        with self._write() as connection:
            return _insert_experiment(
                connection, name=name, specification=specification, source=source, note=note, tags="[]"
            )

    def add_ended(
        self, added: Sequence[tuple[ExperimentRow, Sequence[RunRow]]], place: Callable[[Sequence[str]], None]
    ) -> list[str]:
        """Experiments with runs that have ended, as a bundle brings them: all of them appear, or none; ids of the runs.

        They get ids of their own. `place` gets these ids and puts the files where they belong; if it raises, nothing is
        added.
        """
        ids: list[str] = []
        with self._write() as connection:
            for experiment, ended in added:
                made = _insert_experiment(
                    connection,
                    name=experiment.name,
                    specification=experiment.specification,
                    source="import",
                    note=experiment.note,
                    tags=_tags_text(experiment.tags),
                )
                for row in ended:
                    progress = None if row.progress is None else msgspec.json.encode(row.progress).decode()
                    values = {
                        "status": _ended(row.status),
                        "started_at": row.started_at,
                        "ended_at": row.ended_at,
                        "progress": progress,
                        "error": row.error,
                        "summary": None if row.summary is None else json.dumps(row.summary),
                        "log_sha256": row.log_sha256,
                    }
                    ids.append(_insert_run(connection, made, row.arm, row.seed, source="import", **values))
            place(ids)
        return ids

    def experiments(
        self,
        q: str | None = None,
        status: str | None = None,
        *,
        tag: str | None = None,
        archived: bool = False,
        limit: int = 50,
        offset: int = 0,
    ) -> tuple[list[ExperimentRow], int]:
        """Newest first: those whose id, name or note holds `q` and that have a run of that status; and how many."""
        query = select(experiments).where(experiments.c.deleted_at.is_(None), experiments.c.archived == archived)
        if q:
            pattern = "%" + re.sub(r"([\\%_])", r"\\\1", q.lower()) + "%"
            query = query.where(
                or_(
                    *(
                        func.lower(column).like(pattern, escape="\\")
                        for column in (experiments.c.id, experiments.c.name, experiments.c.note)
                    )
                )
            )
        if status:
            query = query.where(experiments.c.id.in_(select(runs.c.experiment).where(runs.c.status == status)))
        if tag:
            # Not LIKE, which takes capitals for small letters on SQLite.
            query = query.where(func.replace(experiments.c.tags, _tag_text(tag), "") != experiments.c.tags)
        rows, total = self._page(query, experiments.c.number, limit, offset)
        return [_experiment(row) for row in rows], total

    def experiment(self, experiment: str) -> ExperimentRow:
        """The experiment of that id. Raises UnknownError, also for a deleted one."""
        with self._read() as connection:
            query = select(experiments).where(
                experiments.c.id == check_id(experiment), experiments.c.deleted_at.is_(None)
            )
            row = connection.execute(query).mappings().first()
        if row is None:
            raise UnknownError(f"there is no experiment '{experiment}'")
        return _experiment(row)

    def update_experiment(
        self,
        experiment: str,
        *,
        note: str | None = None,
        tags: Sequence[str] | None = None,
        archived: bool | None = None,
    ) -> None:
        """Change what people say of an experiment. Raises UnknownError."""
        values: dict[str, Any] = {}
        if note is not None:
            values["note"] = note
        if tags is not None:
            values["tags"] = _tags_text(tags)
        if archived is not None:
            values["archived"] = archived
        self.experiment(experiment)
        if values:
            with self._write() as connection:
                connection.execute(update(experiments).where(experiments.c.id == experiment).values(**values))

    def delete_experiment(self, experiment: str) -> None:
        """Hide an experiment until it is undeleted or purged. Raises StoreError while one of its runs has not ended."""
        self.experiment(experiment)
        with self._write() as connection:
            still = select(runs.c.id).where(runs.c.experiment == experiment, runs.c.status.in_(OPEN))
            if connection.execute(still).first() is not None:
                raise StoreError(f"{experiment} has runs that have not ended; stop them first")
            connection.execute(update(experiments).where(experiments.c.id == experiment).values(deleted_at=now()))

    def undelete_experiment(self, experiment: str) -> None:
        """Bring a deleted experiment back. Raises UnknownError if it was purged or never was."""
        with self._write() as connection:
            query = update(experiments).where(experiments.c.id == check_id(experiment)).values(deleted_at=None)
            if connection.execute(query).rowcount == 0:
                raise UnknownError(f"there is no experiment '{experiment}'")

    def purge_deleted(self, before: str, place: Callable[[Sequence[str]], None] | None = None) -> list[str]:
        """Remove the rows of experiments deleted before that time; the ids of their runs, whose files may go.

        `place` gets these ids while nobody else can write the rows.
        """
        with self._write() as connection:
            gone = list(connection.execute(select(experiments.c.id).where(experiments.c.deleted_at < before)).scalars())
            old = list(connection.execute(select(runs.c.id).where(runs.c.experiment.in_(gone))).scalars())
            connection.execute(delete(runs).where(runs.c.experiment.in_(gone)))
            connection.execute(delete(experiments).where(experiments.c.id.in_(gone)))
            if place is not None:
                place(old)
        return old

    # -- runs

    def create_run(
        self, experiment: str, arm: str, seed: int, *, status: RunStatus = "queued", source: str = "simulator"
    ) -> str:
        """A new run; its id is <experiment>.<arm>.s<seed>, with a number behind it if that exists."""
        row = self.experiment(experiment)
        # Who creates a run is to execute it; until a worker takes it, this process answers for it.
        owner = {"pid": os.getpid(), "process_started": process_started(os.getpid())}
        with self._write() as connection:
            return _insert_run(connection, row.id, arm, seed, source=source, status=status, **owner)

    def runs(
        self, experiment: str | None = None, *, status: str | None = None, limit: int | None = None, offset: int = 0
    ) -> tuple[list[RunRow], int]:
        """Runs of one experiment in the order of their creation, or of all with the newest first; and how many."""
        alive = select(experiments.c.id).where(experiments.c.deleted_at.is_(None))
        query = select(runs).where(runs.c.experiment.in_(alive))
        if experiment is not None:
            query = query.where(runs.c.experiment == experiment)
        if status is not None:
            query = query.where(runs.c.status == status)
        order = runs.c.number if experiment is None else -runs.c.number
        rows, total = self._page(query, order, limit, offset)
        return [_run(row) for row in rows], total

    def run(self, run: str) -> RunRow:
        """The run of that id. Raises UnknownError."""
        with self._read() as connection:
            row = connection.execute(select(runs).where(runs.c.id == check_id(run))).mappings().first()
        if row is None:
            raise UnknownError(f"there is no run '{run}'")
        return _run(row)

    def begin_run(self, run: str, pid: int) -> None:
        """The process `pid` executes the run from now on. Raises FinishedError if the run is not queued."""
        with self._write() as connection:
            query = update(runs).where(runs.c.id == check_id(run), runs.c.status == "queued")
            values = {"status": "running", "started_at": now(), "pid": pid, "process_started": process_started(pid)}
            if connection.execute(query.values(**values)).rowcount == 0:
                raise FinishedError(f"run '{run}' is not queued, so it cannot begin")

    def set_progress(self, run: str, progress: RunProgress) -> None:
        """How far an open run is; does nothing to one that has ended."""
        with self._write() as connection:
            query = update(runs).where(runs.c.id == run, runs.c.status.in_(OPEN))
            connection.execute(query.values(progress=msgspec.json.encode(progress).decode()))

    def request_stop(self, run: str) -> bool:
        """Ask a running run to stop; False if it has ended, is stopping already or waits in a queue."""
        self.run(run)
        with self._write() as connection:
            query = update(runs).where(runs.c.id == run, runs.c.status == "running").values(status="stopping")
            return connection.execute(query).rowcount > 0

    def stop_requested(self, run: str) -> bool:
        """Whether a run is asked to stop."""
        with self._read() as connection:
            return connection.execute(select(runs.c.status).where(runs.c.id == run)).scalar() == "stopping"

    def end_run(
        self,
        run: str,
        status: RunStatus,
        *,
        summary: Mapping[str, Any] | None = None,
        log_sha256: str | None = None,
        error: str | None = None,
        ended_at: str | None = None,
        abandoned: bool = False,
        place: Callable[[], None] | None = None,
    ) -> None:
        """Mark a run as ended. Raises FinishedError if it has ended already; with `abandoned`, also if a living process
        answers for it.

        `place` puts its files where they belong; it is called only if the run has not ended, and by one process at a
        time.
        """
        values = {
            "status": _ended(status),
            "ended_at": ended_at or now(),
            "summary": None if summary is None else json.dumps(summary),
            "log_sha256": log_sha256,
            "error": error,
            "pid": None,
            "process_started": None,
        }
        with self._write() as connection:
            if abandoned and _lives(*connection.execute(_owner(run)).one_or_none() or (None, None)):
                raise FinishedError(f"run '{run}' is in the hands of a process that lives")
            query = update(runs).where(runs.c.id == check_id(run), runs.c.status.in_(OPEN)).values(**values)
            if connection.execute(query).rowcount == 0:
                raise FinishedError(f"run '{run}' has ended; what is recorded of it does not change any more")
            if place is not None:
                place()

    def requeue_run(self, run: str, place: Callable[[], None] | None = None) -> None:
        """Queue an interrupted or failed run again. Raises FinishedError for any other. `place`: see `end_run`."""
        blank: dict[str, Any] = dict.fromkeys(("started_at", "ended_at", "progress", "error", "summary", "log_sha256"))
        with self._write() as connection:
            query = update(runs).where(runs.c.id == check_id(run), runs.c.status.in_(("interrupted", "failed")))
            blank |= {"pid": os.getpid(), "process_started": process_started(os.getpid())}
            if connection.execute(query.values(status="queued", **blank)).rowcount == 0:
                raise FinishedError(f"run '{run}' was neither interrupted nor failed; only such a run is run again")
            if place is not None:
                place()

    def abandoned(self) -> list[str]:
        """Open runs whose process is gone: the worker of a running one, the maker of a queued one."""
        with self._read() as connection:
            rows = connection.execute(
                select(runs.c.id, runs.c.pid, runs.c.process_started).where(runs.c.status.in_(OPEN))
            ).all()
        return [row.id for row in rows if not _lives(row.pid, row.process_started)]

    # -- audit

    def append_audit(
        self,
        action: str,
        target: str,
        *,
        actor: str = "local",
        address: str = "",
        parameters: Mapping[str, Any] | None = None,
        result: str = "ok",
        request: str = "",
    ) -> None:
        """Keep who asked for what and what came of it."""
        with self._write() as connection:
            connection.execute(
                insert(audit).values(
                    at=now(),
                    actor=actor,
                    address=address,
                    action=action,
                    target=target,
                    parameters=json.dumps(parameters or {}),
                    result=result,
                    request=request,
                )
            )

    def audit(self, *, limit: int = 50, offset: int = 0) -> tuple[list[AuditRow], int]:
        """Audit rows, newest first, and how many there are."""
        rows, total = self._page(select(audit), audit.c.number, limit, offset)
        made = []
        for row in rows:
            fields = {name: row[name] for name in AuditRow.__struct_fields__} | {
                "parameters": json.loads(row["parameters"])
            }
            made.append(AuditRow(**fields))
        return made, total

    # -- transactions

    @contextmanager
    def _write(self) -> Iterator[Connection]:
        with database_errors(self._engine, self.home), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def _read(self) -> Iterator[Connection]:
        with (
            database_errors(self._engine, self.home),
            self._engine.connect().execution_options(reads=True) as connection,
        ):
            yield connection

    def _page(self, query: Select[Any], newest: Any, limit: int | None, offset: int) -> tuple[Iterable[Any], int]:
        with self._read() as connection:
            total = connection.execute(select(func.count()).select_from(query.subquery())).scalar_one()
            page = query.order_by(newest.desc()).offset(max(0, min(offset, MAX_OFFSET)))
            if limit is not None:
                page = page.limit(max(0, min(limit, MAX_ROWS)))
            return connection.execute(page).mappings().all(), total


def _insert_experiment(connection: Connection, *, name: str, specification: Any, **values: Any) -> str:
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:80].strip("-") or "experiment"
    number = connection.execute(select(func.coalesce(func.max(experiments.c.number), 0))).scalar_one() + 1
    while True:
        made = f"{slug}-{''.join(secrets.choice(_ALPHABET) for _ in range(4))}"
        if connection.execute(select(experiments.c.id).where(experiments.c.id == made)).first() is None:
            break
    connection.execute(
        insert(experiments).values(
            id=made,
            number=number,
            name=name,
            specification=None if specification is None else json.dumps(specification),
            created_at=now(),
            archived=False,
            **values,
        )
    )
    return made


def _insert_run(connection: Connection, experiment: str, arm: str, seed: int, **values: Any) -> str:
    base = f"{experiment}.{arm}.s{seed}"
    number = connection.execute(select(func.coalesce(func.max(runs.c.number), 0))).scalar_one() + 1
    made, again = check_id(base), 2
    while connection.execute(select(runs.c.id).where(runs.c.id == made)).first() is not None:
        made, again = f"{base}.{again}", again + 1
    connection.execute(
        insert(runs).values(
            id=made, experiment=experiment, number=number, arm=arm, seed=seed, created_at=now(), **values
        )
    )
    return made


def _ended(status: RunStatus) -> RunStatus:
    if status in OPEN:
        raise ValueError(f"'{status}' is no state of a run that has ended")
    return status


def _owner(run: str) -> Select[Any]:
    return select(runs.c.pid, runs.c.process_started).where(runs.c.id == run, runs.c.status.in_(OPEN))


def _lives(pid: int | None, started: str | None) -> bool:
    return pid is not None and started is not None and process_started(pid) == started


def _tag_text(tag: str) -> str:
    """A tag as it stands in the column: its quotes are at its ends only."""
    return json.dumps(" ".join(tag.split()), ensure_ascii=False).replace('\\"', "\\u0022")


def _tags_text(tags: Iterable[str]) -> str:
    """JSON; what stands between two tags, blank and comma, is never a tag itself, as tags neither begin nor end with a
    blank."""
    return "[" + " ,".join(dict.fromkeys(_tag_text(tag) for tag in tags if tag.strip())) + "]"


def _experiment(row: Any) -> ExperimentRow:
    return ExperimentRow(
        id=row["id"],
        name=row["name"],
        specification=None if row["specification"] is None else json.loads(row["specification"]),
        source=row["source"],
        created_at=row["created_at"],
        note=row["note"],
        tags=tuple(json.loads(row["tags"])),
        archived=bool(row["archived"]),
    )


def _run(row: Any) -> RunRow:
    progress = row["progress"]
    plain = ("id", "experiment", "arm", "seed", "status", "source", "created_at", "started_at", "ended_at")
    return RunRow(
        **{name: row[name] for name in plain},
        progress=None if progress is None else msgspec.json.decode(progress, type=RunProgress),
        error=row["error"],
        summary=None if row["summary"] is None else json.loads(row["summary"]),
        log_sha256=row["log_sha256"],
        pid=row["pid"],
    )
