"""What a task is: axes, a fidelity, what an evaluation returns and costs, and what is known of its minimum.

Needs NumPy alone, so that it loads in the environment of every peer.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Params = dict[str, Any]


def _between(low: float, high: float, share: float, log: bool) -> float:
    """From low (share 0) to high (share 1), linear or logarithmic; the ends exactly."""
    if share <= 0.0 or share >= 1.0:
        return low if share <= 0.0 else high
    return low * (high / low) ** share if log else low + (high - low) * share


def _share(low: float, high: float, value: float, log: bool) -> float:
    return math.log(value / low) / math.log(high / low) if log else (value - low) / (high - low)


@dataclass(frozen=True)
class Axis:
    """One parameter, from low to high; kind: "real" or "integer"."""

    name: str
    low: float
    high: float
    kind: str = "real"
    log: bool = False

    def value(self, unit: float) -> float | int:
        """The user's number at a unit coordinate."""
        value = _between(self.low, self.high, float(unit), self.log)
        return round(value) if self.kind == "integer" else value

    def unit(self, value: float) -> float:
        """The unit coordinate of a user's number."""
        return _share(self.low, self.high, value, self.log)


@dataclass(frozen=True)
class Fidelity:
    """What an evaluation may cost, from `cheap` to `full`. Its share is 0 at cheap and 1 at full, on its own scale."""

    name: str
    cheap: float
    full: float
    log: bool = False
    integer: bool = False

    def value(self, share: float) -> float:
        """The user's number at a share of the way from cheap to full."""
        value = _between(self.cheap, self.full, float(share), self.log)
        return float(round(value)) if self.integer else value

    def share(self, value: float) -> float:
        """How far a user's number is on the way from cheap to full."""
        return _share(self.cheap, self.full, value, self.log)

    @property
    def is_amount(self) -> bool:
        """Whether its numbers are amounts of work (rows, epochs, trees) that grow towards full."""
        return 0.0 < self.cheap < self.full


@dataclass(frozen=True)
class Task:
    """A problem to be minimized at full fidelity within a budget of seconds.

    objective: its noise-free value at params and a fidelity; cost: simulated seconds of an evaluation, or None where the wall
    time of the objective itself is what it costs; typical_cost: seconds at a fidelity as a user would know them beforehand, for
    peers that must be told (in simulated tasks the true ones, the median over x where they depend on it); minimum, minimizer:
    exact where they are known, else the best that a longer search found; noise: standard deviation of what is added to the
    objective's value, drawn from rng; speed: how many seconds a second of this machine counts, where a run is to be compared with
    those of a machine that is slower by that factor.
    """

    name: str
    axes: tuple[Axis, ...]
    fidelity: Fidelity
    objective: Callable[[Params, float], float]
    cost: Callable[[Params, float], float] | None
    typical_cost: Callable[[float], float]
    minimum: float
    budget: float
    minimizer: Params | None = None
    noise: float = 0.0
    rng: np.random.Generator = field(default_factory=np.random.default_rng)
    clock: Callable[[], float] = time.perf_counter
    speed: float = 1.0

    @property
    def simulated(self) -> bool:
        """Whether the cost is simulated; otherwise it is wall time."""
        return self.cost is not None

    @property
    def dimensions(self) -> int:
        return len(self.axes)

    @property
    def full_cost(self) -> float:
        """Typical seconds of an evaluation at full fidelity."""
        return self.typical_cost(self.fidelity.full)

    def evaluate(self, params: Params, fidelity: float) -> tuple[float, float]:
        """Value and seconds of one evaluation."""
        start = self.clock()
        value = self.objective(params, fidelity)
        seconds = self.speed * (self.clock() - start)
        if self.noise:
            value += self.noise * float(self.rng.standard_normal())
        return value, seconds if self.cost is None else self.cost(params, fidelity)

    def truth(self, params: Params) -> float:
        """The value at full fidelity, without noise."""
        return self.objective(params, self.fidelity.full)

    def regret(self, params: Params) -> float:
        """How far above the (best known) minimum the truth at these params is; below zero where the known one is beaten."""
        return self.truth(params) - self.minimum

    def params(self, unit: Any) -> Params:
        """The user's parameters at a unit point (d,)."""
        return {axis.name: axis.value(u) for axis, u in zip(self.axes, unit, strict=True)}

    def unit(self, params: Params) -> np.ndarray:
        """The unit point (d,) of the user's parameters."""
        return np.array([axis.unit(params[axis.name]) for axis in self.axes])
