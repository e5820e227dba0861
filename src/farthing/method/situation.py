"""The situation: all that a proposal depends on."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from farthing.method.effort import NORMAL, at_level
from farthing.methods import Method
from farthing.numerics.kernels import Array
from farthing.settings import Settings
from farthing.trials import History

HARDLY_ABOVE = 1e-3
"""By how much a predicted cost may exceed what is left: costs are not foretold to the last digit, even where all are the same."""


@dataclass(frozen=True)
class Situation:
    """All that a proposal depends on.

    remaining: budget left, in units of cost; overhead_rate: cost of a second of thinking; limit: the most an evaluation may cost;
    effort: at which level to think, with settings and a method to match.
    """

    history: History
    method: Method
    settings: Settings
    seed: int
    remaining: float | None
    overhead_rate: float
    limit: float | None = None
    effort: str = NORMAL

    @property
    def number(self) -> int:
        return len(self.history.trials)

    def allows(self, costs: Array) -> NDArray[np.bool_]:
        """Which of the predicted costs (m,) are within the limit, or hardly above it."""
        return np.full(len(costs), True) if self.limit is None else np.asarray(costs <= (1.0 + HARDLY_ABOVE) * self.limit)

    @property
    def budget(self) -> float | None:
        """All of it, spent or left."""
        if self.remaining is None:
            return None
        return max(self.remaining, 0.0) + self.history.spent + self.overhead_rate * self.history.overhead_seconds

    @property
    def budget_left(self) -> float:
        """The share of the budget that is left; 1 where there is none."""
        if self.remaining is None or self.budget is None:
            return 1.0
        return self.remaining / self.budget if self.remaining > 0.0 else 0.0

    def at(self, level: str) -> Situation:
        """The same, to be thought about at that level."""
        settings, method = at_level(level, self.settings, self.method, self.history.with_fidelity)
        return replace(self, settings=settings, method=method, effort=level)
