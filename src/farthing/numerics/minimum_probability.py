"""Which of m jointly Gaussian values is the lowest: the probability of each, by expectation propagation (Hennig and Schuler 2012).

With f ~ N(mean, covariance), value i is the lowest where h_j = f_j - f_i >= 0 for all j != i. The mass p_i of that cone, and the
mean and covariance of f inside it, come from one EP problem with m - 1 one-sided constraints for every i; all problems run at once.
As in `farthing.numerics.kernels`, results lead with K Gaussians.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from farthing.numerics.expectation_propagation import truncate_above_zero
from farthing.numerics.kernels import Array
from farthing.numerics.scipy_lazily import log_normal_cdf

DISTINCT = 1e-10
"""Added to the variance of every difference, in units of the largest variance: values that are all but the same tie."""

WEAKEST = 1e-7
"""Least precision of a site, in units of the precision of its difference: as good as none, and keeps 1 - (1 - t) above rounding."""

HOPELESS = -14.0
"""A value that is below some other with a log probability under this is not looked at more closely."""

NARROWEST = 1e-9
"""A cavity or a truncated difference is not taken to be narrower, in units of its prior variance."""


@dataclass(frozen=True)
class Lowest:
    """Of K Gaussians over m values, which value is the lowest.

    log_probability: (K, m), its exponentials sum to 1 for each k.
    pull: (K, m, m), row i is C^-1 (E[f | i is the lowest] - mean), the gradient of log p_i in the mean.
    tightness: (K, m, m, m), matrix i is C^-1 (C - cov[f | i is the lowest]) C^-1, minus the Hessian of log p_i in the mean.
    converged: (K, m); log_mass: (K, m), log p_i before they were made to sum to 1.
    A hopeless value has the probability that it is below its strongest rival, which is more than its own, and no pull or tightness.
    """

    log_probability: Array
    pull: Array
    tightness: Array
    converged: NDArray[np.bool_]
    log_mass: Array

    @property
    def probability(self) -> Array:
        return np.exp(self.log_probability)


def lowest_of(mean: Array, covariance: Array, *, iterations: int = 40, tolerance: float = 0.02) -> Lowest:
    """The probability of each of m values to be the lowest of N(mean, covariance), (K, m) and (K, m, m).

    Sites are updated all together, in natural parameters and damped; a problem is done when no site moves by more than `tolerance`
    in units of its marginal. Probabilities are then within some 0.002 of what EP comes to in the end, a tenth of how far that is
    from the truth. One that is not done after `iterations` keeps what it has come to.
    """
    draws, m = mean.shape
    own = np.arange(m)
    h_mean = (mean[:, None, :] - mean[:, :, None]).reshape(draws * m, m)
    diagonal = np.diagonal(covariance, axis1=1, axis2=2)
    h_cov = covariance[:, None] - covariance[:, :, None, :] - covariance[:, :, :, None] + diagonal[:, :, None, None]
    h_cov[:, :, own, own] += DISTINCT * np.maximum(diagonal.max(axis=1), 1e-300)[:, None, None]
    # In units of its own standard deviation every difference has variance 1, whatever the scale of f; f_i - f_i is left out.
    inverse_sd = 1.0 / np.sqrt(h_cov[:, :, own, own])
    inverse_sd[:, own, own] = 0.0
    h_cov *= inverse_sd[:, :, :, None]
    h_cov *= inverse_sd[:, :, None, :]
    scale = inverse_sd.reshape(draws * m, m)
    h_mean *= scale
    bound = log_normal_cdf(np.where(scale > 0.0, h_mean, np.inf).min(axis=1))
    hopeful = np.flatnonzero(bound > HOPELESS)
    sites = _propagate(h_mean[hopeful], h_cov.reshape(draws * m, m, m)[hopeful], scale[hopeful] > 0.0, iterations, tolerance)

    # From h, in its units, back to f: with D the matrix of differences, h = D f, the pull is D^T pull and the tightness D^T R D.
    pull, tightness = np.zeros((draws * m, m)), np.zeros((draws * m, m, m))
    pull[hopeful] = sites.pull * scale[hopeful]
    tightness[hopeful] = sites.tightness * scale[hopeful][:, :, None] * scale[hopeful][:, None, :]
    pull, tightness = pull.reshape(draws, m, m), tightness.reshape(draws, m, m, m)
    pull[:, own, own] = -pull.sum(axis=2)
    rows = tightness.sum(axis=3)
    tightness[:, own, own, :] = -rows
    tightness[:, own, :, own] = -rows.swapaxes(0, 1)
    tightness[:, own, own, own] = rows.sum(axis=2)
    log_mass, converged = bound, np.ones(draws * m, dtype=bool)
    # No cone has more mass than the half-space around it, whatever EP says.
    log_mass[hopeful] = np.minimum(sites.log_mass, bound[hopeful])
    converged[hopeful] = sites.converged
    log_mass = log_mass.reshape(draws, m)
    top = log_mass.max(axis=1, keepdims=True)
    total = top + np.log(np.exp(log_mass - top).sum(axis=1, keepdims=True))
    return Lowest(log_mass - total, pull, tightness, converged.reshape(draws, m), log_mass)


@dataclass(frozen=True)
class _Sites:
    """pull: (J, m) S^-1 (mean' - mean); tightness: (J, m, m) (S + T^-1)^-1; log_mass: (J,); converged: (J,)."""

    pull: Array
    tightness: Array
    log_mass: Array
    converged: NDArray[np.bool_]


def _propagate(mean: Array, cov: Array, active: NDArray[np.bool_], iterations: int, tolerance: float) -> _Sites:
    """EP for J Gaussians h ~ N(mean, cov), unit variances, under h_j >= 0 wherever active (J, m).

    Sites exp(-t g^2 / 2 + b g) in g = h - mean, so that the weakest ones do nothing however far the mean is from zero. With
    T = diag(t) and M = (I + T^1/2 cov T^1/2)^-1 the approximation has
        var'_j = (1 - M_jj) / t_j,      mean'_g = T^-1/2 (I - M) T^-1/2 b.
    """
    precision = np.where(active, WEAKEST, 0.0)
    shift = np.zeros_like(mean)
    done = np.zeros(len(mean), dtype=bool)
    for round_ in range(iterations):
        j = np.flatnonzero(~done)
        if not len(j):
            break
        t, b, on = precision[j], shift[j], active[j]
        _, _, post_mean, variance = _combine(cov[j], t, b)
        cavity_precision = np.maximum(1.0 / variance - t, NARROWEST)
        cavity_variance = 1.0 / cavity_precision
        cavity_mean = cavity_variance * (post_mean / variance - b)
        tilted_mean, tilted_variance = truncate_above_zero(mean[j] + cavity_mean, cavity_variance)
        tilted_variance = np.maximum(tilted_variance, np.minimum(NARROWEST, 0.5 * cavity_variance))
        new_t = np.where(on, np.maximum(1.0 / tilted_variance - cavity_precision, WEAKEST), 0.0)
        new_b = np.where(on, (tilted_mean - mean[j]) / tilted_variance - cavity_mean * cavity_precision, 0.0)
        damping = 0.8 if round_ < 8 else 0.5 if round_ < 25 else 0.25
        moved = np.maximum(np.abs(new_t - t) * variance, np.abs(new_b - b) * np.sqrt(variance) / (1.0 + np.abs(new_b)))
        precision[j] += damping * (new_t - t)
        shift[j] += damping * (new_b - b)
        done[j] = (moved < tolerance).all(axis=1)
    return _summary(mean, cov, precision, shift, active, done)


def _combine(cov: Array, t: Array, b: Array) -> tuple[Array, Array, Array, Array]:
    """T^1/2, M, and the approximation's mean of g and variances (0 and 1 where there is no site)."""
    root = np.sqrt(t)
    on = t > 0.0
    middle = cov * root[:, :, None]
    middle *= root[:, None, :]
    diagonal = np.arange(t.shape[1])
    middle[:, diagonal, diagonal] += 1.0
    inverse = np.asarray(np.linalg.inv(middle), dtype=float)
    over = np.where(on, 1.0 / np.where(on, root, 1.0), 0.0)
    post_mean = over * (over * b - np.matmul(inverse, (over * b)[:, :, None])[:, :, 0])
    kept = np.diagonal(inverse, axis1=1, axis2=2)
    variance = np.where(on, np.clip((1.0 - kept) * over**2, NARROWEST, 1.0), 1.0)
    return root, inverse, post_mean, variance


def _summary(mean: Array, cov: Array, t: Array, b: Array, active: NDArray[np.bool_], done: NDArray[np.bool_]) -> _Sites:
    """Derivatives and mass of what EP has come to.

    log mass = sum_j (log Z_j - log z_j) + log z, where Z_j is the cavity's mass above 0, z_j that of the cavity times the site, and
    z that of the Gaussian times all sites.
    """
    root, inverse, post_mean, variance = _combine(cov, t, b)
    pull = b - t * post_mean
    log_determinant = -np.linalg.slogdet(inverse)[1]
    log_all = -0.5 * log_determinant + 0.5 * (b * post_mean).sum(axis=1)
    cavity_precision = np.maximum(1.0 / variance - t, NARROWEST)
    cavity_mean = (post_mean / variance - b) / cavity_precision
    log_above = log_normal_cdf((mean + cavity_mean) * np.sqrt(cavity_precision))
    ratio = t / cavity_precision
    # (m p + b)^2 / (p + t) - m^2 p, over 2, without the difference of large numbers.
    exponent = 0.5 * (2.0 * cavity_mean * b + b**2 / cavity_precision - t * cavity_mean**2) / (1.0 + ratio)
    log_site = exponent - 0.5 * np.log1p(ratio)
    log_mass = log_all + np.where(active, log_above - log_site, 0.0).sum(axis=1)
    inverse *= root[:, :, None]
    inverse *= root[:, None, :]
    return _Sites(np.where(active, pull, 0.0), inverse, log_mass, done)
