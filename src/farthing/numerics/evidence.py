"""Log evidence of many hyperparameter vectors at once, with its gradient, as fast as LAPACK allows.

A hyperparameter vector is (log A, log l_1, ..., log l_D, log noise variance), see `farthing.numerics.kernels`; with a regression in
one more axis (`farthing.numerics.regression_kernel`) its p and log e come before the noise. The covariance
matrix is kept in LAPACK's rectangular full packed form, half of its entries in one vector, so that the squared distances of all
vectors are a single product of their inverse square lengthscales with the packed squared differences of the points.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from farthing.numerics.gaussian_process import JITTER
from farthing.numerics.kernels import Array, Family
from farthing.numerics.scipy_lazily import lapack


@dataclass(frozen=True)
class Evidence:
    """log p(values | points, hyperparameters) of value observations.

    points: (n, D); values: (n,), or given at each call; noise: (n,) known variances that come on top of the inferred one;
    groups: (D,) which of the lengthscales each column has, 0, 1, ... in this order, one each where it is None;
    basis: (n,) the regression's g at each observation, None where there is no regression; constant, trend: of the unknown mean.
    """

    family: Family
    points: Array
    values: Array
    noise: Array
    constant: float = 0.0
    groups: NDArray[np.intp] | None = None
    basis: Array | None = None
    trend: float = 0.0

    @cached_property
    def _packing(self) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
        """Row and column of every packed entry, and where the diagonal lies."""
        n = len(self.points)
        index = np.asfortranarray(np.arange(n * n, dtype=float).reshape(n, n))
        flat = lapack().dtrttf(index, uplo="L")[0].astype(np.intp)
        rows, columns = flat // n, flat % n
        return rows, columns, np.flatnonzero(rows == columns)

    @cached_property
    def _squared_differences(self) -> Array:
        rows, columns, _ = self._packing
        squares = ((self.points[rows] - self.points[columns]) ** 2).T
        firsts = np.arange(len(squares)) if self.groups is None else np.flatnonzero(np.diff(self.groups, prepend=-1))
        return squares.copy() if len(firsts) == len(squares) else np.ascontiguousarray(np.add.reduceat(squares, firsts, axis=0))

    @cached_property
    def _mean_covariance(self) -> Array | float:
        """What packed entries have by the unknown mean."""
        if self.trend == 0.0:
            return self.constant
        rows, columns, _ = self._packing
        last = self.points[:, -1]
        return self.constant + self.trend * last[rows] * last[columns]

    @cached_property
    def _basis_terms(self) -> tuple[Array, Array]:
        """g + g' and g g' of every packed entry."""
        assert self.basis is not None
        rows, columns, _ = self._packing
        return self.basis[rows] + self.basis[columns], self.basis[rows] * self.basis[columns]

    @property
    def _mixing(self) -> int:
        """How many entries of a vector are the regression's."""
        return 0 if self.basis is None else 2

    def _factor(self, vector: Array) -> Array | float:
        """psi of every packed entry; 1 without a regression."""
        if self.basis is None:
            return 1.0
        p, e = vector[-3], np.exp(vector[-2])
        total, product = self._basis_terms
        return 1.0 + p * total + (p * p + e * e) * product

    def __call__(self, hyperparameters: Array, values: Array | None = None) -> Array:
        """Log evidence of each row of hyperparameters (K, P): (K,). -inf where the matrix cannot be factored."""
        out = np.empty(len(hyperparameters))
        targets = self._targets(hyperparameters, values)
        for k, vector in enumerate(hyperparameters):
            out[k] = self._one(vector, targets[k])[0]
        return out

    def with_gradient(self, hyperparameters: Array, values: Array | None = None) -> tuple[Array, Array, Array]:
        """Log evidence (K,), its gradient (K, P), and C^-1 y (K, n), the negative gradient in the values."""
        draws, n = len(hyperparameters), len(self.points)
        evidence, gradient, duals = np.empty(draws), np.zeros(hyperparameters.shape), np.zeros((draws, n))
        rows, columns, diagonal = self._packing
        targets = self._targets(hyperparameters, values)
        for k, vector in enumerate(hyperparameters):
            evidence[k], factor, phi, slope, dual = self._one(vector, targets[k], gradient=True)
            if factor is None:
                continue
            inverse = lapack().dpftri(n, factor, uplo="L", overwrite_a=1)[0]
            # Each packed entry off the diagonal stands for two, hence no factor 1/2 there.
            weight = dual[rows] * dual[columns] - inverse
            weight[diagonal] *= 0.5
            scales = slice(1, len(vector) - 1 - self._mixing)
            variance, squares = np.exp(vector[0]), np.exp(-2.0 * vector[scales])
            gradient[k, -1] = np.exp(vector[-1]) * weight[diagonal].sum()
            if self.basis is not None:
                p, e = vector[-3], np.exp(vector[-2])
                total, product = self._basis_terms
                in_psi = variance * weight * phi
                gradient[k, -3] = in_psi @ (total + 2.0 * p * product)
                gradient[k, -2] = 2.0 * e * e * (in_psi @ product)
                weight = weight * self._factor(vector)
            gradient[k, 0] = variance * (weight @ phi)
            weight_slope = weight * slope
            gradient[k, scales] = -2.0 * variance * squares * (self._squared_differences @ weight_slope)
            duals[k] = dual
        return evidence, gradient, duals

    def _targets(self, hyperparameters: Array, values: Array | None) -> Array:
        return np.broadcast_to(self.values if values is None else values, (len(hyperparameters), len(self.points)))

    def _one(self, vector: Array, values: Array, gradient: bool = False) -> tuple[float, Array | None, Array, Array, Array]:
        """Evidence, packed factor (None if there is none), phi, phi' and C^-1 y of one hyperparameter vector."""
        n = len(self.points)
        rows, _, diagonal = self._packing
        with np.errstate(over="ignore", invalid="ignore"):
            variance, noise = np.exp(vector[0]), np.exp(vector[-1])
            scales = slice(1, len(vector) - 1 - self._mixing)
            profile = self.family.profile(np.exp(-2.0 * vector[scales]) @ self._squared_differences, int(gradient))
            matrix = variance * profile[0]
            if self.basis is not None:
                matrix *= self._factor(vector)
            matrix += self._mean_covariance
            matrix[diagonal] += noise + self.noise[rows[diagonal]] + JITTER * matrix[diagonal]
        if not np.isfinite(matrix).all():  # LAPACK factors NaN and infinity without complaint
            return -np.inf, None, profile[0], profile[-1], values
        factor, info = lapack().dpftrf(n, matrix, uplo="L", overwrite_a=1)
        if info != 0:
            return -np.inf, None, profile[0], profile[-1], values
        dual = lapack().dpftrs(n, factor, values[:, None], uplo="L")[0][:, 0]
        log_determinant = np.log(factor[diagonal]).sum()
        evidence = -0.5 * float(values @ dual) - log_determinant - 0.5 * n * np.log(2.0 * np.pi)
        return float(evidence), factor, profile[0], profile[-1], dual
