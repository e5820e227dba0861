"""Doubt: once there is hardly anything left to hope for, a part of the budget goes into looking elsewhere."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from filled import filled as refilled
from method.problems import history_of, known_surrogate

import farthing as ft
from farthing.method.doubt import Wells, filled, find_wells, is_due, may_look
from farthing.method.local_minima import LocalMinima
from farthing.methods import PES, EnvPES
from farthing.report import why
from farthing.trials import Carried, Proposal, Trial


def two_wells(x):
    """Wells at 0.2, the lower one, and at 0.7."""
    return -1.5 * np.exp(-(((x - 0.2) / 0.08) ** 2)) - np.exp(-(((x - 0.7) / 0.08) ** 2))


def surrogate_of(x, s=0.0, noise=1e-8, lengthscale=0.1):
    """A surrogate of the two wells that knows x (n,), each at a fidelity, and its history; values in s are the same."""
    points = np.column_stack([x, np.broadcast_to(s, x.shape)])
    surrogate = known_surrogate(points, two_wells(x), 1, [[lengthscale, 30.0]], noise=noise)
    return surrogate, history_of(points, two_wells(x), fidelity=True)


def minima_at(*places):
    x = np.array(places)[:, None]
    return LocalMinima(x, two_wells(x[:, 0]), x)


def test_a_well_reaches_a_lengthscale():
    wells = Wells(np.array([[0.2, 0.3], [0.9, 0.9]]), np.array([0.1, 0.2]))
    inside = np.array([[0.29, 0.3], [0.2, 0.49], [0.2 + 0.1 * 0.7, 0.3 + 0.2 * 0.7], [0.9, 0.8]])
    outside = np.array([[0.31, 0.3], [0.2, 0.51], [0.2 + 0.1 * 0.72, 0.3 + 0.2 * 0.72], [0.5, 0.5]])
    assert not wells.apart(inside).any()
    assert wells.apart(outside).all()


@pytest.mark.parametrize("place", [[0.5, 0.5], [0.0, 0.8]])
def test_where_lengthscales_are_long_half_of_what_is_usual_in_the_box_is_the_reach(place):
    lengthscales = np.array([2.0, 0.9])
    x = np.random.default_rng(0).random((200_000, 2))
    usual = (((x - place) / lengthscales) ** 2).sum(axis=1).mean()
    assert Wells(np.array([place]), lengthscales).reach == pytest.approx(0.5 * usual, rel=0.01)


def test_the_wells_are_those_of_the_best_minimum_and_of_others_that_were_looked_at():
    surrogate, history = surrogate_of(np.linspace(0.0, 1.0, 41))
    wells, unseen = find_wells(surrogate, minima_at(0.2), history)
    np.testing.assert_allclose(wells.places[:, 0], [0.2, 0.7], atol=0.01)
    np.testing.assert_allclose(wells.lengthscales, 0.1)
    assert unseen is None


@pytest.mark.parametrize(("looked_at", "seen"), [(0.7, True), (0.69, True), (0.66, False), (0.2, False)])
def test_a_minimum_known_from_cheap_evaluations_alone_is_unseen(looked_at, seen):
    x = np.append(np.linspace(0.0, 1.0, 41), looked_at)
    surrogate, history = surrogate_of(x, np.where(np.arange(42) < 41, 0.3, 0.0), noise=1e-6)
    wells, unseen = find_wells(surrogate, minima_at(0.2), history)
    assert len(wells.places) == 1 + seen
    assert unseen is None if seen else unseen == pytest.approx([0.7], abs=0.01)


def test_half_of_what_doubt_spends_may_go_into_looking():
    def at(s, cost, kind="doubt"):
        return replace(trial(0, kind, cost), fidelity=s)

    empty = history_of(np.empty((0, 2)), np.empty(0), fidelity=True)

    def may(*trials):
        return may_look(replace(empty, trials=trials))

    assert may()
    assert not may(at(0.0, 3.0), at(0.7, 2.0))
    assert may(at(0.0, 3.0), at(0.7, 2.0), at(1.0, 1.5))
    assert not may(at(0.0, 3.0), at(0.7, 9.0, "acquisition"))
    assert may_look(history(trial(0, "doubt", 5.0)))  # without a fidelity all is full


def test_filled_wells_are_level_with_what_is_usual_outside():
    x = np.linspace(0.0, 1.0, 41)
    surrogate, history = surrogate_of(x)
    told = filled(history, surrogate, Wells(np.array([[0.2]]), np.array([0.1])))
    outside = np.abs(x - 0.2) >= 0.1
    usual = np.median(two_wells(x)[outside])
    assert two_wells(x).min() == pytest.approx(-1.5)
    np.testing.assert_allclose(told.values[~outside], np.maximum(two_wells(x)[~outside], usual))
    np.testing.assert_array_equal(told.points, history.points)
    # The slope beyond the reach of the well is its own, the other well is not.
    slope, other = (x > 0.3) & (x < 0.38), np.abs(x - 0.7) < 0.1
    assert (two_wells(x)[slope] < usual - 1e-3).any()
    assert (told.values[slope] >= usual - 1e-9).all()
    np.testing.assert_array_equal(told.values[other], two_wells(x)[other])


def test_with_nothing_outside_the_wells_there_is_nothing_to_go_by():
    for x, enough in (([0.15, 0.2, 0.25, 0.9, 0.95, 1.0], True), ([0.15, 0.2, 0.25, 0.95, 1.0], False)):
        surrogate, history = surrogate_of(np.array(x))
        assert (filled(history, surrogate, Wells(np.array([[0.2]]), np.array([0.1]))) is not None) == enough


def test_a_history_as_if_values_were_others_carries_no_draws():
    history = history_of(np.array([[0.1], [0.6], [0.3]]), np.array([1.0, 2.0, 3.0]))
    carried = Carried(((0.0, 0.0, 0.0),), 3, 0.0, 1.0, 0.0, 0.0)
    history = replace(history, trials=tuple(replace(t, proposal=replace(t.proposal, carried=carried)) for t in history.trials))
    told = history.as_if(np.array([4.0, 5.0, 6.0]))
    assert told.carried is None
    assert history.carried == carried
    np.testing.assert_array_equal(told.values, [4.0, 5.0, 6.0])
    np.testing.assert_array_equal(told.points, history.points)


def trial(number, kind, cost=None, predicted=None):
    return Trial(number, {"x0": 0.5}, None, Proposal(kind, predicted_cost=predicted), cost=cost)


def history(*trials):
    return replace(history_of(np.empty((0, 1)), np.empty(0)), trials=trials)


def test_doubt_may_begin_at_any_time():
    assert is_due(history(trial(0, "initial", 5.0), trial(1, "acquisition", 5.0)))


def test_two_fifths_are_spent_on_doubt_since_it_began():
    before = [trial(i, "acquisition", 100.0) for i in range(3)]
    doubts = [trial(3, "doubt", 1.0), trial(4, "acquisition", 9.0), trial(5, "doubt", 4.5)]
    assert is_due(history(*before, *doubts))  # 5.5 of 14.5, which is less than 5.8
    assert not is_due(history(*before, *doubts, trial(6, "doubt", 1.0)))  # 6.5 of 15.5, more than 6.2
    assert not is_due(history(*before, trial(3, "doubt", 2.0)))  # what came before does not count


def test_pending_trials_count_by_their_predicted_cost_and_added_ones_not_at_all():
    begun = [trial(0, "doubt", 2.0), trial(1, "acquisition", 4.0)]
    assert is_due(history(*begun))
    assert not is_due(history(*begun, trial(2, "doubt", None, 1.0)))
    assert is_due(history(*begun, trial(2, "doubt", None, 1.0), trial(3, "acquisition", None, 2.0)))
    assert not is_due(history(*begun, trial(2, "doubt", None, 1.0), trial(3, "added", 50.0)))


def well(x):
    return float(-np.exp(-(((x - 0.3) / 0.2) ** 2)))


def settled(method, seed=0, known_up_to=1.0, budget=None):
    """A study that knows the well at 0.3 to many digits and has seen little of the rest."""
    settings = ft.Settings(confirm=False, noise=0.0, thinking_share=1.0, initial=1, overhead_price=0.0)
    study = ft.Study({"x": ft.Real(0.0, 1.0)}, method=method, seed=seed, settings=settings, budget=budget)
    near = np.array([1e-5, 1e-3, 0.004, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12])
    for x in [0.0, 0.1, *(0.3 - near), *(0.3 + near), 0.5, 0.6, 0.8, 1.0]:
        if x <= known_up_to:
            study.add({"x": float(x)}, well(x), cost=1.0)
    return study


def test_a_settled_study_doubts_and_looks_elsewhere():
    asked = [settled("pes", seed).ask() for seed in range(5)]
    assert {trial.proposal.kind for trial in asked} == {"doubt"}
    assert min(abs(trial.params["x"] - 0.3) for trial in asked) > 0.1
    assert why(asked[0]).startswith("doubt: ")


def test_in_the_last_quarter_of_a_budget_there_is_no_doubt():
    kinds = {}
    for spent in (20.0, 30.0):
        study = settled("pes", budget=40.0)
        first = study.ask()
        assert first.proposal.kind == "doubt"
        study.tell(first, well(first.params["x"]), cost=1.0)
        rest = study.ask()
        study.tell(rest, well(rest.params["x"]), cost=spent - 1.0)
        kinds[spent] = rest.proposal.kind, study.ask().proposal.kind
    assert kinds == {20.0: ("acquisition", "doubt"), 30.0: ("acquisition", "acquisition")}


def test_where_there_is_hope_there_is_no_doubt():
    """The same study with most of what it knows taken away, so that a gap is left on the right."""
    study = settled("pes", known_up_to=0.5)
    assert study.ask().proposal.kind == "acquisition"


@pytest.mark.parametrize("method", [PES(doubt=False), "ei", ft.methods.ES(representers=10)], ids=str)
def test_methods_that_do_not_doubt(method):
    assert settled(method).ask().proposal.kind == "acquisition"


def test_doubts_and_the_rest_take_turns():
    """All evaluations cost the same: of five in a row, two are doubts."""
    study = settled("pes")
    for _ in range(9):
        asked = study.ask()
        study.tell(asked, well(asked.params["x"]), cost=1.0)
    assert [t.proposal.kind[0] for t in study.trials[-9:]] == list("daadaadad")


def test_a_study_rebuilt_in_the_midst_of_doubt_goes_on_the_same():
    study = settled("pes")
    for _ in range(3):
        asked = study.ask()
        study.tell(asked, well(asked.params["x"]), cost=1.0)
    again = refilled(ft.Study(study.space.axes, method="pes", seed=0, settings=study.settings), study.trials)
    expected, found = study.ask(), again.ask()
    assert (found.params, found.proposal.kind) == (expected.params, expected.proposal.kind)


def misleading(x, s):
    """The left well is the deeper one at full fidelity, the right one at most others."""
    return -(1.0 - 0.7 * s) * np.exp(-(((x - 0.25) / 0.05) ** 2)) - (0.7 + 0.5 * s) * np.exp(-(((x - 0.75) / 0.15) ** 2))


def final_regret(method, seed):
    axes, fidelity = {"x": ft.Real(0.0, 1.0)}, ft.Fidelity("s", cheap=1.0, full=0.0)
    settings = ft.Settings(confirm=False, overhead_price=0.0, thinking_share=1.0)
    study = ft.Study(axes, fidelity=fidelity, budget=12.0, method=method, seed=seed, settings=settings)

    def objective(x, s):
        return ft.Evaluation(float(misleading(x, s)), cost=0.05 + 0.95 * (1.0 - s) ** 2)

    study.run(objective)
    best = study.recommend().params["x"]
    grid = np.linspace(0.0, 1.0, 2001)
    return float(misleading(best, 0.0) - misleading(grid, 0.0).min())


def test_doubt_finds_the_minimum_of_which_cheap_evaluations_told_nothing():
    found = {told: [final_regret(EnvPES(doubt=told), seed) < 0.05 for seed in range(10)] for told in (True, False)}
    assert sum(found[True]) > sum(found[False]) + 1


def corners(x, y):
    """A broad well in one corner, known to be the lowest by who has seen little else, and a narrower and lower one in another."""
    return -np.exp(-((x - 0.25) ** 2 + (y - 0.25) ** 2) / 0.05) - 1.3 * np.exp(-((x - 0.8) ** 2 + (y - 0.75) ** 2) / 0.01)


def found_in_the_other_corner(method, seed):
    """Whether thirty evaluations find the lower well from where the other one is known."""
    settings = ft.Settings(confirm=False, noise=0.0, thinking_share=1.0, initial=1, overhead_price=0.0)
    study = ft.Study({"x": ft.Real(0.0, 1.0), "y": ft.Real(0.0, 1.0)}, method=method, seed=seed, settings=settings)
    rng = np.random.default_rng(seed)
    scattered = [place for place in rng.random((12, 2)) if np.hypot(place[0] - 0.8, place[1] - 0.75) > 0.25]
    near = np.clip(0.25 + 0.1 * rng.standard_normal((12, 2)), 0.0, 1.0)
    for x, y in [*scattered, *near, (0.25, 0.25), (0.26, 0.25), (0.25, 0.26), (0.24, 0.25), (0.25, 0.24)]:
        study.add({"x": float(x), "y": float(y)}, corners(x, y), cost=1.0)
    for _ in range(30):
        asked = study.ask()
        study.tell(asked, corners(**asked.params), cost=1.0)
    return corners(**study.recommend().params) < -1.1


def test_doubt_finds_a_lower_minimum_that_the_surrogate_holds_for_impossible():
    found = {told: sum(found_in_the_other_corner(PES(doubt=told), seed) for seed in range(6)) for told in (True, False)}
    assert found[True] > found[False] + 1


def test_doubt_is_a_switch():
    assert EnvPES().doubt
    with pytest.raises(ft.SettingsError, match="doubt is 1; give True or False"):
        PES(doubt=1)
