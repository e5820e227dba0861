"""EI, PI and LCB against quadrature, high precision and finite differences."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from method.problems import known_surrogate

from farthing.method import improvement


@pytest.mark.parametrize("a", [-1e6, -2e4, -300.0, -40.0, -5.0, -1.0001, -0.9999, 0.0, 2.0, 30.0])
def test_log_standard_improvement_keeps_its_digits_where_ei_underflows(a):
    """pdf(-40) is 1e-348: the plain formula gives log 0."""
    with mp.workdps(40 + int(abs(a)) // 100):
        if a < -1000:
            t = mp.mpf(-a)
            # Asymptotic expansion of 1 - t * Mills(t), whose next term is below 1e-15 of the sum here.
            truth = -t * t / 2 - mp.log(mp.sqrt(2 * mp.pi)) + mp.log(t**-2 - 3 * t**-4 + 15 * t**-6)
        else:
            x = mp.mpf(a)
            truth = mp.log(mp.npdf(x) + x * mp.erfc(-x / mp.sqrt(2)) / 2)
        assert improvement.log_standard_improvement(np.array([a]))[0] == pytest.approx(float(truth), rel=1e-7, abs=1e-9)


def mixture():
    rng = np.random.default_rng(1)
    points, values = rng.random((10, 3)), rng.standard_normal(10)
    scales = [[0.4, 0.6, 0.5], [0.8, 0.3, 0.7]]
    return known_surrogate(points, values, 2, scales, [1.0, 0.5], noise=1e-3, weights=[0.8, 0.2])


def test_expected_improvement_is_the_integral_over_the_mixture():
    surrogate, points, best = mixture(), np.random.default_rng(2).random((5, 3)), -0.4
    mean, variance = surrogate.process.marginals(points)
    nodes, weights = np.polynomial.hermite_e.hermegauss(200)
    f = mean[..., None] + np.sqrt(variance)[..., None] * nodes
    truth = surrogate.weights @ ((np.maximum(best - f, 0.0) * weights).sum(axis=2) / np.sqrt(2.0 * np.pi))
    got, _ = improvement.log_expected_improvement(surrogate, points, best)
    np.testing.assert_allclose(np.exp(got), truth, rtol=2e-2)  # the kink limits the quadrature
    below, _ = improvement.log_probability_of_improvement(surrogate, points, best)
    share = surrogate.weights @ ((f < best) * weights).sum(axis=2) / np.sqrt(2.0 * np.pi)
    np.testing.assert_allclose(np.exp(below), share, atol=0.05)


@pytest.mark.parametrize("best", [0.5, -0.4, -60.0])
@pytest.mark.parametrize("which", ["ei", "pi", "lcb"])
def test_gradients_match_finite_differences(which, best):
    surrogate, points = mixture(), np.random.default_rng(3).uniform(0.1, 0.9, (6, 3))

    def value(z, gradient=False):
        if which == "ei":
            return improvement.log_expected_improvement(surrogate, z, best, gradient)
        if which == "pi":
            return improvement.log_probability_of_improvement(surrogate, z, best, gradient)
        return improvement.negative_confidence_bound(surrogate, z, 2.0, gradient)

    _, gradient = value(points, True)
    step = 1e-6
    for axis in range(3):
        shift = step * np.eye(3)[axis]
        numeric = (value(points + shift)[0] - value(points - shift)[0]) / (2.0 * step)
        np.testing.assert_allclose(gradient[:, axis], numeric, rtol=1e-5, atol=1e-6)


def test_confidence_bound_is_the_weighted_mean_of_the_draws():
    surrogate, points = mixture(), np.random.default_rng(4).random((4, 3))
    mean, variance = surrogate.process.marginals(points)
    truth = surrogate.weights @ (mean - 1.3 * np.sqrt(variance))
    np.testing.assert_allclose(-improvement.negative_confidence_bound(surrogate, points, 1.3)[0], truth, rtol=1e-6)
