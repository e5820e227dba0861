"""A real PostgreSQL server for the tests, started on first use and stopped when the process ends.

By pgserver if it is installed, else by the initdb and pg_ctl of the machine, as an unprivileged user where the tests run as root.
"""

from __future__ import annotations

import atexit
import functools
import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path
from unittest import mock

_numbers = itertools.count()


class NoServer(Exception):  # noqa: N818
    """There is no PostgreSQL here, and why."""


def server_url() -> str:
    """Of the `postgres` database, as a user who may do anything. NoServer where there is none."""
    found = _server()
    if isinstance(found, NoServer):
        raise found
    return found


def fresh_database() -> str:
    """The URL of a new, empty database."""
    import psycopg

    name = f"fresh_{os.getpid()}_{next(_numbers)}"
    with psycopg.connect(server_url(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return server_url().replace("/postgres?", f"/{name}?")


@functools.cache
def _server() -> str | NoServer:
    """The server's URL or the reason why there is none, which is kept too: an attempt takes its time."""
    try:
        import psycopg
    except ImportError as error:
        return NoServer(f"psycopg cannot be imported: {error}")
    folder = Path(tempfile.mkdtemp(prefix="farthing-postgres-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    folder.chmod(0o755)
    runtime = folder / "runtime"
    runtime.mkdir(mode=0o700)
    try:
        # It keeps a lock where this variable says, and warns where that is not a private folder.
        with mock.patch.dict(os.environ, XDG_RUNTIME_DIR=str(runtime)):
            import pgserver
    except ImportError:
        try:
            url = _started_by_pg_ctl(folder)
        except NoServer as reason:
            return reason
    else:
        # It stops the server and removes the data by itself, at exit.
        url = pgserver.get_server(folder / "data", cleanup_mode="delete").get_uri()
    with psycopg.connect(url, autocommit=True) as connection:
        # Tests write much and need not survive a power cut.
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("SELECT pg_reload_conf()")
    return url


def _started_by_pg_ctl(folder: Path) -> str:
    initdb, pg_ctl = _program("initdb"), _program("pg_ctl")
    user = None
    if os.geteuid() == 0:
        # PostgreSQL refuses to run as root.
        user = next((name for name in ("postgres", "nobody") if _exists(name)), None)
        if user is None:
            raise NoServer("the tests run as root, and there is no user postgres or nobody to run the server")
        os.chown(folder, pwd.getpwnam(user).pw_uid, pwd.getpwnam(user).pw_gid)
    data = folder / "data"

    def run(*command: str | Path) -> None:
        done = subprocess.run(command, user=user, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
        if done.returncode:
            raise NoServer(f"{Path(command[0]).name} failed: {done.stdout[-200:]} {done.stderr[-500:]}")

    run(initdb, "--auth=trust", "--encoding=utf8", "-U", "postgres", "-D", data)
    run(pg_ctl, "-w", "-D", data, "-l", folder / "log", "-o", f"-h '' -k {folder}", "start")
    atexit.register(run, pg_ctl, "-w", "-m", "fast", "-D", data, "stop")
    return f"postgresql://postgres@/postgres?host={folder}"


def _program(name: str) -> Path:
    found = shutil.which(name)
    candidates = [Path(found)] if found else sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    if not candidates:
        raise NoServer(f"neither pgserver nor {name} is installed")
    return candidates[-1]


def _exists(user: str) -> bool:
    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True
