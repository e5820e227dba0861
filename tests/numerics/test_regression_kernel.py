"""Kernels with a regression in the last axis: against the formula of FABOLAS written out, dense algebra, and differences."""

import numpy as np
import pytest
from oracles import central_difference, dense_posterior, kernel_value
from scipy.stats import multivariate_normal

import farthing as ft
from farthing.numerics.evidence import Evidence
from farthing.numerics.gaussian_process import JITTER, condition
from farthing.numerics.kernels import Kernel, Probes, covariance, family
from farthing.numerics.regression_kernel import RegressionKernel
from farthing.numerics.sample_paths import SamplePaths

VARIANCE, SCALES, MIXING = np.array([1.7, 0.6]), np.array([[0.31, 0.83], [0.7, 0.4]]), np.array([[0.8, -0.3], [-0.6, 0.4]])
POWERS = pytest.mark.parametrize("power", [1, 2], ids=["for the cost", "for the loss"])


def kernel_of(power=2, constant=0.6):
    return RegressionKernel.of(Kernel(family("matern52"), VARIANCE, SCALES, constant), MIXING, power)


def textbook(a, b, k, power, constant=0.6):
    """A Matern(x, x') b(s)^T S b(s') + B, entry by entry, with S from its Cholesky factor."""
    lower = np.array([[1.0, 0.0], [MIXING[k, 0], np.exp(MIXING[k, 1])]])
    out = np.empty((len(a), len(b)))
    for i, p in enumerate(a):
        for j, q in enumerate(b):
            left, right = np.array([1.0, p[-1] ** power]), np.array([1.0, q[-1] ** power])
            matern = float(kernel_value("matern52", VARIANCE[k], SCALES[k], p[:-1], q[:-1]))
            out[i, j] = matern * (left @ lower @ lower.T @ right) + constant
    return out


def points_of(n, seed=0):
    return np.random.default_rng(seed).random((n, 3))


@POWERS
def test_values_are_the_matern_in_x_times_the_regression_in_s(power):
    a, b, kernel = points_of(5), points_of(4, 1), kernel_of(power)
    for k in range(2):
        np.testing.assert_allclose(kernel.values(a, b)[k], textbook(a, b, k, power), rtol=1e-12)
        np.testing.assert_allclose(kernel.variance_at(a)[k], np.diagonal(textbook(a, a, k, power)), rtol=1e-12)
        np.testing.assert_allclose(kernel.only(k).values(a, b)[0], textbook(a, b, k, power), rtol=1e-12)
        np.testing.assert_allclose(covariance(kernel, Probes.values(a), Probes.values(b))[k], textbook(a, b, k, power), rtol=1e-10)


@POWERS
def test_gradients_in_x_and_in_s_match_differences(power):
    a, b, kernel = points_of(3), points_of(6, 1), kernel_of(power)
    weight = np.random.default_rng(2).standard_normal((2, 3, 6))
    _, slopes = kernel.values_and_slopes(a, b)
    gradient, of_variance = kernel.gradient(a, b, slopes, weight), kernel.variance_gradient(a)
    for i in range(3):

        def weighted(z, i=i):
            return (weight[:, i] * kernel.values(z[None], b)[:, 0]).sum(axis=1)

        np.testing.assert_allclose(gradient[:, i], central_difference(weighted, a[i], 1e-3), rtol=1e-6, atol=1e-8)
        expected = central_difference(lambda z: kernel.variance_at(z[None])[:, 0], a[i], 1e-3)
        np.testing.assert_allclose(of_variance[:, i], expected, rtol=1e-7, atol=1e-9)


def test_hessians_in_x_are_there_and_derivatives_in_s_are_refused():
    """WLH takes Hessians at s = 0 with observations at other s: the regression's factor must be in them."""
    kernel, x = kernel_of(), np.array([[0.3, 0.7, 0.0]])
    other = np.array([[0.5, 0.2, 0.8]])
    found = covariance(kernel, Probes.of(x, [(0, 1)]), Probes.values(other))[:, 0, 0]

    def slope(z):
        return covariance(kernel, Probes.of(z[None], [(1,)]), Probes.values(other))[:, 0, 0]

    np.testing.assert_allclose(found, central_difference(slope, x[0], 1e-3)[:, 0], rtol=1e-6)
    with pytest.raises(ft.KernelError, match="regression or a trend in its last axis has no derivatives there; use one"):
        covariance(kernel, Probes.of(x, [(2,)]), Probes.values(other))


def test_sample_paths_of_a_kernel_without_a_spectrum_are_refused():
    process = condition(kernel_of(), Probes.values(points_of(4)), np.arange(4.0), np.full(4, 0.1))
    with pytest.raises(ft.KernelError, match="stationary kernels alone; draw joint values"):
        SamplePaths.draw(process, 1, np.random.default_rng(0))


@POWERS
def test_predictions_are_those_of_a_dense_solve_and_appending_changes_nothing(power):
    x, z, noise = points_of(7), points_of(3, 5), np.random.default_rng(4).uniform(0.01, 0.1, 7)
    values = np.random.default_rng(3).standard_normal(7)
    process = condition(kernel_of(power), Probes.values(x), values, noise)
    part = condition(kernel_of(power), Probes.values(x[:4]), values[:4], noise[:4])
    appended = part.append(Probes.values(x[4:]), values[4:], noise[4:])
    for k in range(2):
        observed = textbook(x, x, k, power) + np.diag(noise)
        mean, cov = dense_posterior(observed, textbook(z, x, k, power), textbook(z, z, k, power), values)
        for found in (process, appended):
            means, covariances = found.predict(Probes.values(z))
            np.testing.assert_allclose(means[k], mean, rtol=1e-6, atol=1e-8)
            np.testing.assert_allclose(covariances[k], cov, rtol=1e-6, atol=1e-8)
            np.testing.assert_allclose(found.marginals(z)[1][k], np.diagonal(cov), rtol=1e-6, atol=1e-8)
    mean, gradient = process.mean_and_gradient(z)
    for i in range(3):
        expected = central_difference(lambda p: process.mean_at(p[None])[:, 0], z[i], 1e-3)
        np.testing.assert_allclose(gradient[:, i], expected, rtol=1e-6, atol=1e-7)


def evidence_of(n, power):
    rng = np.random.default_rng(20)
    x = points_of(n, 8)
    noise = rng.uniform(0.01, 0.2, n)
    values = rng.standard_normal(n)
    return x, noise, Evidence(family("matern52"), x[:, :-1], values, noise, 0.6, basis=x[:, -1] ** power)


VECTORS = np.column_stack([np.log(VARIANCE), np.log(SCALES), MIXING, np.log([0.02, 0.3])])


@POWERS
@pytest.mark.parametrize("n", [1, 2, 7, 8])
def test_evidence_is_the_density_of_the_values_under_the_dense_covariance(n, power):
    x, noise, evidence = evidence_of(n, power)
    found = evidence(VECTORS)
    for k in range(2):
        dense = textbook(x, x, k, power)
        dense += np.diag(noise + np.exp(VECTORS[k, -1]) + JITTER * np.diagonal(dense))
        assert found[k] == pytest.approx(multivariate_normal(np.zeros(n), dense).logpdf(evidence.values), rel=1e-10)


@POWERS
@pytest.mark.parametrize("n", [7, 8])
def test_gradient_of_the_evidence_matches_differences_in_every_hyperparameter(n, power):
    _, _, evidence = evidence_of(n, power)
    value, gradient, _ = evidence.with_gradient(VECTORS)
    np.testing.assert_allclose(value, evidence(VECTORS), rtol=1e-13)
    expected = central_difference(lambda shift: evidence(VECTORS + shift), np.zeros(6), 1e-3)
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-6)
