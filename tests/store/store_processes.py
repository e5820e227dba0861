"""The same function in many processes at once."""

import multiprocessing
import os
import signal
import traceback

from example_trials import complete

from farthing.store import migrations
from farthing.store.sql import SqlStore

# Each process is forked from one that has imported what they need and holds no connections; importing it anew takes seconds.
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["farthing.store.sql"])


def at_once(function, count, *arguments):
    """What function(i, *arguments) returned in each of `count` processes, which begin together."""
    barrier = CONTEXT.Barrier(count)
    pipes = [CONTEXT.Pipe(duplex=False) for _ in range(count)]
    processes = []
    for i, (_, writing) in enumerate(pipes):
        processes.append(CONTEXT.Process(target=_body, args=(writing, barrier, function, i, arguments)))
        processes[-1].start()
        # Closed here, so that a process that ends without an answer ends the wait for it.
        writing.close()
    answers = [reading.recv() for reading, _ in pipes]
    for process in processes:
        process.join(60)
    failures = [answer for answer, failed in answers if failed]
    assert not failures, failures[0]
    return [answer for answer, _ in answers]


def _body(writing, barrier, function, i, arguments):
    try:
        barrier.wait(60)
        writing.send((function(i, *arguments), False))
    except BaseException:
        writing.send((traceback.format_exc(), True))


def open_and_create(i, url):
    SqlStore(url).create(f"study {i}", {}, None, 0.0)


def make_tables_slowly(url, made, go_on):
    """Open a store, but before the new tables become visible tell of it and wait."""
    upgrade = migrations.upgrade

    def slow_upgrade(connection):
        upgrade(connection)
        made.set()
        go_on.wait(60)

    migrations.upgrade = slow_upgrade
    SqlStore(url)


def insert(i, store, count):
    """The numbers and orders of `count` trials, each inserted as soon as nobody else was faster."""
    done = []
    while len(done) < count:
        stored = store.insert("s", complete(store.studies("s")[0].trials, value=float(i)))
        if stored is not None:
            done.append((stored.number, stored.order))
    return done


def insert_and_die(store):
    store.insert("s", complete(0))
    os.kill(os.getpid(), signal.SIGKILL)


def die_within_a_transaction(store):
    with store._locked("s") as (connection, study):
        store._changed(connection, study, complete(0), added=1)
        os.kill(os.getpid(), signal.SIGKILL)
