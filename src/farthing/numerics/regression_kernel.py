"""Kernels that are stationary in all axes but the last, and a Bayesian linear regression there (Klein et al. 2017, FABOLAS).

    k((x, s), (x', s')) = A phi(u(x, x')) psi(s, s') + B,      psi = b(s)^T S b(s'),   b(s) = (1, g),   g = s^power

S is positive semidefinite by its Cholesky factor ((1, 0), (p, e)), e > 0, so that with g = g(s), g' = g(s')

    psi = 1 + p (g + g') + (p^2 + e^2) g g'

and A is the variance at s = 0: any S with that scale is had by some p and e. Functions drawn from it are a(x) + c(x) g(s).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from farthing.numerics.kernels import Array, Kernel, contract_slopes

UNBOUNDED = 1e150
"""Lengthscale of the last axis in u: so long that u does not see it, and its square is still a number."""


@dataclass(frozen=True, kw_only=True)
class RegressionKernel(Kernel):
    """K kernels with a regression in the last axis, whose lengthscales are UNBOUNDED. mixing: (K, 2), p and log e; power: of s."""

    mixing: Array
    power: int

    @classmethod
    def of(cls, stationary: Kernel, mixing: Array, power: int) -> RegressionKernel:
        """A stationary kernel in x, times the regression in one more axis."""
        last = np.full((len(mixing), 1), UNBOUNDED)
        lengthscales = np.concatenate([stationary.lengthscales, last], axis=1)
        return cls(stationary.family, stationary.variance, lengthscales, stationary.constant, mixing=mixing, power=power)

    @property
    def stationary(self) -> bool:
        return False

    @property
    def derivable(self) -> int:
        return self.lengthscales.shape[1] - 1

    def only(self, k: int) -> RegressionKernel:
        one = slice(k, k + 1)
        return replace(self, variance=self.variance[one], lengthscales=self.lengthscales[one], mixing=self.mixing[one])

    @property
    def _entries(self) -> tuple[Array, Array]:
        """p and p^2 + e^2, the second row of S: (K, 1, 1) each."""
        p, e = self.mixing[:, 0], np.exp(self.mixing[:, 1])
        return p[:, None, None], (p**2 + e**2)[:, None, None]

    def factor(self, a: Array, b: Array) -> Array:
        """psi between the last columns of a and b: (K, m, n)."""
        p, square = self._entries
        left, right = a[:, -1:] ** self.power, b[:, -1] ** self.power
        return 1.0 + p * (left + right) + square * (left * right)

    def factor_at(self, points: Array) -> Array:
        p, square = self._entries
        g = points[:, -1] ** self.power
        return 1.0 + 2.0 * p[:, 0] * g + square[:, 0] * g**2

    def variance_gradient(self, points: Array) -> Array:
        p, square = self._entries
        out = super().variance_gradient(points)
        g, slope = self._basis(points)
        out[:, :, -1] = 2.0 * self.variance[:, None] * (p[:, 0] + square[:, 0] * g) * slope
        return out

    def values(self, a: Array, b: Array) -> Array:
        phi = self.family.profile(self.squared_distances(a, b), 0)[0]
        phi *= self.variance[:, None, None]
        phi *= self.factor(a, b)
        phi += self.constant
        return phi

    def values_and_slopes(self, a: Array, b: Array) -> tuple[Array, Array]:
        """Covariance of values, and A phi'(u) psi. Both (K, m, n)."""
        phi, slope = self.family.profile(self.squared_distances(a, b), 1)
        scale = self.variance[:, None, None] * self.factor(a, b)
        phi *= scale
        phi += self.constant
        slope *= scale
        return phi, slope

    def gradient(self, a: Array, b: Array, slopes: Array, weight: Array) -> Array:
        """In x as for a stationary kernel; in s, sum_n weight_n A phi d psi / ds with d psi / ds = (p + (p^2 + e^2) g') dg/ds."""
        p, square = self._entries
        out = contract_slopes(self, a, b, slopes * weight)
        phi = self.family.profile(self.squared_distances(a, b), 0)[0]
        in_psi = (weight * phi * (p + square * b[:, -1] ** self.power)).sum(axis=2)
        out[:, :, -1] = self.variance[:, None] * in_psi * self._basis(a)[1]
        return out

    def _basis(self, points: Array) -> tuple[Array, Array]:
        """g and dg/ds at each point: (m,) each."""
        s = points[:, -1]
        return s**self.power, self.power * s ** (self.power - 1)
