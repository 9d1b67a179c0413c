"""The catalogue in SQL, portable between SQLite and PostgreSQL: texts, whole numbers, JSON as text."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import (
    URL,
    BigInteger,
    Boolean,
    Column,
    Engine,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    create_engine,
    event,
    make_url,
)
from sqlalchemy.exc import ArgumentError, DatabaseError, InterfaceError, OperationalError

from backend.store.errors import StoreError, UnusableError, full, sealed

BUSY_S = 30
"""How long a writer waits for another: transactions are short, so this is only ever reached by a stuck process."""
TRUNCATE_BUSY_MS = 500
"""How long emptying the write-ahead log waits for readers: they are quick, and somebody waits for it."""

WRITERS_LOCK = 0x706F6473
"""Number of the advisory lock that writers of a catalogue in PostgreSQL hold ("pods" in ASCII)."""

metadata = MetaData()

experiments = Table(
    "experiments",
    metadata,
    Column("id", String(200), primary_key=True),
    Column("number", Integer, nullable=False),  # order of creation: two may share a wall-clock time
    Column("name", String(200), nullable=False),
    Column("specification", Text),
    Column("source", String(20), nullable=False),
    Column("created_at", String(40), nullable=False),
    Column("note", Text, nullable=False),
    Column("tags", Text, nullable=False),
    Column("archived", Boolean, nullable=False),
    Column("deleted_at", String(40)),
)

runs = Table(
    "runs",
    metadata,
    Column("id", String(200), primary_key=True),
    Column("experiment", ForeignKey("experiments.id", ondelete="CASCADE"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("arm", String(100), nullable=False),
    Column("seed", BigInteger, nullable=False),
    Column("status", String(20), nullable=False),
    Column("source", String(20), nullable=False),
    Column("created_at", String(40), nullable=False),
    Column("started_at", String(40)),
    Column("ended_at", String(40)),
    Column("progress", Text),
    Column("error", Text),
    Column("summary", Text),
    Column("log_sha256", String(64)),
    Column("pid", Integer),
    Column("process_started", String(40)),
    Index("runs_of_experiment", "experiment"),
    Index("runs_by_status", "status"),
)

audit = Table(
    "audit",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("at", String(40), nullable=False),
    Column("actor", String(200), nullable=False),
    Column("address", String(100), nullable=False),
    Column("action", String(100), nullable=False),
    Column("target", Text, nullable=False),
    Column("parameters", Text, nullable=False),
    Column("result", Text, nullable=False),
    Column("request", String(100), nullable=False),
)


def connect(home: Path, url: str | None) -> Engine:
    """The engine of the catalogue, its tables made if they are not there. Raises StoreError for a URL of no use, and
    UnusableError for a database that cannot be opened.
    """
    # As a URL object: a folder may have a name with a question mark or a percent sign.
    try:
        target = make_url(url) if url else URL.create("sqlite", database=str(home / "podshift.db"))
    except ArgumentError:
        # Not with the URL: it may hold a password, and this one cannot be taken apart to leave it out.
        raise StoreError("the URL of the database is none; it is like postgresql+psycopg://user@host/name") from None
    sqlite = target.get_backend_name() == "sqlite"
    try:
        engine = create_engine(target, connect_args={"timeout": BUSY_S} if sqlite else {})
    except (ArgumentError, ModuleNotFoundError) as error:
        raise StoreError(
            f"the database {target.render_as_string()} cannot be used: {error}; for PostgreSQL, install "
            "psycopg[binary] and write the URL as postgresql+psycopg://..."
        ) from None
    if sqlite:
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    elif engine.dialect.name == "postgresql":
        event.listen(engine, "begin", _begin_postgresql)
    with database_errors(engine, home):
        metadata.create_all(engine)
    return engine


@contextmanager
def database_errors(engine: Engine, home: Path) -> Iterator[None]:
    """Turn what a database says of its own state, not of what it was asked, into an UnusableError."""
    try:
        yield
    except (DatabaseError, InterfaceError, sqlite3.Error) as error:
        # Its subclasses are faults of ours. The driver's own errors come from `_prepare_sqlite`.
        if isinstance(error, DatabaseError) and type(error) not in (DatabaseError, OperationalError):
            raise
        reason = str(getattr(error, "orig", error)).strip()
        raise _unusable(engine.url, home, reason) from error


def truncate(engine: Engine) -> None:
    """Empty the write-ahead log of a SQLite database, which grows to megabytes, if that can be done at once."""
    if engine.url.get_backend_name() != "sqlite":
        return
    with suppress(DatabaseError, InterfaceError, sqlite3.Error):
        connection = engine.raw_connection()
        try:
            cursor = connection.cursor()
            cursor.execute(f"PRAGMA busy_timeout={TRUNCATE_BUSY_MS}")
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        finally:
            connection.invalidate()  # its patience is too short for anybody else


def _unusable(url: URL, home: Path, reason: str) -> UnusableError:
    if url.get_backend_name() != "sqlite":
        return UnusableError(f"the database {url.render_as_string()} cannot be used: {' '.join(reason.split())[:300]}")
    if "is full" in reason:
        return full(home)
    if "readonly" in reason:
        return sealed(home, f"{url.database}: {reason}")
    if "not a database" in reason or "malformed" in reason:
        return UnusableError(
            f"{url.database} is damaged ({reason}); put a copy of it in its place, or move it away to begin with an "
            "empty one"
        )
    if "locked" in reason:
        return UnusableError(f"{url.database} is kept busy by another process for more than {BUSY_S} s; end that one")
    return UnusableError(
        f"{url.database} cannot be used ({reason}); see to its disk and its rights, or name another folder with --home "
        "or PODSHIFT_HOME"
    )


def _prepare_sqlite(connection: Any, _: Any) -> None:
    # The driver's own transactions begin too late (at the first write); _begin_sqlite begins them.
    connection.isolation_level = None
    # SQLite's own knows the letters of ASCII only.
    connection.create_function("lower", 1, _lower, deterministic=True)
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.execute(f"PRAGMA busy_timeout={BUSY_S * 1000}")
    cursor.close()


def _lower(text: Any) -> Any:
    return text.lower() if isinstance(text, str) else text


def _begin_sqlite(connection: Any) -> None:
    # IMMEDIATE: a transaction that reads and then writes would fail, not wait, if another wrote in between.
    connection.exec_driver_sql("BEGIN IMMEDIATE" if not connection.get_execution_options().get("reads") else "BEGIN")


def _begin_postgresql(connection: Any) -> None:
    # Writers one after the other, as SQLite has them: an id is looked up and then inserted.
    if not connection.get_execution_options().get("reads"):
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{BUSY_S}s'")
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({WRITERS_LOCK})")
