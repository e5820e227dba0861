"""Stationary kernels and the covariance between any two of their derivatives.

Notation, used throughout `farthing.numerics`:

    D   axes of the input              n, m   numbers of points or probes
    K   kernels at once ("draws"): every array of results leads with this axis
    k(z, z') = A * phi(u) + B + T s s',   u = sum_i (z_i - z'_i)^2 / l_i^2,   s the last axis
    A   variance    l   lengthscales    B, T   variances of the level and of the slope in s of the unknown mean
    w_i = (z_i - z'_i) / l_i^2,  so that  du/dz_i = 2 w_i

A *probe* is a point and what is asked of f there: its value, one first derivative or one second derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from farthing.errors import KernelError

Array = NDArray[np.float64]
Axes = NDArray[np.intp]

NO_AXIS = -1

LARGE, BLOCK = 5000, 80
"""Entries of a matrix, and rows of a triangle, that are computed at once: few enough for the processor's cache."""


def _squared_exponential(u: Array, order: int) -> list[Array]:
    """phi = exp(-u/2); each derivative in u multiplies by -1/2."""
    phi = np.exp(-0.5 * u)
    return [(-0.5) ** m * phi for m in range(order + 1)]


def _matern32(u: Array, order: int) -> list[Array]:
    """phi = (1 + q) exp(-q), q = sqrt(3u). phi'' is set to 0 at q = 0, where it only ever meets a zero factor."""
    q = np.sqrt(3.0 * u)
    e = np.exp(-q)
    derivatives = [(1.0 + q) * e, -1.5 * e]
    if order >= 2:
        derivatives.append(2.25 * e * _reciprocal(q))
    if order >= 3:
        derivatives.append(-3.375 * e * (1.0 + q) * _reciprocal(q) ** 3)
    return derivatives[: order + 1]


def _matern52(u: Array, order: int) -> list[Array]:
    """phi = (1 + q + q^2/3) exp(-q), q = sqrt(5u). phi''' and beyond are set to 0 at q = 0: their products with w vanish there."""
    q = 5.0 * u  # in place, all of it: this is where most of the time of a proposal goes
    np.sqrt(q, out=q)
    e = -q
    np.exp(e, out=e)
    value = q / 3.0  # (1 + q + q^2/3) e
    value += 1.0
    value *= q
    value += 1.0
    value *= e
    derivatives = [value]
    if order >= 1:
        slope = q + 1.0
        slope *= e
        slope *= -5.0 / 6.0
        derivatives.append(slope)
    if order >= 2:
        derivatives.append((25.0 / 12.0) * e)
    if order >= 3:
        r = _reciprocal(q)
        derivatives.append((-125.0 / 24.0) * e * r)
    if order >= 4:
        derivatives.append((625.0 / 48.0) * (1.0 + q) * e * r**3)
    if order >= 5:
        derivatives.append((-3125.0 / 96.0) * (3.0 + 3.0 * q + q * q) * e * r**5)
    return derivatives


def _reciprocal(q: Array) -> Array:
    """1/q, and 0 where q is so small that the products it stands in have vanished."""
    small = q < 1e-12
    return np.where(small, 0.0, 1.0 / np.where(small, 1.0, q))


@dataclass(frozen=True)
class Family:
    """The shape of a kernel. `smoothness` is how many derivatives f itself has.

    spectral_freedom: its spectrum is a t distribution with so many degrees of freedom; None: a Gaussian.
    """

    name: str
    smoothness: int
    spectral_freedom: float | None
    profile: Callable[[Array, int], list[Array]]
    """(u, order) -> [phi, phi', ..., phi^(order)], derivatives in u."""


FAMILIES = {
    family.name: family
    for family in (
        Family("matern52", 2, 5.0, _matern52),
        Family("matern32", 1, 3.0, _matern32),
        Family("squared_exponential", 2, None, _squared_exponential),
    )
}


def family(name: str) -> Family:
    """The kernel family of that name, or an error that lists the names."""
    if name not in FAMILIES:
        raise KernelError(f"there is no kernel {name!r}; choose one of {', '.join(FAMILIES)}")
    return FAMILIES[name]


@dataclass(frozen=True)
class Kernel:
    """K kernels of one family over the same D axes.

    variance: (K,), lengthscales: (K, D). constant and trend, B and T, are those of the unknown mean, linear in the last axis.
    Derivatives along the others do not see it, and where s = 0 nothing sees the trend.
    """

    family: Family
    variance: Array
    lengthscales: Array
    constant: float = 0.0
    trend: float = 0.0

    @property
    def variance_at_zero(self) -> Array:
        """Variance of a value of f where s = 0 before any observation, (K,)."""
        return self.variance + self.constant

    def mean_covariance(self, a: Array, b: Array) -> Array | float:
        """What values at the rows of a and b have in common by the unknown mean: (m, n), or one number."""
        if self.trend == 0.0 or not a[:, -1].any():  # at full fidelity, where most questions are asked, the slope says nothing
            return self.constant
        return self.constant + self.trend * (a[:, -1:] * b[:, -1])

    @property
    def stationary(self) -> bool:
        """Whether k(z, z'), but for the unknown mean, depends on z - z' alone."""
        return True

    @property
    def derivable(self) -> int:
        """Along how many of the axes, the first ones, derivatives of f may be asked for."""
        return self.lengthscales.shape[1] - int(self.trend != 0.0)

    def only(self, k: int) -> Kernel:
        """The k-th of the K kernels, alone."""
        return replace(self, variance=self.variance[k : k + 1], lengthscales=self.lengthscales[k : k + 1])

    def variance_at(self, points: Array) -> Array:
        """Variance of the value at each point (m, D) before any observation: (K, m)."""
        out = self.variance[:, None] * self.factor_at(points) + self.constant
        if self.trend != 0.0:
            out += self.trend * points[:, -1] ** 2
        return out

    def variance_gradient(self, points: Array) -> Array:
        """Gradient of that variance in the point: (K, m, D)."""
        out = np.zeros((len(self.variance), *points.shape))
        if self.trend != 0.0:
            out[:, :, -1] = 2.0 * self.trend * points[:, -1]
        return out

    def factor(self, a: Array, b: Array) -> Array | float:
        """What A phi(u) is multiplied by between the rows of a and b, (K, m, n): nothing, for a stationary kernel."""
        return 1.0

    def factor_at(self, points: Array) -> Array:
        """The same between each point and itself: (K, m)."""
        return np.ones((len(self.variance), len(points)))

    def squared_distances(self, a: Array, b: Array) -> Array:
        """u between the rows of a (m, D) and b (n, D): (K, m, n), by one matrix product for all draws.

        u = sum_i w_i a_i^2 + sum_i w_i b_i^2 - 2 sum_i (w_i a_i) b_i, with w = 1/l^2.
        """
        weights = self.lengthscales**-2
        draws, axes = weights.shape
        left = a * weights[:, None, :]
        own = np.einsum("kmi,mi->km", left, a)
        left *= -2.0
        u = (left.reshape(-1, axes) @ b.T).reshape(draws, len(a), len(b))
        u += own[:, :, None]
        u += (weights @ (b * b).T)[:, None, :]
        return np.maximum(u, 0.0, out=u)

    def values(self, a: Array, b: Array) -> Array:
        """Covariance of values at the rows of a and b: (K, m, n). Large ones draw by draw, for the sake of the cache."""
        if len(self.variance) > 1 and len(a) * len(b) > LARGE:
            out = np.empty((len(self.variance), len(a), len(b)))
            for k in range(len(out)):
                out[k] = self.only(k).values(a, b)[0]
            return out
        phi = self.family.profile(self.squared_distances(a, b), 0)[0]
        phi *= self.variance[:, None, None]
        phi += self.mean_covariance(a, b)
        return phi

    def upper(self, points: Array) -> Array:
        """Covariance of the values at points (m, D) with one another, (K, m, m): only the upper triangle is right."""
        out = np.zeros((len(self.variance), len(points), len(points)))
        for first in range(0, len(points), BLOCK):
            out[:, first : first + BLOCK, first:] = self.values(points[first : first + BLOCK], points[first:])
        return out

    def values_and_slopes(self, a: Array, b: Array) -> tuple[Array, Array]:
        """Covariance of values, and A*phi'(u), from which d/da_i = 2 * slope * (a_i - b_i) / l_i^2. Both (K, m, n)."""
        phi, slope = self.family.profile(self.squared_distances(a, b), 1)
        phi *= self.variance[:, None, None]
        phi += self.mean_covariance(a, b)
        slope *= self.variance[:, None, None]
        return phi, slope

    def gradient(self, a: Array, b: Array, slopes: Array, weight: Array) -> Array:
        """sum_n weight_n d k(a, b_n) / da: (K, m, D). weight: (K, m, n), or broadcast to it; slopes: of `values_and_slopes`."""
        out = contract_slopes(self, a, b, slopes * weight)
        if self.trend != 0.0:
            out[:, :, -1] += self.trend * np.matmul(weight, b[:, -1])
        return out


def contract_slopes(kernel: Kernel, points: Array, others: Array, weighted_slope: Array) -> Array:
    """sum_n weighted_slope_n * du(points, others_n)/dpoints, with du/dz_i = 2 (z_i - z'_i)/l_i^2: (K, m, D) from (K, m, n)."""
    gradient = points[None] * weighted_slope.sum(axis=2)[:, :, None]
    gradient -= np.matmul(weighted_slope, others)
    return gradient * (2.0 / kernel.lengthscales**2)[:, None, :]


@dataclass(frozen=True)
class Probes:
    """m questions about f: points (m, D), and axes (m, 2), the axes derived along, NO_AXIS where there is none."""

    points: Array
    axes: Axes

    def __len__(self) -> int:
        return len(self.points)

    @property
    def orders(self) -> NDArray[np.intp]:
        """How many derivatives each probe takes: 0, 1 or 2."""
        return (self.axes != NO_AXIS).sum(axis=1)

    @property
    def only_values(self) -> bool:
        return bool((self.axes == NO_AXIS).all())

    def join(self, other: Probes) -> Probes:
        return Probes(np.concatenate([self.points, other.points]), np.concatenate([self.axes, other.axes]))

    @classmethod
    def of(cls, points: Array, axes: list[tuple[int, ...]]) -> Probes:
        """Every entry of `axes` at every point, point by point: () a value, (i,) a first, (i, j) a second derivative."""
        pairs = np.array([(*a, NO_AXIS, NO_AXIS)[:2] for a in axes], dtype=np.intp).reshape(-1, 2)
        points = np.atleast_2d(np.asarray(points, dtype=float))
        return cls(np.repeat(points, len(pairs), axis=0), np.tile(pairs, (len(points), 1)))

    @classmethod
    def values(cls, points: Array) -> Probes:
        return cls.of(points, [()])

    @classmethod
    def gradients(cls, points: Array, axes: int) -> Probes:
        """The first `axes` components of the gradient at each point."""
        return cls.of(points, [(i,) for i in range(axes)])

    @classmethod
    def hessians(cls, points: Array, axes: int) -> Probes:
        """The lower triangle, row by row, of the Hessian in the first `axes` axes at each point."""
        return cls.of(points, [(i, j) for i in range(axes) for j in range(i + 1)])


def covariance(kernel: Kernel, a: Probes, b: Probes) -> Array:
    """Covariance between every probe of a and every probe of b: (K, m, n).

    With p derivatives in the first argument and q in the second, m = p + q slots in all, it is
        (-1)^q A sum over partial matchings of the slots of  2^(m-r) phi^(m-r)(u) * prod_{unmatched} w * prod_{r pairs}
        delta_ij / l_i^2.
    """
    return _by_orders(kernel, a, b, None)


def covariance_lengthscale_derivative(kernel: Kernel, a: Probes, b: Probes, axis: int) -> Array:
    """d covariance / d log l_axis, (K, m, n).

    k depends on z_i/l_i alone, so with c slots on the axis: -c * covariance - (z_i - z'_i) * (covariance with one more d/dz_i).
    """
    return _by_orders(kernel, a, b, axis)


def _by_orders(kernel: Kernel, a: Probes, b: Probes, scaled_axis: int | None) -> Array:
    highest = int(max(a.orders.max(initial=0), b.orders.max(initial=0)))
    if highest > kernel.family.smoothness:
        raise KernelError(
            f"the {kernel.family.name} kernel gives functions with {kernel.family.smoothness} derivative(s), "
            f"but derivative {highest} was asked for; use matern52 or squared_exponential"
        )
    if max(a.axes.max(initial=NO_AXIS), b.axes.max(initial=NO_AXIS)) >= kernel.derivable:
        raise KernelError(
            "a kernel with a regression or a trend in its last axis has no derivatives there; use one that is stationary in it"
        )
    out = np.empty((len(kernel.variance), len(a), len(b)))
    for p in range(3):
        rows = np.flatnonzero(a.orders == p)
        for q in range(3):
            columns = np.flatnonzero(b.orders == q)
            if len(rows) and len(columns):
                block = _block(kernel, a.points[rows], a.axes[rows, :p], b.points[columns], b.axes[columns, :q], scaled_axis)
                out[:, rows[:, None], columns[None, :]] = block
    return out


def _block(kernel: Kernel, za: Array, axes_a: Axes, zb: Array, axes_b: Axes, scaled_axis: int | None) -> Array:
    """Covariance of p-th derivatives at za with q-th derivatives at zb, p and q the widths of axes_a and axes_b."""
    difference = za[:, None, :] - zb[None, :, :]
    u = np.einsum("mni,ki->kmn", difference**2, kernel.lengthscales**-2)
    slots = [np.broadcast_to(axes_a[:, i, None], u.shape[1:]) for i in range(axes_a.shape[1])]
    slots += [np.broadcast_to(axes_b[None, :, j], u.shape[1:]) for j in range(axes_b.shape[1])]
    scale = (-1.0) ** axes_b.shape[1] * kernel.variance[:, None, None] * kernel.factor(za, zb)
    if scaled_axis is None:
        block = scale * _derivative(kernel, u, difference, slots)
        return block if slots else block + kernel.mean_covariance(za, zb)
    count = sum((slot == scaled_axis).astype(float) for slot in slots) if slots else np.zeros(u.shape[1:])
    once_more = [*slots, np.full(u.shape[1:], scaled_axis, dtype=np.intp)]
    inner = -count * _derivative(kernel, u, difference, slots)
    inner -= difference[:, :, scaled_axis] * _derivative(kernel, u, difference, once_more)
    return scale * inner


def _derivative(kernel: Kernel, u: Array, difference: Array, slots: list[Axes]) -> Array:
    """The derivative of phi(u) along the axes in `slots`, all taken in the first argument."""
    inverse_square = kernel.lengthscales**-2
    rows, columns = np.indices(u.shape[1:])
    inverse = [inverse_square[:, slot] for slot in slots]
    w = [difference[rows, columns, slot] * inv for slot, inv in zip(slots, inverse, strict=True)]
    phi = kernel.family.profile(u, len(slots))
    total = np.zeros_like(u)
    for pairs, singles in _matchings(tuple(range(len(slots)))):
        order = len(pairs) + len(singles)
        term = 2.0**order * phi[order]
        for i in singles:
            term = term * w[i]
        for i, j in pairs:
            term = term * np.where(slots[i] == slots[j], inverse[i], 0.0)
        total += term
    return total


def _matchings(items: tuple[int, ...]) -> Iterator[tuple[list[tuple[int, int]], list[int]]]:
    """Every way to pair up some of the items: (pairs, those left single)."""
    if not items:
        yield [], []
        return
    first, rest = items[0], items[1:]
    for pairs, singles in _matchings(rest):
        yield pairs, [first, *singles]
    for position, partner in enumerate(rest):
        for pairs, singles in _matchings(rest[:position] + rest[position + 1 :]):
            yield [(first, partner), *pairs], singles
