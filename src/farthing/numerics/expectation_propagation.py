"""A Gaussian under one-sided constraints, by expectation propagation (Minka 2001).

Each constraint "h_i >= 0" (softly: "h_i + N(0, softness_i) >= 0") is replaced by a Gaussian site exp(-t_i h_i^2 / 2 + b_i h_i)
whose parameters make the marginal of h_i have the moments it has under the true constraint and all the other sites.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from farthing.numerics.kernels import Array
from farthing.numerics.scipy_lazily import scaled_erfc

Mask = NDArray[np.bool_]


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


def truncate_above_zero(mean: Array, variance: Array, softness: Array | float = 0.0) -> tuple[Array, Array]:
    """Moments of a Gaussian known to lie above zero, or to do so after noise of variance `softness` is added.

    With s^2 = variance + softness, a = mean/s and h = pdf(a)/cdf(a):
        mean' = mean + variance/s * h,   variance' = variance * (1 - variance/s^2 * h * (h + a))
    Elementwise. h by the scaled erfc; below a = -30, where h + a and 1 - h(h + a) are all cancellation, their series in 1/a^2.
    """
    total = variance + softness
    sd = np.sqrt(total)
    a = mean / sd
    far = a < -30.0
    h = np.sqrt(2.0 / np.pi) / scaled_erfc(-np.where(far, 0.0, a) / np.sqrt(2.0))
    t = 1.0 / np.where(far, a, -30.0) ** 2
    excess = np.where(far, -a * t * (1.0 - t * (2.0 - t * (10.0 - t * (74.0 - 706.0 * t)))), h + a)
    left = np.where(far, t * (1.0 - t * (6.0 - t * (50.0 - t * (518.0 - 6354.0 * t)))), 1.0 - h * (h + a))
    keep = softness / total
    return mean * keep + variance / sd * excess, variance * (keep + variance / total * left)


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
    share = np.ones_like(mean)  # b of `_combine`
    used = 0
    while used < iterations and not settled.all():
        damping = 0.9 if used < 15 else 0.5 if used < 50 else 0.2
        used += 1
        j = np.flatnonzero(~settled)
        prior = np.maximum(np.diagonal(covariance[j], axis1=1, axis2=2), 1e-300)
        variance = np.maximum(np.diagonal(post_cov[j], axis1=1, axis2=2), np.maximum(1e-13 * prior, 1e-300))
        # Cavity: the marginal without the site. 1/variance - t, or t b / (1 - b) where that difference would cancel.
        strong = share[j] < 0.5
        by_share = precision[j] * share[j] / np.where(strong, 1.0 - share[j], 1.0)
        cavity_precision = np.where(strong, by_share, 1.0 / variance - precision[j])
        proper = alive[j] & (cavity_precision > 1e-9 / prior)
        cavity_variance = 1.0 / np.where(proper, cavity_precision, 1.0)
        cavity_mean = np.where(proper, cavity_variance * (post_mean[j] / variance - pull[j]), 0.0)
        tilted_mean, tilted_variance = truncate_above_zero(cavity_mean, cavity_variance, softness[j])
        # Below about 1e-11 of the prior's variance the site's precision is all rounding.
        tilted_variance = np.maximum(tilted_variance, np.minimum(1e-11 * prior, 0.5 * cavity_variance))
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
        post_mean[j], post_cov[j], share[j] = _combine(mean[j], covariance[j], precision[j], pull[j])
        moved = np.maximum(np.abs(change_precision) * variance, np.abs(change_pull) * np.sqrt(variance))
        scale = 1.0 + np.abs(new_pull) * np.sqrt(variance)
        settled[j] = (np.where(proper, moved / scale, np.where(alive[j], np.inf, 0.0)) < tolerance).all(axis=1)
    return Constrained(post_mean, post_cov, precision, settled, used, dropped)


def _combine(mean: Array, covariance: Array, precision: Array, pull: Array) -> tuple[Array, Array, Array]:
    """The Gaussian times its sites: mean, covariance, and b, the share of its site's variance that each variable keeps.

    With S = diag(precision)^1/2 and M = (I + S C S)^-1:  cov' = C - C S M S C,  mean' = cov' (C^-1 mean + pull),  b = diag M.
    Where sites dominate (b < 1/2) the same in a form that does not cancel: S cov' S = I - M,  S cov' C^-1 mean = M S mean.
    """
    root = np.sqrt(precision)
    diagonal = np.arange(mean.shape[1])
    scaled = root[:, :, None] * covariance
    middle = scaled * root[:, None, :]
    middle[:, diagonal, diagonal] += 1.0
    inverse = np.linalg.inv(middle)
    share = np.clip(np.diagonal(inverse, axis1=1, axis2=2), 1e-15, 1.0)
    strong = share < 0.5
    both = strong[:, :, None] & strong[:, None, :]

    post = covariance - np.matmul(scaled.transpose(0, 2, 1), np.matmul(inverse, scaled))
    dominated = -inverse / np.where(both, root[:, :, None] * root[:, None, :], 1.0)
    dominated[:, diagonal, diagonal] = np.where(strong, (1.0 - share) / np.where(strong, precision, 1.0), 0.0)
    post = np.where(both, dominated, post)
    post = 0.5 * (post + post.transpose(0, 2, 1))

    solved = np.matmul(inverse, (root * mean)[:, :, None])
    shifted = mean - np.matmul(scaled.transpose(0, 2, 1), solved)[:, :, 0]
    shifted = np.where(strong, solved[:, :, 0] / np.where(strong, root, 1.0), shifted)
    return shifted + np.einsum("jab,jb->ja", post, pull), post, share
