"""What went wrong with a database, in words that say what to do."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import URL
from sqlalchemy.exc import SQLAlchemyError

from farthing.errors import StoreError

# By SQLite's primary result code.
_SQLITE = {
    sqlite3.SQLITE_NOTADB: "it is not a SQLite database; give the path of one, or of a file that does not exist yet",
    sqlite3.SQLITE_CORRUPT: "it is damaged; restore it from a copy, or recover what is left with `sqlite3 FILE .recover`",
    sqlite3.SQLITE_READONLY: "it is read-only: it can be read, not written; make the file and its folder writable, or copy it",
    sqlite3.SQLITE_FULL: "the disk is full, nothing was saved; free some space and try again",
    sqlite3.SQLITE_IOERR: "the disk does not work, is full, or a limit on file size was reached; see to it and try again",
    sqlite3.SQLITE_BUSY: "another program has kept it locked for a minute; close that program and try again",
    sqlite3.SQLITE_PERM: "there is no permission to use it; change the permissions of the file, or give another path",
}

# By SQLSTATE, or its first two characters.
_POSTGRESQL = {
    "25006": "the server is read-only; give the address of the primary server",
    "42501": "this user may not do that; GRANT it the right to create and use tables there, or give another user",
    "53100": "the server's disk is full, nothing was saved; free some space and try again",
    "53": "the server has no more connections or memory to give; try again later, or raise its limits",
    "55P03": "another session has kept a study locked for a minute; end that session and try again",
}


def described(url: URL) -> str:
    """The database by kind and place; a password is not part of it."""
    if url.get_backend_name() == "sqlite":
        return f"the SQLite database {url.database}"
    user = f"{url.username}@" if url.username else ""
    port = f":{url.port}" if url.port else ""
    return f"the PostgreSQL database postgresql://{user}{url.host or ''}{port}/{url.database or ''}"


@contextmanager
def translated(url: URL) -> Iterator[None]:
    """Every failure of the database as a StoreError."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error) as error:
        original = getattr(error, "orig", None) or error
        remedy = _sqlite_remedy(url, original) if url.get_backend_name() == "sqlite" else _postgresql_remedy(original)
        detail = " ".join(str(original).split())
        raise StoreError(f"cannot use {described(url)}: {remedy} ({detail})") from error


def sqlite_code(error: BaseException) -> int:
    """SQLite's primary result code of an error, its own or SQLAlchemy's around it; 0 for another error."""
    original = getattr(error, "orig", None) or error
    return getattr(original, "sqlite_errorcode", 0) & 0xFF


def _sqlite_remedy(url: URL, error: BaseException) -> str:
    code = sqlite_code(error)
    if code == sqlite3.SQLITE_CANTOPEN:
        return _why_not_opened(url.database or "")
    return _SQLITE.get(code, "SQLite refused; if the message that follows does not help, try a copy of the file")


def _why_not_opened(path: str) -> str:
    folder = os.path.dirname(path)
    if os.path.isdir(path):
        return "it is a folder; give the path of a file in it"
    if not os.path.exists(folder):
        return f"the folder {folder} does not exist; create it, or give another path"
    if not os.path.isdir(folder):
        return f"{folder} is not a folder; give another path"
    if os.path.exists(path) and not os.access(path, os.R_OK):
        return "there is no permission to read it; change the permissions of the file, or give another path"
    if not os.access(folder, os.W_OK):
        return f"no file can be made in the folder {folder}; make it writable, or give another path"
    return "the file cannot be opened; give the path of a file that can be read and written"


def _postgresql_remedy(error: BaseException) -> str:
    state = getattr(error, "sqlstate", None)
    if state is None or state.startswith(("08", "25P", "28", "3D", "57")):
        return (
            "there is no connection, or it was lost; check that the server runs and that address, database, user and password are "
            "right, then try again: nothing is stored twice"
        )
    return _POSTGRESQL.get(state) or _POSTGRESQL.get(state[:2], f"the server refused, with SQLSTATE {state}")
