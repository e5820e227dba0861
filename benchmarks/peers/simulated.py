"""Tasks with a simulated cost: no second of it is waited for.

fig3 and fig4 are those of McLeod, Osborne and Roberts (2018); there s = 0 is the true objective and s = 1 the cheapest.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from benchmarks.peers import functions
from benchmarks.peers.functions import Array
from benchmarks.peers.problem import Axis, Fidelity, Params, Task

HOUR = 3600.0

SHIFT3 = np.array([0.15, -0.2, -0.3])
SHIFT6 = np.array([0.1, -0.15, 0.2, 0.05, -0.25, 0.1])


def offset_branin(x: Array, s: float) -> Array:
    return functions.branin(7.5 * x + 2.5 + s * np.array([0.2, -0.15])) + 0.5 * s


def offset_hartmann3(x: Array, s: float) -> Array:
    return functions.hartmann3(0.5 * x + 0.5 + s * SHIFT3) + 0.5 * s


def offset_hartmann6(x: Array, s: float) -> Array:
    return functions.hartmann6(0.5 * x + 0.5 + s * SHIFT6) + 0.5 * s


def eight(x: Array, s: float) -> Array:
    """Hartmann6 and two quadratic axes, all shifted by the fidelity."""
    bowls = 0.5 * ((x[..., 6] - 0.3 - 0.2 * s) ** 2 + (x[..., 7] + 0.2 + 0.1 * s) ** 2)
    return offset_hartmann6(x[..., :6], s) + bowls


def misleading(x: Array, s: float) -> Array:
    """Two wells: the left one is the deeper at full fidelity, the right one at every s above 0.25."""
    left = np.exp(-((x - np.array([-0.5, -0.3])) ** 2).sum(axis=-1) / 0.1)
    right = np.exp(-((x - np.array([0.5, 0.4])) ** 2).sum(axis=-1) / 0.2)
    return -(1.0 - 0.7 * s) * left - (0.7 + 0.5 * s) * right + 0.3 * s


def quadratic_cost(s: float) -> float:
    """Two minutes at the cheapest, thirty at full fidelity."""
    return 120.0 + 1680.0 * (1.0 - s) ** 2


def affine_cost(fidelity: float) -> float:
    """Five minutes at the cheapest, thirty at full fidelity (1)."""
    return 300.0 + 1500.0 * fidelity


def build(name: str, seed: int) -> Task:
    """The simulated task of that name; the seed is that of its noise or its random function."""
    return BUILDERS[name](seed)


def _over_square(
    name: str,
    function: Callable[[Array, float], Array],
    minimum: tuple[float, Array],
    hours: float,
    cost: Callable[[float], float] = quadratic_cost,
    noise: tuple[float, int] = (0.0, 0),
) -> Task:
    """A task over x in [-1, 1]^d and s from 1 (cheap) to 0 (full). minimum: value and place; noise: its sd and its seed."""
    value, place = minimum
    axes = tuple(Axis(f"x{i}", -1.0, 1.0) for i in range(len(place)))
    return Task(
        name,
        axes,
        Fidelity("s", cheap=1.0, full=0.0),
        objective=lambda params, s: float(function(_point(params), s)),
        cost=lambda params, s: cost(s),
        typical_cost=cost,
        minimum=value,
        budget=hours * HOUR,
        minimizer={axis.name: float(x) for axis, x in zip(axes, place, strict=True)},
        noise=noise[0],
        rng=np.random.default_rng([noise[1], 1]),
    )


def _augmented(
    name: str,
    function: Callable[[Array, float], Array],
    axes: tuple[Axis, ...],
    minimum: tuple[float, tuple[float, ...]],
    full: int,
) -> Task:
    """One of BoTorch's problems: fidelity from 0 to 1 (full), an affine cost, the budget of so many full evaluations."""
    return Task(
        name,
        axes,
        Fidelity("fidelity", cheap=0.0, full=1.0),
        objective=lambda params, fidelity: float(function(_point(params), fidelity)),
        cost=lambda params, fidelity: affine_cost(fidelity),
        typical_cost=affine_cost,
        minimum=minimum[0],
        budget=full * affine_cost(1.0),
        minimizer={axis.name: float(x) for axis, x in zip(axes, minimum[1], strict=True)},
    )


def _point(params: Params) -> Array:
    return np.array(list(params.values()))


def _centered(minimum: tuple[float, tuple[float, ...]]) -> tuple[float, Array]:
    """Minimum and minimizer of a function over [0, 1]^d, in [-1, 1]^d."""
    return minimum[0], 2.0 * np.array(minimum[1]) - 1.0


def _branin_minimum() -> tuple[float, Array]:
    return functions.BRANIN[0], (np.array(functions.BRANIN[1]) - 2.5) / 7.5


def _draw(name: str, seed: int, fidelity_lengthscale: float, decay: float) -> Task:
    """fig3: a draw from a Matérn 5/2 over (x, s) with amplitude 1.5; seconds fall as exp(-decay s)."""
    draw = functions.matern_draw(np.array([0.3, 0.3, fidelity_lengthscale]), 1.5, np.random.default_rng([seed, 3]))

    def function(x: Array, s: float) -> Array:
        return draw(np.concatenate([x, np.full((*x.shape[:-1], 1), s)], axis=-1))

    place, value = functions.lowest_on_square(lambda x: function(x, 0.0), -1.0, 1.0)
    return _over_square(name, function, (value, place), 8.0, cost=lambda s: 300.0 * math.exp(-decay * s))


def _misleading(seed: int) -> Task:
    place, value = functions.lowest_on_square(lambda x: misleading(x, 0.0), -1.0, 1.0)
    return _over_square("misleading", misleading, (value, place), 15.0)


def _pricey(seed: int) -> Task:
    """Offset Branin; an evaluation costs ten times as much at x0 = 1 as at x0 = -1, and one of its two minima is the dearer."""
    task = _over_square("pricey", offset_branin, _branin_minimum(), 15.0)

    def cost(params: Params, s: float) -> float:
        return quadratic_cost(s) * 10.0 ** (0.5 * params["x0"])

    return replace(task, cost=cost)


def _eight(seed: int) -> Task:
    value, place = _centered(functions.HARTMANN6)
    return _over_square("eight", eight, (value, np.append(place, [0.3, -0.2])), 50.0)


_PLANE = (Axis("u", -5.0, 10.0), Axis("v", 0.0, 15.0))
_CUBE6 = tuple(Axis(f"x{i}", 0.0, 1.0) for i in range(6))

BUILDERS: dict[str, Callable[[int], Task]] = {
    "branin": lambda seed: _over_square("branin", offset_branin, _branin_minimum(), 15.0),
    "hartmann3": lambda seed: _over_square("hartmann3", offset_hartmann3, _centered(functions.HARTMANN3), 10.0),
    "hartmann6": lambda seed: _over_square("hartmann6", offset_hartmann6, _centered(functions.HARTMANN6), 50.0),
    "augmented-branin": lambda seed: _augmented("augmented-branin", functions.augmented_branin, _PLANE, functions.BRANIN, 20),
    "augmented-hartmann": lambda seed: _augmented(
        "augmented-hartmann", functions.augmented_hartmann, _CUBE6, functions.HARTMANN6, 40
    ),
    "draw-good": lambda seed: _draw("draw-good", seed, fidelity_lengthscale=1.5, decay=3.0),
    "draw-bad": lambda seed: _draw("draw-bad", seed, fidelity_lengthscale=0.4, decay=1.0),
    "misleading": _misleading,
    "pricey": _pricey,
    "noisy": lambda seed: _over_square("noisy", offset_hartmann3, _centered(functions.HARTMANN3), 15.0, noise=(0.1, seed)),
    "eight": _eight,
}
