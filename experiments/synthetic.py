"""Objectives with a simulated cost: the offset test functions of the paper's section 5.2, and draws from a Matérn kernel (5.1).

The functions themselves are those of benchmarks/peers. Draws are made of 4,000 random waves each (8,000 random weights), so that
one draw is one function wherever it is evaluated; its kernel is the Matérn's up to an error of some 1/sqrt(4000).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

import farthing as ft
from benchmarks.peers import functions
from benchmarks.peers.simulated import offset_branin, offset_hartmann3, offset_hartmann6, quadratic_cost
from experiments.problem import HOUR, Array, Params, Problem, point, simulated

WAVES = 4000

OFFSET: dict[str, tuple[Callable[[Array, float], Array], int, float, float]] = {
    "branin": (offset_branin, 2, functions.BRANIN[0], 15.0),
    "hartmann3": (offset_hartmann3, 3, functions.HARTMANN3[0], 10.0),
    "hartmann6": (offset_hartmann6, 6, functions.HARTMANN6[0], 50.0),
}
"""Function of (x, s), dimensions, minimum at s = 0, hours."""

DRAWS = {"good": (1.5, 3.0), "bad": (0.4, 1.0)}
"""Lengthscale along s, and decay of the cost along it."""

DRAW_LENGTHSCALE, DRAW_VARIANCE, DRAW_HOURS = 0.3, 1.5, 8.0


def offset(name: str, scale: float = 1.0) -> Problem:
    """fig4: two minutes at the cheapest to thirty at full fidelity; the budget is `scale` times the paper's hours."""
    function, dimensions, minimum, hours = OFFSET[name]
    return simulated(function, dimensions, minimum, quadratic_cost, hours * HOUR * scale)


def draw(name: str, seed: int, scale: float = 1.0) -> Problem:
    """fig3: a random function over (x, s) with cost 300 exp(-decay s), its minimum found by a grid and refined."""
    lengthscale, decay = DRAWS[name]
    rng = np.random.default_rng([seed, 3])
    lengthscales = np.array([DRAW_LENGTHSCALE, DRAW_LENGTHSCALE, lengthscale])
    value = functions.matern_draw(lengthscales, math.sqrt(DRAW_VARIANCE), rng, WAVES)

    def function(x: Array, s: float) -> Array:
        return value(np.concatenate([x, np.full((*x.shape[:-1], 1), s)], axis=-1))

    _, minimum = functions.lowest_on_square(lambda x: function(x, 0.0), -1.0, 1.0)
    return simulated(function, 2, minimum, partial(exponential_cost, decay), DRAW_HOURS * HOUR * scale)


def exponential_cost(decay: float, s: float) -> float:
    """Five minutes at full fidelity."""
    return 300.0 * math.exp(-decay * s)


def plain(name: str, evaluations: int, seed: int = 0) -> Problem:
    """fig1 and table1: one of the functions at full fidelity, or "draw4", a draw over [-1, 1]^4; every evaluation costs 1."""
    if name == "draw4":
        value = functions.matern_draw(np.full(4, 0.5), 1.0, np.random.default_rng([seed, 4]), WAVES)
        return _unit_cost(value, 4, float("nan"), evaluations)
    shifted, dimensions, minimum, _ = OFFSET[name]
    return _unit_cost(lambda x: shifted(x, 0.0), dimensions, minimum, evaluations)


def _unit_cost(function: Callable[[Array], Array], dimensions: int, minimum: float, evaluations: int) -> Problem:
    def truth(params: Params) -> float:
        return float(function(point(params)))

    def objective(**params: float) -> ft.Evaluation:
        return ft.Evaluation(truth(params), cost=1.0)

    return Problem(dimensions, None, objective, truth, minimum, evaluations=evaluations, overhead_price=0.0)
