"""Inference with values, gradients and Hessian entries, against dense textbook algebra on mpmath covariances (`oracles`)."""

from dataclasses import replace

import numpy as np
import pytest
from oracles import central_difference, dense_posterior, kernel_covariance
from scipy import stats

from farthing.errors import FarthingError
from farthing.numerics import gaussian_process
from farthing.numerics.gaussian_process import JITTER, cholesky, condition
from farthing.numerics.kernels import Kernel, Probes, family

FAMILIES = pytest.mark.parametrize("name", ["matern52", "matern32", "squared_exponential"])


def two_kernels(name: str) -> Kernel:
    return Kernel(family(name), np.array([1.7, 0.4]), np.array([[0.31, 0.83], [0.57, 0.23]]), constant=0.6)


def mixed_observations(name: str) -> tuple[Kernel, Probes, np.ndarray, np.ndarray]:
    """Two kernels, observations of every kind they allow, values and noises that differ by draw and observation."""
    rng = np.random.default_rng(5)
    points = rng.random((5, 2))
    probes = Probes.values(points).join(Probes.gradients(points[1:3], 2))
    if name != "matern32":
        probes = probes.join(Probes.of(rng.random((2, 2)), [(0, 0), (1, 0)]))
    kernel = two_kernels(name)
    prior = np.stack([kernel_covariance(kernel, one, one)[:, 0, 0] for one in singles(probes)], axis=1)
    values = np.sqrt(prior) * rng.standard_normal(prior.shape)
    return kernel, probes, values, prior * rng.uniform(1e-3, 1e-1, prior.shape)


def singles(probes: Probes) -> list[Probes]:
    return [Probes(probes.points[i : i + 1], probes.axes[i : i + 1]) for i in range(len(probes))]


def asked(name: str) -> Probes:
    kinds = [(), (0,), (1,)] + ([(0, 0), (1, 0), (1, 1)] if name != "matern32" else [])
    return Probes.of(np.array([[0.42, 0.66], [0.9, 0.05]]), kinds)


def observed_covariance(kernel: Kernel, probes: Probes, noise: np.ndarray) -> np.ndarray:
    """Prior, noise, and the jitter that `gaussian_process` documents: relative to each observation's prior variance."""
    prior = kernel_covariance(kernel, probes, probes)
    diagonal = np.diagonal(prior, axis1=1, axis2=2)
    return prior + (noise + JITTER * diagonal)[:, :, None] * np.eye(len(probes))


@FAMILIES
def test_posterior_and_evidence_are_those_of_a_dense_solve(name):
    """A block in the wrong place, noise on the wrong observation, a draw that sees another draw's values."""
    kernel, probes, values, noise = mixed_observations(name)
    process = condition(kernel, probes, values, noise)
    mean, cov = process.predict(asked(name))
    evidence = process.log_evidence()
    observed = observed_covariance(kernel, probes, noise)
    cross = kernel_covariance(kernel, asked(name), probes)
    prior = kernel_covariance(kernel, asked(name), asked(name))
    for k in range(2):
        sd = np.sqrt(np.diagonal(prior[k]))
        # Condition numbers are about 1e5 after scaling, so a dozen digits less five are left.
        dense_mean, dense_cov = dense_posterior(observed[k], cross[k], prior[k], values[k])
        np.testing.assert_allclose(mean[k] / sd, dense_mean / sd, atol=1e-9)
        np.testing.assert_allclose(cov[k] / np.outer(sd, sd), dense_cov / np.outer(sd, sd), atol=1e-9)
        exact = stats.multivariate_normal(np.zeros(len(probes)), observed[k]).logpdf(values[k])
        assert evidence[k] == pytest.approx(exact, abs=1e-8)
    np.testing.assert_allclose(process.mean(asked(name)), mean, rtol=1e-9, atol=1e-9)


@FAMILIES
def test_evidence_gradient_matches_differences(name):
    """A missing half, trace or chain factor in d log evidence / d (log A, log l, log noise)."""
    kernel, probes, values, noise = mixed_observations(name)

    def evidence(shift):
        factor = np.exp(shift)
        moved = Kernel(kernel.family, kernel.variance * factor[0], kernel.lengthscales * factor[1:3], kernel.constant)
        return condition(moved, probes, values, noise * factor[3]).log_evidence()

    found = condition(kernel, probes, values, noise).log_evidence_gradient()
    # Differences leave out 1e-12; the gradient leaves out the jitter, 1e-7 of the smallest noise.
    np.testing.assert_allclose(found, central_difference(evidence, np.zeros(4), 1e-3), rtol=1e-5, atol=1e-5)


def test_predicted_derivatives_are_derivatives_of_the_predicted_mean():
    """Gradient and Hessian means that belong to another function than the mean of the values."""
    process = condition(*mixed_observations("matern52"))
    x = np.array([0.42, 0.66])
    gradient = central_difference(lambda z: process.mean(Probes.values(z[None]))[:, 0], x, 1e-3)
    hessian = central_difference(lambda z: process.mean(Probes.gradients(z[None], 2)), x, 1e-3)
    np.testing.assert_allclose(process.mean(Probes.gradients(x[None], 2)), gradient, rtol=1e-6, atol=1e-6)
    lower = process.mean(Probes.hessians(x[None], 2))
    np.testing.assert_allclose(lower, hessian[:, [0, 1, 1], [0, 0, 1]], rtol=1e-6, atol=1e-5)


def test_predicted_covariances_of_derivatives_are_derivatives_of_the_predicted_covariance():
    """cov(df(x), g(y)) and cov(ddf(x), g(y)) for g a value, a slope or a curvature elsewhere."""
    process = condition(*mixed_observations("matern52"))
    x, elsewhere = np.array([0.42, 0.66]), Probes.of(np.array([[0.8, 0.35]]), [(), (0,), (1,), (0, 0), (1, 0), (1, 1)])

    def cross(probes):
        return process.predict(probes.join(elsewhere))[1][:, : len(probes), len(probes) :]

    gradient = central_difference(lambda z: cross(Probes.values(z[None]))[:, 0], x, 1e-3)
    hessian = central_difference(lambda z: cross(Probes.gradients(z[None], 2)), x, 1e-3)
    found = cross(Probes.gradients(x[None], 2)).transpose(0, 2, 1)
    np.testing.assert_allclose(found, gradient, rtol=1e-6, atol=1e-6 * np.abs(gradient).max())
    found = cross(Probes.hessians(x[None], 2))
    np.testing.assert_allclose(
        found, hessian[:, [0, 1, 1], :, [0, 0, 1]].transpose(1, 0, 2), rtol=1e-6, atol=1e-6 * np.abs(hessian).max()
    )


@FAMILIES
def test_fast_mean_and_gradient_match_differences(name):
    """A contraction over the wrong index, or a factor l^2, in what the box search descends."""
    rng = np.random.default_rng(6)
    process = condition(two_kernels(name), Probes.values(rng.random((7, 2))), rng.standard_normal(7), np.full(7, 1e-2))
    points = rng.random((3, 2))
    mean, gradient = process.mean_and_gradient(points)
    np.testing.assert_allclose(mean, process.mean(Probes.values(points)), rtol=1e-10, atol=1e-10)
    for m, x in enumerate(points):
        expected = central_difference(lambda z: process.mean(Probes.values(z[None]))[:, 0], x, 1e-3)
        np.testing.assert_allclose(gradient[:, m], expected, rtol=1e-6, atol=1e-6)


def test_marginals_are_the_diagonal_of_the_joint_prediction_and_never_negative():
    rng = np.random.default_rng(7)
    points = rng.random((9, 2))
    process = condition(two_kernels("matern52"), Probes.values(points), rng.standard_normal(9), np.zeros(9))
    asked_at = np.concatenate([points, rng.random((20, 2))])
    mean, variance = process.marginals(asked_at)
    joint_mean, joint = process.predict(Probes.values(asked_at))
    np.testing.assert_allclose(mean, joint_mean, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(variance, np.diagonal(joint, axis1=1, axis2=2), atol=1e-9)
    assert np.median(variance[:, 9:]) > 1e-3
    # Rounding that takes more variance away than there was, at the observed points.
    rounded = replace(process, whitener=process.whitener * (1.0 + 1e-9))
    np.testing.assert_array_equal(rounded.marginals(points)[1], 0.0)


def test_sample_has_the_predicted_mean_and_covariance():
    """Errors in units of their standard deviation over 2e5 draws; 5 sd are passed by chance once in 5e4 runs."""
    process = condition(*mixed_observations("matern52"))
    probes = Probes.of(np.array([[0.42, 0.66], [0.45, 0.6]]), [(), (0,), (1, 1)])
    mean, cov = process.predict(probes)
    draws = process.sample(probes, np.random.default_rng(8), 200_000)
    variance = np.diagonal(cov, axis1=1, axis2=2)
    deviation = draws - mean[:, None, :]
    assert np.abs(deviation.mean(axis=1) / np.sqrt(variance / 200_000)).max() < 5.0
    error = np.einsum("ksi,ksj->kij", deviation, deviation) / 200_000 - cov
    assert np.abs(error / np.sqrt((variance[:, :, None] * variance[:, None, :] + cov**2) / 200_000)).max() < 5.0
    independent = np.corrcoef(draws[0, :, 0], draws[1, :, 0])[0, 1]
    assert abs(independent) < 5.0 / np.sqrt(200_000)


@pytest.mark.parametrize("small", [0, 10**9])
def test_both_product_paths_agree_with_a_dense_solve(small, monkeypatch):
    """The triangular products that large processes use, with the triangle or its transpose swapped."""
    monkeypatch.setattr(gaussian_process, "SMALL", small)
    rng = np.random.default_rng(9)
    kernel, points, values = two_kernels("matern52"), rng.random((180, 2)), rng.standard_normal(180)
    process = condition(kernel, Probes.values(points), values, np.full(180, 1e-2))
    probes = Probes.values(rng.random((4, 2)))
    mean, cov = process.predict(probes)
    rows = rng.standard_normal((2, 3, 180))
    for k in range(2):
        observed = kernel.values(points, points)[k] + (1e-2 + JITTER * kernel.variance_at_zero[k]) * np.eye(180)
        cross, prior = kernel.values(probes.points, points)[k], kernel.values(probes.points, probes.points)[k]
        dense_mean, dense_cov = dense_posterior(observed, cross, prior, values)
        np.testing.assert_allclose(mean[k], dense_mean, atol=1e-8)
        np.testing.assert_allclose(cov[k], dense_cov, atol=1e-8)
        lower = np.linalg.cholesky(observed)
        np.testing.assert_allclose(process.whiten(rows)[k], np.linalg.solve(lower, rows[k].T).T, atol=1e-8)
        np.testing.assert_allclose(process.unwhiten(rows)[k], np.linalg.solve(lower.T, rows[k].T).T, atol=1e-7)


def test_cholesky_reads_the_upper_triangle_alone():
    """Callers leave the other one unset."""
    rng = np.random.default_rng(6)
    root = np.tril(rng.standard_normal((5, 5))) + 4.0 * np.eye(5)
    matrix = root @ root.T
    matrix[np.tril_indices(5, -1)] = np.nan
    np.testing.assert_allclose(cholesky(matrix, np.zeros(5)), root, rtol=1e-12)


def test_cholesky_adds_the_least_jitter_that_works():
    """An eigenvalue of -1e-9 needs the second rung, 1e-8 of the prior variances, and nothing more."""
    basis = np.linalg.qr(np.random.default_rng(10).standard_normal((4, 4)))[0]
    matrix = (basis * np.array([-1e-9, 1.0, 2.0, 3.0])) @ basis.T
    prior = np.array([1.0, 2.0, 3.0, 4.0])
    lower = cholesky(matrix, prior)
    np.testing.assert_allclose(lower @ lower.T - matrix, np.diag(1e-8 * prior), atol=1e-14)


@pytest.mark.parametrize(
    "bad",
    [np.nan, np.inf],
)
def test_cholesky_refuses_what_is_not_a_number(bad):
    """LAPACK reports success on NaN, so a process made of NaN would be returned in silence."""
    with pytest.raises(FarthingError, match="not finite"):
        cholesky(np.array([[1.0, bad], [bad, 1.0]]), np.ones(2))


@FAMILIES
def test_left_out_every_observation_is_foretold_as_by_a_process_that_never_saw_it(name):
    """The wrong sign, the variance without its noise, another draw's."""
    kernel, probes, values, noise = mixed_observations(name)
    errors, variances = condition(kernel, probes, values, noise).leave_one_out()
    for i, one in enumerate(singles(probes)):
        others = [j for j in range(len(probes)) if j != i]
        rest = Probes(probes.points[others], probes.axes[others])
        mean, cov = condition(kernel, rest, values[:, others], noise[:, others]).predict(one)
        assert errors[:, i] == pytest.approx(values[:, i] - mean[:, 0], rel=1e-6, abs=1e-8)
        assert variances[:, i] == pytest.approx(cov[:, 0, 0] + noise[:, i], rel=1e-6)
