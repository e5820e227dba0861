"""One database and many processes: started together, forked, killed, cut off."""

import os
import pickle
import sqlite3
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest
from example_trials import complete, pending
from store_processes import CONTEXT, at_once, die_within_a_transaction, insert, insert_and_die, make_tables_slowly, open_and_create

from farthing.store.sql import SqlStore


@pytest.fixture
def store(url):
    made = SqlStore(url)
    made.create("s", {}, None, 0.0)
    yield made
    made.close()


def test_eight_processes_that_open_a_new_database_do_not_collide(url):
    at_once(open_and_create, 8, url)
    assert [study.name for study in SqlStore(url).studies()] == [f"study {i}" for i in range(8)]


def test_a_database_that_another_process_is_just_making_is_waited_for(url):
    """Two that make the tables at the same time would get in each other's way."""
    made, go_on = CONTEXT.Event(), CONTEXT.Event()
    process = CONTEXT.Process(target=make_tables_slowly, args=(url, made, go_on))
    process.start()
    assert made.wait(60)
    threading.Timer(0.5, go_on.set).start()
    SqlStore(url).create("s", {}, None, 0.0)
    assert go_on.is_set()
    process.join(60)
    assert process.exitcode == 0
    assert len(SqlStore(url).studies()) == 1


def test_a_new_file_that_another_process_has_locked_is_waited_for(tmp_path):
    """SQLite does not wait for the lock that a write-ahead log needs."""
    path = tmp_path / "studies.db"
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("PRAGMA user_version = 1")
    other.execute("BEGIN IMMEDIATE")
    threading.Timer(0.5, other.execute, ["COMMIT"]).start()
    assert SqlStore(path).create("s", {}, None, 0.0)
    assert other.execute("PRAGMA journal_mode").fetchall() == [("wal",)]
    other.close()


def test_eight_processes_lose_no_trial_and_give_no_number_twice(store):
    inserted = sorted(pair for pairs in at_once(insert, 8, store, 50) for pair in pairs)
    assert inserted == [(number, number) for number in range(400)]
    trials, revision = store.changes("s", 0)
    assert [(trial.number, trial.order) for trial in trials] == inserted
    assert sorted(trial.value for trial in trials) == sorted([float(i) for i in range(8)] * 50)
    assert revision == 400


def kill(target, store):
    process = CONTEXT.Process(target=target, args=(store,))
    process.start()
    process.join(60)
    assert process.exitcode == -9


def test_a_trial_survives_the_process_that_was_killed_after_storing_it(store):
    kill(insert_and_die, store)
    assert [trial.value for trial in store.changes("s", 0)[0]] == [1.0]


def test_a_process_killed_amid_a_transaction_leaves_neither_half_a_trial_nor_a_lock(store):
    kill(die_within_a_transaction, store)
    assert store.changes("s", 0) == ([], 0)
    assert store.insert("s", complete(0)).order == 0


def run(code, *arguments):
    """In a fresh interpreter, so that no test forks pytest itself; what it printed."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", textwrap.dedent(code), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_a_forked_child_stores_survives_its_parent_closing_the_store(store, url):
    """With a connection inherited, SQLite's log is removed under the child, and PostgreSQL's two clients talk on one line."""
    # Closed here too: SQLite removes its log when the last connection is closed.
    store.close()
    run(
        """
        import os, sys
        from example_trials import complete
        from farthing.store.sql import SqlStore

        store = SqlStore(sys.argv[1])
        store.changes("s", 0)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            store.changes("s", 0)
            os.read(reading, 1)
            store.insert("s", complete(0, 42.0))
            os._exit(0)
        store.changes("s", 0)
        store.close()
        os.write(writing, b"!")
        assert os.waitpid(child, 0)[1] == 0
        """,
        url,
    )
    assert [trial.value for trial in store.changes("s", 0)[0]] == [42.0]


def test_a_fork_amid_the_calls_of_other_threads_neither_hangs_nor_loses_a_trial(store, url):
    run(
        """
        import os, sys, threading
        from store_processes import insert
        from farthing.store.sql import SqlStore

        store = SqlStore(sys.argv[1])
        threads = [threading.Thread(target=insert, args=(0, store, 20)) for _ in range(2)]
        for thread in threads:
            thread.start()
        children = []
        for _ in range(5):
            children.append(os.fork())
            if children[-1] == 0:
                insert(1, store, 2)
                os._exit(0)
        for thread in threads:
            thread.join()
        assert [os.waitpid(child, 0)[1] for child in children] == [0] * 5
        """,
        url,
    )
    assert [trial.number for trial in store.changes("s", 0)[0]] == list(range(50))


def test_a_pickled_store_is_its_address_and_opens_the_same_database(store):
    store.insert("s", pending(0))
    text = pickle.dumps(store)
    assert b"Engine" not in text
    other = pickle.loads(text)
    other.finish("s", complete(0))
    assert store.changes("s", 1)[0][0].state == "complete"
    other.close()


def test_a_relative_path_means_the_same_file_after_a_change_of_folder(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    store = SqlStore("studies.db")
    store.create("s", {}, None, 0.0)
    store.close()
    monkeypatch.chdir("elsewhere")
    assert len(store.studies()) == 1
    assert len(pickle.loads(pickle.dumps(store)).studies()) == 1
    assert os.listdir() == []


def test_a_closed_store_can_be_used_again(store):
    store.close()
    assert store.insert("s", complete(0)) is not None


def test_a_connection_cut_by_the_server_is_made_anew(postgresql_url):
    import psycopg

    store = SqlStore(postgresql_url)
    store.create("s", {}, None, 0.0)
    for number in range(2):
        with psycopg.connect(postgresql_url, autocommit=True) as connection:
            others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            cut = connection.execute(f"SELECT pg_terminate_backend(pid, 10000) {others}").fetchall()
        assert cut == [(True,)]
        assert store.insert("s", complete(number)) is not None
    assert len(store.changes("s", 0)[0]) == 2
