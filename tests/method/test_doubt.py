"""Doubt: once there is hardly anything left to hope for, as much is spent on looking elsewhere."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from filled import filled
from method.problems import history_of, known_surrogate

import farthing as ft
from farthing.method import doubt
from farthing.method.doubt import FIDELITY_ROUGHER, ROUGHER, is_due, roughened
from farthing.methods import PES, EnvPES
from farthing.report import why
from farthing.trials import Proposal, Trial


def matern52(a, b, lengthscales):
    r = np.sqrt((((a[:, None] - b[None]) / lengthscales) ** 2).sum(axis=-1))
    return (1.0 + np.sqrt(5.0) * r + 5.0 * r**2 / 3.0) * np.exp(-np.sqrt(5.0) * r)


def posterior(points, values, at, lengthscales, variance, noise, constant):
    """Mean and variance of a Gaussian process, by the textbook."""
    prior = variance * matern52(points, points, lengthscales) + constant + noise * np.eye(len(points))
    cross = variance * matern52(at, points, lengthscales) + constant
    solved = np.linalg.solve(prior, cross.T)
    return solved.T @ values, variance + constant - (cross * solved.T).sum(axis=1)


@pytest.mark.parametrize("fidelity", [False, True], ids=["x", "x and s"])
def test_a_roughened_surrogate_is_that_of_shorter_lengthscales(fidelity):
    rng = np.random.default_rng(1)
    points, values = rng.random((12, 2 + fidelity)), rng.standard_normal(12)
    lengthscales = np.array([[0.6, 0.9, 1.2], [0.4, 0.8, 2.0]])[:, : 2 + fidelity]
    variances = np.array([1.3, 0.7])
    surrogate = known_surrogate(points, values, 2, lengthscales.tolist(), variances.tolist(), noise=1e-3)
    rough = roughened(surrogate, history_of(points, values, fidelity=fidelity))
    at = rng.random((5, 2 + fidelity))
    means, spreads = rough.process.marginals(at)
    shorter = np.array([ROUGHER, ROUGHER, FIDELITY_ROUGHER])[: 2 + fidelity]
    for k in range(2):
        constant = surrogate.process.kernel.constant
        mean, spread = posterior(points, values, at, lengthscales[k] / shorter, variances[k], 1e-3, constant)
        np.testing.assert_allclose(means[k], mean, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(spreads[k], spread, rtol=1e-7)
    np.testing.assert_array_equal(rough.weights, surrogate.weights)


def test_of_many_observations_a_part_is_doubted(monkeypatch):
    monkeypatch.setattr(doubt, "MANY", 16)
    rng = np.random.default_rng(2)
    points, values = rng.random((40, 1)), rng.standard_normal(40)
    rough = roughened(known_surrogate(points, values, 1, [[0.3]]), history_of(points, values))
    assert len(rough.process) == len(rough.values) == 16
    assert values.min() in rough.values


def trial(number, kind, cost=None, predicted=None):
    return Trial(number, {"x0": 0.5}, None, Proposal(kind, predicted_cost=predicted), cost=cost)


def history(*trials):
    return replace(history_of(np.empty((0, 1)), np.empty(0)), trials=trials)


def test_doubt_may_begin_at_any_time():
    assert is_due(history(trial(0, "initial", 5.0), trial(1, "acquisition", 5.0)))


def test_as_much_is_spent_on_doubt_as_on_the_rest_since_it_began():
    before = [trial(i, "acquisition", 100.0) for i in range(3)]
    doubts = [trial(3, "doubt", 2.0), trial(4, "acquisition", 10.0), trial(5, "doubt", 7.0)]
    assert is_due(history(*before, *doubts))  # 9 of 10
    assert not is_due(history(*before, *doubts, trial(6, "doubt", 2.0)))  # 11 of 10
    assert not is_due(history(*before, trial(3, "doubt", 2.0)))  # what came before does not count


def test_pending_trials_count_by_their_predicted_cost_and_added_ones_not_at_all():
    begun = [trial(0, "doubt", 2.0), trial(1, "acquisition", 3.0)]
    assert is_due(history(*begun))
    assert not is_due(history(*begun, trial(2, "doubt", None, 1.5)))
    assert is_due(history(*begun, trial(2, "doubt", None, 1.5), trial(3, "acquisition", None, 1.0)))
    assert not is_due(history(*begun, trial(2, "doubt", None, 1.5), trial(3, "added", 50.0)))


def well(x):
    return float(-np.exp(-(((x - 0.3) / 0.2) ** 2)))


def settled(method, seed=0, known_up_to=1.0):
    """A study that knows the well at 0.3 to many digits and has seen little of the rest."""
    settings = ft.Settings(confirm=False, noise=0.0, thinking_share=1.0, initial=1, overhead_price=0.0)
    study = ft.Study({"x": ft.Real(0.0, 1.0)}, method=method, seed=seed, settings=settings)
    near = np.array([1e-5, 1e-3, 0.004, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12])
    for x in [0.0, 0.1, *(0.3 - near), *(0.3 + near), 0.5, 0.6, 0.8, 1.0]:
        if x <= known_up_to:
            study.add({"x": float(x)}, well(x), cost=1.0)
    return study


def test_a_settled_study_doubts_and_looks_elsewhere():
    asked = [settled("pes", seed).ask() for seed in range(5)]
    assert {trial.proposal.kind for trial in asked} == {"doubt"}
    assert np.median([abs(trial.params["x"] - 0.3) for trial in asked]) > 0.1
    assert why(asked[0]).startswith("doubt: ")


def test_where_there_is_hope_there_is_no_doubt():
    """The same study with most of what it knows taken away, so that a gap is left on the right."""
    study = settled("pes", known_up_to=0.5)
    assert study.ask().proposal.kind == "acquisition"


@pytest.mark.parametrize("method", [PES(doubt=False), "ei", ft.methods.ES(representers=10)], ids=str)
def test_methods_that_do_not_doubt(method):
    assert settled(method).ask().proposal.kind == "acquisition"


def test_doubts_and_the_rest_take_turns():
    """All evaluations cost the same: after the first doubts, every other one is one."""
    study = settled("pes")
    for _ in range(8):
        asked = study.ask()
        study.tell(asked, well(asked.params["x"]), cost=1.0)
    assert [t.proposal.kind[0] for t in study.trials[-8:]] == list("daadadad")


def test_a_study_rebuilt_in_the_midst_of_doubt_goes_on_the_same():
    study = settled("pes")
    for _ in range(3):
        asked = study.ask()
        study.tell(asked, well(asked.params["x"]), cost=1.0)
    again = filled(ft.Study(study.space.axes, method="pes", seed=0, settings=study.settings), study.trials)
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


def test_doubt_is_a_switch():
    assert EnvPES().doubt
    with pytest.raises(ft.SettingsError, match="doubt is 1; give True or False"):
        PES(doubt=1)
