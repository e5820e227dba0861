"""Objectives with known minima, a fidelity that shifts them, and a simulated cost.

x is in [-1, 1]^d, s in [0, 1] with s = 0 the true objective. Definitions follow McLeod, Osborne and Roberts (2018), section 5.2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import farthing as ft


def branin(u: float, v: float) -> float:
    return (v - 5.1 / (4 * np.pi**2) * u**2 + 5 / np.pi * u - 6) ** 2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(u) + 10


_ALPHA = np.array([1.0, 1.2, 3.0, 3.2])
_A3 = np.array([[3, 10, 30], [0.1, 10, 35], [3, 10, 30], [0.1, 10, 35]])
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


def hartmann(x: np.ndarray, a: np.ndarray, p: np.ndarray) -> float:
    return float(-_ALPHA @ np.exp(-(a * (x - p) ** 2).sum(axis=1)))


def _offset_branin(x: np.ndarray, s: float) -> float:
    return float(branin(7.5 * x[0] + 2.5 + 0.2 * s, 7.5 * x[1] + 2.5 - 0.15 * s)) + 0.5 * s


def _offset_hartmann3(x: np.ndarray, s: float) -> float:
    return hartmann(0.5 * x + 0.5 + s * np.array([0.15, -0.2, -0.3]), _A3, _P3) + 0.5 * s


def _offset_hartmann6(x: np.ndarray, s: float) -> float:
    return hartmann(0.5 * x + 0.5 + s * np.array([0.1, -0.15, 0.2, 0.05, -0.25, 0.1]), _A6, _P6) + 0.5 * s


@dataclass(frozen=True)
class Task:
    """An objective over [-1, 1]^d and s, its true minimum, and the cost of an evaluation."""

    name: str
    dimensions: int
    function: Callable[[np.ndarray, float], float]
    minimum: float

    @property
    def space(self) -> dict[str, ft.Real]:
        return {f"x{i}": ft.Real(-1.0, 1.0) for i in range(self.dimensions)}

    @property
    def fidelity(self) -> ft.Fidelity:
        return ft.Fidelity("s", cheap=1.0, full=0.0)

    def __call__(self, s: float = 0.0, **x: float) -> ft.Evaluation:
        return ft.Evaluation(self.function(np.array(list(x.values())), s), cost=quadratic_cost(s))

    def regret(self, params: dict[str, float]) -> float:
        return self.function(np.array(list(params.values())), 0.0) - self.minimum


def quadratic_cost(s: float) -> float:
    """Two minutes at the cheapest, thirty at full fidelity."""
    return 120.0 + 1680.0 * (1.0 - s) ** 2


TASKS = {
    task.name: task
    for task in (
        Task("branin", 2, _offset_branin, 0.3978873577),
        Task("hartmann3", 3, _offset_hartmann3, -3.8627797873),
        Task("hartmann6", 6, _offset_hartmann6, -3.3223680114),
    )
}
