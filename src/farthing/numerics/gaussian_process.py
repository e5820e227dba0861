"""Gaussian processes that observe and predict values, gradients and Hessians.

K processes share their observations and differ in their kernels and noise (notation: `farthing.numerics.kernels`).
With C = cov(observations) + noise = L L^T, what is kept is the whitener L^-1, because

    mean(p) = k(p, X) L^-T L^-1 y,        cov(p, p') = k(p, p') - (L^-1 k(X, p))^T (L^-1 k(X, p'))

and because a variance from L^-1 loses far fewer digits than one from C^-1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from farthing.errors import FarthingError
from farthing.numerics.kernels import (
    Array,
    Kernel,
    Probes,
    covariance,
    covariance_lengthscale_derivative,
)
from farthing.numerics.scipy_lazily import blas, lapack

JITTER = 1e-10
"""Added to every diagonal, times the prior variance of the probe: about what double precision needs."""

SMALL = 160
"""Below this many observations one batched product with L^-1 beats K triangular ones."""


@dataclass(frozen=True)
class GaussianProcess:
    """K Gaussian processes after the same n observations.

    noise: (K, n) noise variances; whitener: (K, n, n) L^-1; whitened: (K, n) L^-1 y; dual: (K, n) C^-1 y.
    """

    kernel: Kernel
    probes: Probes
    noise: Array
    whitener: Array
    whitened: Array
    dual: Array

    def __len__(self) -> int:
        return len(self.probes)

    def whiten(self, cross: Array) -> Array:
        """L^-1 c for every row c of cross (K, m, n): (K, m, n)."""
        if len(self) < SMALL:
            return np.matmul(cross, self.whitener.transpose(0, 2, 1))
        return self._triangular(cross, transpose=1)

    def unwhiten(self, cross: Array) -> Array:
        """L^-T c for every row c of cross (K, m, n): (K, m, n)."""
        if len(self) < SMALL:
            return np.matmul(cross, self.whitener)
        return self._triangular(cross, transpose=0)

    def _triangular(self, cross: Array, transpose: int) -> Array:
        out = np.empty(cross.shape)
        for k in range(len(out)):
            # A row-major lower triangle is a column-major upper one: no copies are made.
            out[k] = blas().dtrmm(1.0, self.whitener[k].T, cross[k].T, lower=0, trans_a=transpose).T
        return out

    def cross(self, probes: Probes) -> Array:
        """Prior covariance of the probes with the observations: (K, m, n)."""
        if probes.only_values and self.probes.only_values:
            return self.kernel.values(probes.points, self.probes.points)
        return covariance(self.kernel, probes, self.probes)

    def mean(self, probes: Probes) -> Array:
        """Posterior mean of each probe: (K, m)."""
        return np.einsum("kmn,kn->km", self.cross(probes), self.dual)

    def mean_at(self, points: Array) -> Array:
        """Posterior mean of the value at each point: (K, m)."""
        return self.mean(Probes.values(points))

    def kernel_covariance(self, probes: Probes) -> Array:
        """Covariance of the probes before any observation: (K, m, m)."""
        return _prior(self.kernel, probes)

    def predict(self, probes: Probes) -> tuple[Array, Array]:
        """Posterior mean (K, m) and joint covariance (K, m, m) of the probes."""
        white = self.whiten(self.cross(probes))
        mean = np.einsum("kmn,kn->km", white, self.whitened)
        return mean, _prior(self.kernel, probes) - np.matmul(white, white.transpose(0, 2, 1))

    def marginals(self, points: Array) -> tuple[Array, Array]:
        """Posterior mean and variance of the value at each point: (K, m) and (K, m). Variances are never negative."""
        white = self.whiten(self.cross(Probes.values(points)))
        mean = np.einsum("kmn,kn->km", white, self.whitened)
        variance = self.kernel.variance_at(points) - np.einsum("kmn,kmn->km", white, white)
        return mean, np.maximum(variance, 0.0)

    def mean_and_gradient(self, points: Array) -> tuple[Array, Array]:
        """Posterior mean of the value at each point and its gradient in the point: (K, m) and (K, m, D). Value observations
        only.
        """
        value, slope = self.kernel.values_and_slopes(points, self.probes.points)
        mean = np.einsum("kmn,kn->km", value, self.dual)
        return mean, self.kernel.gradient(points, self.probes.points, slope, self.dual[:, None, :])

    def sample(self, probes: Probes, rng: np.random.Generator, size: int = 1) -> Array:
        """Joint posterior draws of the probes: (K, size, m)."""
        mean, cov = self.predict(probes)
        lower = np.stack([cholesky(c, p) for c, p in zip(cov, _prior_diagonal(self.kernel, probes), strict=True)])
        normal = rng.standard_normal((len(mean), size, mean.shape[1]))
        return mean[:, None, :] + np.matmul(normal, lower.transpose(0, 2, 1))

    def leave_one_out(self) -> tuple[Array, Array]:
        """What every observation is above its prediction by all the others, and the variance of that: (K, n) each.

        y_i - mean_i = (C^-1 y)_i / (C^-1)_ii,  variance_i = 1 / (C^-1)_ii  (Rasmussen and Williams 2006, 5.12). Noise included.
        """
        precision = np.einsum("kij,kij->kj", self.whitener, self.whitener)
        return self.dual / precision, 1.0 / precision

    def log_evidence(self) -> Array:
        """log N(y; 0, C): (K,)."""
        log_determinant = -np.log(np.diagonal(self.whitener, axis1=1, axis2=2)).sum(axis=1)
        return -0.5 * (self.whitened**2).sum(axis=1) - log_determinant - 0.5 * len(self) * np.log(2.0 * np.pi)

    def log_evidence_gradient(self) -> Array:
        """d log N(y; 0, C) / d (log A, log l_1, ..., log l_D, log noise): (K, 2 + D).

        With a = C^-1 y:  1/2 tr((a a^T - C^-1) dC). The noise derivative scales the noise of every observation together.
        """
        inverse = np.matmul(self.whitener.transpose(0, 2, 1), self.whitener)
        weight = 0.5 * (self.dual[:, :, None] * self.dual[:, None, :] - inverse)
        scaled = replace(self.kernel, constant=0.0, trend=0.0)
        parts = [covariance(scaled, self.probes, self.probes)]
        for axis in range(self.kernel.lengthscales.shape[1]):
            parts.append(covariance_lengthscale_derivative(self.kernel, self.probes, self.probes, axis))
        gradient = [(weight * part).sum(axis=(1, 2)) for part in parts]
        gradient.append((np.diagonal(weight, axis1=1, axis2=2) * self.noise).sum(axis=1))
        return np.stack(gradient, axis=1)

    def append(self, probes: Probes, values: Array, noise: Array) -> GaussianProcess:
        """These processes after more observations, one by one, each in O(n^2).

        values: (m,) or (K, m); noise: variances, (m,) or (K, m). Appending one at a time or in one call gives the same bits.
        """
        draws = len(self.dual)
        values = np.broadcast_to(values, (draws, len(probes)))
        noise = np.broadcast_to(noise, (draws, len(probes)))
        process = self
        for i in range(len(probes)):
            one = Probes(probes.points[i : i + 1], probes.axes[i : i + 1])
            process = process._append_one(one, values[:, i], noise[:, i])
        return process

    def pretend(self, points: Array, noise: Array) -> GaussianProcess:
        """These processes as if values had been observed at `points` just as expected: the means stay, the variances fall.

        noise: (K,) variances with which they are observed.
        """
        process = self
        for point in points:
            one = Probes.values(point[None])
            process = process._append_one(one, process.mean(one)[:, 0], noise)
        return process

    def _append_one(self, probe: Probes, value: Array, noise: Array) -> GaussianProcess:
        draws, n = self.whitened.shape
        row = self.whiten(self.cross(probe))
        prior = _prior_diagonal(self.kernel, probe)[:, 0]
        floor = JITTER * prior
        pivot = np.sqrt(np.maximum(prior + noise + floor - np.einsum("kmn,kmn->k", row, row), floor))
        whitener = np.zeros((draws, n + 1, n + 1))
        whitener[:, :n, :n] = self.whitener
        whitener[:, n, :n] = -self.unwhiten(row)[:, 0] / pivot[:, None]
        whitener[:, n, n] = 1.0 / pivot
        innovation = (value - np.einsum("kmn,kn->k", row, self.whitened)) / pivot
        whitened = np.concatenate([self.whitened, innovation[:, None]], axis=1)
        dual = whitener[:, n] * innovation[:, None]
        dual[:, :n] += self.dual
        probes = self.probes.join(probe)
        return GaussianProcess(self.kernel, probes, np.concatenate([self.noise, noise[:, None]], axis=1), whitener, whitened, dual)


def condition(kernel: Kernel, probes: Probes, values: Array, noise: Array) -> GaussianProcess:
    """K Gaussian processes given observations: values (n,) or (K, n), noise variances (n,), or (K, n)."""
    draws, n = len(kernel.variance), len(probes)
    values = np.broadcast_to(values, (draws, n))
    noise = np.ascontiguousarray(np.broadcast_to(noise, (draws, n)))
    diagonal = _prior_diagonal(kernel, probes)
    whitener = np.empty((draws, n, n))
    for k in range(draws if n else 0):  # one by one, for the sake of memory
        cov = _prior(kernel.only(k), probes)[0]
        cov.flat[:: n + 1] += noise[k]
        whitener[k] = lapack().dtrtri(cholesky(cov, diagonal[k]), lower=1, overwrite_c=1)[0]
    whitened = np.einsum("kij,kj->ki", whitener, values)
    dual = np.einsum("kji,kj->ki", whitener, whitened)
    return GaussianProcess(kernel, probes, noise, whitener, whitened, dual)


def cholesky(matrix: Array, prior_diagonal: Array) -> Array:
    """Lower Cholesky factor of `matrix` with as little jitter, relative to the prior variances, as lets it exist.

    Of the matrix its upper triangle is read: what LAPACK, which is column-major, takes for the lower one without a copy.
    """
    n = len(matrix)
    for jitter in (JITTER, 1e-8, 1e-6, 1e-4, 1e-2, 1.0):
        trial = matrix.copy()
        trial.flat[:: n + 1] += jitter * prior_diagonal
        lower, info = lapack().dpotrf(trial.T, lower=1, clean=1, overwrite_a=1)
        if info == 0 and np.isfinite(np.diagonal(lower)).all():  # LAPACK factors NaN without complaint
            return np.asarray(lower)
    raise FarthingError("a covariance matrix has entries that are not finite; please report this with the study's trials")


def _prior(kernel: Kernel, probes: Probes) -> Array:
    if not probes.only_values:
        return covariance(kernel, probes, probes)
    cov = kernel.values(probes.points, probes.points)
    diagonal = np.arange(len(probes))
    cov[:, diagonal, diagonal] = kernel.variance_at(probes.points)
    return cov


def _prior_diagonal(kernel: Kernel, probes: Probes) -> Array:
    """Prior variance of each probe: (K, m). A value: A + B; the slope along i: -2A phi'(0)/l_i^2; and so on."""
    out = np.empty((len(kernel.variance), len(probes)))
    kinds, which = np.unique(probes.axes, axis=0, return_inverse=True)
    which = which.ravel()  # NumPy 2.0.0 alone gives it two axes
    origin = np.zeros((1, probes.points.shape[1]))
    for index, kind in enumerate(kinds):
        one, there = Probes(origin, kind[None]), probes.points[which == index]
        derivative = not one.only_values
        out[:, which == index] = (
            covariance(kernel, one, one)[:, 0] * kernel.factor_at(there) if derivative else kernel.variance_at(there)
        )
    return out
