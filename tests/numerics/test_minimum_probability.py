"""Which value is the lowest, against exact probabilities, joint draws, and differences."""

import numpy as np
import pytest
from oracles import central_difference
from scipy.special import ndtr
from scipy.stats import multivariate_normal

from farthing.numerics.gaussian_process import condition
from farthing.numerics.kernels import Kernel, Probes, family
from farthing.numerics.minimum_probability import HOPELESS, lowest_of

DRAWS = 200_000


def asymmetric(m, seed):
    """Means, variances and correlations that all differ: (m,), (m, m)."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((m, m + 2)) * np.exp(0.4 * rng.standard_normal((m, 1)))
    return 0.7 * rng.standard_normal(m), root @ root.T / m


def posterior(d, n, m, seed):
    """Values at m places, the lower ones of many, after n observations of a function: what representers look like."""
    rng = np.random.default_rng(seed)
    x = rng.random((n, d))
    kernel = Kernel(family("matern52"), np.ones(1), np.exp(np.log(0.35 * np.sqrt(d)) + 0.3 * rng.standard_normal((1, d))))
    values = np.linalg.cholesky(kernel.values(x, x)[0] + 1e-4 * np.eye(n)) @ rng.standard_normal(n)
    process = condition(kernel, Probes.values(x), values, np.full(n, 1e-4))
    places = rng.random((2000, d))
    mean, variance = process.marginals(places)
    places = places[np.argsort((mean - np.sqrt(variance))[0])[: 6 * m : 6]]
    mean, covariance = process.predict(Probes.values(places))
    return mean[0], covariance[0]


def drawn(mean, covariance, seed=0, draws=DRAWS):
    """Joint draws (draws, m), and which value of each is the lowest."""
    jitter = 1e-10 * covariance.max() * np.eye(len(mean))
    f = mean + np.random.default_rng(seed).standard_normal((draws, len(mean))) @ np.linalg.cholesky(covariance + jitter).T
    return f, f.argmin(axis=1)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_of_two_values_the_probability_is_exact_whatever_their_scale(scale):
    mean, covariance = np.array([[0.3, -0.2]]), np.array([[[1.0, 0.4], [0.4, 0.7]]])
    found = lowest_of(scale * mean, scale**2 * covariance)
    below = ndtr(-0.5 / np.sqrt(1.0 + 0.7 - 0.8))
    np.testing.assert_allclose(found.probability[0], [below, 1.0 - below], rtol=1e-6)
    np.testing.assert_allclose(np.exp(found.log_mass[0]), [below, 1.0 - below], rtol=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_of_three_values_the_mass_is_that_of_a_bivariate_orthant(seed):
    """A slip in EP's normalizing constant would be hidden by making the probabilities sum to 1: here it shows before that."""
    mean, covariance = asymmetric(3, seed)
    found = lowest_of(mean[None], covariance[None], tolerance=1e-6)
    for i in range(3):
        differences = np.delete(np.eye(3) - np.eye(3)[i], i, axis=0)
        orthant = multivariate_normal(-differences @ mean, differences @ covariance @ differences.T).cdf(np.zeros(2))
        assert np.exp(found.log_mass[0, i]) == pytest.approx(orthant, rel=0.05, abs=2e-3)


@pytest.mark.parametrize(("m", "seed"), [(3, 0), (3, 1), (5, 2), (5, 3), (10, 4), (30, 5)])
def test_probabilities_are_those_of_joint_draws(m, seed):
    """Half the sum of differences; EP's error was 0.001 to 0.012, that of sampling is below 0.003."""
    mean, covariance = asymmetric(m, seed)
    _, lowest = drawn(mean, covariance)
    found = lowest_of(mean[None], covariance[None])
    assert found.converged.all()
    assert found.probability.sum() == pytest.approx(1.0)
    assert 0.5 * np.abs(found.probability[0] - np.bincount(lowest, minlength=m) / DRAWS).sum() < 0.02


@pytest.mark.parametrize(("d", "n"), [(1, 5), (1, 15), (2, 5), (2, 30), (6, 15)])
def test_probabilities_are_those_of_joint_draws_where_values_are_all_but_the_same(d, n):
    """Neighbors on a path are correlated by 0.99 and more, where undamped updates of all sites at once run away."""
    mean, covariance = posterior(d, n, 40, seed=d + n)
    _, lowest = drawn(mean, covariance)
    found = lowest_of(mean[None], covariance[None])
    assert found.converged.all()
    assert 0.5 * np.abs(found.probability[0] - np.bincount(lowest, minlength=40) / DRAWS).sum() < 0.05


def test_pull_and_tightness_are_the_moments_of_f_given_which_is_the_lowest():
    mean, covariance = asymmetric(5, 8)
    f, lowest = drawn(mean, covariance, draws=2_000_000)
    found = lowest_of(mean[None], covariance[None])
    sds = np.sqrt(np.diagonal(covariance))
    for i in np.flatnonzero(found.probability[0] > 0.02):
        mine = f[lowest == i]
        np.testing.assert_allclose((mean + covariance @ found.pull[0, i] - mine.mean(axis=0)) / sds, 0.0, atol=0.06)
        inside = covariance - covariance @ found.tightness[0, i] @ covariance
        np.testing.assert_allclose((inside - np.cov(mine.T)) / np.outer(sds, sds), 0.0, atol=0.08)


def test_pull_is_the_gradient_of_the_log_mass_in_the_mean():
    """EP is stationary in its sites, so that they may be held fixed."""
    mean, covariance = asymmetric(6, 3)

    def log_mass(m):
        return lowest_of(m[None], covariance[None], iterations=400, tolerance=1e-11).log_mass[0]

    found = lowest_of(mean[None], covariance[None], iterations=400, tolerance=1e-11)
    np.testing.assert_allclose(found.pull[0], central_difference(log_mass, mean, 1e-3), rtol=1e-5, atol=1e-6)


def test_gaussians_in_one_batch_do_not_mix():
    cases = [asymmetric(7, seed) for seed in range(4)]
    together = lowest_of(np.stack([c[0] for c in cases]), np.stack([c[1] for c in cases]))
    for k, (mean, covariance) in enumerate(cases):
        alone = lowest_of(mean[None], covariance[None])
        for name in ("log_probability", "pull", "tightness"):
            np.testing.assert_allclose(getattr(together, name)[k], getattr(alone, name)[0], rtol=1e-9, atol=1e-12)


def test_the_order_of_the_values_does_not_matter():
    mean, covariance = asymmetric(8, 1)
    order = np.random.default_rng(0).permutation(8)
    plain, shuffled = lowest_of(mean[None], covariance[None]), lowest_of(mean[order][None], covariance[np.ix_(order, order)][None])
    np.testing.assert_allclose(shuffled.probability[0], plain.probability[0, order], rtol=1e-9)
    np.testing.assert_allclose(shuffled.tightness[0], plain.tightness[0][order][:, order][:, :, order], rtol=1e-7, atol=1e-10)


def test_hopeless_values_have_next_to_no_probability_and_leave_the_others_as_they_are():
    mean, covariance = asymmetric(5, 2)
    alone = lowest_of(mean[None], covariance[None])
    far = np.block([[covariance, np.zeros((5, 2))], [np.zeros((2, 5)), np.diag([0.3, 0.6])]])
    found = lowest_of(np.concatenate([mean, [20.0, 1e9]])[None], far[None])
    assert (found.log_probability[0, 5:] < HOPELESS).all()
    assert np.isfinite(found.log_mass).all()
    np.testing.assert_allclose(found.probability[0, :5], alone.probability[0], rtol=1e-4)


@pytest.mark.parametrize("correlation", [0.0, 0.999999, 1.0])
def test_values_that_are_the_same_share_their_probability(correlation):
    """Duplicates have a difference of variance zero: no division by it, and no probability lost or doubled."""
    covariance = np.eye(4)
    covariance[0, 1] = covariance[1, 0] = correlation
    found = lowest_of(np.array([[0.0, 0.0, 0.0, 0.5]]), covariance[None])
    assert np.isfinite(found.tightness).all()
    p = found.probability[0]
    assert p.sum() == pytest.approx(1.0)
    assert p[0] == pytest.approx(p[1], rel=1e-6)
    _, lowest = drawn(
        np.array([0.0, 0.0, 0.5]) if correlation > 0.5 else np.array([0.0, 0.0, 0.0, 0.5]),
        covariance[-3:, -3:] if correlation > 0.5 else covariance,
    )
    share = np.mean(lowest == 0) if correlation > 0.5 else np.mean(lowest <= 1)
    assert p[0] + p[1] == pytest.approx(share, abs=0.03)
