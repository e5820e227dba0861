"""Expected improvement, probability of improvement and lower confidence bound, averaged over hyperparameter draws.

Each is given as the logarithm of what is to be maximized, or a value on the scale of the objective for LCB, with its gradient, at
points (m, D) of the surrogate. With v the predictive variance, a = (best - mean) / sqrt(v):
    EI = sqrt(v) * (pdf(a) + a cdf(a)),     PI = cdf(a),     LCB = mean - kappa sqrt(v).
"""

from __future__ import annotations

import numpy as np

from farthing.method.surrogate import Surrogate
from farthing.numerics.gaussian_process import GaussianProcess
from farthing.numerics.kernels import Array
from farthing.numerics.scipy_lazily import log_normal_cdf, scaled_erfc

_LOG_SQRT_2PI = 0.5 * np.log(2.0 * np.pi)
_SQRT_2 = np.sqrt(2.0)
_SQRT_HALF_PI = np.sqrt(0.5 * np.pi)


def log_standard_improvement(a: Array) -> Array:
    """log(pdf(a) + a cdf(a)), finite for every finite a.

    For a < -1: log pdf(a) + log(1 - |a| M(|a|)) with M Mills' ratio by the scaled erfc; where that difference has no digits left
    (a < -1e4) its expansion 1/a^2.
    """
    a = np.asarray(a, dtype=float)
    upper = np.maximum(a, -1.0)
    plain = np.log(np.exp(-0.5 * upper**2 - _LOG_SQRT_2PI) + upper * np.exp(log_normal_cdf(upper)))
    t = np.maximum(-a, 1.0)
    mills = _SQRT_HALF_PI * scaled_erfc(t / _SQRT_2)
    inner = np.where(t > 1e4, t**-2, np.maximum(1.0 - t * mills, 0.0) + 1e-300)
    tail = -0.5 * t * t - _LOG_SQRT_2PI + np.log(inner)
    return np.where(a > -1.0, plain, tail)


def log_expected_improvement(surrogate: Surrogate, points: Array, best: float, gradient: bool = False) -> tuple[Array, Array]:
    """log of the mean over draws of EI, (m,), and its gradient (m, D) (empty unless asked for).

    d EI = pdf(a) d sd - cdf(a) d mean, divided by EI in logs: with log h the log of EI in units of sd.
    """
    mean, sd, d_mean, d_sd = predict_with_gradient(surrogate.process, points, gradient)
    a = (best - mean) / sd
    log_h = log_standard_improvement(a)
    log_terms = np.log(surrogate.weights + 1e-300)[:, None] + np.log(sd) + log_h
    total, share = _log_sum(log_terms)
    if not gradient:
        return total, np.empty((0, points.shape[1]))
    pdf_ratio = np.exp(np.minimum(-0.5 * a * a - _LOG_SQRT_2PI - log_h, 700.0)) / sd
    cdf_ratio = np.exp(np.minimum(log_normal_cdf(a) - log_h, 700.0)) / sd
    inner = pdf_ratio[:, :, None] * d_sd - cdf_ratio[:, :, None] * d_mean
    return total, np.einsum("km,kmi->mi", share, inner)


def log_probability_of_improvement(surrogate: Surrogate, points: Array, best: float, gradient: bool = False) -> tuple[Array, Array]:
    """log of the mean over draws of PI, (m,), and its gradient (m, D) (empty unless asked for)."""
    mean, sd, d_mean, d_sd = predict_with_gradient(surrogate.process, points, gradient)
    a = (best - mean) / sd
    log_below = log_normal_cdf(a)
    total, share = _log_sum(np.log(surrogate.weights + 1e-300)[:, None] + log_below)
    if not gradient:
        return total, np.empty((0, points.shape[1]))
    hazard = np.exp(np.minimum(-0.5 * a * a - _LOG_SQRT_2PI - log_below, 700.0))
    d_a = -(d_mean + a[:, :, None] * d_sd) / sd[:, :, None]
    return total, np.einsum("km,kmi->mi", share * hazard, d_a)


def negative_confidence_bound(surrogate: Surrogate, points: Array, kappa: float, gradient: bool = False) -> tuple[Array, Array]:
    """kappa sd - mean, averaged over draws, (m,), and its gradient (m, D) (empty unless asked for)."""
    mean, sd, d_mean, d_sd = predict_with_gradient(surrogate.process, points, gradient)
    value = surrogate.weights @ (kappa * sd - mean)
    if not gradient:
        return value, np.empty((0, points.shape[1]))
    return value, np.einsum("k,kmi->mi", surrogate.weights, kappa * d_sd - d_mean)


def predict_with_gradient(process: GaussianProcess, points: Array, gradient: bool) -> tuple[Array, Array, Array, Array]:
    """Mean and sd of the value, (K, m), and their gradients in the point, (K, m, D) (empty unless asked for)."""
    x = process.probes.points
    if gradient:
        cross, slope = process.kernel.values_and_slopes(points, x)
    else:
        cross, slope = process.kernel.values(points, x), np.empty(0)
    white = process.whiten(cross)
    mean = np.einsum("kmn,kn->km", white, process.whitened)
    prior = process.kernel.variance_at(points)
    variance = np.maximum(prior - np.einsum("kmn,kmn->km", white, white), 1e-12 * prior)
    sd = np.sqrt(variance)
    if not gradient:
        empty = np.empty((len(sd), 0, points.shape[1]))
        return mean, sd, empty, empty
    d_mean = process.kernel.gradient(points, x, slope, process.dual[:, None, :])
    d_variance = process.kernel.variance_gradient(points) - 2.0 * process.kernel.gradient(points, x, slope, process.unwhiten(white))
    return mean, sd, d_mean, 0.5 * d_variance / sd[:, :, None]


def _log_sum(log_terms: Array) -> tuple[Array, Array]:
    """log sum over draws of exp(terms), and each draw's share of it."""
    top = log_terms.max(axis=0)
    shares = np.exp(log_terms - top)
    total = shares.sum(axis=0)
    return top + np.log(total), shares / total
