"""Decisions that are not to be made again: those pending, those that failed, and without noise those that were evaluated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farthing.errors import SpaceExhausted
from farthing.method.domain import Domain
from farthing.numerics.kernels import Array
from farthing.trials import History

ENUMERATED = 20_000
"""A domain of at most so many decisions is searched whole for one that is left."""


@dataclass(frozen=True)
class Taken:
    """The keys of points that are taken."""

    keys: set[bytes]

    @classmethod
    def of(cls, history: History, noiseless: bool) -> Taken:
        """Where there is no noise, what was evaluated is taken too."""
        points = [history.pending, history.failed, *([history.points] if noiseless else [])]
        return cls(set(_keys(np.concatenate(points).reshape(-1, history.points.shape[1]))))

    def free(self, points: Array) -> Array:
        """Those of the points (m, D) that are not taken, in their order."""
        return points[[key not in self.keys for key in _keys(points)]]

    def new(self, points: Array, domain: Domain) -> Array:
        """The same; where there are none, all that the domain has left. A SpaceExhausted where that is nothing."""
        new = self.free(points)
        if not len(new) and domain.count <= ENUMERATED:
            new = self.free(domain.every())
        if not len(new):
            raise SpaceExhausted(
                "every point of the space has been evaluated or is being evaluated; there is nothing left to ask for"
            )
        return new


def _keys(points: Array) -> list[bytes]:
    """The same for points that differ by rounding alone; a full fidelity at the end does not matter."""
    rounded: Array = np.round(points, 9) + 0.0
    return [row.tobytes().rstrip(b"\0") for row in rounded]
