"""Whole numbers and choices in the method: what the kernel sees, what a minimizer means there, and what is proposed."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from method.problems import known_surrogate
from oracles import central_difference, kernel_value, mutual_information_with_argmin
from scipy import stats

import farthing as ft
from farthing.method.acquisition_search import candidates, informed_places, maximize
from farthing.method.beliefs import believe
from farthing.method.deliberation import deliberate
from farthing.method.domain import Domain
from farthing.method.hyperparameters import MEAN_VARIANCE, Posterior
from farthing.method.local_minima import find_local_minima
from farthing.method.minimizers import Entries, choose_rivals, condition_on_minimizers, draw_minimizers
from farthing.method.predictive_entropy import InformationGain
from farthing.method.situation import Situation
from farthing.method.standardization import Standardization
from farthing.method.support import SAMPLERS, draw_support
from farthing.method.surrogate import fit_surrogate
from farthing.methods import METHODS, PES, EnvPES
from farthing.numerics.evidence import Evidence
from farthing.numerics.gaussian_process import JITTER
from farthing.numerics.kernels import Kernel, Probes, family
from farthing.space import Space
from farthing.trials import ABANDONED

SPACE = {
    "c": ft.Choice(["a", "b", "c", "d"]),
    "x": ft.Real(0.0, 1.0),
    "k": ft.Integer(1, 9),
    "d": ft.Choice([True, False]),
    "y": ft.Real(0.0, 1.0),
}
LEVELS = ft.Fidelity("cells", levels=[8, 16, 64], log=True)
EPOCHS = ft.Fidelity("epochs", cheap=1, full=30, log=True, integer=True)
SMALL = ft.Settings(draws=2, support_points=60, starts=2, initial=6, overhead_price=0.0)


def objective(c, x, k, d, y, cells=64, epochs=30):
    i = "abcd".index(c)
    value = 3.0 * (x - 0.2 * i) ** 2 + (y - 0.5) ** 2 + ((k - 2 * i - 1) / 6.0) ** 2 + 0.1 * i + 0.2 * d
    return value + 0.02 * math.log(64 / cells) + 0.01 * math.log(30 / epochs)


def told(fidelity=None, method="envpes", count=9, settings=SMALL, seed=0, space=SPACE):
    study = ft.Study(space, fidelity=fidelity, method=method, seed=seed, settings=settings)
    for _ in range(count):
        trial = study.ask()
        study.tell(trial, objective(**trial.kwargs), cost=1.0)
    return study


def on_the_grid(space, points):
    """Whether each point (m, d or more) is, to the bit, the unit point of what would be evaluated there."""
    d = space.dimensions
    exact = space.unit_points([space.params(p[:d]) for p in points])
    same = (exact[:, space.reals :] == points[:, space.reals : d]).all()
    if points.shape[1] > d and math.isfinite(space.fidelity.count):
        s = space.unit_fidelities([space.fidelity_value(float(v)) for v in points[:, d]])
        same &= (s == points[:, d]).all()
    return bool(same and (points >= 0.0).all() and (points <= 1.0).all())


# The kernel ----------------------------------------------------------------------------------------------------------------------


def distances_by_hand(space, params, other, lengthscales):
    """(z, z', l) for a textbook kernel: one coordinate an axis, and for a choice 0 or 1, whichever the options are."""
    z, zero, scales = [], [], []
    for name in space.columns:
        axis, a, b = space.axes[name], params[name], other[name]
        if isinstance(axis, ft.Choice):
            z.append(0.0 if a == b else 1.0)
        else:
            z.append((a - b) / (axis.high - axis.low))
        zero.append(0.0)
        scales.append(lengthscales[name])
    return z, zero, scales


def test_the_surrogate_sees_choices_as_same_or_not_and_whole_numbers_by_their_distance():
    """A * phi of the sum over axes of (distance / lengthscale)^2, in mpmath, from the draws that the study records."""
    study = told()
    surrogate = fit_surrogate(study.history, study.settings, study.seed)
    space, rng = study.space, np.random.default_rng(0)
    points = space.scatter(rng.random((6, space.dimensions)))
    params = [space.params(p) for p in points]
    cov = surrogate.process.kernel.values(points, points)
    for k, draw in enumerate(surrogate.carried.draws):
        lengthscales = dict(zip(space.columns, np.exp(draw[1:-1]), strict=True))
        for i, j in ((0, 1), (2, 3), (0, 4), (4, 5), (1, 1)):
            z, other, scales = distances_by_hand(space, params[i], params[j], lengthscales)
            by_hand = kernel_value("matern52", math.exp(draw[0]), scales, z, other)
            assert cov[k, i, j] == pytest.approx(float(by_hand) + MEAN_VARIANCE, rel=1e-9)


def test_two_different_options_are_equally_far_whichever_they_are():
    study = told()
    surrogate = fit_surrogate(study.history, study.settings, study.seed)
    space = study.space
    base = {"c": "a", "x": 0.3, "k": 4, "d": True, "y": 0.8}
    points = space.unit_points([{**base, "c": c} for c in "abcd"])
    cov = surrogate.process.kernel.values(points, points)
    for k in range(len(cov)):
        off = cov[k][~np.eye(4, dtype=bool)]
        np.testing.assert_allclose(off, off[0], rtol=1e-12)
        ell = surrogate.process.kernel.lengthscales[k, space.columns["c"]]
        np.testing.assert_array_equal(ell, ell[0])  # one lengthscale for all columns of a choice
        q = math.sqrt(5.0) / ell[0]
        phi = (1.0 + q + q**2 / 3.0) * math.exp(-q)
        assert off[0] == pytest.approx(surrogate.process.kernel.variance[k] * phi + MEAN_VARIANCE, rel=1e-12)


def test_there_is_one_lengthscale_for_each_axis_and_one_for_the_fidelity():
    for fidelity, count in ((None, 5), (LEVELS, 6)):
        study = told(fidelity)
        posterior = Posterior.of(study.history, Standardization.of(study.history.values), study.settings)
        assert len(posterior.prior_mean) == count + 2
        surrogate = fit_surrogate(study.history, study.settings, study.seed)
        assert all(len(draw) == count + 2 for draw in surrogate.carried.draws)
        assert surrogate.process.kernel.lengthscales.shape == (2, study.space.dimensions + int(fidelity is not None))
        np.testing.assert_array_equal(
            surrogate.process.kernel.lengthscales, np.exp(np.array(surrogate.carried.draws))[:, 1:-1][:, study.history.groups]
        )


GROUPS = np.array([0, 1, 2, 2, 2, 3, 3, 4])
VECTORS = np.log(np.array([[1.7, 0.31, 0.83, 1.4, 0.6, 0.9, 0.02], [0.4, 0.57, 0.23, 0.5, 2.0, 0.3, 0.3]]))


def grouped_evidence(name, n=9):
    rng = np.random.default_rng(20)
    points = rng.random((n, len(GROUPS)))
    return Evidence(family(name), points, rng.standard_normal(n), 0.2 * rng.uniform(0.05, 1.0, n), 0.6, GROUPS)


@pytest.mark.parametrize("name", ["matern52", "squared_exponential"])
def test_evidence_of_columns_that_share_lengthscales_is_the_density_of_the_values(name):
    """Dense, with every lengthscale written out: a column that took its neighbor's would show."""
    evidence = grouped_evidence(name)
    for vector, value in zip(VECTORS, evidence(VECTORS), strict=True):
        variance, noise, ell = math.exp(vector[0]), math.exp(vector[-1]), np.exp(vector[1:-1])[GROUPS]
        r = np.sqrt((((evidence.points[:, None] - evidence.points[None]) / ell) ** 2).sum(axis=2))
        phi = np.exp(-(r**2) / 2.0) if name[0] == "s" else (1 + np.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-np.sqrt(5) * r)
        observed = variance * phi + 0.6 + np.diag(noise + evidence.noise + JITTER * (variance + 0.6))
        exact = stats.multivariate_normal(np.zeros(9), observed).logpdf(evidence.values)
        assert value == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize("name", ["matern52", "squared_exponential"])
def test_evidence_of_columns_that_share_lengthscales_has_the_gradient_of_its_differences(name):
    evidence = grouped_evidence(name)
    value, gradient, _ = evidence.with_gradient(VECTORS)
    np.testing.assert_allclose(value, evidence(VECTORS), rtol=1e-12)
    numeric = central_difference(lambda shift: evidence(VECTORS + shift), np.zeros(7), 1e-3)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-6, atol=1e-6)


# On the grid ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "fidelity"), [("ei", None), ("envpes", LEVELS), ("envpes", EPOCHS)], ids=["none", "levels", "epochs"]
)
def test_everything_that_may_be_evaluated_lies_on_the_grid(method, fidelity):
    """Local minima, support points, minimizer draws, candidates, and what the search makes of them: none needs rounding."""
    study = told(fidelity, method)
    situation = Situation(study.history, study.method, study.settings, study.seed, 100.0, 0.0)
    beliefs = believe(situation)
    surrogate, space, rng = beliefs.surrogate, study.space, np.random.default_rng(0)
    assert on_the_grid(space, beliefs.minima.x)
    assert on_the_grid(space, beliefs.minima.evaluated)
    for name in SAMPLERS:
        support = draw_support(name, surrogate, beliefs.minima, None, 80, rng)
        assert support.shape == (80, space.dimensions)
        assert on_the_grid(space, support)
        minimizers = draw_minimizers(surrogate, support, 3, rng)
        assert on_the_grid(space, minimizers.reshape(-1, space.dimensions))
    domain = Domain(space, study.method.chooses_fidelity and fidelity is not None)
    found = candidates(surrogate, informed_places(beliefs.minima, minimizers), domain, 64, rng)
    assert found.shape[1] == domain.columns
    assert on_the_grid(space, found)
    thought = deliberate(situation, beliefs, rng)
    points, _ = maximize(thought.acquisition, thought.domain, thought.candidates, 3)
    assert on_the_grid(space, points)


@pytest.mark.parametrize(
    ("method", "fidelity"), [*((m, LEVELS) for m in METHODS), ("envpes", None), ("envpes", EPOCHS)], ids=lambda v: str(v)[:26]
)
def test_what_is_proposed_is_what_is_evaluated_and_what_is_observed(method, fidelity):
    study = told(fidelity, method)
    chooses = study.method.chooses_fidelity and fidelity is not None
    for trial in study.trials:
        assert type(trial.params["k"]) is int
        assert type(trial.params["d"]) is bool
        assert trial.params["c"] in ("a", "b", "c", "d")
        if fidelity is LEVELS:
            assert trial.fidelity in ((8, 16, 64) if chooses else (64,))
        if fidelity is EPOCHS:
            assert type(trial.fidelity) is int
    history = study.history
    assert on_the_grid(study.space, history.points)
    x = history.points[:, : study.space.dimensions]
    np.testing.assert_array_equal(study.space.snap(x), x)


# Minimizers ----------------------------------------------------------------------------------------------------------------------

ONE_REAL = Space({"x": ft.Real(0.0, 1.0), "k": ft.Integer(0, 4), "c": ft.Choice(["a", "b", "c"])})
DISCRETE = Space({"k": ft.Integer(0, 5), "c": ft.Choice(["a", "b", "c"])})


def mixed_surrogate(space, seed, n, lengthscales, noise=1e-4, draws=1, with_fidelity=False):
    """The posterior after n observations of a function drawn from the prior itself, at places of the space."""
    rng = np.random.default_rng(seed)
    points = space.scatter(rng.random((n, space.dimensions)))
    if math.isfinite(space.count) and not with_fidelity:
        points = space.every_point()[rng.choice(int(space.count), n, replace=False)]
    ell = np.array(lengthscales)[space.groups].tolist()
    if with_fidelity:
        points, ell = np.column_stack([points, rng.random(n)]), [*ell, 0.8]
    kernel = Kernel(family("matern52"), np.ones(1), np.array([ell]))
    values = np.linalg.cholesky(kernel.values(points, points)[0] + noise * np.eye(n)) @ rng.standard_normal(n)
    scales = [(np.array(ell) * (1.0 + 0.3 * i)).tolist() for i in range(draws)]
    surrogate = known_surrogate(points, values, space.dimensions, scales, noise=noise)
    return replace(surrogate, space=space)


def test_derivatives_of_a_minimizer_are_along_real_axes_alone():
    space = Space(SPACE)
    surrogate = mixed_surrogate(space, 0, 12, [0.4, 0.5, 0.6, 0.8, 0.9])
    minimizers = space.scatter(np.random.default_rng(1).random((3, space.dimensions)))[None]
    rivals = space.scatter(np.random.default_rng(2).random((4, space.dimensions)))
    conditioned = condition_on_minimizers(surrogate, surrogate.process, minimizers, rivals, PES(off_diagonal=True))
    entries = conditioned.entries
    assert entries.dimensions == 2
    assert entries.derivative_axes == [(0,), (1,), (0, 0), (1, 1), (1, 0)]
    assert entries.combinations.shape == (5 + 4 + 1, 5 + 1 + 4)
    equal, one_sided, _ = entries.kinds(minimizers)
    assert equal.shape == one_sided.shape == (1, 3, 10)
    assert equal[0, :, :2].all()  # gradients vanish: these minimizers lie inside the real axes
    np.testing.assert_array_equal(conditioned.places[0], minimizers[0])
    without = Entries(0, True, False, np.empty((0, 4)))
    assert without.derivative_axes == []
    assert without.combinations.shape == (0, 1)


@pytest.mark.parametrize("place", [0.37, 0.8])
def test_a_minimizer_on_a_mixed_space_is_a_zero_gradient_along_its_real_axis_and_a_curvature_above_zero(place):
    """One inequality is left after the equality, and for one EP is exact. Built from general derivative observations instead."""
    surrogate = mixed_surrogate(ONE_REAL, 8, 9, [0.3, 0.6, 0.9])
    here = ONE_REAL.unit_points([{"x": place, "k": 3, "c": "b"}])
    rng = np.random.default_rng(4)
    z = ONE_REAL.scatter(rng.random((25, 5)))
    method = PES(below_best=False)
    conditioned = condition_on_minimizers(surrogate, surrogate.process, here[None], np.empty((0, 5)), method)
    gain = InformationGain.of(surrogate, conditioned, 0.0)
    _, variance = surrogate.process.marginals(z)
    reduced = (variance[0] + gain.noise[0]) * np.exp(-2.0 * gain(z)) - gain.noise[0]

    stationary = surrogate.process.append(Probes.of(here, [(0,)]), np.zeros(1), np.zeros(1))
    mean, cov = stationary.predict(Probes.of(here, [(0, 0)]).join(Probes.values(z)))
    m, s = mean[0, 0], np.sqrt(cov[0, 0, 0])
    truncated = stats.truncnorm(-m / s, np.inf, loc=m, scale=s).var()
    cross = cov[0, 0, 1:]
    exact = np.diagonal(cov[0])[1:] - cross**2 / s**2 + (cross / s**2) ** 2 * truncated
    np.testing.assert_allclose(reduced, exact, rtol=1e-4, atol=1e-7)


def test_without_a_real_axis_a_rival_is_a_value_that_is_no_lower():
    """One rival, one inequality, f(rival) - f(x) >= 0, for which EP is exact."""
    surrogate = mixed_surrogate(DISCRETE, 3, 6, [0.4, 0.9])
    x, rival = (DISCRETE.unit_points([p]) for p in ({"k": 1, "c": "a"}, {"k": 4, "c": "c"}))
    z = DISCRETE.every_point()
    conditioned = condition_on_minimizers(surrogate, surrogate.process, x[None], rival, PES(below_best=False))
    gain = InformationGain.of(surrogate, conditioned, 0.0)
    mean, cov = surrogate.process.predict(Probes.values(np.concatenate([x, rival, z])))
    m, s = mean[0, 1] - mean[0, 0], np.sqrt(cov[0, 0, 0] + cov[0, 1, 1] - 2.0 * cov[0, 0, 1])
    cross = cov[0, 1, 2:] - cov[0, 0, 2:]
    truncated = stats.truncnorm(-m / s, np.inf, loc=m, scale=s).var()
    exact = np.diagonal(cov[0])[2:] - cross**2 / s**2 + (cross / s**2) ** 2 * truncated
    reduced = (np.diagonal(cov[0])[2:] + gain.noise[0]) * np.exp(-2.0 * gain(z)) - gain.noise[0]
    np.testing.assert_allclose(reduced, exact, rtol=1e-4, atol=1e-7)


def gain_of(surrogate, method, count, support_points=200, seed=0):
    """Information gain with many minimizer draws, as `deliberate` puts it together."""
    rng = np.random.default_rng(seed)
    minima = find_local_minima(surrogate, None, rng)
    support = draw_support(method.support, surrogate, minima, None, support_points, rng)
    minimizers = draw_minimizers(surrogate, support, count, rng)
    rivals = choose_rivals(surrogate, minima.x, minimizers, max(method.rivals, int(surrogate.space.reals == 0)))
    conditioned = condition_on_minimizers(surrogate, surrogate.process, minimizers, rivals, method)
    assert conditioned.unconverged == 0
    return InformationGain.of(surrogate, conditioned, 0.0)


@pytest.mark.parametrize("method", [PES(), PES(off_diagonal=True), PES(below_best=False, rivals=0)], ids=["all", "mixed", "slopes"])
@pytest.mark.parametrize("with_fidelity", [False, True])
def test_the_gradient_of_the_information_along_real_columns_agrees_with_differences(method, with_fidelity):
    space = Space(SPACE)
    surrogate = mixed_surrogate(space, 5, 16, [0.4, 0.7, 0.5, 0.8, 1.1], noise=1e-2, draws=2, with_fidelity=with_fidelity)
    gain = gain_of(surrogate, method, 20)
    rng = np.random.default_rng(1)
    z = space.scatter(np.column_stack([rng.uniform(0.05, 0.95, (6, 2)), rng.random((6, space.dimensions - 2))]))
    z = np.column_stack([z, rng.uniform(0.1, 0.9, 6)]) if with_fidelity else z
    value, gradient = gain.with_gradient(z)
    np.testing.assert_allclose(value, gain(z), rtol=1e-12)
    assert value.max() > 1e-3
    step = 1e-4
    for column in (0, 1, *([space.dimensions] if with_fidelity else [])):
        shift = step * np.eye(z.shape[1])[column]
        numeric = (gain(z + shift) - gain(z - shift)) / (2.0 * step)
        np.testing.assert_allclose(gradient[:, column], numeric, rtol=1e-4, atol=5e-6)


@pytest.mark.parametrize("with_fidelity", [False, True], ids=["x", "x and s"])
def test_on_a_space_without_a_real_axis_the_gain_is_the_information_about_which_place_is_lowest(with_fidelity):
    """18 places, whose argmin 100,000 joint draws know to 0.01 nats; a gain of derivatives alone would be nothing at all here."""
    space = Space(DISCRETE.axes, ft.Fidelity("s", cheap=1.0, full=0.0) if with_fidelity else None)
    places = space.every_point()
    agreement = []
    for seed in range(5):
        surrogate = mixed_surrogate(space, seed, 5, [0.35, 0.8], with_fidelity=with_fidelity)
        full = surrogate.at_full_fidelity(places)
        z = np.array([[*p, s] for p in places[::2] for s in (0.0, 0.5, 1.0)]) if with_fidelity else places
        mean, cov = surrogate.process.predict(Probes.values(np.concatenate([full, z])))
        rng = np.random.default_rng(100 + seed)
        exact = mutual_information_with_argmin(mean[0], cov[0] + 1e-8 * np.eye(len(mean[0])), len(places), surrogate.noise[0], rng)
        gain = gain_of(surrogate, EnvPES(), 300)(z)
        agreement.append((stats.spearmanr(exact, gain).statistic, exact[np.argmax(gain)] / exact.max(), gain.max() / exact.max()))
    rank, best, size = np.array(agreement).T
    assert np.median(rank) > 0.85
    assert rank.min() > 0.65
    assert best.min() > 0.7  # what is chosen tells most of what could be told
    assert 0.6 < np.median(size) < 1.4  # a factor of two in an entropy would show


def test_a_small_space_is_its_own_support():
    surrogate = mixed_surrogate(DISCRETE, 0, 5, [0.4, 0.9])
    rng = np.random.default_rng(0)
    minima = find_local_minima(surrogate, None, rng)
    np.testing.assert_array_equal(draw_support("wlh", surrogate, minima, None, 18, rng), DISCRETE.every_point())
    fewer = draw_support("wlh", surrogate, minima, None, 17, rng)
    assert fewer.shape == (17, 4)
    assert on_the_grid(DISCRETE, fewer)


def test_minimizer_draws_on_a_small_space_follow_the_argmin_of_joint_draws():
    """Frequencies over the 18 places, 20,000 draws each way: a chi-square test of equality."""
    surrogate = mixed_surrogate(DISCRETE, 2, 5, [0.35, 0.8])
    places, rng = DISCRETE.every_point(), np.random.default_rng(7)
    drawn = draw_minimizers(surrogate, places, 20_000, rng)[0]
    mean, cov = surrogate.process.predict(Probes.values(places))
    lower = np.linalg.cholesky(cov[0] + 1e-10 * np.eye(18))
    dense = (mean[0] + np.random.default_rng(8).standard_normal((20_000, 18)) @ lower.T).argmin(axis=1)
    counts = np.array([[(drawn == p).all(axis=1).sum() for p in places], np.bincount(dense, minlength=18)])
    seen = counts.sum(axis=0) >= 20
    assert seen.sum() >= 5
    assert stats.chi2_contingency(counts[:, seen]).pvalue > 1e-4


def test_the_best_place_by_the_mean_is_found_on_a_grid_by_exhaustion():
    """Recommendations are the lowest posterior mean over all 18 places, or over all choices of a mixed space."""
    for seed in range(10):
        surrogate = mixed_surrogate(DISCRETE, seed, 7, [0.35, 0.8])
        minima = find_local_minima(surrogate, None, np.random.default_rng(0))
        mean, _ = surrogate.mixture(DISCRETE.every_point())
        assert minima.mean[0] == pytest.approx(mean.min(), abs=1e-12)
        np.testing.assert_array_equal(minima.x[0], DISCRETE.every_point()[np.argmin(mean)])
    found = []
    for seed in range(10):
        surrogate = mixed_surrogate(ONE_REAL, seed, 12, [0.3, 0.6, 0.9])
        minima = find_local_minima(surrogate, None, np.random.default_rng(0))
        everywhere = Space({"x": ft.Integer(0, 200), "k": ft.Integer(0, 4), "c": ft.Choice(["a", "b", "c"])}).every_point()
        mean, _ = surrogate.mixture(everywhere)
        found.append(minima.mean[0] <= mean.min() + 1e-9)
    assert np.mean(found) >= 0.9


# Never twice ---------------------------------------------------------------------------------------------------------------------

FEW = {"k": ft.Integer(0, 3), "c": ft.Choice(["a", None])}
TWO = ft.Fidelity("cells", levels=[8, 64])
TINY = ft.Settings(draws=2, support_points=30, starts=2, initial=4, overhead_price=0.0, noise=0.0)


def table(k, c, cells=64):
    value = 0.3 * (k - (2 if c is None else 1)) ** 2 + 0.1 * math.sin(5.0 * k) + (0.2 if c is None else 0.0)
    return ft.Evaluation(value + 0.02 * math.log(64 / cells) * (k + 1), cost=float(cells))


def decisions(study):
    return [(t.params["k"], t.params["c"], t.fidelity) for t in study.trials]


@pytest.mark.parametrize("fidelity", [None, TWO], ids=["full", "two levels"])
@pytest.mark.parametrize("method", list(METHODS))
def test_without_noise_nothing_is_evaluated_twice_and_a_run_ends_when_all_is(method, fidelity):
    study = ft.Study(FEW, fidelity=fidelity, method=method, seed=1, settings=TINY)
    result = study.run(table, evaluations=100)
    chooses = fidelity is not None and METHODS[method].chooses_fidelity
    assert len(set(decisions(study))) == len(study.trials) == (16 if chooses else 8)
    assert result.message == "every point of the space has been evaluated"
    best = min(((k, c) for k in range(4) for c in ("a", None)), key=lambda p: table(*p).value)
    assert tuple(result.x.values()) == best
    assert result.fun == pytest.approx(table(*best).value, abs=1e-6)
    with pytest.raises(
        ft.SpaceExhausted,
        match="every point of the space has been evaluated or is being evaluated; there is nothing left to ask for",
    ):
        study.ask()
    again = study.run(table, evaluations=5)
    assert again.message == "every point of the space has been evaluated"
    assert len(study.trials) == len(decisions(study)) == result.nfev


@pytest.mark.parametrize(
    ("method", "fidelity"), [("envpes", TWO), ("pes", None), ("pi", None), ("random", None)], ids=lambda v: str(v)[:16]
)
def test_where_noise_is_not_stated_one_repetition_at_most_shows_that_there_is_none(method, fidelity):
    """Inferred noise is doubtful until something was evaluated twice and came out the same; more than that would be a waste."""
    for seed in range(2):
        study = ft.Study(FEW, fidelity=fidelity, method=method, seed=seed, settings=replace(TINY, noise=None))
        result = study.run(table, evaluations=40)
        assert len(study.trials) - len(set(decisions(study))) <= 1
        assert result.message == "every point of the space has been evaluated"


def test_where_noise_is_not_stated_a_deterministic_objective_is_not_evaluated_twice():
    for seed in range(4):
        study = ft.Study(FEW, method="ei", seed=seed, settings=replace(TINY, noise=None))
        study.run(table, evaluations=12)
        assert len(set(decisions(study))) == len(study.trials)


def test_the_initial_design_does_not_repeat_itself_where_its_fidelities_are_one_level():
    for seed in range(3):
        study = ft.Study({"x": ft.Real(0.0, 1.0)}, fidelity=TWO, seed=seed, settings=replace(TINY, noise=None, initial=6))
        for _ in range(5):
            trial = study.ask()
            study.tell(trial, trial.params["x"] ** 2 + 0.01 * math.log(64 / trial.fidelity), cost=1.0)
        assert len({(t.params["x"], t.fidelity) for t in study.trials}) == 5


def test_on_a_real_axis_without_noise_no_point_comes_back():
    study = ft.Study({"x": ft.Real(0.0, 1.0)}, method="ei", seed=0, settings=TINY)
    study.run(lambda x: ft.Evaluation((x - 0.3) ** 2, cost=1.0), evaluations=20)
    x = np.sort([t.params["x"] for t in study.trials])
    assert np.diff(x).min() > 1e-10


@pytest.mark.parametrize("stated", ["setting", "evaluation"])
def test_with_noise_places_may_be_evaluated_again_and_again(stated):
    rng = np.random.default_rng(0)
    settings = replace(TINY, noise=0.3 if stated == "setting" else None)
    study = ft.Study({"k": ft.Integer(0, 2)}, method="pes", seed=0, settings=settings)
    noise = None if stated == "setting" else 0.3

    def noisy(k):
        return ft.Evaluation(0.2 * k + 0.3 * rng.standard_normal(), cost=1.0, noise=noise)

    result = study.run(noisy, evaluations=12)
    assert result.message == "all evaluations done"
    assert len(study.trials) == 12
    assert max([t.params["k"] for t in study.trials].count(k) for k in range(3)) >= 3


@pytest.mark.parametrize("method", ["envpes", "ei", "random"])
def test_what_is_pending_or_has_failed_is_not_proposed_and_what_was_abandoned_may_be(method):
    """Every second trial is told; of the others one each is failed, abandoned, and left pending."""
    study = ft.Study(FEW, method=method, seed=2, settings=TINY)
    fates = {1: "failed", 3: "abandoned", 5: "pending"}
    for i in range(9):  # eight places, and the abandoned one again
        trial = study.ask()
        if fates.get(i) == "failed":
            study.fail(trial, "no", cost=1.0)
        elif fates.get(i) == "abandoned":
            study.store.finish(study.name, replace(trial, state=ABANDONED, reason="lost"))
        elif fates.get(i) is None:
            study.tell(trial, table(**trial.kwargs))
    asked = decisions(study)
    assert len(set(asked)) == 8
    assert asked.count(asked[3]) == 2
    with pytest.raises(ft.SpaceExhausted):
        study.ask()
    study.tell(study.trials[5], table(**study.trials[5].kwargs))
    with pytest.raises(ft.SpaceExhausted):
        study.ask()


def test_points_added_by_hand_are_not_evaluated_again():
    study = ft.Study(FEW, method="ei", seed=0, settings=TINY)
    for k in range(4):
        study.add({"k": k, "c": "a"}, table(k, "a").value)
    study.run(table, evaluations=20)
    assert len(set(decisions(study))) == len(study.trials) == 8


@pytest.mark.parametrize("method", ["envpes", "ei", "random"])
def test_the_one_place_that_is_left_is_found_however_rare(method):
    """On a log scale 50 is one draw in 230: neither candidates nor random draws are likely to hold it."""
    study = ft.Study({"k": ft.Integer(1, 50, log=True)}, method=method, seed=0, settings=TINY)
    for k in range(1, 50):
        study.add({"k": k}, math.sin(0.3 * k))
    trial = study.ask()
    assert trial.params == {"k": 50}
    study.tell(trial, 0.0, cost=1.0)
    with pytest.raises(ft.SpaceExhausted):
        study.ask()


@pytest.mark.parametrize("method", ["envpes", "random"])
def test_every_place_can_be_asked_for_before_anything_is_told(method):
    study = ft.Study(FEW, method=method, seed=0, settings=TINY)
    asked = [study.ask() for _ in range(8)]
    assert len({(t.params["k"], t.params["c"]) for t in asked}) == 8
    with pytest.raises(ft.SpaceExhausted, match="every point of the space has been evaluated or is being evaluated"):
        study.ask()
    for trial in asked:
        study.tell(trial, table(**trial.kwargs))
    with pytest.raises(ft.SpaceExhausted, match="has been evaluated"):
        study.ask()


@pytest.mark.parametrize(
    ("space", "fidelity", "count"),
    [({"k": ft.Integer(1, 50, log=True)}, None, 50), (FEW, ft.Fidelity("cells", levels=[8, 16, 64]), 24)],
    ids=["rare numbers", "levels that the design leaves out"],
)
def test_every_decision_can_be_asked_for_before_anything_is_told(space, fidelity, count):
    study = ft.Study(space, fidelity=fidelity, seed=0, settings=TINY)
    assert len({str(study.ask().kwargs) for _ in range(count)}) == count


def test_a_history_in_which_all_has_failed_but_one_place_ends_with_that_place():
    def one_works(k, c):
        if (k, c) != (2, "a"):
            raise ArithmeticError("no")
        return table(k, c)

    study = ft.Study(FEW, method="ei", seed=0, settings=TINY)
    result = study.run(one_works, evaluations=30, max_failures=30)
    assert result.message == "every point of the space has been evaluated"
    assert len(set(decisions(study))) == len(study.trials) == 8
    assert result.failures == 7


# Choices alone ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["envpes", "pes", "ei"])
def test_a_space_of_choices_alone_that_is_larger_than_the_support_is_searched(method):
    """729 places and 60 support points: no axis has a derivative, and no local model a width."""
    space = {f"c{i}": ft.Choice(["a", "b", "c"]) for i in range(6)}
    settings = ft.Settings(draws=2, support_points=60, starts=3, initial=6, overhead_price=0.0)
    study = ft.Study(space, fidelity=ft.Fidelity("s", cheap=1, full=9), method=method, settings=settings, seed=1)
    result = study.run(lambda s, **kinds: ft.Evaluation(sum(v != "b" for v in kinds.values()) + 0.1 / s, cost=s), evaluations=30)
    assert sum(v != "b" for v in result.x.values()) <= 2  # random places have four
    assert study.expected_regret() >= 0.0


def test_a_small_space_with_failures_is_still_its_own_support(monkeypatch):
    """What was thinned for failures is not taken for a sample of a larger space, off which minimizers might lie."""

    def never(*arguments):
        raise AssertionError("paths are followed off the support")

    monkeypatch.setattr("farthing.method.deliberation.follow_paths", never)
    study = ft.Study({"k": ft.Integer(1, 40), "c": ft.Choice(["a", "b"])}, settings=ft.Settings(overhead_price=0.0), seed=0)
    for k in range(1, 41, 4):
        study.tell(study.ask(), float(abs(k - 17)), cost=1.0)
    study.fail(study.ask(), "broken", cost=1.0)
    study.ask()


def test_the_last_overhead_is_that_of_the_last_proposal_and_not_of_what_was_added():
    """FABOLAS' rule."""
    ticks = iter(np.arange(0.0, 1e6, 0.5).tolist()).__next__
    settings = ft.Settings(overhead_price=2.0)
    study = ft.Study({"x": ft.Real(0.0, 1.0)}, method="fabolas", seed=0, settings=settings, clock=ticks)
    for _ in range(4):
        study.tell(study.ask(), 1.0, cost=1.0)
    overhead = study.trials[-1].overhead
    study.add({"x": 0.3}, 2.0, cost=1.0)
    situation = Situation(study.history, study.method, study.settings, study.seed, None, 2.0)
    thought = deliberate(situation, believe(situation), np.random.default_rng(0))
    assert overhead > 0.0
    assert thought.price(np.array([[0.5]]))[0] - thought.price.cost(np.array([[0.5]]))[0] == pytest.approx(2.0 * overhead)
