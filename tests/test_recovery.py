"""What a study makes of bad luck: a store that is moved away or damaged, trials that nobody evaluates, Ctrl-C at a bad moment."""

import os
import signal
import sqlite3
import subprocess
import sys

import pytest

import farthing as ft
from farthing.trials import ABANDONED, COMPLETE, FAILED

AXES = {"x": ft.Real(0.0, 1.0), "kind": ft.Choice(["a", "b"])}
SMALL = ft.Settings(draws=1, sampler="map", support_points=20, starts=1, initial=3, overhead_price=0.0, confirm=False)


def bowl(x, kind):
    return ft.Evaluation((x - 0.3) ** 2 + (kind == "b"), cost=1.0)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "study.db"


def stored(path, evaluations=4, **options):
    study = ft.Study(AXES, store=path, seed=1, method="random", settings=SMALL, **options)
    study.run(bowl, evaluations=evaluations)
    return study


@pytest.mark.parametrize("how", ["removed", "renamed", "replaced"])
def test_a_file_that_is_taken_away_while_in_use_is_noticed_and_can_be_put_back(path, tmp_path, how):
    study = stored(path)
    trial = study.ask()
    away = tmp_path / "away.db"
    if how == "removed":
        os.link(path, away)  # so that it can be put back
        path.unlink()
    else:
        path.rename(away)
    if how == "replaced":
        stored(path, 1)
    with pytest.raises(ft.StoreError, match="was removed, renamed or replaced while in use; put it back"):
        study.tell(trial, 0.5, cost=1.0)
    if how == "replaced":
        return  # what lay beside the old file belongs to the new one now
    away.replace(path)
    assert study.tell(trial, 0.5, cost=1.0).value == 0.5
    assert ft.Study.open(path).trials == study.trials


def test_opening_a_file_that_is_not_there_does_not_make_it(path):
    with pytest.raises(ft.StudyNotFound, match=r"there is no file .*; check the path"):
        ft.Study.open(path)
    assert not path.exists()


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE studies SET definition = '{}'",
        "UPDATE studies SET definition = '[1]'",
        """UPDATE trials SET params = '{}'""",
        """UPDATE trials SET params = '{"x": 7.0, "kind": "a"}'""",
        """UPDATE trials SET params = '{"x": 0.5, "kind": "c"}'""",
        "UPDATE trials SET value = 'abc'",
        "UPDATE trials SET value = 9e999",
        "UPDATE trials SET value = NULL",
        "UPDATE trials SET cost = -1",
        "UPDATE trials SET state = 'lost'",
        "UPDATE trials SET proposal = '{}'",
    ],
)
def test_a_damaged_store_is_refused_in_words(path, damage):
    stored(path)
    with sqlite3.connect(path) as connection:
        connection.execute(damage)
    connection.close()
    with pytest.raises(ft.StoreError, match=r"damaged.* restore"):
        ft.Study.open(path).recommend()


def test_a_study_that_was_deleted_meanwhile_says_so_and_names_the_value(path):
    study = stored(path)
    trial = study.ask()
    study.store.delete("study")
    with pytest.raises(ft.StudyNotFound, match=r"there is no study 'study'"):
        study.tell(trial, 0.25, cost=1.0)


def test_a_study_that_was_deleted_and_made_anew_is_not_taken_for_the_old_one(path):
    study = stored(path)
    study.store.delete("study")
    stored(path, 1)
    with pytest.raises(ft.StoreError, match="deleted and made anew"):
        study.ask()


def test_pending_trials_that_hold_the_budget_are_named_and_can_be_given_up():
    study = ft.Study(AXES, seed=1, budget=7.0, settings=SMALL)
    for _ in range(3):
        study.tell(study.ask(), bowl("x" and 0.5, "a"))
    forgotten = [study.ask() for _ in range(4)]
    result = study.run(bowl)
    assert result.message.startswith("budget spent, ")
    assert "held for pending trials (3, 4, 5, 6); tell or abandon those that nobody evaluates" in result.message
    for trial in forgotten:
        assert study.abandon(trial).state == ABANDONED
    assert study.remaining == pytest.approx(4.0)
    assert study.run(bowl).nfev > 3


def test_where_costs_are_stated_one_that_is_missing_is_not_taken_for_seconds():
    study = ft.Study(AXES, seed=1, settings=SMALL, clock=iter(range(0, 10**9, 1000)).__next__)
    first, second = study.ask(), study.ask()
    study.tell(first, 1.0, cost=2.0)
    assert study.tell(second, 1.0).cost == 2.0  # an initial one: what the others cost
    while study.trials[-1].proposal.kind != "acquisition":
        trial = study.ask()
        study.tell(trial, trial.params["x"], cost=2.0)
    trial = study.ask()
    assert study.tell(trial, 1.0).cost == trial.proposal.predicted_cost
    assert study.fail(study.ask(), "no luck").cost < 100.0


def test_what_fails_at_ctrl_c_is_given_up_and_not_taken_for_a_failure():
    """The signal of a terminal reaches what the objective has started, and that dies of it."""
    study = ft.Study(AXES, seed=1, settings=SMALL, method="random")

    def objective(x, kind):
        if len(study.trials) == 3:
            os.kill(os.getpid(), signal.SIGINT)
            raise subprocess.CalledProcessError(-2, "simulate")
        return bowl(x, kind)

    result = study.run(objective, evaluations=10)
    assert [t.state for t in study.trials] == [COMPLETE, COMPLETE, ABANDONED]
    assert result.message.startswith("stopped by the keyboard")
    assert result.failures == 0


def test_ctrl_c_once_lets_the_running_evaluation_finish():
    study = ft.Study(AXES, seed=1, settings=SMALL, method="random")

    def objective(x, kind):
        if len(study.trials) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return bowl(x, kind)

    result = study.run(objective, evaluations=10)
    assert [t.state for t in study.trials] == [COMPLETE] * 3
    assert result.message.startswith("stopped by the keyboard")
    # The handler is the user's own again.
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_twice_gives_up_what_is_running():
    study = ft.Study(AXES, seed=1, settings=SMALL, method="random")

    def objective(x, kind):
        if len(study.trials) == 3:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)
            raise AssertionError("not reached")
        return bowl(x, kind)

    study.run(objective, evaluations=10)
    assert [t.state for t in study.trials] == [COMPLETE, COMPLETE, ABANDONED]


def test_ctrl_c_is_left_alone_in_processes_that_the_objective_forks():
    code = """
import os, signal, sys
import farthing as ft
def objective(x):
    child = os.fork()
    if child == 0:
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt:
            os._exit(7)
        os._exit(1)
    _, status = os.waitpid(child, 0)
    return float(os.WEXITSTATUS(status))
study = ft.Study({"x": ft.Real(0.0, 1.0)}, seed=1, method="random", settings=ft.Settings(confirm=False))
study.run(objective, evaluations=2)
print([t.value for t in study.trials])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout.strip(), done.stderr) == ("[7.0, 7.0]", "")


def test_a_failure_everywhere_is_an_error_that_names_the_last():
    study = ft.Study(AXES, seed=1, settings=SMALL)
    with pytest.raises(ft.ObjectiveFailed, match=r"every evaluation failed, last at .*ZeroDivisionError"):
        study.run(lambda x, kind: 1 / 0, evaluations=2)
    assert [t.state for t in study.trials] == [FAILED, FAILED]
