"""Repeats: the cheapest evaluation is made twice, and what was seen counts by whether it was seen again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from filled import filled
from method.problems import history_of, known_surrogate

import farthing as ft
from farthing.method.local_minima import find_local_minima
from farthing.method.recommend import best_by_mean, recommend
from farthing.method.trust import Standing
from farthing.report import why
from farthing.trials import FAILED, PENDING, Proposal

SPACE = {"x": ft.Real(0.0, 1.0), "y": ft.Real(1e-3, 1e2, log=True)}


def bowl(x, y, s):
    return (x - 0.3) ** 2 + (np.log10(y) + 1.0) ** 2 / 25.0 + 0.1 * s


def evaluated(trials=13, sd=0.0, budget=100.0, method="envpes", stated=None, **settings):
    """A study after so many evaluations, which cost up to twenty times as much as the cheapest.

    sd: of what is added to the values; stated: what is said of it.
    """
    rng = np.random.default_rng(0)
    fidelity = ft.Fidelity("s", cheap=1.0, full=0.0)
    chosen = ft.Settings(overhead_price=0.0, **settings)
    study = ft.Study(SPACE, fidelity=fidelity, budget=budget, method=method, seed=0, settings=chosen)
    for _ in range(trials):
        trial = study.ask()
        value = bowl(**trial.kwargs) + sd * rng.standard_normal()
        study.tell(trial, value, cost=0.05 + 0.95 * (1.0 - trial.fidelity) ** 2, noise=stated)
    return study


def kinds(study):
    return [trial.proposal.kind for trial in study.trials]


def test_after_the_design_the_cheapest_evaluation_is_made_once_more_and_not_again():
    study = evaluated()
    assert kinds(study).index("repeat") == study.settings.initial
    assert kinds(study).count("repeat") == 1
    repeat, design = study.trials[10], study.trials[:10]
    cheapest = min(design, key=lambda trial: trial.cost)
    assert repeat.params == pytest.approx(cheapest.params, rel=1e-12)
    assert repeat.fidelity == pytest.approx(cheapest.fidelity, rel=1e-12)
    assert repeat.proposal.predicted_cost == pytest.approx(cheapest.cost, rel=0.2)
    assert "same value again" in why(repeat)


@pytest.mark.parametrize(
    "where",
    [
        {"budget": None},  # where evaluations are counted, one is not worth it
        {"budget": 2.0},  # of which the cheapest costs more than a fiftieth
        {"stated": 0.01},
        {"noise": 0.0},
        {"repeatable": 0.0},
        {"repeatable": 1.0},
        {"method": "ei"},
        {"method": "fabolas"},
    ],
)
def test_no_repeat_where_it_is_known_already_or_not_worth_it(where):
    assert "repeat" not in kinds(evaluated(12, **where))


def test_a_repeat_under_way_or_failed_is_not_made_again():
    study = evaluated(10)
    under_way = study.ask()
    assert under_way.proposal.kind == "repeat"
    other = study.ask()
    assert other.proposal.kind != "repeat"
    study.fail(under_way, "out of memory")
    assert study.history.repeatable is None
    assert study.ask().proposal.kind != "repeat"


@pytest.mark.parametrize(("noise", "same"), [(0.0, True), (0.01, False)])
def test_the_values_tell_whether_an_objective_is_repeatable(noise, same):
    study = evaluated(10, noise)
    assert study.history.repeatable is None
    assert evaluated(11, noise).history.repeatable is same


def test_what_a_repeat_gave_is_no_observation_but_is_paid_for():
    study = evaluated(11)
    history = study.history
    assert len(history) == 10 == len(history.points) == len(history.values) == len(history.costs[1])
    assert history.spent == pytest.approx(sum(trial.cost for trial in study.trials))
    assert Standing.of(history).spent == 0.0


def test_a_study_rebuilt_goes_on_as_it_would_have():
    study = evaluated(11, 0.01)
    again = filled(ft.Study(SPACE, fidelity=study.space.fidelity, budget=100.0, seed=0, settings=study.settings), study.trials)
    assert again.history.repeatable is False
    assert study.ask().params == again.ask().params


GRID = np.linspace(0.0, 1.0, 21)


def rough(again, settings=None, state="complete"):
    """What is recommended of a bowl with one low place, after a repeat that gave `again` where 0.02 was seen, and by the mean."""
    values = (GRID - 0.5) ** 2 * 8.0 - 0.3 * (np.abs(GRID - 0.35) < 0.01)
    points = np.column_stack([GRID, np.zeros(21)])
    surrogate = known_surrogate(points, values, 1, [[0.4, 1.0]], noise=0.3)
    minima = find_local_minima(surrogate, None, np.random.default_rng(0))
    history = history_of(points, values, fidelity=True)
    first = history.trials[9]
    assert first.value == pytest.approx(0.02)
    repeat = replace(first, number=21, order=21, value=again, state=state, proposal=Proposal("repeat"))
    history = replace(history, trials=(*history.trials, repeat))
    found = recommend(history, surrogate, minima, settings or ft.Settings())
    return found.params["x0"], best_by_mean(history, surrogate, minima)[0]


def test_what_was_seen_counts_in_full_if_it_was_seen_again_and_not_at_all_if_it_was_not():
    """Halfway to what was seen is above the mean's minimum here, so that only a repeat decides for the low place."""
    low = pytest.approx(0.35)
    same, by_mean = rough(0.02)
    assert same == low
    assert rough(0.02, ft.Settings(repeatable=0.0))[0] == pytest.approx(by_mean) != low
    assert rough(0.03)[0] == pytest.approx(by_mean)
    assert rough(0.03, ft.Settings(repeatable=1.0))[0] == low
    for unknown in (PENDING, FAILED):
        assert rough(0.02, state=unknown)[0] == pytest.approx(by_mean)
