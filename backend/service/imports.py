"""Files that come in: bundles, and what the original authors' tools leave. All of a file is taken, or nothing."""

import contextlib
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, get_args

from backend.folds.summary import summarise
from backend.folds.tables import fold
from backend.model.events import Event
from backend.store.bundles import import_bundle
from backend.store.errors import StoreError, UnusableError
from backend.store.rows import RunProgress
from backend.store.store import Store
from backend.traces import completion_table, migration_log, node_listing
from backend.traces.errors import TraceError
from backend.traces.tables import MAX_BYTES, first_cells

Kind = Literal["bundle", "migration-log", "node-listing", "completion-table", "job-node-info"]
KINDS: tuple[Kind, ...] = get_args(Kind)
_ZIP = b"PK\x03\x04"


class ImportFileError(ValueError):
    """A file that cannot be imported; the message says why."""


Logs = Mapping[str, list[Event]]
"""Arm -> its log."""


def _migration_log(content: bytes, name: str) -> Logs:
    return {"migrated": migration_log.to_events(migration_log.read(content, name))}


def _node_listing(content: bytes, name: str) -> Logs:
    return {"listing": node_listing.to_events(node_listing.read_listing(content, name))}


def _completion_table(content: bytes, name: str) -> Logs:
    rows = completion_table.read(content, name)
    return {arm: completion_table.to_events(rows, arm) for arm in completion_table.ARMS}


def _job_node_info(content: bytes, name: str) -> Logs:
    return {"placement": node_listing.to_events(node_listing.read_job_node_info(content, name))}


_READERS: dict[Kind, Callable[[bytes, str], Logs]] = {
    "migration-log": _migration_log,
    "node-listing": _node_listing,
    "completion-table": _completion_table,
    "job-node-info": _job_node_info,
}


_HEADERS: dict[Kind, Callable[[list[str]], bool]] = {
    "migration-log": migration_log.is_header,
    "node-listing": lambda cells: len(cells) == 1 and node_listing.is_listing_header(cells[0].split()),
    "completion-table": completion_table.is_header,
    "job-node-info": node_listing.is_job_node_info_header,
}


def import_file(store: Store, path: Path, kind: Kind | None = None, name: str | None = None) -> list[str]:
    """Import a file; the ids of its runs. `name` is what the file is called where it comes from.

    Without a kind it is told by the content. Raises ImportFileError.
    """
    name = name or path.name
    kind = kind or guess_kind(path, name)
    try:
        if kind == "bundle":
            return import_bundle(store, path)
        return _keep(store, _READERS[kind](_content(path), name), re.sub(r"\.[A-Za-z0-9]{1,5}$", "", name) or kind)
    except TraceError as error:
        raise ImportFileError(f"This cannot be imported as a {kind}: {error}.") from None
    except UnusableError:
        raise
    except StoreError as error:
        raise ImportFileError(f"{name} cannot be imported: {error}.") from None


def guess_kind(path: Path, name: str) -> Kind:
    """The one kind that a file can be: what its first line says, else what can be read as a whole.

    Raises ImportFileError if there is none or several.
    """
    with path.open("rb") as stream:
        if stream.read(len(_ZIP)) == _ZIP:
            return "bundle"
    content = _content(path)
    named = [kind for kind, is_header in _HEADERS.items() if is_header(first_cells(content))]
    if len(named) == 1:
        return named[0]
    fitting = [kind for kind, read in _READERS.items() if _fits(read, content, name)]
    if len(fitting) == 1:
        return fitting[0]
    found = f"could be {' or '.join(fitting)}" if fitting else "is none that can be told by its content"
    raise ImportFileError(f"{name} {found}; say which kind it is: {', '.join(KINDS)}.")


def _fits(read: Callable[[bytes, str], Logs], content: bytes, name: str) -> bool:
    try:
        read(content, name)
    except TraceError:
        return False
    return True


def _content(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(MAX_BYTES + 1)


def _keep(store: Store, logs: Logs, name: str) -> list[str]:
    folded = {arm: fold(events) for arm, events in logs.items()}
    experiment = store.create_experiment(name[:100], None, source="import")
    made: list[str] = []
    try:
        for arm, events in logs.items():
            run = store.create_run(experiment, arm, 0, source="import")
            made.append(run)
            log = store.log_writer(run)
            for event in events:
                log.append(event)
            tables = folded[arm]
            # What still goes on at the end of a record reaches as far as the record does.
            store.set_progress(run, RunProgress(time_s=events[-1].time, fraction=1.0, events=len(events)))
            store.finish_run(run, "imported", summarise(tables), tables, log_sha256=log.close())
    except BaseException:
        with contextlib.suppress(UnusableError):  # what broke it off is what is to be heard of
            store.make_room()
            for run in made:
                if store.run(run).status == "queued":
                    store.end_run(run, "failed", error="The import broke off.")
            store.delete_experiment(experiment)
        raise
    return made
