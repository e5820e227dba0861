"""One-sided constraints: truncated-normal moments in one dimension, quadrature in two, rejection sampling in five."""

import numpy as np
import pytest
from oracles import orthant_moments, rejection_draws, truncated_moments
from scipy import stats

from farthing.numerics.expectation_propagation import Constrained, constrain_above_zero, truncate_above_zero

# What a site is built from: five digits of each moment, however deep the tail.
DIGITS = 1e-5


def constrain(mean, covariance, active=None, softness=0.0) -> Constrained:
    """One Gaussian, as the batch of one that it is."""
    mean = np.asarray(mean, dtype=float)
    active = np.ones(len(mean), dtype=bool) if active is None else np.asarray(active)
    return constrain_above_zero(mean[None], np.asarray(covariance, dtype=float)[None], active[None], softness)


@pytest.mark.parametrize("a", [9.0, 2.0, 0.0, -0.5, -3.0, -8.0])
def test_truncation_is_the_truncated_normal(a):
    """Scale and location handled apart: mean a sd, sd 1.5."""
    mean, variance = truncate_above_zero(np.array(1.5 * a), np.array(2.25))
    expected = stats.truncnorm.stats(-a, np.inf, loc=1.5 * a, scale=1.5)
    # Logs lose about a^2 eps of the hazard, and 1 - h(h+a) = 1/a^2 magnifies it by a^4.
    assert float(mean) == pytest.approx(float(expected[0]), rel=1e-10)
    assert float(variance) == pytest.approx(float(expected[1]), rel=1e-9)


@pytest.mark.parametrize("a", [-20.0, -40.0, -150.0, -300.0, -600.0, -1e3, -1001.0, -1e4, -1e5])
def test_truncation_keeps_its_digits_in_the_tail(a):
    """0/0 beyond 38 sd, and cancellation long after that."""
    mean, variance = truncate_above_zero(np.array(2.0 * a), np.array(4.0))
    exact_mean, exact_variance = truncated_moments(2.0 * a, 4.0)
    assert float(mean) == pytest.approx(exact_mean, rel=DIGITS)
    assert float(variance) == pytest.approx(exact_variance, rel=DIGITS)


@pytest.mark.parametrize(("mean", "variance", "softness"), [(1.0, 2.0, 0.5), (-3.0, 0.5, 0.1), (-40.0, 1.0, 0.5), (0.3, 1.0, 9.0)])
def test_soft_truncation_matches_quadrature(mean, variance, softness):
    """Softness added to the wrong variance."""
    found = truncate_above_zero(np.array(mean), np.array(variance), softness)
    np.testing.assert_allclose(found, truncated_moments(mean, variance, softness), rtol=1e-9)


@pytest.mark.parametrize(
    ("mean", "softness"),
    [
        (0.7, 0.0),
        (-1.0, 0.0),
        (-8.0, 0.0),
        (-40.0, 0.0),
        (-1.0, 0.3),
        (-300.0, 0.0),
        (-1e3, 0.0),
        (-1e5, 0.0),
    ],
)
def test_one_variable_is_exact(mean, softness):
    """With one constraint EP is no approximation: anything else is a wrong cavity or site."""
    found = constrain([1.5 * mean], [[2.25]], softness=softness)
    exact_mean, exact_variance = truncated_moments(1.5 * mean, 2.25, softness)
    assert found.converged.all()
    assert found.mean[0, 0] == pytest.approx(exact_mean, rel=DIGITS)
    assert found.covariance[0, 0, 0] == pytest.approx(exact_variance, rel=DIGITS)


@pytest.mark.parametrize("rho", [-0.9, -0.5, 0.0, 0.3, 0.6, 0.9])
@pytest.mark.parametrize("mean", [(0.0, 0.0), (1.0, -1.0), (-1.0, -1.0), (-2.0, 1.0), (2.0, 0.5)])
def test_two_variables_match_quadrature(rho, mean):
    """EP's own error vanishes with the correlation, in square: at most 0.03 rho^2 sd of a mean, 0.2 rho^2 of a covariance.

    A constraint that does not reach the other variable is off by about |rho|.
    """
    covariance = np.array([[1.0, 1.5 * rho], [1.5 * rho, 2.25]])
    found = constrain(mean, covariance)
    _, exact_mean, exact = orthant_moments(np.array(mean), covariance, (True, True))
    sd = np.sqrt(np.diagonal(exact))
    assert found.converged.all()
    np.testing.assert_allclose(found.mean[0] / sd, exact_mean / sd, rtol=0, atol=0.03 * rho**2 + 1e-6)
    np.testing.assert_allclose(found.covariance[0] / np.outer(sd, sd), exact / np.outer(sd, sd), rtol=0, atol=0.2 * rho**2 + 1e-6)


def test_an_unconstrained_variable_follows_through_its_correlation():
    """One site only, so EP is exact for the other variable as well: E[y] = m + cov(y, x)/var(x) (E'[x] - E[x]), and so on."""
    mean, covariance = np.array([-0.8, 0.4, 1.0]), np.array([[1.0, 0.8, -0.3], [0.8, 2.0, 0.2], [-0.3, 0.2, 1.5]])
    found = constrain(mean, covariance, [True, False, False])
    exact_mean, exact_variance = truncated_moments(-0.8, 1.0)
    slope = covariance[:, 0] / covariance[0, 0]
    np.testing.assert_allclose(found.mean[0], mean + slope * (exact_mean - mean[0]), atol=1e-6)
    np.testing.assert_allclose(found.covariance[0], covariance + np.outer(slope, slope) * (exact_variance - 1.0), atol=1e-6)
    assert found.precision[0, 1:].tolist() == [0.0, 0.0]


def random_gaussian(rng: np.random.Generator, q: int) -> tuple[np.ndarray, np.ndarray]:
    factor = rng.standard_normal((q, 2 * q))
    covariance = factor @ factor.T / (2 * q)
    return rng.standard_normal(q) * np.sqrt(np.diagonal(covariance)), covariance


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_five_variables_match_rejection_sampling(seed):
    """Four constraints and a free variable. 4e4 draws know a mean to 0.005 sd, a covariance to 0.007: EP's error is the larger."""
    rng = np.random.default_rng(seed)
    mean, covariance = random_gaussian(rng, 5)
    active = [True, True, False, True, True]
    draws = rejection_draws(mean, covariance, active, 40_000, rng)
    found = constrain(mean, covariance, active)
    sd = draws.std(axis=0)
    np.testing.assert_allclose(found.mean[0] / sd, draws.mean(axis=0) / sd, rtol=0, atol=0.03)
    np.testing.assert_allclose(found.covariance[0] / np.outer(sd, sd), np.cov(draws.T) / np.outer(sd, sd), rtol=0, atol=0.08)


@pytest.mark.parametrize(("seed", "softness"), [(4, 0.0), (5, 0.0), (6, 0.2)])
def test_result_is_a_fixed_point_of_expectation_propagation(seed, softness):
    """Free of EP's own error: the result is prior times sites, and every cavity, truncated, has the marginal's moments."""
    rng = np.random.default_rng(seed)
    mean, covariance = random_gaussian(rng, 4)
    active = np.array([True, True, True, False])
    found = constrain(mean, covariance, active, softness)
    prior_precision, precision = np.linalg.inv(covariance), np.linalg.inv(found.covariance[0])
    np.testing.assert_allclose(precision - prior_precision, np.diag(found.precision[0]), atol=1e-8)
    pull = precision @ found.mean[0] - prior_precision @ mean
    assert found.precision[0, 3] == 0.0
    assert abs(pull[3]) < 1e-8
    for i in np.flatnonzero(active):
        marginal_mean, marginal_variance = found.mean[0, i], found.covariance[0, i, i]
        cavity_variance = 1.0 / (1.0 / marginal_variance - found.precision[0, i])
        cavity_mean = cavity_variance * (marginal_mean / marginal_variance - pull[i])
        expected = truncated_moments(cavity_mean, cavity_variance, softness)
        # Sites settle to the tolerance, 1e-7 of the marginal.
        np.testing.assert_allclose([marginal_mean, marginal_variance], expected, rtol=1e-6)


@pytest.mark.parametrize("rho", [-0.9, 0.0, 0.9, 0.999])
@pytest.mark.parametrize("mean", [(-40.0, -40.0), (-40.0, 0.0), (-40.0, 40.0)])
def test_forty_sigma_with_correlation_stays_a_distribution(rho, mean):
    """NaN, a negative variance, or a mean on the wrong side."""
    found = constrain(mean, [[1.0, rho], [rho, 1.0]])
    assert (found.mean > 0.0).all()
    assert (np.linalg.eigvalsh(found.covariance[0]) > 0.0).all()
    assert (np.diagonal(found.covariance[0]) <= 1.0).all()
    assert found.dropped == 0


@pytest.mark.parametrize(
    ("mean", "gap"),
    [
        ((-1.0, -1.0), 1e-3),
        ((0.0, 0.0), 1e-6),
        ((1.0, 0.0), 1e-9),
        ((-1.0, 2.0), 1e-13),
        ((-1.0, -1.0), 1e-9),
        ((-40.0, 0.0), 1e-3),
    ],
)
def test_constraints_that_almost_contradict_each_other_stay_finite(mean, gap):
    """x and y almost opposite: the room both leave is tiny, and the posterior variance far below the prior's rounding."""
    found = constrain(mean, [[1.0, gap - 1.0], [gap - 1.0, 1.0]])
    assert np.isfinite(found.mean).all()
    assert np.isfinite(found.covariance).all()
    assert (np.diagonal(found.covariance[0]) > 0.0).all()
    assert (found.mean > -1e-6).all()


def test_a_repeated_variable_is_no_trouble():
    """Singular covariance: both copies must agree, and lie above zero."""
    found = constrain([-1.0, -1.0, 0.5], [[1.0, 1.0, 0.2], [1.0, 1.0, 0.2], [0.2, 0.2, 1.0]])
    assert found.mean[0, 0] == pytest.approx(found.mean[0, 1], abs=1e-9)
    assert 0.4 < found.mean[0, 0] < 0.7
    np.testing.assert_allclose(found.covariance[0, 0], found.covariance[0, 1], atol=1e-9)


def test_a_batch_gives_what_each_gaussian_gives_alone():
    """One Gaussian's convergence, or lack of it, that reaches another."""
    rng = np.random.default_rng(7)
    means, covariances = zip(*[random_gaussian(rng, 3) for _ in range(6)], strict=True)
    mean, covariance, active = np.stack(means), np.stack(covariances), rng.random((6, 3)) < 0.7
    active[0] = False
    mean[1] -= 20.0
    together = constrain_above_zero(mean, covariance, active)
    for j in range(6):
        alone = constrain(mean[j], covariance[j], active[j])
        np.testing.assert_allclose(together.mean[j], alone.mean[0], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(together.covariance[j], alone.covariance[0], rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(together.mean[0], mean[0])
    np.testing.assert_array_equal(together.covariance[0], covariance[0])


def test_a_variable_without_variance_is_left_alone():
    found = constrain([-1.0, -1.0], [[0.0, 0.0], [0.0, 1.0]])
    assert found.mean[0, 0] == -1.0
    assert found.mean[0, 1] == pytest.approx(truncated_moments(-1.0, 1.0)[0], rel=1e-6)


def test_running_out_of_iterations_is_reported():
    """Not a silent, half-made result."""
    mean, covariance = random_gaussian(np.random.default_rng(8), 4)
    found = constrain_above_zero(mean[None], covariance[None], np.ones((1, 4), dtype=bool), iterations=2)
    assert not found.converged.any()
    assert found.iterations == 2
