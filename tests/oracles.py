"""Independent references: slow, plain, and sharing no formula with what they check.

Kernels are written in mpmath and differentiated numerically, Gaussian processes are solved densely, constrained Gaussians are
integrated by quadrature or drawn by rejection, and chains are judged by an exact CDF at their effective sample size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import mpmath as mp
import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import ndtr

from farthing.numerics.kernels import NO_AXIS, Kernel, Probes

Array = NDArray[np.float64]

DIGITS = 160
STEP = mp.mpf("1e-25")
"""Four nested central differences lose 100 of the 160 digits, and leave out (STEP/distance)^2, or STEP at distance zero."""


# Kernels


def kernel_value(name: str, variance: float, lengthscales: Sequence[float], z: Sequence, other: Sequence) -> mp.mpf:
    """A times the textbook kernel at distance r = |(z - other) / l|, in mpmath."""
    squares = [((mp.mpf(a) - mp.mpf(b)) / mp.mpf(ell)) ** 2 for a, b, ell in zip(z, other, lengthscales, strict=True)]
    r = mp.sqrt(mp.fsum(squares))
    if name == "squared_exponential":
        correlation = mp.exp(-(r**2) / 2)
    elif name == "matern32":
        correlation = (1 + mp.sqrt(3) * r) * mp.exp(-mp.sqrt(3) * r)
    else:
        correlation = (1 + mp.sqrt(5) * r + 5 * r**2 / 3) * mp.exp(-mp.sqrt(5) * r)
    return mp.mpf(variance) * correlation


def kernel_derivative(
    name: str, variance: float, lengthscales: Sequence[float], first: tuple[Array, tuple], second: tuple[Array, tuple]
) -> float:
    """Covariance of two probes, each a point and the axes it derives along, by nested central differences."""
    (z, axes), (other, other_axes) = first, second
    with mp.workdps(DIGITS):
        return float(_difference(name, variance, lengthscales, list(map(mp.mpf, z)), axes, list(map(mp.mpf, other)), other_axes))


def _difference(name, variance, lengthscales, z, axes, other, other_axes) -> mp.mpf:
    if not axes and not other_axes:
        return kernel_value(name, variance, lengthscales, z, other)
    ends = []
    for sign in (1, -1):
        if axes:
            moved = [x + sign * STEP * (i == axes[0]) for i, x in enumerate(z)]
            ends.append(_difference(name, variance, lengthscales, moved, axes[1:], other, other_axes))
        else:
            moved = [x + sign * STEP * (i == other_axes[0]) for i, x in enumerate(other)]
            ends.append(_difference(name, variance, lengthscales, z, axes, moved, other_axes[1:]))
    return (ends[0] - ends[1]) / (2 * STEP)


def kernel_covariance(kernel: Kernel, a: Probes, b: Probes) -> Array:
    """What `covariance(kernel, a, b)` should be: (K, m, n)."""
    out = np.empty((len(kernel.variance), len(a), len(b)))
    for k, (variance, lengthscales) in enumerate(zip(kernel.variance, kernel.lengthscales, strict=True)):
        for i in range(len(a)):
            for j in range(len(b)):
                first, second = _axes(a, i), _axes(b, j)
                constant = kernel.constant if not first and not second else 0.0
                pair = (a.points[i], first), (b.points[j], second)
                out[k, i, j] = kernel_derivative(kernel.family.name, variance, lengthscales, *pair) + constant
    return out


def kernel_scale(kernel: Kernel, a: Probes, b: Probes) -> Array:
    """Product of the prior standard deviations, the most a covariance can be: (K, m, n)."""
    sides = []
    for probes in (a, b):
        kinds = {_axes(probes, i) for i in range(len(probes))}
        origin = np.zeros((1, probes.points.shape[1]))
        one = {kind: Probes.of(origin, [kind]) for kind in kinds}
        variances = {kind: kernel_covariance(kernel, probe, probe)[:, 0, 0] for kind, probe in one.items()}
        sides.append(np.sqrt(np.stack([variances[_axes(probes, i)] for i in range(len(probes))], axis=1)))
    return sides[0][:, :, None] * sides[1][:, None, :]


def _axes(probes: Probes, i: int) -> tuple[int, ...]:
    return tuple(int(axis) for axis in probes.axes[i] if axis != NO_AXIS)


# Gaussian processes


def dense_posterior(observed: Array, cross: Array, prior: Array, values: Array) -> tuple[Array, Array]:
    """Mean and covariance of probes with prior (m, m), given values (n,) whose covariance, noise included, is `observed` (n, n).

    cross: (m, n), the covariance of the probes with the observations.
    """
    weights = np.linalg.solve(observed, cross.T).T
    return weights @ values, prior - weights @ cross.T


# Differences


def central_difference(function: Callable[[Array], Array], x: Array, step: float) -> Array:
    """d function(x) / dx_i, stacked on a last axis: fourth order, so that the error is about step^4 or 1e-16/step."""
    columns = []
    for direction in np.eye(len(x)) * step:
        near = function(x + direction) - function(x - direction)
        far = function(x + 2.0 * direction) - function(x - 2.0 * direction)
        columns.append((8.0 * near - far) / (12.0 * step))
    return np.stack(columns, axis=-1)


# Constrained Gaussians


def truncated_moments(mean: float, variance: float, softness: float = 0.0) -> tuple[float, float]:
    """Mean and variance of h ~ N(mean, variance) given h + N(0, softness) >= 0, by quadrature in mpmath.

    Distances are measured in e-foldings of the density beyond its peak, so that tails of 1e5 standard deviations are no harder.
    """
    with mp.workdps(30):
        m, v, root = mp.mpf(mean), mp.mpf(variance), mp.sqrt(softness)

        def log_density(h: mp.mpf) -> mp.mpf:
            return -((h - m) ** 2) / (2 * v) + (mp.log(mp.ncdf(h / root)) if root else 0)

        def slope(h: mp.mpf) -> mp.mpf:
            return (m - h) / v + (mp.npdf(h / root) / mp.ncdf(h / root) / root if root else 0)

        if root:
            peak = mp.findroot(slope, (m, m + v * (slope(m) + 1)), solver="anderson")
            width = 1 / mp.sqrt(-mp.diff(slope, peak))
            ends = [peak + i * width for i in range(-14, 15, 2)]
        else:
            peak = max(m, mp.mpf(0))
            width = min(mp.sqrt(v), v / -m) if m < 0 else mp.sqrt(v)
            ends = sorted({max(mp.mpf(0), peak + i * width) for i in range(-14, 60, 2)})
        top = log_density(peak)

        @cache
        def density(h: mp.mpf) -> mp.mpf:
            return mp.exp(log_density(h) - top)

        def moment(power: int) -> mp.mpf:
            return mp.quad(lambda h: ((h - peak) / width) ** power * density(h), ends, method="gauss-legendre")

        zeroth, first, second = map(moment, range(3))
        shift = first / zeroth
        return float(peak + width * shift), float(width**2 * (second / zeroth - shift**2))


def orthant_moments(mean: Array, covariance: Array, active: Sequence[bool], softness: float = 0.0) -> tuple[float, Array, Array]:
    """Mass, mean and covariance of a bivariate normal given h_i (+ noise) >= 0 where active, by Gauss-Legendre quadrature.

    A product rule on +-10 standard deviations, cut at 0: meant for correlations up to about 0.95 and means within a few sd of 0.
    """
    nodes, weights = np.polynomial.legendre.leggauss(300)
    grids = []
    for m, sd, cut in zip(mean, np.sqrt(np.diagonal(covariance)), active, strict=True):
        low, high = m - 10.0 * sd, max(m, 0.0) + 10.0 * sd
        if cut and softness == 0.0:
            low = max(low, 0.0)
        grids.append((low + (high - low) * (nodes + 1.0) / 2.0, weights * (high - low) / 2.0))
    x, y = np.meshgrid(grids[0][0], grids[1][0], indexing="ij")
    density = stats.multivariate_normal(mean, covariance).pdf(np.stack([x, y], axis=-1))
    density *= grids[0][1][:, None] * grids[1][1][None, :]
    if softness > 0.0:
        for axis, cut in zip((x, y), active, strict=True):
            density *= ndtr(axis / np.sqrt(softness)) if cut else 1.0
    mass = density.sum()
    center = np.array([(x * density).sum(), (y * density).sum()]) / mass
    deviations = (x - center[0], y - center[1])
    spread = np.array([[(a * b * density).sum() / mass for b in deviations] for a in deviations])
    return float(mass), center, spread


def rejection_draws(mean: Array, covariance: Array, active: Sequence[bool], count: int, rng: np.random.Generator) -> Array:
    """Draws (count, q) of N(mean, covariance) given h_i >= 0 where active."""
    lower = np.linalg.cholesky(covariance)
    kept: list[Array] = []
    while sum(map(len, kept)) < count:
        draws = mean + rng.standard_normal((50_000, len(mean))) @ lower.T
        kept.append(draws[(draws[:, np.asarray(active)] >= 0.0).all(axis=1)])
    return np.concatenate(kept)[:count]


# Markov chains


def effective_size(chains: Array) -> float:
    """How many independent draws the draws (steps, chains) are worth: N / (1 + 2 sum of autocorrelations).

    Autocovariances are pooled over chains around the common mean, and summed in adjacent pairs while these stay positive
    (Geyer 1992).
    """
    centered = chains - chains.mean()
    steps = len(chains)
    padded = np.fft.rfft(centered, 2 * steps, axis=0)
    covariances = np.fft.irfft(np.abs(padded) ** 2, axis=0)[:steps].mean(axis=1) / np.arange(steps, 0, -1)
    pairs = covariances[: steps - steps % 2].reshape(-1, 2).sum(axis=1) / covariances[0]
    stop = np.argmax(pairs <= 0.0) if (pairs <= 0.0).any() else len(pairs)
    return float(chains.size / max(2.0 * pairs[:stop].sum() - 1.0, 1.0))


def distribution_p_value(chains: Array, cdf: Callable[[Array], Array]) -> float:
    """Kolmogorov-Smirnov p value of draws (steps, chains) against an exact CDF, at their effective sample size.

    That size is the smallest found for the draws and for the indicators of the quartiles, in which rare jumps between modes show.
    """
    levels = cdf(chains)
    sizes = [effective_size(levels)] + [effective_size((levels < quartile).astype(float)) for quartile in (0.25, 0.5, 0.75)]
    distance = stats.kstest(levels.ravel(), "uniform").statistic
    return float(stats.kstwo.sf(distance, max(int(min(sizes)), 2)))


# Information --------------------------------------------------------------------------------------------------------------


def mutual_information_with_argmin(
    mean: Array, cov: Array, places: int, noise: float, rng: np.random.Generator, draws: int = 100_000, bins: int = 24
) -> Array:
    """Mutual information, in nats, between argmin over the first `places` values and a noisy observation of each later one.

    Joint draws of N(mean, cov); observations in equally likely bins; the plug-in estimate less its first-order (Miller-Madow) bias.
    """
    lower = np.linalg.cholesky(cov + 1e-9 * np.eye(len(cov)))
    f = mean + rng.standard_normal((draws, len(mean))) @ lower.T
    minimizer = f[:, :places].argmin(axis=1)
    out = []
    for column in f[:, places:].T:
        y = column + np.sqrt(noise) * rng.standard_normal(draws)
        edges = np.quantile(y, np.linspace(0.0, 1.0, bins + 1)[1:-1])
        table = np.bincount(minimizer * bins + np.searchsorted(edges, y), minlength=places * bins).reshape(places, bins) / draws
        rows, columns = table.sum(axis=1, keepdims=True), table.sum(axis=0, keepdims=True)
        seen = table > 0.0
        information = (table[seen] * np.log(table[seen] / (rows * columns)[seen])).sum()
        bias = (seen.sum() - (rows > 0.0).sum() - (columns > 0.0).sum() + 1) / (2.0 * draws)
        out.append(information - bias)
    return np.array(out)
