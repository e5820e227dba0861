"""Information gain against nested Monte Carlo, exact truncated Gaussians, and finite differences."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from method.problems import known_surrogate, sampled_surrogate
from oracles import mutual_information_with_argmin
from scipy.stats import spearmanr, truncnorm

from farthing.method.local_minima import find_local_minima
from farthing.method.minimizers import choose_rivals, condition_on_minimizers, draw_minimizers
from farthing.method.predictive_entropy import InformationGain
from farthing.method.support import SAMPLERS
from farthing.methods import PES, EnvPES
from farthing.numerics.kernels import Probes

MINIMIZERS = 300


def gain_of(surrogate, method=None, seed=0, noise=None):
    """Information gain with many minimizer draws, as `propose` puts it together."""
    method = EnvPES() if method is None else method
    rng = np.random.default_rng(seed)
    minima = find_local_minima(surrogate, None, rng)
    support = SAMPLERS[method.support](surrogate, minima, 400, rng)
    minimizers = draw_minimizers(surrogate, support, MINIMIZERS, rng)
    rivals = choose_rivals(surrogate, minima.x, minimizers, method.rivals)
    conditioned = condition_on_minimizers(surrogate, surrogate.process, minimizers, rivals, method)
    assert conditioned.unconverged == 0
    assert conditioned.dropped == 0
    gain = InformationGain.of(surrogate, conditioned, 0.0)
    return gain if noise is None else InformationGain(gain.conditioned, gain.weights, np.full_like(gain.noise, noise))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("with_fidelity", [False, True], ids=["1-d", "1-d plus s"])
def test_information_gain_is_the_mutual_information_with_the_minimizer(with_fidelity, seed):
    """Nested Monte Carlo on a grid of 60 places; plug-in estimate from 100,000 joint draws, whose error is below 0.01 nats."""
    lengthscales = [0.25, 0.8] if with_fidelity else [0.25]
    surrogate = sampled_surrogate(seed, len(lengthscales), 1, 5, lengthscales)
    x = np.linspace(0.0, 1.0, 12 if with_fidelity else 40)
    candidates = np.array([(a, s) for s in np.linspace(0.0, 1.0, 5) for a in x]) if with_fidelity else x[:, None]
    grid = surrogate.at_full_fidelity(np.linspace(0.0, 1.0, 60)[:, None])
    mean, cov = surrogate.process.predict(Probes.values(np.concatenate([grid, candidates])))
    rng = np.random.default_rng(100 + seed)
    truth = mutual_information_with_argmin(mean[0], cov[0], len(grid), surrogate.noise[0], rng)

    gain = gain_of(surrogate)(candidates)

    assert spearmanr(truth, gain).statistic >= 0.9
    assert truth[np.argmax(gain)] >= 0.9 * truth.max()  # the same best region
    assert 0.7 * truth.max() <= gain.max() <= 1.5 * truth.max()  # a factor of two in an entropy would show


def test_gain_vanishes_as_noise_grows_and_is_never_negative():
    surrogate = sampled_surrogate(3, 2, 1, 6, [0.3, 0.7])
    points = np.random.default_rng(0).random((200, 2))
    gains = [gain_of(surrogate, noise=noise)(points) for noise in (1e-8, 1e-4, 1e-2, 1.0, 1e2, 1e6)]
    assert all((g >= 0.0).all() for g in gains)
    assert all((later <= earlier + 1e-12).all() for earlier, later in pairwise(gains))
    assert gains[-1].max() < 1e-5


@pytest.mark.parametrize(
    "method",
    [PES(), PES(off_diagonal=True), PES(below_best=False, rivals=0), EnvPES(rivals=3)],
    ids=["default", "paper's off-diagonals", "derivatives alone", "few rivals"],
)
@pytest.mark.parametrize(("with_fidelity", "trend"), [(False, 0.0), (True, 0.0), (True, 1.5)])
def test_gradient_matches_finite_differences(method, with_fidelity, trend):
    """With a trend, the variance before any observation has a slope of its own in s."""
    d = 3
    axes = d + int(with_fidelity)
    rng = np.random.default_rng(5)
    points, values = rng.random((12, axes)), rng.standard_normal(12)
    scales = [[0.4, 0.7, 0.5, 0.9][:axes], [0.6, 0.3, 0.8, 0.5][:axes]]
    surrogate = known_surrogate(points, values, d, scales, [1.0, 0.6], noise=1e-2, weights=[0.7, 0.3], trend=trend)
    gain = gain_of(surrogate, method)
    z = rng.uniform(0.05, 0.95, (6, axes))
    value, gradient = gain.with_gradient(z)
    np.testing.assert_allclose(value, gain(z), rtol=1e-12)
    step = 1e-4
    for axis in range(axes):
        shift = step * np.eye(axes)[axis]
        numeric = (gain(z + shift) - gain(z - shift)) / (2.0 * step)
        np.testing.assert_allclose(gradient[:, axis], numeric, rtol=1e-4, atol=5e-6)


def one_minimizer(surrogate, place, method):
    minimizers = np.array([[[place]]])
    conditioned = condition_on_minimizers(surrogate, surrogate.process, minimizers, np.empty((0, 1)), method)
    return InformationGain.of(surrogate, conditioned, 0.0)


def reduced_variance(surrogate, gain, z):
    """v(z | minimizer) read back from the gain."""
    _, variance = surrogate.process.marginals(z)
    return (variance[0] + gain.noise[0]) * np.exp(-2.0 * gain(z)) - gain.noise[0]


def truncated_reduction(process, probe, z, side):
    """Exact variance of f(z) when one scalar h ~ N(m, S) of the process is known to be on one side of zero."""
    mean, cov = process.predict(probe.join(Probes.values(z)))
    m, s = mean[0, 0], np.sqrt(cov[0, 0, 0])
    bounds = (-m / s, np.inf) if side > 0 else (-np.inf, -m / s)
    truncated = truncnorm(*bounds, loc=m, scale=s).var()
    cross = cov[0, 0, 1:]
    return np.diagonal(cov[0])[1:] - cross**2 / s**2 + (cross / s**2) ** 2 * truncated


@pytest.mark.parametrize("place", [0.37, 0.8])
def test_interior_minimizer_is_a_zero_gradient_and_a_curvature_above_zero(place):
    """One inequality is left after the equality, and for one EP is exact. Built from general derivative observations instead."""
    surrogate = sampled_surrogate(8, 1, 1, 6, [0.3])
    z = np.linspace(0.02, 0.98, 25)[:, None]
    here = np.array([[place]])
    stationary = surrogate.process.append(Probes.of(here, [(0,)]), np.zeros(1), np.zeros(1))
    exact = truncated_reduction(stationary, Probes.of(here, [(0, 0)]), z, 1)
    gain = one_minimizer(surrogate, place, PES(below_best=False))
    np.testing.assert_allclose(reduced_variance(surrogate, gain, z), exact, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize(("place", "side"), [(0.0, 1), (1.0, -1)])
def test_minimizer_on_a_face_has_a_gradient_of_known_sign_only(place, side):
    surrogate = sampled_surrogate(9, 1, 1, 6, [0.3])
    z = np.linspace(0.02, 0.98, 25)[:, None]
    exact = truncated_reduction(surrogate.process, Probes.of(np.array([[place]]), [(0,)]), z, side)
    gain = one_minimizer(surrogate, place, PES(below_best=False))
    np.testing.assert_allclose(reduced_variance(surrogate, gain, z), exact, rtol=1e-4, atol=1e-7)


def test_a_rival_is_a_value_that_is_no_lower():
    """On a face whose gradient is all but known, one rival leaves one inequality that matters: f(rival) - f(x) >= 0."""
    rng = np.random.default_rng(2)
    points = np.concatenate([np.linspace(0.0, 0.02, 4), [0.55, 1.0]])[:, None]
    surrogate = known_surrogate(points, rng.standard_normal(6) * 0.01 + 10.0 * points[:, 0], 1, [[0.3]], noise=1e-6)
    rival = np.array([[0.8]])
    conditioned = condition_on_minimizers(surrogate, surrogate.process, np.array([[[0.0]]]), rival, PES(below_best=False, rivals=1))
    gain = InformationGain.of(surrogate, conditioned, 0.0)
    z = np.linspace(0.1, 0.9, 9)[:, None]
    mean, cov = surrogate.process.predict(Probes.values(np.concatenate([np.zeros((1, 1)), rival, z])))
    m, s = mean[0, 1] - mean[0, 0], np.sqrt(cov[0, 0, 0] + cov[0, 1, 1] - 2.0 * cov[0, 0, 1])
    cross = cov[0, 1, 2:] - cov[0, 0, 2:]
    truncated = truncnorm(-m / s, np.inf, loc=m, scale=s).var()
    exact = np.diagonal(cov[0])[2:] - cross**2 / s**2 + (cross / s**2) ** 2 * truncated
    np.testing.assert_allclose(reduced_variance(surrogate, gain, z), exact, rtol=2e-3, atol=1e-6)


def test_papers_variant_holds_the_off_diagonal_hessian_at_zero():
    """With both curvatures all but known, what remains is the equality on the mixed derivative: dense conditioning must agree."""
    rng = np.random.default_rng(4)
    points = rng.random((10, 2))
    values = 3.0 * ((points - 0.5) ** 2).sum(axis=1) + 0.05 * rng.standard_normal(10)
    surrogate = known_surrogate(points, values, 2, [[0.8, 0.9]])
    here = np.array([[0.5, 0.5]])
    z = rng.random((20, 2))
    variances = {}
    for mixed in (False, True):
        method = PES(off_diagonal=mixed, below_best=False)
        conditioned = condition_on_minimizers(surrogate, surrogate.process, here[None], np.empty((0, 2)), method)
        variances[mixed] = reduced_variance(surrogate, InformationGain.of(surrogate, conditioned, 0.0), z)
    kinds = [(0,), (1,), (1, 0)]
    dense = surrogate.process.append(Probes.of(here, kinds), np.zeros(3), np.zeros(3)).marginals(z)[1][0]
    assert (variances[True] <= variances[False] + 1e-12).all()
    assert (variances[True] <= dense + 1e-7).all()  # the curvatures' signs can only take away more
    assert np.median(variances[True] / dense) > 0.5


def test_pending_points_lower_the_gain_there_and_leave_it_elsewhere():
    surrogate = sampled_surrogate(11, 2, 2, 8, [0.2, 0.2])
    rng = np.random.default_rng(0)
    minima = find_local_minima(surrogate, None, rng)
    minimizers = draw_minimizers(surrogate, SAMPLERS["wlh"](surrogate, minima, 300, rng), 50, rng)
    pending = np.array([[0.5, 0.5]])
    gains = []
    for process in (surrogate.process, surrogate.pretending(pending, np.empty((0, 2))).process):
        conditioned = condition_on_minimizers(surrogate, process, minimizers, minima.x[:2], PES())
        gains.append(InformationGain.of(surrogate, conditioned, 0.0)(np.array([[0.5, 0.5], [0.02, 0.98]])))
    assert gains[1][0] < 0.05 * gains[0][0]
    assert gains[1][1] == pytest.approx(gains[0][1], rel=0.1, abs=1e-3)
