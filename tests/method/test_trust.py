"""Trust: cheap evaluations are relied on for so long, then the place held for the best is looked at in full."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from filled import filled
from method.problems import history_of
from scipy.stats import norm

import farthing as ft
from farthing.method.beliefs import believe
from farthing.method.propose import propose
from farthing.method.situation import Situation
from farthing.method.trust import FIRST, NEAR, Standing, is_broken, is_disappointed, wants_check
from farthing.methods import PES, EnvPES
from farthing.report import why
from farthing.trials import COMPLETE, FAILED, Proposal, Recommendation, Trial

HERE = np.array([0.5])


def trial(number, kind, cost=1.0, s=0.5, value=0.0, x=0.9, state=COMPLETE, predicted=None):
    made = Proposal(kind, predicted_cost=predicted)
    return Trial(number, {"x0": x}, s, made, "s", state, value, cost, order=number if state == COMPLETE else None)


def history(*trials):
    numbered = tuple(replace(t, number=i) for i, t in enumerate(trials))
    return replace(history_of(np.empty((0, 2)), np.empty(0), fidelity=True), trials=numbered)


def due(*trials, full_cost=1.0, place=HERE):
    return wants_check(history(*trials), place, full_cost)


def cheap(cost):
    return trial(0, "acquisition", cost)


def check(value, promised=0.0, **rest):
    made = trial(0, "check", s=0.0, value=value, **rest)
    return replace(made, proposal=replace(made.proposal, recommendation=Recommendation({"x0": 0.9}, promised, 0.1)))


def test_a_check_is_due_once_twice_the_price_of_a_full_evaluation_has_been_spent():
    assert FIRST == 2.0
    assert not due(cheap(1.0), cheap(0.9))
    assert due(cheap(1.0), cheap(1.1))
    assert not due(cheap(1.0), cheap(1.1), full_cost=1.2)


def test_full_evaluations_count_a_tenth_and_neither_the_design_nor_what_was_added():
    apart = [trial(0, "initial", 10.0), trial(0, "initial", 10.0, s=0.0), trial(0, "added", 10.0), trial(0, "added", 10.0, s=0.0)]
    assert not due(*apart, trial(0, "acquisition", 10.0, s=0.0), cheap(0.9))
    assert due(*apart, trial(0, "acquisition", 10.0, s=0.0), cheap(1.0))
    assert not due(trial(0, "truth", 19.9, s=0.0))
    assert due(trial(0, "truth", 20.0, s=0.0))


def test_a_check_disappoints_if_it_is_worse_than_a_place_tried_at_full_fidelity_before():
    def disappoints(*trials):
        made = history(*[trial(0, "initial", value=9.0)] * 9, *trials)
        assert is_disappointed(made) == Standing.of(made).disappointed
        return is_disappointed(made)

    tried = trial(0, "acquisition", s=0.0, value=0.3)
    assert not disappoints(tried)
    assert disappoints(tried, check(0.4))
    assert not disappoints(tried, check(0.3))
    assert not disappoints(trial(0, "acquisition", s=0.1, value=0.3), check(0.4))
    assert not disappoints(check(0.4), tried)
    assert disappoints(tried, check(0.4), trial(0, "acquisition", s=0.0, value=0.1))
    assert not disappoints(tried, check(0.4), check(0.2))
    assert disappoints(tried, check(0.4), check(None, state=FAILED))


def test_without_a_fidelity_there_is_nothing_to_check():
    assert not is_disappointed(history_of(np.array([[0.1], [0.2]]), np.array([1.0, 2.0])))


def test_pending_trials_are_spent_as_predicted_and_a_pending_check_is_enough():
    waiting = trial(0, "acquisition", None, value=None, state="pending", predicted=1.5)
    assert due(cheap(1.0), waiting)
    assert not due(cheap(1.0), waiting, check(None, cost=None, state="pending", predicted=1.0))


def test_kept_promises_double_trust_and_a_broken_one_takes_it_back():
    before = [trial(0, "initial", value=1.0), cheap(2.0), trial(0, "acquisition", 0.0, value=1.0)]
    kept, broken = check(0.4), check(0.6)  # promised 0, and 1 is usual
    assert not due(*before, kept, cheap(3.9))
    assert due(*before, kept, cheap(4.0))
    assert not due(*before, kept, cheap(4.0), check(-3.0), cheap(7.9))
    assert due(*before, kept, cheap(4.0), check(-3.0), cheap(8.0))
    assert not due(*before, kept, cheap(4.0), broken, cheap(1.9))
    assert due(*before, kept, cheap(4.0), broken, cheap(2.0))


def test_what_is_usual_is_the_median_of_what_was_seen_before_at_any_fidelity():
    seen = [trial(0, "initial", value=v, s=s) for v, s in ((0.2, 0.5), (1.0, 0.0), (50.0, 1.0))]
    assert due(*seen, check(0.6), cheap(2.0))
    assert not due(*seen, check(0.4), cheap(2.0))
    assert due(*seen, check(0.6), cheap(2.0), trial(0, "acquisition", 0.0, value=90.0), trial(0, "acquisition", 0.0, value=90.0))
    assert not due(*seen, check(0.6, promised=0.3), cheap(2.0))


def test_a_check_that_failed_tells_nothing_of_trust():
    failed = check(None, state=FAILED)
    before = [trial(0, "initial", value=1.0), check(0.4)]
    assert not due(*before, cheap(4.0), failed, cheap(3.9))
    assert due(*before, cheap(4.0), failed, cheap(4.0))


def test_a_broken_promise_owes_what_was_spent_on_cheap_evaluations_and_full_ones_pay_for_it():
    usual = [trial(0, "initial", value=1.0)] * 9
    kept, broken = check(0.4), check(0.6)

    def owed(*trials):
        standing = Standing.of(history(*usual, *trials))
        assert is_broken(history(*usual, *trials)) == (standing.owed > 0.0)
        return standing.owed

    def full(cost, kind="truth"):
        return trial(0, kind, cost, s=0.0, value=1.0)

    assert owed(cheap(1.5), cheap(0.7)) == 0.0
    assert owed(cheap(1.5), cheap(0.7), kept) == 0.0
    assert owed(cheap(1.5), cheap(0.7), broken) == pytest.approx(2.2)
    assert owed(cheap(2.2), broken, full(0.9)) == pytest.approx(1.3)
    assert owed(cheap(2.2), broken, full(0.9, "acquisition")) == pytest.approx(1.3)
    assert owed(cheap(2.2), broken, full(0.9), full(5.0)) == 0.0
    assert owed(cheap(2.2), broken, full(5.0), cheap(3.0), broken) == pytest.approx(3.0)  # there is no credit
    assert owed(cheap(2.2), broken, cheap(3.0), broken) == pytest.approx(5.2)
    assert owed(cheap(2.2), broken, cheap(3.0), kept) == 0.0
    assert owed(cheap(2.2), check(None, state="pending", cost=None, predicted=1.0)) == 0.0


def test_a_place_next_to_one_evaluated_at_full_fidelity_needs_no_check():
    def near(distance, s):
        return due(cheap(2.0), trial(0, "acquisition", s=s, x=0.5 + distance))

    assert not near(0.9 * NEAR, 0.0)
    assert near(1.1 * NEAR, 0.0)
    assert near(0.0, 0.1)


def overfits(x, s):
    """Falls with the fidelity wherever x is high, and rises there in the end."""
    done = 1.0 - s
    return float(np.exp(-(1.0 + 5.0 * x) * done) + 4.0 * x * max(0.0, done - 0.8))


def sure(method, seed=0, spent=8):
    """A study that has spent a while on cheap evaluations, after a design, and has one full one where x is low."""
    settings = ft.Settings(confirm=False, thinking_share=1.0, initial=1, overhead_price=0.0)
    study = ft.Study({"x": ft.Real(0.0, 1.0)}, fidelity=ft.Fidelity("s", 1.0, 0.0), method=method, seed=seed, settings=settings)
    made = [(0.1, 0.0)] + [(x, s) for s in (0.8, 0.5, 0.25) for x in np.linspace(0.0, 1.0, spent)]
    rows = [
        Trial(
            i,
            {"x": float(x)},
            float(s),
            Proposal("acquisition" if i else "initial"),
            "s",
            COMPLETE,
            overfits(x, s),
            1.0 if s == 0.0 else 0.1,
            order=i,
        )
        for i, (x, s) in enumerate(made)
    ]
    return filled(study, rows)


@pytest.mark.parametrize("seed", range(3))
def test_a_study_that_is_sure_by_cheap_evaluations_checks_and_learns(seed):
    study = sure("envpes", seed)
    believed = study.recommend()
    assert overfits(believed.params["x"], 0.0) > overfits(0.1, 0.0)  # it would recommend what overfits
    asked = study.ask()
    assert asked.proposal.kind == "check"
    assert asked.fidelity == 0.0
    assert asked.params["x"] == pytest.approx(believed.params["x"])
    assert why(asked) == "check: the place held for the best, at full fidelity"
    study.tell(asked, overfits(**asked.kwargs), cost=1.0)
    found = study.recommend().params["x"]
    assert overfits(found, 0.0) < overfits(believed.params["x"], 0.0)


def broken(method="envpes", seed=0):
    """The same study after a check that broke its promise."""
    study = sure(method, seed)
    asked = study.ask()
    assert asked.proposal.kind == "check"
    study.tell(asked, 5.0, cost=1.0)
    return study


@pytest.mark.parametrize("seed", range(3))
def test_after_a_broken_promise_improvement_at_full_fidelity_has_its_turn(seed):
    study = broken(seed=seed)
    spent, owed = 0.0, Standing.of(study.history).owed
    assert owed == pytest.approx(2.4)  # 24 cheap evaluations of 0.1
    while (asked := study.ask()).proposal.kind == "truth":
        assert asked.fidelity == 0.0
        assert why(asked) == "truth: a check broke its promise; the most to be gained at full fidelity"
        study.tell(asked, overfits(**asked.kwargs), cost=1.0)
        spent += 1.0
    assert spent == 3.0  # the least whole number of them
    assert {t.proposal.kind for t in study.trials[-4:-1]} == {"truth"}


def test_the_turn_goes_to_the_most_improvement_for_its_price():
    """Against the textbook's formula on a fine grid, the price being that of full fidelity there."""
    study = broken()
    situation = Situation(study.history, study.method, study.settings, 0, None, 0.0)
    beliefs = believe(situation)
    grid = np.column_stack([np.linspace(0.0, 1.0, 2001), np.zeros(2001)])
    mean, variance = beliefs.surrogate.process.marginals(grid)
    sd = np.sqrt(variance)
    z = (beliefs.minima.mean[0] - mean) / sd
    improvement = beliefs.surrogate.weights @ (sd * (z * norm.cdf(z) + norm.pdf(z)))
    rate = improvement / beliefs.cost(grid)
    point, proposal = propose(situation, beliefs)
    assert proposal.kind == "truth"
    chosen = round(2000 * point[0])
    assert point[1] == 0.0
    assert rate[chosen] > 0.99 * rate.max()


def test_a_study_without_checks_knows_no_broken_promise():
    study = broken()
    situation = Situation(study.history, EnvPES(check=False), study.settings, 0, None, 0.0)
    assert propose(situation, believe(situation))[1].kind == "acquisition"


def test_there_is_no_check_before_it_is_due():
    assert sure("envpes", spent=2).ask().proposal.kind != "check"


@pytest.mark.parametrize("method", [EnvPES(check=False), PES(), "ei", "fabolas"], ids=str)
def test_methods_that_do_not_check(method):
    assert sure(method).ask().proposal.kind != "check"


def test_a_check_beyond_what_is_left_is_not_made():
    study = sure("envpes")
    trials = study.trials
    study.run(lambda x, s: ft.Evaluation(overfits(x, s), cost=1.0 if s == 0.0 else 0.1), budget=sum(t.cost for t in trials) + 0.5)
    assert all(t.proposal.kind != "check" for t in study.trials)


def test_a_study_rebuilt_after_a_check_goes_on_the_same():
    study = sure("envpes")
    for _ in range(2):
        asked = study.ask()
        study.tell(asked, overfits(**asked.kwargs), cost=1.0 if asked.fidelity == 0.0 else 0.1)
    assert "check" in {t.proposal.kind for t in study.trials}
    fresh = ft.Study(study.space.axes, fidelity=study.space.fidelity, seed=0, settings=study.settings)
    again = filled(fresh, study.trials)
    expected, found = study.ask(), again.ask()
    assert (found.params, found.fidelity, found.proposal.kind) == (expected.params, expected.fidelity, expected.proposal.kind)


@pytest.mark.parametrize("flag", [1, None, "yes"])
def test_check_is_a_flag(flag):
    with pytest.raises(ft.SettingsError, match=r"check is .*; give True or False"):
        EnvPES(check=flag)
