"""The mean's trend in the last axis, against dense textbook algebra and finite differences."""

import numpy as np
import pytest
from oracles import central_difference
from scipy import stats

from farthing.errors import KernelError
from farthing.numerics.evidence import Evidence
from farthing.numerics.gaussian_process import JITTER, condition
from farthing.numerics.kernels import Kernel, Probes, covariance, family
from farthing.numerics.sample_paths import SamplePaths

KERNEL = Kernel(family("matern52"), np.array([1.7, 0.4]), np.array([[0.31, 0.83, 1.1], [0.57, 0.23, 0.6]]), constant=0.6, trend=2.5)
RNG = np.random.default_rng(8)
POINTS, OTHERS = RNG.random((5, 3)), RNG.random((7, 3))


def textbook(k: int, a: np.ndarray, b: np.ndarray) -> float:
    """The covariance of two values: Matern 5/2, a constant, and the term s s'."""
    q = np.sqrt(5.0 * (((a - b) / KERNEL.lengthscales[k]) ** 2).sum())
    stationary = KERNEL.variance[k] * (1.0 + q + q**2 / 3.0) * np.exp(-q)
    return float(stationary + 0.6 + 2.5 * a[2] * b[2])


def dense(k: int, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.array([[textbook(k, p, q) for q in b] for p in a])


def process():
    values = np.sin(5.0 * OTHERS[:, 0]) + 3.0 * OTHERS[:, 2]
    return condition(KERNEL, Probes.values(OTHERS), values, np.full(len(OTHERS), 1e-2)), values


def test_values_and_variances_are_the_textbooks():
    """A trend along another axis, or one that the variance at a point does not have."""
    for k in range(2):
        np.testing.assert_allclose(KERNEL.values(POINTS, OTHERS)[k], dense(k, POINTS, OTHERS), rtol=1e-12)
        np.testing.assert_allclose(covariance(KERNEL, Probes.values(POINTS), Probes.values(OTHERS))[k], dense(k, POINTS, OTHERS))
        np.testing.assert_allclose(KERNEL.variance_at(POINTS)[k], np.diag(dense(k, POINTS, POINTS)), rtol=1e-12)
        np.testing.assert_allclose(KERNEL.only(k).values(POINTS, OTHERS)[0], dense(k, POINTS, OTHERS), rtol=1e-12)


def test_gradients_match_differences():
    """In s, the trend's slope; in x, no part of it."""
    weight = np.random.default_rng(2).standard_normal((2, 5, 7))
    _, slopes = KERNEL.values_and_slopes(POINTS, OTHERS)
    gradient = KERNEL.gradient(POINTS, OTHERS, slopes, weight)
    expected = central_difference(lambda shift: (weight * KERNEL.values(POINTS + shift, OTHERS)).sum(axis=2), np.zeros(3), 1e-4)
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-6)
    one_for_all = KERNEL.gradient(POINTS, OTHERS, slopes, weight[:, :1])
    expected = central_difference(
        lambda shift: (weight[:, :1] * KERNEL.values(POINTS + shift, OTHERS)).sum(axis=2), np.zeros(3), 1e-4
    )
    np.testing.assert_allclose(one_for_all, expected, rtol=1e-5, atol=1e-6)
    expected = central_difference(lambda shift: KERNEL.variance_at(POINTS + shift), np.zeros(3), 1e-4)
    np.testing.assert_allclose(KERNEL.variance_gradient(POINTS), expected, rtol=1e-6, atol=1e-8)


def test_the_posterior_is_that_of_the_dense_solve():
    fitted, values = process()
    mean, variance = fitted.marginals(POINTS)
    for k in range(2):
        observed = dense(k, OTHERS, OTHERS) + 1e-2 * np.eye(len(OTHERS))
        cross = dense(k, POINTS, OTHERS)
        np.testing.assert_allclose(mean[k], cross @ np.linalg.solve(observed, values), rtol=1e-7)
        reduced = np.diag(dense(k, POINTS, POINTS) - cross @ np.linalg.solve(observed, cross.T))
        np.testing.assert_allclose(variance[k], reduced, rtol=1e-6)


@pytest.mark.parametrize("n", [7, 8])
def test_evidence_is_the_density_of_the_values(n):
    """Packed entries of the trend in the wrong place would change it, and its gradient."""
    rng = np.random.default_rng(20)
    points, values = rng.random((n, 3)), rng.standard_normal(n)
    evidence = Evidence(family("matern52"), points, values, np.zeros(n), constant=0.6, trend=2.5)
    vectors = np.concatenate([np.log(KERNEL.variance)[:, None], np.log(KERNEL.lengthscales), np.log([[0.02], [0.3]])], axis=1)
    value, gradient, _ = evidence.with_gradient(vectors)
    for k, noise in enumerate((0.02, 0.3)):
        cov = dense(k, points, points)
        cov += np.diag(noise + JITTER * np.diag(cov))
        assert value[k] == pytest.approx(stats.multivariate_normal(np.zeros(n), cov).logpdf(values), abs=1e-9)
    expected = central_difference(lambda shift: evidence(vectors + shift), np.zeros(5), 1e-3)
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-6)


def test_paths_have_the_posteriors_mean_and_spread_away_from_full_fidelity_too():
    """By z scores over 4,000 paths; a path whose tilt is not pulled with the rest would be off where s is large."""
    fitted, _ = process()
    mean, cov = fitted.predict(Probes.values(POINTS))
    rng = np.random.default_rng(1)
    drawn = np.stack([SamplePaths.draw(fitted, 100, rng, waves=500).everywhere(POINTS) for _ in range(40)])
    drawn = drawn.reshape(40, 2, 100, len(POINTS))
    variances = np.diagonal(cov, axis1=1, axis2=2)
    assert np.abs((drawn.mean(axis=(0, 2)) - mean) / np.sqrt(variances / 4000)).max() < 4.5
    by_batch = ((drawn - mean[:, None]) ** 2).mean(axis=2)
    assert np.abs((by_batch.mean(axis=0) - variances) / (by_batch.std(axis=0) / np.sqrt(40))).max() < 4.5


def test_gradients_of_paths_match_differences():
    fitted, _ = process()
    paths = SamplePaths.draw(fitted, 3, np.random.default_rng(3))
    which = np.array([0, 5, 3, 2, 4])
    value, gradient = paths.along(which, POINTS)
    np.testing.assert_allclose(value, paths.everywhere(POINTS)[which, np.arange(5)], atol=1e-5)  # single precision there
    expected = central_difference(lambda shift: paths.along(which, POINTS + shift)[0], np.zeros(3), 1e-5)
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-5)


def test_derivatives_along_the_trend_are_refused():
    """The constraints on a minimizer are on derivatives in x; along s a covariance without the trend would be wrong in silence."""
    with pytest.raises(KernelError, match="or a trend in its last axis has no derivatives there"):
        covariance(KERNEL, Probes.of(POINTS, [(2,)]), Probes.values(OTHERS))
    assert covariance(KERNEL, Probes.of(POINTS, [(1,)]), Probes.values(OTHERS)).shape == (2, 5, 7)
