"""`kill -9` of any process at any moment loses at most the evaluations then running, and the study always goes on.

Every process here is real and so is every kill. A process is forked from this one, so that it is at work at once, and writes what
it knows to be saved into a file of its own: a line before each objective starts, a line after each result was recorded.
"""

import os
import random
import signal
import time
import warnings

import postgres
import pytest

import farthing as ft
from farthing.trials import ABANDONED, COMPLETE, PENDING

KILLS = 100
"""Of each kind of store."""

AXES = {"x": ft.Real(0.0, 1.0), "y": ft.Real(0.0, 1.0)}
SETTINGS = ft.Settings(draws=1, sampler="map", support_points=10, starts=1, initial=3, confirm=False, overhead_price=1.0)


def bowl(x, y):
    return (x - 0.3) ** 2 + (y - 0.6) ** 2


@pytest.fixture(params=["sqlite", "postgresql"])
def fresh_store(request, tmp_path):
    """Gives the address of a new, empty store."""
    if request.param == "sqlite":
        return lambda number: str(tmp_path / f"{number}.db")
    try:
        postgres.server_url()
    except postgres.NoServer as reason:
        pytest.skip(f"no PostgreSQL: {reason}")
    return lambda number: postgres.fresh_database()


def at_work(store, log):
    """What the killed process does: run the study, and write down what is saved."""
    with open(log, "ab", buffering=0) as out:

        def objective(x, y):
            out.write(f"started {x!r} {y!r}\n".encode())
            return bowl(x, y)

        def told(study, trial):
            out.write(f"told {trial.number} {trial.value!r}\n".encode())

        ft.Study(AXES, store=store, method="random", seed=1, settings=SETTINGS).run(objective, evaluations=1000, callback=told)


def killed(store, log, lines, seconds):
    """Fork a process that is at work, and kill it so many seconds after it has written so many lines."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of forks beside threads; BLAS has some
        child = os.fork()
    if child == 0:
        try:
            at_work(store, log)
        finally:
            os._exit(1)
    until = time.monotonic() + 60.0
    while lines and not (log.exists() and log.read_bytes().count(b"\n") >= lines):
        assert time.monotonic() < until, "it does not get on"
        time.sleep(0.001)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), "it ended before it was killed; see its output above"
    assert os.WTERMSIG(status) == signal.SIGKILL


def check(store, logs):
    """The study opens, and has all that any of the processes knew to be saved, exactly once."""
    study = ft.Study.open(store)
    trials = study.trials
    assert [t.number for t in trials] == list(range(len(trials)))
    orders = sorted(t.order for t in trials if t.order is not None)
    assert orders == list(range(len(orders)))
    told, begun = {}, {(t.params["x"], t.params["y"]) for t in trials}
    for log in logs:
        for line in log.read_text().splitlines() if log.exists() else ():
            kind, first, second = line.split()
            if kind == "told":
                assert int(first) not in told, "one trial was told twice"
                told[int(first)] = float(second)
            else:
                assert (float(first), float(second)) in begun, "an objective started before its trial was saved"
    for number, value in told.items():
        assert trials[number].state == COMPLETE
        assert trials[number].value == value == bowl(**trials[number].params)
    complete = [t.number for t in trials if t.state == COMPLETE]
    assert set(told) <= set(complete)
    # A result may be saved and the process killed before it could say so: one for each kill at most.
    assert len(complete) - len(told) <= len(logs)
    return study


def test_a_hundred_kills_lose_nothing_that_was_saved(fresh_store, tmp_path):
    rng = random.Random(7)
    ft.Study(AXES, store=fresh_store("warm"), seed=1, settings=SETTINGS, method="random").run(bowl, evaluations=5)  # imports all
    told = 0
    for database in range(KILLS // 20):
        store, logs = fresh_store(database), []
        for kill in range(20):
            logs.append(tmp_path / f"log-{database}-{kill}")
            # The first ones while the database is made, the others somewhere on the way from one line to the next.
            lines = 0 if kill < 5 else rng.randrange(12)
            killed(store, logs[-1], lines, rng.random() * (0.05 if lines == 0 else 0.01))
            if any(log.exists() and log.stat().st_size for log in logs):  # before, the study may not have been created
                study = check(store, logs)
        told += sum(t.state == COMPLETE for t in study.trials)
    assert told > KILLS, "the processes were killed before they did anything: this test shows nothing"


def test_a_killed_run_is_gone_on_with_and_its_trial_given_up(fresh_store, tmp_path):
    store, log = fresh_store(0), tmp_path / "log"

    def wait_until_busy(seconds=30.0):
        until = time.monotonic() + seconds
        while not (log.exists() and b"told 4 " in log.read_bytes()):
            assert time.monotonic() < until
            time.sleep(0.01)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:

        def slow(x, y):
            if log.read_bytes().count(b"told") == 5:
                time.sleep(600.0)
            return bowl(x, y)

        def told(study, trial):
            with log.open("ab") as out:
                out.write(f"told {trial.number} {trial.value!r}\n".encode())

        log.touch()
        try:
            ft.Study(AXES, store=store, method="random", seed=1, settings=SETTINGS).run(slow, evaluations=1000, callback=told)
        finally:
            os._exit(1)
    wait_until_busy()
    other = ft.Study.open(store)
    until = time.monotonic() + 30.0
    while len(other.trials) < 6:
        assert time.monotonic() < until
        time.sleep(0.01)
    # The live one is never robbed, however long it takes.
    other.run(bowl, evaluations=1)
    assert other.trials[5].state == PENDING
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    other.run(bowl, evaluations=1)
    trial = other.trials[5]
    assert trial.state == ABANDONED
    assert "ended without a result" in trial.reason
    # A result that comes after all is taken.
    assert other.tell(5, 0.25, cost=1.0).state == COMPLETE
