"""What is minimized in one run: the objective with its price, the truth about a recommendation, and when the run ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import farthing as ft

Array = NDArray[np.float64]
Params = Mapping[str, float]

HOUR = 3600.0


@dataclass(frozen=True)
class Problem:
    """An objective over [-1, 1]^d, as a study sees it and as it is.

    objective: of x0, x1, ... and the fidelity; gives an Evaluation with a simulated cost, or a number, and then costs its wall
    time. truth: value of parameters at full fidelity, computed offline; minimum: the lowest there is, None where only runs can
    tell. budget: seconds of evaluations and overhead; or evaluations: how many. overhead_price: cost of a second of thinking.
    """

    dimensions: int
    fidelity: ft.Fidelity | None
    objective: Callable[..., Any]
    truth: Callable[[Params], float]
    minimum: float | None
    budget: float | None = None
    evaluations: int | None = None
    overhead_price: float | None = 1.0

    @property
    def space(self) -> dict[str, ft.Real]:
        return {f"x{i}": ft.Real(-1.0, 1.0) for i in range(self.dimensions)}

    @property
    def simulated(self) -> bool:
        """Whether costs are stated, and the truth takes no time to speak of."""
        return self.minimum is not None


def point(params: Params) -> Array:
    """Parameters x0, x1, ... as a vector."""
    return np.array([params[f"x{i}"] for i in range(len(params))])


def simulated(
    function: Callable[[Array, float], Any],
    dimensions: int,
    minimum: float,
    cost: Callable[[float], float],
    budget: float,
) -> Problem:
    """A problem with fidelity s from 1 (cheap) to 0 (full), whose cost of cost(s) seconds is not waited for."""

    def objective(s: float, **params: float) -> ft.Evaluation:
        return ft.Evaluation(float(function(point(params), s)), cost=cost(s))

    def truth(params: Params) -> float:
        return float(function(point(params), 0.0))

    return Problem(dimensions, ft.Fidelity("s", cheap=1.0, full=0.0), objective, truth, minimum, budget)
