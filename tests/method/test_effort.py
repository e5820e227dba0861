"""Effort follows price: levels from recorded times alone, thinking within its share, quick proposals that search."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

import farthing as ft
from farthing.method.effort import FREE, LIGHT, MANY, NORMAL, Tally, affordable, draws_for
from farthing.method.quick import QUICK
from farthing.method.surrogate import fit_surrogate
from farthing.report import why
from farthing.space import Space
from farthing.trials import COMPLETE, Proposal, Trial

AXES = {"x": ft.Real(-5.0, 10.0), "y": ft.Real(0.0, 15.0)}
SMALL = {"draws": 2, "support_points": 40, "starts": 2}
MIXED = {
    "rate": ft.Real(1e-4, 1.0, log=True),
    "layers": ft.Integer(1, 8),
    "kind": ft.Choice(["a", "b", "c"]),
    "fixed": 3,
}


def branin(x, y):
    return (y - 5.1 / (4 * np.pi**2) * x**2 + 5 / np.pi * x - 6) ** 2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x) + 10 - 0.397887


class Time:
    """A clock on which an evaluation takes `evaluation` seconds, and a thought at each level what it is said to.

    Powers of two, whose sums and differences are exact.
    """

    LEVELS: ClassVar = {QUICK: 2.0**-13, LIGHT: 2.0**-6, NORMAL: 2.0**-2}

    def __init__(self, evaluation):
        self.now, self.evaluation = 0.0, evaluation

    def __call__(self):
        return self.now


@pytest.fixture
def timed(monkeypatch):
    """Studies on a clock of their own: what they think and evaluate takes the time that the clock says, and no other."""
    from farthing.thinking import Thinking

    quickly, believe = Thinking.quickly, Thinking.believe

    def passing(self, level):
        if isinstance(self._clock, Time):
            self._clock.now += Time.LEVELS[level]

    def timed_quickly(self, tally):
        passing(self, QUICK)
        return quickly(self, tally)

    def timed_believe(self, situation):
        passing(self, situation.effort)
        return believe(self, situation)

    monkeypatch.setattr(Thinking, "quickly", timed_quickly)
    monkeypatch.setattr(Thinking, "believe", timed_believe)

    def study(evaluation, axes=AXES, **options):
        settings = ft.Settings(**{**SMALL, **options.pop("settings", {})})
        return ft.Study(axes, **{"seed": 1, "settings": settings, "clock": Time(evaluation), "wall_clock": lambda: 0.0, **options})

    return study


def evaluate(study, objective=branin):
    """The objective, taking its time."""

    def timed_objective(**params):
        study._clock.now += study._clock.evaluation
        return objective(**params)

    return timed_objective


def efforts(study):
    return Counter(t.proposal.effort for t in study.trials)


# The rule ------------------------------------------------------------------------------------------------------------------------


def trials_of(count, seconds, overhead, effort=NORMAL):
    """Complete trials that took so long to evaluate and to think of."""
    made = Proposal("acquisition", effort=effort)
    return [
        Trial(i, {"x": 0.5}, None, made, state=COMPLETE, value=1.0, cost=seconds, overhead=overhead, order=i) for i in range(count)
    ]


SPACE = Space({"x": ft.Real(0.0, 1.0)})


@pytest.mark.parametrize(
    ("seconds", "level"), [(0.0, QUICK), (0.001, QUICK), (0.01, QUICK), (0.08, LIGHT), (2.0, NORMAL), (3600.0, NORMAL)]
)
def test_the_level_rises_with_the_time_of_an_evaluation(seconds, level):
    tally = Tally.of(SPACE, trials_of(20, seconds, 0.01, LIGHT))
    assert affordable(tally, ft.Settings(), scarce=False) == level


def test_where_evaluations_are_scarce_some_seconds_of_light_thinking_are_free():
    for thought, level in ((0.5 * FREE, LIGHT), (1.1 * FREE, QUICK)):
        tally = Tally.of(SPACE, trials_of(10, 1e-6, thought / 10, LIGHT))
        assert affordable(tally, ft.Settings(), scarce=True) == level
        assert affordable(tally, ft.Settings(), scarce=False) == QUICK


@pytest.mark.parametrize("settings", [{"thinking_share": 1.0}, {"overhead_price": 0.0}])
def test_without_a_bound_or_a_price_every_step_is_normal(settings):
    tally = Tally.of(SPACE, trials_of(20, 1e-6, 5.0))
    assert affordable(tally, ft.Settings(**settings), scarce=False) == NORMAL


def test_results_that_were_added_tell_what_evaluations_take():
    for cost, level in ((3600.0, NORMAL), (0.001, LIGHT), (None, LIGHT)):
        study = ft.Study(AXES, seed=0, settings=ft.Settings(overhead_price=1.0, **SMALL))
        for i in range(12):
            study.add({"x": float(i - 4), "y": 3.0}, branin(i - 4.0, 3.0), cost=cost)
        assert study.ask().proposal.effort == level
        assert study._journal.tally.spent == 0.0


def test_a_level_that_turns_out_dear_is_taken_more_rarely():
    """Settings that think for a minute are no reason to do so before an evaluation of two seconds."""
    for overhead, level in ((0.3, NORMAL), (0.55, LIGHT), (60.0, QUICK)):
        assert affordable(Tally.of(SPACE, trials_of(6, 2.0, overhead)), ft.Settings(), scarce=False) == level


def test_a_price_per_second_turns_costs_into_seconds():
    """20 euros an evaluation, at 10 euros a second of thinking, are two seconds."""
    for price, level in ((0.01, NORMAL), (10.0, NORMAL), (1e5, QUICK)):
        tally = Tally.of(SPACE, trials_of(20, 20.0, 0.01))
        assert affordable(tally, ft.Settings(overhead_price=price), scarce=False) == level


def test_a_tally_of_changes_is_the_tally_of_all():
    """Whatever comes in between looks: in batches, out of order, abandoned and told after all."""
    study = ft.Study(
        {"a": ft.Integer(0, 5), "b": ft.Choice(["u", "v"])}, seed=2, settings=ft.Settings(initial=3, overhead_price=1.0)
    )
    rng = np.random.default_rng(0)
    waiting = []
    for step in range(10):
        waiting.append(study.ask())
        if step % 3 == 2:
            rng.shuffle(waiting)
            study.fail(waiting.pop(), "no luck", cost=0.25)
            study.abandon(waiting[-1])
            study.tell(waiting.pop(), float(step), cost=1.0 + step)
    kept, anew = study._journal.tally, Tally.of(study.space, study.trials)
    assert kept.pending == anew.pending
    assert {k: v for k, v in vars(kept).items() if k != "search"} == {k: v for k, v in vars(anew).items() if k != "search"}
    assert (kept.search.step, kept.search.value) == (anew.search.step, anew.search.value)
    assert kept.spent == pytest.approx(study.history.spent)
    assert kept.thinking == pytest.approx(study.history.overhead_seconds)


# Runs ----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [2.0**-10, 2.0**-7, 2.0**-3, 1.0, 10.0])
def test_thinking_stays_within_its_share(timed, seconds):
    study = timed(seconds, settings={"thinking_share": 0.2, "confirm": False})
    count = 800 if seconds < 0.01 else 40
    study.run(evaluate(study), budget=1e6, callback=lambda _, trial: trial.number == count - 1)
    history = study.history
    share = history.overhead_seconds / (history.overhead_seconds + history.spent)
    assert len(study.trials) == count
    # One step may have taken more than was foretold.
    assert history.overhead_seconds <= 0.25 * history.spent + max(Time.LEVELS.values()) + 1e-9
    assert share < 0.4
    made = efforts(study)
    if seconds == 2.0**-10:
        assert made[QUICK] > 0.9 * count
        assert made[LIGHT] > 0  # now and then a model can be afforded
    if seconds == 2.0**-3:
        assert made[LIGHT] > 0.5 * count
    if seconds >= 10.0:
        assert made[NORMAL] == count - 1  # before the first evaluation nothing is known of its time


def test_effort_rises_with_the_time_of_an_evaluation(timed):
    thought = []
    for seconds in (0.001, 0.03, 0.3, 3.0):
        study = timed(seconds, settings={"confirm": False})
        study.run(evaluate(study), budget=1e6, callback=lambda _, trial: trial.number == 59)
        thought.append(study.history.overhead_seconds)
    assert thought == sorted(thought)
    assert thought[-1] > 20.0 * thought[0]


def test_a_toy_of_few_evaluations_gets_a_model(timed):
    """However short evaluations are, forty of them are to be used well."""
    study = timed(1e-6)
    result = study.run(evaluate(study), evaluations=40)
    assert efforts(study)[LIGHT] >= 29
    assert branin(**result.x) < 0.05


def test_the_paper_s_method_is_what_an_unbounded_share_gives(timed):
    study = timed(1e-6, settings={"thinking_share": 1.0, "initial": 3})
    study.run(evaluate(study), evaluations=6)
    assert set(efforts(study)) == {NORMAL}
    assert all(t.proposal.carried is not None for t in study.trials[1:])


def test_a_run_of_quick_steps_ends_with_a_confirmation_inside_its_budget(timed):
    study = timed(0.002, settings={"thinking_share": 0.01})
    result = study.run(evaluate(study), budget=0.5)
    assert efforts(study)[QUICK] > 100
    assert result.message == "budget spent"
    assert result.cost + result.overhead <= 0.5 + Time.LEVELS[LIGHT] + 0.002
    assert branin(**result.x) < 0.5


def test_a_target_ends_a_run_of_quick_steps_at_once(timed):
    study = timed(0.001, settings={"thinking_share": 1e-6})
    result = study.run(evaluate(study), target=0.05)
    assert set(efforts(study)) == {QUICK}
    assert why(study.trials[-1]) == "quick search: a model would take longer than it is worth"
    assert result.message == f"target reached by trial {study.trials[-1].number}"
    assert [t.value <= 0.05 for t in study.trials] == [False] * (len(study.trials) - 1) + [True]


@pytest.mark.parametrize("seconds", [2.0**-8, 2.0**-4, 0.5])
def test_a_study_in_a_database_goes_on_as_if_never_interrupted(timed, tmp_path, seconds):
    """Levels and proposals follow from the record: another study object on the same database makes the same ones."""
    settings = {"initial": 4, "confirm": False, "growth": 1.5}
    whole, cut = timed(seconds, settings=settings), timed(seconds, settings=settings, store=tmp_path / "study.db")
    count, half = 60, 31
    whole.run(evaluate(whole), budget=1e6, callback=lambda _, trial: trial.number == count - 1)
    cut.run(evaluate(cut), budget=1e6, callback=lambda _, trial: trial.number == half - 1)
    again = timed(seconds, settings=settings, store=tmp_path / "study.db")
    assert again is not cut
    again.run(evaluate(again), callback=lambda _, trial: trial.number == count - 1)
    assert len(set(efforts(whole))) > 1
    for a, b in zip(whole.trials, again.trials, strict=True):
        assert (a.params, a.proposal, a.value) == (b.params, b.proposal, b.value)


# Quick proposals -----------------------------------------------------------------------------------------------------------------

NO_THOUGHT = ft.Settings(thinking_share=1e-9)


def quick_study(axes, seed, objective, count, settings=NO_THOUGHT):
    study = ft.Study(axes, seed=seed, settings=settings, clock=lambda: 0.0)
    study.run(objective, budget=1e9, callback=lambda _, trial: trial.number == count - 1)
    assert set(efforts(study)) == {QUICK}
    return study


def hartmann6(**x):
    alpha = np.array([1.0, 1.2, 3.0, 3.2])
    a = np.array([[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]])
    p = 1e-4 * np.array(
        [
            [1312, 1696, 5569, 124, 8283, 5886],
            [2329, 4135, 8307, 3736, 1004, 9991],
            [2348, 1451, 3522, 2883, 3047, 6650],
            [4047, 8828, 8732, 5743, 1091, 381],
        ]
    )
    return float(-alpha @ np.exp(-(a * (np.array(list(x.values())) - p) ** 2).sum(axis=1))) + 3.32237


@pytest.mark.parametrize(
    ("axes", "objective"),
    [(AXES, branin), ({f"x{i}": ft.Real(0.0, 1.0) for i in range(6)}, hartmann6)],
    ids=["branin", "hartmann6"],
)
def test_quick_search_is_far_better_than_random(axes, objective):
    """Median regret after a hundred evaluations a tenth of that of as many random ones (Branin), or a third (Hartmann)."""
    count, low, high = 100, [a.low for a in axes.values()], [a.high for a in axes.values()]
    quick, random = [], []
    for seed in range(15):
        quick.append(min(t.value for t in quick_study(axes, seed, objective, count).trials))
        points = np.random.default_rng(seed).uniform(low, high, (count, len(axes)))
        random.append(min(objective(**dict(zip(axes, p, strict=True))) for p in points))
    assert np.median(quick) < (0.1 if objective is branin else 1 / 3) * np.median(random)


def test_quick_proposals_lie_in_mixed_spaces_and_find_the_best_choice():
    def loss(rate, layers, kind, fixed):
        return (math.log10(rate) + 2.0) ** 2 + 0.2 * (layers - 6) ** 2 + {"a": 1.0, "b": 0.0, "c": 2.0}[kind] + fixed

    found = []
    for seed in range(8):
        study = quick_study(MIXED, seed, loss, 150)
        for trial in study.trials:
            assert trial.params == study.space.check_params(trial.params)
            assert isinstance(trial.params["layers"], int)
        found.append(min(study.trials, key=lambda t: t.value))
    assert sum(t.params["kind"] == "b" and abs(t.params["layers"] - 6) <= 1 for t in found) >= 7
    assert np.median([t.value for t in found]) < 3.1


def test_quick_proposals_repeat_nothing_where_all_is_discrete():
    """A third of 24 places are pending or failed; the quick ones are new until the neighborhood is used up."""
    study = ft.Study(
        {"a": ft.Integer(1, 6), "b": ft.Choice(list("wxyz"))}, settings=ft.Settings(thinking_share=1e-9, noise=0.0), seed=0
    )
    kept = []
    for step in range(24):
        trial = study.ask()
        if step % 3 == 0:
            kept.append(trial)
        elif step % 3 == 1:
            study.fail(trial, "no luck", cost=0.0)
        else:
            study.tell(trial, trial.params["a"] + "wxyz".index(trial.params["b"]))
    assert len({tuple(t.params.values()) for t in study.trials}) == 24
    with pytest.raises(ft.SpaceExhausted):
        study.ask()


def test_a_quick_search_that_has_converged_begins_elsewhere_and_then_refines_the_best_place():
    """Two bowls: whichever was found first, the deeper one is found in the end, and closely."""

    def bowls(x, y):
        return min(((x - 9.0) ** 2 + (y - 14.0) ** 2) / 9.0, 0.5 + ((x + 2.0) ** 2 + (y - 4.0) ** 2) / 100.0)

    missed, found = 0, []
    for seed in range(6):
        trials = quick_study(AXES, seed, bowls, 600).trials
        missed += min(t.value for t in trials[:60]) > 0.4
        found.append(min(t.value for t in trials))
    assert missed > 0
    assert max(found) < 1e-4


def test_quick_steps_are_at_full_fidelity_once_its_cost_is_known(timed):
    study = timed(
        1e-5,
        fidelity=ft.Fidelity("rows", cheap=10, full=1000, log=True, integer=True),
        settings={"initial": 4, "thinking_share": 0.01},
    )
    study.run(
        evaluate(study, lambda x, y, rows: branin(x, y) + 10 / rows), budget=1e6, callback=lambda _, trial: trial.number == 39
    )
    quick = [t for t in study.trials if t.proposal.effort == QUICK]
    assert len(quick) > 20
    assert {t.fidelity for t in quick} == {1000}
    assert any(t.fidelity == 1000 for t in study.trials[: quick[0].number])


# Many observations ---------------------------------------------------------------------------------------------------------------


def test_draws_are_fewer_with_many_observations():
    settings = ft.Settings(draws=8)
    assert [draws_for(n, settings) for n in (1, MANY, 2 * MANY, 5 * MANY, 100 * MANY)] == [8, 8, 4, 2, 2]
    assert draws_for(10_000, ft.Settings(draws=1)) == 1


def many(count, d=2):
    rng = np.random.default_rng(0)
    study = ft.Study({f"x{i}": ft.Real(0.0, 1.0) for i in range(d)}, seed=0, settings=ft.Settings(overhead_price=1.0))
    for i, p in enumerate(rng.random((count, d)) ** 2):
        study.add({f"x{j}": float(v) for j, v in enumerate(p)}, float(((p - 0.3) ** 2).sum()), cost=0.001 * (1 + i % 3))
    return study


def test_a_light_surrogate_knows_the_lowest_the_latest_and_what_is_far_apart():
    history = many(500).history
    part = history.representative(40)
    assert len(part) == 40
    assert set(np.sort(history.values)[:5]) <= set(part.values)
    assert set(history.values[-5:]) <= set(part.values)
    # The corner that the sample avoids is represented all the same.
    assert np.abs(part.points - 1.0).max(axis=1).min() < np.quantile(np.abs(history.points - 1.0).max(axis=1), 0.02)
    assert part.representative(40) is part


def test_a_surrogate_of_a_part_foretells_the_rest():
    history = many(400).history
    settings = ft.Settings(draws=1, sampler="map")
    light = fit_surrogate(history, settings, 0, None, LIGHT, 60)
    assert len(light.process) == 60
    mean, _ = light.mixture(history.points)
    error = mean - light.standardization.apply(history.values)
    assert np.sqrt((error**2).mean()) < 0.1


def test_thinned_trials_stay_the_same_while_few_are_added():
    history = many(100).history
    first = history.thinned(16).trials
    assert len(first) <= 16
    longer = many(110).history.thinned(16).trials
    assert [t.number for t in longer[: len(first)]] == [t.number for t in first]
    assert history.thinned(100) is history


def test_each_level_goes_on_with_draws_of_its_own():
    history = many(3).history
    light, normal = (ft.Settings(draws=k, sampler=s) for k, s in ((1, "map"), (3, "hmc")))
    assert len(fit_surrogate(history, normal, 0).carried.draws) == 3

    def with_draws_of(settings, level, number):
        carried = fit_surrogate(history, settings, 0).carried
        return replace(history.trials[number], proposal=Proposal("acquisition", carried=carried, effort=level))

    mixed = replace(history, trials=(history.trials[0], with_draws_of(normal, NORMAL, 1), with_draws_of(light, LIGHT, 2)))
    assert fit_surrogate(mixed, normal, 0).carried == mixed.trials[1].proposal.carried
    assert fit_surrogate(mixed, light, 0, None, LIGHT).carried == mixed.trials[2].proposal.carried
    # Of another number, they are made anew or resampled.
    assert len(fit_surrogate(mixed, ft.Settings(draws=5), 0).carried.draws) == 5
    assert len(fit_surrogate(mixed, ft.Settings(draws=2), 0).carried.draws) == 2
