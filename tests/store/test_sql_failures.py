"""What a user reads when a database fails: what happened and what to do; and that nothing is lost by it."""

import itertools
import os
import subprocess
import sys
import textwrap
from contextlib import contextmanager
from pathlib import Path

import pytest
from example_trials import complete, elaborate, pending
from sqlalchemy import NullPool

from farthing.errors import MissingExtra, StoreError
from farthing.store import database, open_store
from farthing.store.migrations import upgrade
from farthing.store.sql import SqlStore


def refused(where, match, cause=True):
    with pytest.raises(StoreError, match=match) as caught:
        open_store(where)
    assert (caught.value.__cause__ is not None) == cause
    return str(caught.value)


# ----------------------------------------------------------------------------------------------------------------- bad addresses


@pytest.mark.parametrize("content", [b"x", b"hello world\n" * 9, b"PK\x03\x04" * 5000, b"SQLite format 4\x00" * 100])
def test_a_file_that_is_no_database_is_refused_and_kept(tmp_path, content):
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    refused(path, "is not a (SQLite )?database.*give", cause=len(content) > 1)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {"notes.txt": content}


def test_an_empty_file_is_a_new_database(tmp_path):
    (tmp_path / "studies.db").touch()
    assert SqlStore(tmp_path / "studies.db").create("s", {}, None, 0.0)


def test_a_folder_is_not_taken_for_a_file(tmp_path):
    refused(tmp_path, "is a folder; give the path of a file in it")
    refused("", "is a folder")


def test_a_missing_folder_is_named(tmp_path):
    refused(tmp_path / "no" / "studies.db", f"the folder {tmp_path / 'no'} does not exist; create it")
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_place_of_a_folder_is_named(tmp_path):
    (tmp_path / "file").touch()
    refused(tmp_path / "file" / "studies.db", f"{tmp_path / 'file'} is not a folder")


@pytest.mark.parametrize(
    "where", ["mysql://me:secret@host/db", "http://host/studies.db", "postgresql+asyncpg://me:secret@host/db", "://"]
)
def test_an_unknown_kind_of_database_is_refused_with_those_there_are(where):
    assert "secret" not in refused(where, r"give a path, sqlite:///PATH or postgresql://", cause=False)


@pytest.mark.parametrize(
    "where", ["sqlite://studies.db", "sqlite:///studies.db?mode=ro", "sqlite://", "sqlite:///:memory:", ":memory:", "a\0b"]
)
def test_an_address_of_sqlite_is_a_path_and_no_more(where):
    refused(where, "give a path", cause=False)


@pytest.mark.parametrize(
    "where", ["postgresql://me:sec@ret@localhost:1/db", "postgresql://me:x@localhost:secret/db", "postgresql://me:secret@[::1/db"]
)
def test_an_address_that_cannot_be_read_gives_no_password_away(where):
    message = refused(where, "address", cause=False)
    assert "secret" not in message
    assert "ret@" not in message


def test_postgresql_without_its_driver_names_the_package_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtra, match=r'pip install "farthing\[postgres\]"') as caught:
        open_store("postgresql://me@localhost/db")
    assert isinstance(caught.value.__cause__, ImportError)


# ------------------------------------------------------------------------------------------------------------------ PostgreSQL


@pytest.mark.parametrize("host", ["@localhost:1/db", "@/db?host=/nowhere"], ids=["port", "socket"])
def test_a_server_out_of_reach_is_an_error_that_says_what_to_check(host):
    pytest.importorskip("psycopg")
    message = refused(f"postgresql://me:secret{host}", "check that the server runs")
    assert "secret" not in message
    assert "postgresql://me@" in message


def test_a_database_that_is_not_there_is_named(postgresql_url):
    refused(postgresql_url.replace("/fresh", "/stale"), 'stale.*check that the server runs.*"stale.*does not exist')


def test_a_wrong_password_is_an_error_that_does_not_repeat_it(postgresql_url):
    import psycopg

    with psycopg.connect(postgresql_url, autocommit=True) as connection:
        hba = Path(connection.execute("SHOW hba_file").fetchone()[0])
        name = f"guarded_{os.getpid()}"
        connection.execute(f"CREATE ROLE {name} LOGIN SUPERUSER PASSWORD 'right-secret'")
        hba.write_text(f"local all {name} scram-sha-256\n" + hba.read_text())
        connection.execute("SELECT pg_reload_conf()")
    right = postgresql_url.replace("postgres:@", "postgres@").replace("postgres@", f"{name}:right-secret@")
    assert SqlStore(right).create("s", {}, None, 0.0)
    message = refused(right.replace("right-secret", "wrong-secret"), "user and password are right.*password authentication failed")
    assert "wrong-secret" not in message
    assert f"postgresql://{name}@" in message


def test_a_user_without_rights_is_told_which(postgresql_url):
    import psycopg

    with psycopg.connect(postgresql_url, autocommit=True) as connection:
        name = f"guest_{os.getpid()}"
        connection.execute(f"CREATE ROLE {name} LOGIN")
        connection.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    refused(
        postgresql_url.replace("postgres:@", "postgres@").replace("postgres@", f"{name}@"), "GRANT it the right.*permission denied"
    )


def test_a_connection_lost_amid_a_call_says_that_trying_again_is_safe(postgresql_url):
    store = SqlStore(postgresql_url)
    store.create("s", {}, None, 0.0)
    with pytest.raises(StoreError, match=r"was lost.*nothing is stored twice"), store._locked("s") as (connection, _):
        connection.exec_driver_sql("SELECT pg_terminate_backend(pg_backend_pid())")
    assert store.insert("s", complete(0)) is not None


# ------------------------------------------------------------------------------------------------------------------------ locks


def test_a_lock_that_another_program_keeps_is_an_error_after_a_while(url, monkeypatch):
    one = SqlStore(url)
    one.create("s", {}, None, 0.0)
    monkeypatch.setattr(database, "PATIENCE_SECONDS", 0.3)
    other = SqlStore(url)
    with one._locked("s"), pytest.raises(StoreError, match=r"locked for a minute; (close|end)"):
        other.insert("s", complete(0))
    assert other.insert("s", complete(0)) is not None


def test_a_process_that_slept_amid_a_transaction_does_not_hold_up_the_others(postgresql_url, monkeypatch):
    """As one whose machine vanished: the server ends its session."""
    store = SqlStore(postgresql_url)
    store.create("s", {}, None, 0.0)
    monkeypatch.setattr(database, "PATIENCE_SECONDS", 0.3)
    sleeper = SqlStore(postgresql_url)
    with pytest.raises(StoreError, match=r"was lost.*nothing is stored twice"), sleeper._locked("s"):
        assert store.insert("s", complete(0)) is not None
    assert sleeper.insert("s", complete(1)) is not None


def test_readers_do_not_wait_for_a_writer(url):
    one, other = SqlStore(url), SqlStore(url)
    one.create("s", {}, None, 0.0)
    with one._locked("s") as (connection, study):
        one._changed(connection, study, complete(0), added=1)
        assert other.changes("s", 0) == ([], 0)
        assert len(other.studies()) == 1


# ------------------------------------------------------------------------------------------------------------------ read-only


def command(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"{words[0]} does not work here: {done.stderr.strip()}")


@contextmanager
def immutable(*paths):
    """Nobody may write to these, not even root."""
    done = []
    try:
        for path in paths:
            command("chattr", "+i", str(path))
            done.append(path)
        yield
    finally:
        for path in done:
            subprocess.run(["chattr", "-i", str(path)], check=True)


@pytest.fixture
def written(tmp_path):
    """The path of a database with a study and a trial in it, alone in its folder."""
    path = tmp_path / "folder" / "studies.db"
    path.parent.mkdir()
    store = SqlStore(path)
    store.create("s", {"x": 1}, 2.5, 0.0)
    store.insert("s", elaborate(0))
    store.close()
    assert os.listdir(path.parent) == ["studies.db"]
    return path


@pytest.mark.parametrize("sealed", ["file", "file and folder", "folder"])
def test_a_read_only_database_can_be_read_and_says_why_it_cannot_be_written(written, sealed):
    """In a folder where no file can be made, SQLite refuses to open a database that has a write-ahead log."""
    paths = {"file": [written], "file and folder": [written, written.parent], "folder": [written.parent]}[sealed]
    with immutable(*paths):
        store = SqlStore(written)
        assert [study.definition for study in store.studies()] == [{"x": 1}]
        assert repr(store.changes("s", 0)[0][0].params) == repr(elaborate(0).params)
        for write in (
            lambda: store.insert("s", pending(1)),
            lambda: store.set_budget("s", 1.0),
            lambda: store.create("t", {}, None, 0.0),
        ):
            with pytest.raises(StoreError, match=r"read-only.*make the file and its folder writable"):
                write()
        assert store.studies()[0].trials == 1
        store.close()
    assert SqlStore(written).insert("s", pending(1)) is not None


def test_a_read_only_file_system_can_be_read(written, tmp_path):
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    command("mount", "--bind", str(written.parent), str(mounted))
    try:
        command("mount", "-o", "remount,ro,bind", str(mounted))
        store = SqlStore(mounted / "studies.db")
        assert len(store.changes("s", 0)[0]) == 1
        with pytest.raises(StoreError, match="read-only"):
            store.insert("s", pending(1))
        # What somebody else writes elsewhere meanwhile is seen, once it has left the log.
        writer = SqlStore(written)
        writer.insert("s", pending(1))
        writer.close()
        assert len(store.changes("s", 0)[0]) == 2
        store.close()
    finally:
        subprocess.run(["umount", "-l", str(mounted)], check=True)


def test_a_new_database_in_a_read_only_folder_is_refused(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    with immutable(folder):
        refused(folder / "studies.db", f"no file can be made in the folder {folder}")


def test_an_old_read_only_database_says_why_it_cannot_be_brought_up_to_date(tmp_path):
    path = tmp_path / "studies.db"
    with database.begun(database._engine(database.address(path), NullPool)) as connection:
        upgrade(connection, "0001")
    with immutable(path):
        refused(path, "read-only")
    SqlStore(path)


# ------------------------------------------------------------------------------------------------------------------ full, damaged


def test_a_result_that_does_not_fit_is_an_error_and_the_database_goes_on_working_when_it_does(tmp_path):
    """A limit on the size of files, which the kernel enforces as it does a full disk."""
    code = """
        import resource, sys
        from example_trials import complete, elaborate, pending
        from farthing.errors import StoreError
        from farthing.store.sql import SqlStore

        store = SqlStore(sys.argv[1])
        store.create("s", {}, None, 0.0)
        store.insert("s", pending(0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, resource.RLIM_INFINITY))
        stored = 1
        try:
            while stored < 1000:
                store.insert("s", elaborate(stored))
                stored += 1
        except StoreError as error:
            print(error)
        assert 1 < stored < 1000
        try:
            store.finish("s", elaborate(0))
        except StoreError as error:
            print(error)
        else:
            sys.exit("the result was taken")
        trials, revision = store.changes("s", 0)
        assert [trial.number for trial in trials] == list(range(stored)) and trials[0].state == "pending", trials
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert store.finish("s", complete(0)).order == stored - 1
        assert store.insert("s", complete(stored)) is not None
        assert SqlStore(sys.argv[1]).changes("s", 0)[1] == revision + 2
    """
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])}
    words = [sys.executable, "-c", textwrap.dedent(code), str(tmp_path / "studies.db")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("try again") == 2


def fill(store):
    for number in itertools.count():
        store.insert("s", elaborate(number))


def test_a_full_disk_is_named_and_the_database_goes_on_working_when_there_is_space(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    command("mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(disk))
    try:
        store = SqlStore(disk / "studies.db")
        store.create("s", {}, None, 0.0)
        (disk / "ballast").write_bytes(bytes(250_000))
        with pytest.raises(StoreError, match="the disk is full, nothing was saved; free some space"):
            fill(store)
        stored = store.studies()[0].trials
        assert 0 < stored < 1000
        assert len(store.changes("s", 0)[0]) == stored
        (disk / "ballast").unlink()
        assert store.insert("s", elaborate(stored)) is not None
        store.close()
        assert len(SqlStore(disk / "studies.db").changes("s", 0)[0]) == stored + 1
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_damaged_database_is_an_error_that_says_so(tmp_path):
    path = tmp_path / "studies.db"
    store = SqlStore(path)
    store.create("s", {}, None, 0.0)
    for number in range(20):
        store.insert("s", elaborate(number))
    store.close()
    content = bytearray(path.read_bytes())
    content[3 * 4096 :] = b"\xff" * (len(content) - 3 * 4096)
    path.write_bytes(content)
    with pytest.raises(StoreError, match="damaged; restore it from a copy"):
        SqlStore(path).changes("s", 0)
