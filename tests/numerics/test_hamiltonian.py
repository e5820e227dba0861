"""HMC against exact distributions, and against itself in other coordinates.

As for the slice sampler, chains that start exact must stay exact, and chains that start far off must forget it.
"""

import numpy as np
import pytest
from oracles import distribution_p_value
from scipy import stats

from farthing.numerics.hamiltonian import transitions

CHANCE = 1e-4
SHAPE = 1.5
LOWER = np.array([[1.0, 0.0], [0.95, np.sqrt(1.0 - 0.95**2)]])
"""Cholesky factor of a correlation of 0.95."""


def log_gamma(x):
    """The logarithm of a gamma variable: smooth, and skewed to the left."""
    return SHAPE * x[:, 0] - np.exp(x[:, 0]), SHAPE - np.exp(x)


def log_gamma_cdf(x):
    return stats.gamma(SHAPE).cdf(np.exp(x))


def correlated_normal(x):
    gradient = -np.linalg.solve(LOWER @ LOWER.T, x.T).T
    return 0.5 * (x * gradient).sum(axis=1), gradient


def exponential(x):
    """Nothing below zero."""
    return np.where(x[:, 0] >= 0.0, -x[:, 0], -np.inf), -np.ones_like(x)


@pytest.mark.parametrize(("step", "least", "most"), [(0.5, 0.9, 1.0), (1.5, 0.5, 0.95), (2.2, 0.1, 0.6)])
def test_exact_draws_of_a_skewed_target_stay_exact(step, least, most):
    """A rejection left out or wrongly weighed: with steps this long many proposals must be rejected."""
    rng = np.random.default_rng(40)
    start = np.log(rng.gamma(SHAPE, size=(20_000, 1)))
    state, info = transitions(log_gamma, start, rng, whitening=np.eye(1), count=10, step=step)
    assert stats.kstest(state[:, 0], log_gamma_cdf).pvalue > CHANCE
    assert least < info.acceptance < most
    once, info = transitions(log_gamma, start, rng, whitening=np.eye(1), count=1, step=step)
    # A share of 20,000 chains has an sd of at most 0.0036.
    assert (once != start).mean() == pytest.approx(info.acceptance, abs=5 * 0.0036)


def test_exact_draws_of_a_bounded_target_stay_exact():
    """A trajectory that ends where there is no mass must be rejected, without a warning."""
    rng = np.random.default_rng(41)
    start = rng.exponential(size=(20_000, 1))
    state, _ = transitions(exponential, start, rng, whitening=np.eye(1), count=10, step=1.0)
    assert stats.kstest(state[:, 0], stats.expon.cdf).pvalue > CHANCE
    assert (state != start).mean() > 0.9


def test_exact_draws_of_a_correlated_normal_stay_exact_in_a_poor_metric():
    rng = np.random.default_rng(42)
    start = rng.standard_normal((20_000, 2)) @ LOWER.T
    whitening = np.array([[0.5, 0.0], [-0.3, 0.2]])
    state, info = transitions(correlated_normal, start, rng, whitening=whitening, count=10)
    along, across = np.linalg.solve(LOWER, state.T)
    for projection in (state[:, 0], state[:, 1], along, across):
        assert stats.kstest(projection, stats.norm.cdf).pvalue > CHANCE
    assert info.acceptance < 0.98, "the rejections this test is about do not occur"


def test_whitening_is_a_change_of_coordinates():
    """Transposed whitening would keep the target but waste the steps: the path must be the whitened problem's, mapped back."""
    start = np.random.default_rng(43).standard_normal((50, 2))

    def white(e):
        return -0.5 * (e**2).sum(axis=1), -e

    plain, plain_info = transitions(white, start, np.random.default_rng(44), whitening=np.eye(2), count=5, step=1.2)
    mapped, info = transitions(correlated_normal, start @ LOWER.T, np.random.default_rng(44), whitening=LOWER, count=5, step=1.2)
    np.testing.assert_allclose(mapped, plain @ LOWER.T, rtol=1e-9, atol=1e-9)
    assert info.acceptance == pytest.approx(plain_info.acceptance, rel=1e-9)


def test_chains_forget_a_poor_start():
    """Correlated normal from a far corner, and the skewed target from its tail, at the effective sample size."""
    rng = np.random.default_rng(45)
    normal, skewed = np.full((50, 2), [4.0, -4.0]), np.full((50, 1), -12.0)
    history = np.empty((900, 50, 3))
    for step in range(len(history)):
        normal, _ = transitions(correlated_normal, normal, rng, whitening=LOWER, count=1)
        skewed, _ = transitions(log_gamma, skewed, rng, whitening=np.eye(1), count=1)
        history[step] = np.concatenate([normal, skewed], axis=1)
    kept = history[200:]
    across = (kept[:, :, 0] - kept[:, :, 1]) / np.sqrt(2.0 - 2.0 * 0.95)
    assert distribution_p_value(kept[:, :, 0], stats.norm.cdf) > CHANCE
    assert distribution_p_value(across, stats.norm.cdf) > CHANCE
    assert distribution_p_value(kept[:, :, 2], log_gamma_cdf) > CHANCE


def test_a_short_trajectory_keeps_its_energy_and_evaluations_are_counted():
    """The leapfrog errs by step^2 an oscillation: at a hundredth of the usual step all is accepted."""
    seen = []

    def counted(x):
        seen.append(len(x))
        return log_gamma(x)

    start = np.log(np.random.default_rng(46).gamma(SHAPE, size=(30, 1)))
    kept = start.copy()
    _, info = transitions(counted, start, np.random.default_rng(47), whitening=np.eye(1), count=6, step=0.01)
    assert info.acceptance > 1.0 - 1e-4
    assert info.evaluations == sum(seen)
    np.testing.assert_array_equal(start, kept)


def test_no_transition_changes_nothing():
    start = np.array([[0.3], [0.4]])
    state, info = transitions(log_gamma, start, np.random.default_rng(48), whitening=np.eye(1), count=0)
    np.testing.assert_array_equal(state, start)
    assert info.evaluations == 2
