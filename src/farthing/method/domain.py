"""What can be decided: places x, or (x, s) where the fidelity is chosen too; and how to search among them.

Real columns are searched by gradient. Whole numbers and discrete fidelities are first relaxed to real ones, then put on their grid
and moved step by step; choices are only ever exchanged. What is evaluated in the end always lies on the grid.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from farthing.numerics.box_search import minimize_in_box
from farthing.numerics.kernels import Array
from farthing.space import Space

MOVED = 4
"""Places from which steps along discrete axes are tried."""

ROUNDS = 3
"""Of steps along discrete axes, each from the best place so far."""

WithGradient = Callable[[Array], tuple[Array, Array]]


@dataclass(frozen=True)
class Domain:
    """The places of a space, with s as the last column where the fidelity is to be chosen."""

    space: Space
    with_fidelity: bool

    @property
    def columns(self) -> int:
        return self.space.dimensions + int(self.with_fidelity)

    @cached_property
    def discrete(self) -> Array:
        """(D,) 1 where a column has gaps between its values, 0 where it is real."""
        out = np.zeros(self.columns)
        out[self.space.reals : self.space.dimensions] = 1.0
        fidelity = self.space.fidelity
        if self.with_fidelity and fidelity is not None:
            out[-1] = float(math.isfinite(fidelity.count))
        return out

    @cached_property
    def exchanged(self) -> Array:
        """(D,) 1 for the columns of choices, 0 for those of numbers."""
        out = np.zeros(self.columns)
        out[self.space.numbers : self.space.dimensions] = 1.0
        return out

    @property
    def count(self) -> float:
        """How many decisions there are."""
        fidelity = self.space.fidelity
        return self.space.count * (fidelity.count if self.with_fidelity and fidelity is not None else 1.0)

    def every(self) -> Array:
        """All decisions of a finite domain, (count, D)."""
        x, fidelity = self.space.every_point(), self.space.fidelity
        if not self.with_fidelity or fidelity is None:
            return x
        full, cheap = fidelity.ends
        levels = fidelity.levels or np.arange(min(full, cheap), max(full, cheap) + 1.0)
        s = fidelity.to_unit(np.array(levels))
        return np.column_stack([np.repeat(x, len(s), axis=0), np.tile(s, len(x))])

    def snap(self, points: Array) -> Array:
        """The nearest decisions to points (m, D)."""
        return self._with_s(self.space.snap(points[:, : self.space.dimensions]), points)

    def scatter(self, points: Array) -> Array:
        """Uniform points of the cube (m, D) -> decisions, x uniform over what there is, s the nearest."""
        return self._with_s(self.space.scatter(points[:, : self.space.dimensions]), points)

    def _with_s(self, x: Array, points: Array) -> Array:
        if not self.with_fidelity or self.space.fidelity is None:
            return x
        return np.column_stack([x, self.space.fidelity.snap(points[:, -1])])

    def beside(self, point: Array, exchange: bool) -> Array:
        """(m, D) the decisions one step away from this one (D,) along a discrete axis; with or without an exchange of choices."""
        d = self.space.dimensions
        x = self.space.stepped(point[:d])
        if exchange:
            x = np.concatenate([x, self.space.exchanged(point[:d])])
        out = [np.column_stack([x, np.tile(point[d:], (len(x), 1))])]
        if self.with_fidelity and self.space.fidelity is not None:
            s = self.space.fidelity.beside(float(point[-1]))
            out.append(np.column_stack([np.tile(point[:d], (len(s), 1)), s]))
        return np.concatenate(out)

    def minimize(
        self, function: WithGradient, starts: Array, evaluations: int, tolerance: float = 1e-6, exchange: bool = True
    ) -> tuple[Array, Array]:
        """Local minima of a function with its gradient, one from each start (m, D): decisions (m, D) and values (m,).

        Without `exchange`, each search keeps the choices it started with.
        """
        if not self.discrete.any():
            return self._descend(function, starts, self.discrete, evaluations, tolerance)
        relaxed, _ = self._descend(function, starts, self.exchanged, evaluations, tolerance)
        points, values = self._descend(function, self.snap(relaxed), self.discrete, evaluations, tolerance)
        for _ in range(ROUNDS):
            if not self._step(function, points, values, evaluations, tolerance, exchange):
                break
        return points, values

    def _descend(
        self, function: WithGradient, starts: Array, held: Array, evaluations: int, tolerance: float
    ) -> tuple[Array, Array]:
        """Descend along the columns that are not held."""

        def along(points: Array) -> tuple[Array, Array]:
            value, gradient = function(points)
            return value, gradient * (1.0 - held)

        box = np.zeros(self.columns), np.ones(self.columns)
        if held.all():
            return starts, function(starts)[0]
        minima = minimize_in_box(along, starts, *box, evaluations=evaluations, tolerance=tolerance)
        return minima.points, minima.values

    def _step(
        self, function: WithGradient, points: Array, values: Array, evaluations: int, tolerance: float, exchange: bool
    ) -> bool:
        """Exchange, in place, the best few places for the best of those beside them, where these are lower; whether any was."""
        best = np.argsort(values, kind="stable")[:MOVED]
        beside = [self.beside(points[i], exchange) for i in best]
        tried = np.concatenate(beside)
        if not len(tried):
            return False
        scores = function(tried)[0]
        starts, which, first = [], [], 0
        for i, part in zip(best, beside, strict=True):
            mine = scores[first : first + len(part)]
            if len(mine) and mine.min() < values[i]:
                starts.append(part[np.argmin(mine)])
                which.append(i)
            first += len(part)
        if not which:
            return False
        moved, reached = self._descend(function, np.stack(starts), self.discrete, evaluations, tolerance)
        points[which], values[which] = moved, reached
        return True
