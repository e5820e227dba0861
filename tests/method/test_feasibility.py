"""Where evaluations succeed: the chance against its formula term by term, and what failures do to a search."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from oracles import central_difference
from scipy.spatial.distance import cdist
from scipy.stats import norm

import farthing as ft
from farthing.method.beliefs import believe
from farthing.method.deliberation import deliberate
from farthing.method.feasibility import FIDELITY_SCALE, LEAST, NOISES, REMEMBERED, WIDTHS, Feasibility, fit_feasibility
from farthing.method.situation import Situation
from farthing.method.support import FEWEST, draw_support
from farthing.methods import EI, PES
from farthing.space import Space
from farthing.trials import ABANDONED, COMPLETE, FAILED, History, Proposal, Trial

CUBE = Space({"x": ft.Real(0.0, 1.0), "y": ft.Real(0.0, 1.0)})
MIXED = Space({"x": ft.Real(0.0, 1.0), "k": ft.Integer(0, 4), "c": ft.Choice(["a", "b"])})
LEVELS = ft.Fidelity("s", cheap=1.0, full=0.0)


def history_of(space, points, succeeded, fidelities=None):
    """A history in which the unit points (n, d) were evaluated, and succeeded or not."""
    levels = [None] * len(points) if fidelities is None else [float(s) for s in fidelities]
    trials = []
    for i, (p, ok, s) in enumerate(zip(space.snap(points), succeeded, levels, strict=True)):
        state, value = (COMPLETE, float(p[0])) if ok else (FAILED, None)
        trials.append(Trial(i, space.params(p), s, Proposal("initial"), state=state, value=value, cost=1.0, order=i))
    return History.of(space, trials, fidelities is not None)


def chance_by_hand(z, points, succeeded, width, noise, rate):
    """The label at z is Gaussian given the labels at points: P(it is above zero), by solving the textbook equations."""
    mean = norm.ppf(rate) * math.sqrt(1.0 + noise)
    labels = np.where(np.asarray(succeeded, dtype=bool), 1.0, -1.0)
    every = np.vstack([points, z])
    cov = np.exp(-0.5 * cdist(every, every, "sqeuclidean") / width**2) + noise * np.eye(len(every))
    weights = np.linalg.solve(cov[:-1, :-1], cov[:-1, -1])
    return norm.cdf((mean + weights @ (labels - mean)) / math.sqrt(cov[-1, -1] - weights @ cov[:-1, -1]))


def model_of(points, succeeded, scale, noise, rate):
    """A model with given width and noise."""
    mean = float(norm.ppf(rate) * math.sqrt(1.0 + noise))
    scaled = points * scale
    inverse = np.linalg.inv(np.exp(-0.5 * cdist(scaled, scaled, "sqeuclidean")) + noise * np.eye(len(points)))
    dual = inverse @ (2.0 * succeeded - 1.0 - mean)
    return Feasibility(points, succeeded, int((succeeded == 0.0).sum()), scale, mean, noise, inverse, dual)


def order_of(succeeded):
    """The order in which the model has the trials: successes first."""
    return np.concatenate([np.flatnonzero(succeeded), np.flatnonzero(~np.asarray(succeeded))])


# The chance ----------------------------------------------------------------------------------------------------------------------


def test_the_chance_is_that_of_a_label_above_zero_given_the_labels_so_far():
    rng = np.random.default_rng(0)
    points, succeeded = rng.random((15, 3)), (rng.random(15) > 0.4).astype(float)
    model = model_of(points, succeeded, np.full(3, 1.0 / 0.23), 0.3, 0.6)
    z = rng.random((8, 3))
    expected = [math.log(chance_by_hand(p, points, succeeded, 0.23, 0.3, 0.6)) for p in z]
    np.testing.assert_allclose(model.log_chance(z)[0], expected, rtol=1e-9)


def test_the_gradient_of_the_chance_agrees_with_differences_on_every_axis():
    rng = np.random.default_rng(1)
    points, succeeded = rng.random((12, 3)), (rng.random(12) > 0.5).astype(float)
    model = model_of(points, succeeded, np.array([3.0, 8.0, 1.5]), 0.1, 0.4)
    for z in rng.random((6, 3)):
        numeric = central_difference(lambda p: model.log_chance(p[None])[0][0], z, 1e-3)
        np.testing.assert_allclose(model.log_chance(z[None])[1][0], numeric, rtol=1e-6, atol=1e-7)


def test_no_chance_is_smaller_than_the_least_and_there_it_is_flat():
    """A logarithm without a floor would outweigh any information."""
    points = np.array([[0.5], [0.50001]])
    model = model_of(points, np.zeros(2), np.array([10.0]), 1e-3, 0.5)
    log_chance, gradient = model.log_chance(np.array([[0.5], [0.501], [5.0]]))
    np.testing.assert_allclose(log_chance, [LEAST, LEAST, math.log(0.5)], rtol=1e-9)
    np.testing.assert_allclose(gradient[:2], 0.0, atol=0.0)


@pytest.mark.parametrize("failing", ["quarter", "stripe", "random"])
@pytest.mark.parametrize("seed", range(3))
def test_width_and_noise_are_those_under_which_every_trial_is_best_foretold_by_the_others(seed, failing):
    rng = np.random.default_rng(seed)
    points = rng.random((30, 2))
    where = {"quarter": (points < 0.5).all(axis=1), "stripe": np.abs(points[:, 0] - 0.5) < 0.08, "random": rng.random(30) < 0.3}
    succeeded = ~where[failing]
    model = fit_feasibility(history_of(CUBE, points, succeeded))
    rate = (succeeded.sum() + 1.0) / (len(points) + 1.0)

    def foretold(pair):
        total = 0.0
        for i in range(len(points)):
            others = [j for j in range(len(points)) if j != i]
            chance = chance_by_hand(points[i], points[others], succeeded[others], pair[0] * math.sqrt(2.0), pair[1], rate)
            total += math.log(chance if succeeded[i] else 1.0 - chance)
        return total

    width, noise = max(((w, v) for w in WIDTHS for v in NOISES), key=foretold)
    np.testing.assert_allclose(model.scale, 1.0 / (width * math.sqrt(2.0)), rtol=1e-12)
    assert model.noise == noise


def test_long_studies_are_thinned_out_and_all_failures_are_counted():
    rng = np.random.default_rng(5)
    points = rng.random((700, 2))
    succeeded = ~(points < 0.5).all(axis=1)
    model = fit_feasibility(history_of(CUBE, points, succeeded))
    assert len(model.points) == 2 * REMEMBERED
    assert model.failures == (~succeeded).sum()
    chance = np.exp(model.log_chance(np.array([[0.25, 0.25], [0.75, 0.75]]))[0])
    assert chance[0] < 0.1
    assert chance[1] > 0.9


def test_distances_are_those_of_the_kernel_on_whole_numbers_and_choices_and_shorter_in_the_fidelity():
    """A failure tells most about its own option; and what fails at one fidelity mostly fails at another."""
    rng = np.random.default_rng(3)
    space = Space(MIXED.axes, LEVELS)
    points, s = rng.random((30, space.dimensions)), rng.random(30)
    succeeded = space.snap(points)[:, 2] == 0.0  # option "b" always works, "a" never
    history = history_of(space, points, succeeded, s)
    model = fit_feasibility(history)
    width = 1.0 / model.scale[0]
    assert min(abs(width / math.sqrt(3.0) - share) for share in WIDTHS) < 1e-12  # three axes, whatever their columns
    np.testing.assert_allclose(model.scale, [1.0 / width] * 4 + [FIDELITY_SCALE / width], rtol=1e-12)
    order = order_of(succeeded)
    np.testing.assert_allclose(model.points[:, :4], space.snap(points)[order], atol=1e-12)
    np.testing.assert_allclose(model.points[:, 4], s[order], atol=1e-12)
    both = space.unit_points([{"x": 0.5, "k": 2, "c": c} for c in "ab"])
    chance = np.exp(model.log_chance(np.column_stack([both, [0.5, 0.5]]))[0])
    assert chance[0] < 0.2
    assert chance[1] > 0.8


def test_without_a_failure_or_without_a_success_there_is_nothing_to_learn():
    points = np.random.default_rng(0).random((5, 2))
    assert fit_feasibility(history_of(CUBE, points, np.ones(5, dtype=bool))) is None
    assert fit_feasibility(history_of(CUBE, points, np.zeros(5, dtype=bool))) is None


GRID = np.array([(a, b) for a in np.linspace(0.02, 0.98, 13) for b in np.linspace(0.02, 0.98, 13)])


def chances(points, succeeded):
    return np.exp(fit_feasibility(history_of(CUBE, points, succeeded)).log_chance(GRID)[0])


def test_failures_at_random_leave_the_chance_nearly_the_same_everywhere_and_those_of_a_quarter_do_not():
    """80 trials, a quarter of which fail: medians over 15 seeds of the standard deviation of the chance over the box."""
    spread = {"random": [], "quarter": []}
    inside = (GRID < 0.45).all(axis=1)
    outside = (GRID > 0.55).any(axis=1)
    for seed in range(15):
        rng = np.random.default_rng(seed)
        points = rng.random((80, 2))
        spread["random"].append(chances(points, rng.random(80) > 0.25).std())
        chance = chances(points, ~(points < 0.5).all(axis=1))
        spread["quarter"].append(chance.std())
        assert np.median(chance[inside]) < 0.35
        assert np.median(chance[outside]) > 0.85
    assert np.median(spread["random"]) < 0.06
    assert np.median(spread["quarter"]) > 4.0 * np.median(spread["random"])


# What failures do to a search ----------------------------------------------------------------------------------------------------

INITIAL, EVALUATIONS, SEEDS = 8, 28, range(5)
SMALL = ft.Settings(draws=3, support_points=60, starts=3, initial=INITIAL, overhead_price=0.0)


def fails(x, y):
    return x < 0.5 and y < 0.5


def bowl(x, y, at):
    dx, dy = x - at[0], y - at[1]
    return 4.0 * dx**2 + 3.0 * dy**2 + 0.5 * dx * dy


CENTERS = {"inside": (0.42, 0.25), "outside": (0.7, 0.65)}
"""Where the bowl, smoothly extended over the quarter that fails, has its minimum: in that quarter, or not."""


def best_feasible(at):
    """The lowest value where evaluations succeed, on a fine grid."""
    x, y = np.meshgrid(np.linspace(0.0, 1.0, 1001), np.linspace(0.0, 1.0, 1001), indexing="ij")
    return float(bowl(x, y, at)[(x >= 0.5) | (y >= 0.5)].min())


_searched: dict[tuple, list] = {}


def searched(method, where, hidden=False):
    """For every seed, the share of trials after the design that failed, and the parameters recommended in the end.

    hidden: failures are recorded as abandoned, of which the model learns nothing.
    """
    key = (method, where, hidden)
    if key not in _searched:
        _searched[key] = [_search(method, CENTERS[where], hidden, seed) for seed in SEEDS]
    return _searched[key]


def _search(method, at, hidden, seed):
    study = ft.Study(CUBE.axes, method=method, seed=seed, settings=SMALL)
    if hidden:
        for _ in range(EVALUATIONS):
            trial = study.ask()
            if fails(**trial.params):
                study.store.finish(study.name, replace(trial, state=ABANDONED))
            else:
                study.tell(trial, bowl(**trial.params, at=at), cost=1.0)
        best = study.recommend().params
    else:

        def objective(x, y):
            if fails(x, y):
                raise ArithmeticError("the solver diverged")
            return ft.Evaluation(bowl(x, y, at), cost=1.0)

        best = study.run(objective, evaluations=EVALUATIONS, max_failures=EVALUATIONS).x
    return np.mean([fails(**t.params) for t in study.trials[INITIAL:]]), best


def share(method, where, hidden=False):
    return float(np.median([found[0] for found in searched(method, where, hidden)]))


def regrets(method, where):
    at = CENTERS[where]
    return [bowl(**best, at=at) - best_feasible(at) for _, best in searched(method, where)]


@pytest.mark.parametrize("method", ["pes", "ei"])
def test_a_quarter_that_fails_is_left_alone_where_the_minimum_is_elsewhere(method):
    """Far below a quarter, which is what trials at random meet; and for EI, which is drawn to what it has not seen, unless told."""
    assert share(method, "outside") <= 0.1
    assert share("random", "inside") >= 0.15  # wherever the minimum is
    if method == "ei":
        assert share(method, "outside", hidden=True) >= 0.5
    assert np.median(regrets(method, "outside")) < 1e-4


@pytest.mark.parametrize("method", ["pes", "ei"])
def test_failures_that_are_told_are_half_of_those_that_are_hidden_or_fewer(method):
    """The hardest case: the smooth extension is lowest where evaluations fail, so that all improvement seems to lie there, and the
    attainable minimum lies beside it.
    """
    assert share(method, "inside") <= 0.5 * share(method, "inside", hidden=True)


@pytest.mark.parametrize("method", ["pes", "ei"])
def test_the_best_place_beside_the_failing_ones_is_found(method):
    """0.025 above the unattainable minimum, with 28 evaluations, in a range of about 3; trials at random come to 0.08."""
    regret = regrets(method, "inside")
    assert np.median(regret) < 0.05
    assert np.median(regret) < 0.6 * np.median(regrets("random", "inside"))


@pytest.mark.parametrize(
    ("method", "where"),
    [
        ("pes", "outside"),
        ("ei", "outside"),
        ("ei", "inside"),
        ("pes", "inside"),
    ],
)
def test_the_recommendation_is_a_place_that_succeeds_in_every_seed(method, where):
    assert not any(fails(**best) for _, best in searched(method, where))


@pytest.mark.parametrize("method", ["pes", "ei"])
def test_a_place_that_failed_is_neither_recommended_nor_confirmed(method):
    """On a grid the surrogate's minimum may be the very place that failed."""

    def objective(k):
        if k == 5:
            raise ArithmeticError("not this one")
        return ft.Evaluation(float(abs(k - 5)), cost=1.0)

    settings = replace(SMALL, draws=2, starts=2, initial=4, noise=0.0)
    for seed in range(6):
        study = ft.Study({"k": ft.Integer(0, 19)}, method=method, seed=seed, settings=settings)
        for evaluations in (8, 2):
            result = study.run(objective, evaluations=evaluations)
            assert result.x != {"k": 5}
        assert [t.params["k"] for t in study.trials if t.state == FAILED].count(5) <= 1


def test_what_an_evaluation_promises_is_reduced_by_the_chance_that_it_fails():
    """In logarithms: the improvement plus log P, with both gradients; the recommendation too is raised by -log P."""
    rng = np.random.default_rng(0)
    points = rng.random((40, 2))
    situation = Situation(history_of(CUBE, points, ~(points < 0.5).all(axis=1)), EI(), SMALL, 0, None, 0.0)
    beliefs = believe(situation)
    z = rng.random((30, 2))
    chance, slope = beliefs.feasibility.log_chance(z)
    told, hidden = (
        deliberate(situation, replace(beliefs, feasibility=model), np.random.default_rng(1)).acquisition
        for model in (beliefs.feasibility, None)
    )
    np.testing.assert_allclose(told.value(z), hidden.value(z) + chance, rtol=1e-12)
    for a, b in zip(told.with_gradient(z), hidden.with_gradient(z), strict=True):
        np.testing.assert_allclose(a, b + (chance if a.ndim == 1 else slope), rtol=1e-9, atol=1e-12)
    # The best place by the mean and the chance together, against a fine grid.
    axis = np.linspace(0.0, 1.0, 81)
    grid = np.array([(a, b) for a in axis for b in axis])
    raised = beliefs.surrogate.mixture(grid)[0] - beliefs.feasibility.log_chance(grid)[0]
    best = beliefs.minima.x[:1]
    assert beliefs.surrogate.mixture(best)[0] - beliefs.feasibility.log_chance(best)[0] <= raised.min() + 1e-6


def test_support_points_thin_out_where_evaluations_fail_but_never_vanish():
    """Each is kept with the chance it has; here the quarter that fails has a chance below a third."""
    rng = np.random.default_rng(0)
    points = rng.random((60, 2))
    succeeded = ~(points < 0.5).all(axis=1)
    situation = Situation(history_of(CUBE, points, succeeded), PES(), SMALL, 0, None, 0.0)
    beliefs = believe(situation)
    kept = {
        name: draw_support("uniform", beliefs.surrogate, beliefs.minima, model, 2000, np.random.default_rng(1))
        for name, model in (("all", None), ("likely", beliefs.feasibility))
    }
    drawn, remaining = ((p < 0.5).all(axis=1).sum() for p in kept.values())
    expected = np.exp(beliefs.feasibility.log_chance(kept["all"][(kept["all"] < 0.5).all(axis=1)])[0])
    sd = np.sqrt((expected * (1.0 - expected)).sum())
    assert drawn == len(expected)
    assert abs(remaining - expected.sum()) < 5.0 * sd + FEWEST
    assert len(kept["likely"]) > 0.7 * len(kept["all"])
    nowhere = replace(beliefs.feasibility, mean=-50.0, dual=np.zeros(60))
    few = draw_support("uniform", beliefs.surrogate, beliefs.minima, nowhere, 200, np.random.default_rng(1))
    assert FEWEST <= len(few) < 40
