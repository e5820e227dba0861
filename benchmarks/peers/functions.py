"""Test functions and a random one, for the simulated tasks. Points are arrays whose last axis is the coordinates."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Array = np.ndarray

BRANIN = 0.39788735772973816, (np.pi, 2.275)
HARTMANN3 = -3.862779787332663, (0.11458887, 0.5556489, 0.85254698)
HARTMANN6 = -3.322368011415515, (0.20168951, 0.15001069, 0.47687397, 0.27533243, 0.31165162, 0.65730053)
"""Minimum and a minimizer of each."""

_ALPHA = np.array([1.0, 1.2, 3.0, 3.2])
_A3 = np.array([[3.0, 10, 30], [0.1, 10, 35], [3, 10, 30], [0.1, 10, 35]])
_P3 = 1e-4 * np.array([[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]])
_A6 = np.array([[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]])
_P6 = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)


def branin(point: Array, bend: float = 0.0) -> Array:
    """Branin over [-5, 10] x [0, 15]; `bend` is taken from its quadratic coefficient."""
    u, v = point[..., 0], point[..., 1]
    return (v - (5.1 / (4 * np.pi**2) - bend) * u**2 + 5 / np.pi * u - 6) ** 2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(u) + 10


def hartmann3(point: Array) -> Array:
    return _hartmann(point, _ALPHA, _A3, _P3)


def hartmann6(point: Array, lost: float = 0.0) -> Array:
    """Hartmann over [0, 1]^6; `lost` is taken from the weight of its first term."""
    return _hartmann(point, _ALPHA - lost * np.array([1.0, 0.0, 0.0, 0.0]), _A6, _P6)


def _hartmann(point: Array, alpha: Array, a: Array, p: Array) -> Array:
    return -np.exp(-(a * (np.asarray(point)[..., None, :] - p) ** 2).sum(axis=-1)) @ alpha


def augmented_branin(point: Array, fidelity: float) -> Array:
    """BoTorch's `AugmentedBranin` (botorch.test_functions.multi_fidelity); fidelity 1 is Branin."""
    return branin(point, bend=0.1 * (1.0 - fidelity))


def augmented_hartmann(point: Array, fidelity: float) -> Array:
    """BoTorch's `AugmentedHartmann` (botorch.test_functions.multi_fidelity); fidelity 1 is Hartmann6."""
    return hartmann6(point, lost=0.1 * (1.0 - fidelity))


def matern_draw(lengthscales: Array, amplitude: float, rng: np.random.Generator, features: int = 2000) -> Callable[[Array], Array]:
    """A random function from a zero-mean GP with Matérn 5/2 kernel and variance amplitude^2, by random Fourier features.

    The kernel's spectral density is a multivariate t with 5 degrees of freedom, scaled by 1 / lengthscale:
        f(z) = amplitude / sqrt(m) * sum_j a_j cos(w_j z) + b_j sin(w_j z),   a_j, b_j ~ N(0, 1)
    Points (..., D) to values (...).
    """
    normal = rng.standard_normal((features, len(lengthscales)))
    frequencies = normal / lengthscales * np.sqrt(5.0 / rng.chisquare(5.0, (features, 1)))
    weights = amplitude / np.sqrt(features) * rng.standard_normal((2, features))

    def value(points: Array) -> Array:
        phase = np.asarray(points) @ frequencies.T
        return np.cos(phase) @ weights[0] + np.sin(phase) @ weights[1]

    return value


def lowest_on_square(function: Callable[[Array], Array], low: float, high: float, per_axis: int = 101) -> tuple[Array, float]:
    """The minimizer (2,) and minimum of a smooth function of points (m, 2) over a square: a dense grid, the best of it refined.

    Each of the five lowest points of the grid that are lowest among their neighbors gets grids of its own, ever finer.
    """
    axis = np.linspace(low, high, per_axis)
    values = np.stack([function(np.column_stack([np.full(per_axis, x), axis])) for x in axis])
    padded = np.pad(values, 1, constant_values=np.inf)
    around = [padded[i : i + per_axis, j : j + per_axis] for i in range(3) for j in range(3)]
    local = np.argwhere(values <= np.min(around, axis=0))
    local = local[np.argsort(values[tuple(local.T)])[:5]]
    best, best_value = np.empty(2), np.inf
    for place in axis[local]:
        width = (high - low) / (per_axis - 1)
        while width > 1e-10 * (high - low):
            offsets = np.linspace(-width, width, 7)
            grid = np.clip(place + np.stack(np.meshgrid(offsets, offsets), axis=-1).reshape(-1, 2), low, high)
            found = function(grid)
            place = grid[np.argmin(found)]
            width *= 0.4
        if found.min() < best_value:
            best, best_value = place, float(found.min())
    return best, best_value
