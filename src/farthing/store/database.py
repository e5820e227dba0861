"""From an address to a database that is ready: found, reachable, and with the tables of this farthing."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import (
    URL,
    Connection,
    Engine,
    NullPool,
    Pool,
    QueuePool,
    create_engine,
    event,
    func,
    inspect,
    make_url,
    select,
    text,
)
from sqlalchemy.exc import ArgumentError, OperationalError

from farthing.errors import MissingExtra, StoreError
from farthing.store.failures import described, sqlite_code
from farthing.store.schema import HEAD, REVISIONS

PATIENCE_SECONDS = 60
_CONNECT_SECONDS = 10
_ACCEPTED = "give a path, sqlite:///PATH or postgresql://USER:PASSWORD@HOST/DATABASE"
# Of the advisory lock under which tables are made: any number, the same in every farthing.
_ADVISORY_LOCK = 0x6661727468696E67


def address(where: str | os.PathLike[str]) -> URL:
    """The database meant by a path or a URL."""
    if isinstance(where, os.PathLike) or "://" not in where:
        return _sqlite(os.fspath(where))
    scheme = where.partition("://")[0]
    try:
        url = make_url(where)
    except (ArgumentError, ValueError):
        # The cause would quote parts of the URL, the password perhaps among them.
        raise StoreError(f"the {scheme} address of the database cannot be understood; {_ACCEPTED}") from None
    if scheme == "sqlite":
        if url.host or url.query:
            raise StoreError(f"a SQLite address has three slashes and a path, no host and no options; {_ACCEPTED}")
        return _sqlite(url.database or ":memory:")
    if scheme in ("postgres", "postgresql", "postgresql+psycopg"):
        if "@" in (url.host or ""):
            raise StoreError("the database's address has more than one @; write an @ in the password as %40")
        return url.set(drivername="postgresql+psycopg")
    raise StoreError(f"there is no support for {scheme!r} databases; {_ACCEPTED}")


def _sqlite(path: str) -> URL:
    if path == ":memory:" or "\0" in path:
        raise StoreError(f"{path!r} is not the path of a file; leave it out to keep the study in memory, or {_ACCEPTED}")
    # Absolute: a connection made after a change of folder, or in another process, must find the same file.
    return URL.create("sqlite", database=os.path.abspath(path))


def ready(url: URL) -> Engine:
    """Connections to a database whose tables are made, or brought up to date, if need be."""
    engine = _engine(url, QueuePool)
    try:
        try:
            _bring_up_to_date(engine)
        except (OperationalError, sqlite3.OperationalError) as error:
            if sqlite_code(error) != sqlite3.SQLITE_CANTOPEN or not _is_sealed(url):
                raise
            # A write-ahead log needs a file beside the database even for reading; where none can be made, nobody writes, and the
            # database may be read without. It is opened anew for each call, since it would not notice if somebody did write.
            sealed = URL.create("sqlite", database=Path(url.database or "").as_uri(), query={"immutable": "1", "uri": "true"})
            engine = _engine(sealed, NullPool)
            _bring_up_to_date(engine)
    except BaseException:
        engine.dispose()
        raise
    return engine


@contextmanager
def begun(engine: Engine) -> Iterator[Connection]:
    """A transaction that writes."""
    with engine.begin() as connection:
        if engine.dialect.name == "sqlite":
            # Locked from the beginning: a transaction that reads first and writes later can fail, however long it waits.
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        yield connection


def _is_sealed(url: URL) -> bool:
    """Whether a SQLite file is there that has no log and can have none."""
    path = url.database or ""
    return os.path.isfile(path) and not os.path.exists(f"{path}-wal") and not os.access(os.path.dirname(path), os.W_OK)


def _engine(url: URL, pool: type[Pool]) -> Engine:
    """Not connected yet. Parameters stay out of errors: they are long, and the user's own."""
    if url.get_backend_name() == "sqlite":
        # isolation_level None: the driver begins no transactions, `begun` does.
        settings: dict[str, Any] = {"timeout": PATIENCE_SECONDS, "isolation_level": None, "check_same_thread": False}
        engine = create_engine(url, connect_args=settings, poolclass=pool, hide_parameters=True)
        event.listen(engine, "connect", _set_up_sqlite)
        return engine
    # Not prepared: a plan made for any revision would read all trials where one made for this revision reads the new ones.
    settings = {"prepare_threshold": None}
    if "connect_timeout" not in url.query:
        settings["connect_timeout"] = _CONNECT_SECONDS
    try:
        engine = create_engine(url, connect_args=settings, poolclass=pool, pool_pre_ping=True, hide_parameters=True)
    except ImportError as error:
        raise MissingExtra('a PostgreSQL database needs psycopg; install it with: pip install "farthing[postgres]"') from error
    event.listen(engine, "connect", _set_up_postgresql)
    return engine


def _set_up_sqlite(connection: sqlite3.Connection, _: object) -> None:
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")


def _set_up_postgresql(connection: Any, _: object) -> None:
    # A worker whose machine vanished amid a transaction would hold its lock for hours; the server ends such a session.
    connection.execute(f"SET idle_in_transaction_session_timeout = '{PATIENCE_SECONDS}s'")
    connection.execute(f"SET lock_timeout = '{PATIENCE_SECONDS}s'")
    connection.commit()


def _bring_up_to_date(engine: Engine) -> None:
    with engine.connect() as connection:
        found = _revision(connection)
    if found == HEAD:
        return
    if found is None and engine.dialect.name == "sqlite":
        _use_write_ahead_log(engine)
    # Imported only here: Alembic is slow to import, and a database is new or old but once.
    from farthing.store.migrations import upgrade

    with begun(engine) as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(select(func.pg_advisory_xact_lock(_ADVISORY_LOCK)))
        # Does nothing where another process was faster.
        upgrade(connection)


def _revision(connection: Connection) -> str | None:
    """Of the tables; None for an empty database. Another program's database, or a newer farthing's, is refused."""
    place = described(connection.engine.url)
    inspector = inspect(connection)
    names = set(inspector.get_table_names())
    if not names:
        _refuse_scrap(connection.engine.url)
        return None
    if not names >= {"alembic_version", "studies", "trials"} or all(
        c["name"] != "definition" for c in inspector.get_columns("studies")
    ):
        raise StoreError(
            f"{place} belongs to another program: it has tables ({', '.join(sorted(names)[:5])}), but they are not farthing's. "
            "It was left as it is; give another path, or a database of its own"
        )
    found: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
    if found not in REVISIONS:
        raise StoreError(
            f"{place} has tables of revision {found}, and this farthing knows those up to {HEAD}: a newer farthing made it; "
            "upgrade farthing, with pip install --upgrade farthing"
        )
    return found


def _refuse_scrap(url: URL) -> None:
    """SQLite takes a file of one byte for an empty database and would write over it."""
    if url.get_backend_name() == "sqlite" and os.path.isfile(url.database or "") and os.path.getsize(url.database or "") == 1:
        raise StoreError(f"{described(url)} is not a database but a file of one byte; give another path, or remove it")


def _use_write_ahead_log(engine: Engine) -> None:
    """Readers and a writer at the same time. A file keeps this setting."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    with engine.connect() as connection:
        while True:
            try:
                connection.exec_driver_sql("PRAGMA journal_mode=WAL")
                return
            except OperationalError as error:
                # SQLite does not wait for this lock by itself.
                if sqlite_code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
            time.sleep(0.01)
