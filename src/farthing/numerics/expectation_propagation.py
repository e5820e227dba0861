"""A Gaussian under one-sided constraints, by expectation propagation (Minka 2001).

Each constraint "h_i >= 0" (softly: "h_i + N(0, softness_i) >= 0") is replaced by a Gaussian site exp(-t_i h_i^2 / 2 + b_i
h_i) whose
parameters make the marginal of h_i have the moments it has under the true constraint and all the other sites.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from farthing.numerics.kernels import Array

Mask = NDArray[np.bool_]

_LOG_SQRT_2PI = 0.5 * np.log(2.0 * np.pi)


@dataclass(frozen=True)
class Constrained:
    """J Gaussians over q variables under constraints.

    mean (J, q), covariance (J, q, q): the approximation; precision (J, q): of the sites, 0 where there is none;
    converged (J,); dropped: how many sites were given up because their moments were not numbers.
    """

    mean: Array
    covariance: Array
    precision: Array
    converged: Mask
    iterations: int
    dropped: int


def hazard(a: Array) -> Array:
    """pdf(a) / cdf(a) of the standard normal, in logs, so that a = -40 gives 40.02 and not 0/0."""
    return np.exp(-0.5 * a * a - _LOG_SQRT_2PI - log_ndtr(a))


def truncate_above_zero(mean: Array, variance: Array, softness: Array | float = 0.0) -> tuple[Array, Array]:
    """Moments of a Gaussian known to lie above zero, or to do so after noise of variance `softness` is added.

    With s^2 = variance + softness, a = mean/s and h = pdf(a)/cdf(a):
        mean' = mean + variance/s * h,   variance' = variance * (1 - variance/s^2 * h * (h + a))
    Elementwise. In log densities, so a = -40 stays finite; beyond a = -1e3 the asymptotic 1 - h(h+a) = 1/a^2 is used.
    """
    total = variance + softness
    sd = np.sqrt(total)
    a = mean / sd
    far = a < -1e3
    h = np.where(far, -a - 1.0 / np.where(far, a, 1.0), hazard(np.maximum(a, -1e3)))
    shrink = np.where(far, 1.0 - 1.0 / np.where(far, a, 1.0) ** 2, h * (h + a))
    return mean + variance / sd * h, variance * (1.0 - variance / total * np.clip(shrink, 0.0, 1.0))


def constrain_above_zero(
    mean: Array,
    covariance: Array,
    active: Mask,
    softness: Array | float = 0.0,
    *,
    iterations: int = 100,
    tolerance: float = 1e-7,
) -> Constrained:
    """Gaussians N(mean, covariance), (J, q) and (J, q, q), given h_i >= 0 wherever `active` (J, q).

    All sites are updated together, in natural parameters, damped, more strongly the longer it takes; a Gaussian is done when no
    site's precision or pull moves by more than `tolerance` in units of the marginal. With no active site the input comes back.
    """
    softness = np.broadcast_to(softness, mean.shape)
    precision, pull = np.zeros_like(mean), np.zeros_like(mean)
    alive = active & (np.diagonal(covariance, axis1=1, axis2=2) > 0.0)
    settled: Mask = np.logical_not(alive.any(axis=1))
    dropped = 0
    post_mean, post_cov = mean.copy(), covariance.copy()
    used = 0
    while used < iterations and not settled.all():
        damping = 0.9 if used < 15 else 0.5 if used < 50 else 0.2
        used += 1
        j = np.flatnonzero(~settled)
        variance = np.maximum(np.diagonal(post_cov[j], axis1=1, axis2=2), 1e-300)
        # Cavity: the marginal without the site.
        cavity_precision = 1.0 / variance - precision[j]
        proper = alive[j] & (cavity_precision > 1e-12 / variance)
        cavity_variance = 1.0 / np.where(proper, cavity_precision, 1.0)
        cavity_mean = np.where(proper, cavity_variance * (post_mean[j] / variance - pull[j]), 0.0)
        tilted_mean, tilted_variance = truncate_above_zero(cavity_mean, cavity_variance, softness[j])
        # Below about 1e-12 of the cavity's variance the site's precision is all rounding.
        tilted_variance = np.maximum(tilted_variance, 1e-12 * cavity_variance)
        new_precision = np.maximum(1.0 / tilted_variance - 1.0 / cavity_variance, 0.0)
        new_pull = tilted_mean / tilted_variance - cavity_mean / cavity_variance
        usable = proper & np.isfinite(new_precision) & np.isfinite(new_pull)
        lost = alive[j] & proper & ~usable
        dropped += int(lost.sum())
        alive[j] = alive[j] & ~lost
        new_precision = np.where(usable, new_precision, np.where(lost, 0.0, precision[j]))
        new_pull = np.where(usable, new_pull, np.where(lost, 0.0, pull[j]))
        change_precision = new_precision - precision[j]
        change_pull = new_pull - pull[j]
        precision[j] += damping * change_precision
        pull[j] += damping * change_pull
        post_mean[j], post_cov[j] = _combine(mean[j], covariance[j], precision[j], pull[j])
        moved = np.maximum(np.abs(change_precision) * variance, np.abs(change_pull) * np.sqrt(variance))
        scale = 1.0 + np.abs(new_pull) * np.sqrt(variance)
        settled[j] = (np.where(alive[j], moved / scale, 0.0) < tolerance).all(axis=1)
    return Constrained(post_mean, post_cov, precision, settled, used, dropped)


def _combine(mean: Array, covariance: Array, precision: Array, pull: Array) -> tuple[Array, Array]:
    """The Gaussian times its sites: with T = diag(precision), S = T^1/2: cov' = C - C S (I + S C S)^-1 S C; mean' = cov'
    (C^-1 mean + pull).
    """
    root = np.sqrt(precision)
    middle = root[:, :, None] * covariance * root[:, None, :]
    middle[:, np.arange(mean.shape[1]), np.arange(mean.shape[1])] += 1.0
    scaled = root[:, :, None] * covariance
    solved = np.linalg.solve(middle, scaled)
    post = covariance - np.matmul(scaled.transpose(0, 2, 1), solved)
    post = 0.5 * (post + post.transpose(0, 2, 1))
    # cov' C^-1 mean without inverting C:  mean - C S (I + S C S)^-1 S mean.
    solved_mean = np.linalg.solve(middle, (root * mean)[:, :, None])
    shifted = mean - np.matmul(scaled.transpose(0, 2, 1), solved_mean)[:, :, 0]
    return shifted + np.einsum("jab,jb->ja", post, pull), post
