"""Where evaluations succeed: learned from those that failed.

With weights w_i = exp(-|z - z_i|^2 / (2 h^2)) of the trials i so far,

    P(an evaluation at z succeeds) = (strength * rate + sum of w_i over successes) / (strength + sum of w_i over all)

the posterior mean of a chance that is alike within the distance h, whose prior is the overall rate. h is the one, of a few, under
which every trial is best foretold by the others: failures that come at random, wherever they come, make the chance the same
everywhere and so change nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farthing.numerics.kernels import Array
from farthing.trials import History

STRENGTH = 1.0
"""How many trials the overall rate is worth."""

WIDTHS = (0.05, 0.1, 0.2, 0.4)
"""h as a share of the diagonal of the box."""

FIDELITY_SCALE = 0.5
"""Distances in s count for this much: what fails at one fidelity mostly fails at another."""

LEAST = 1e-4
"""No chance is taken to be smaller."""


@dataclass(frozen=True)
class Feasibility:
    """The chance of success at points (m, D). points: (t, D) tried; succeeded: (t,) 1 or 0; scale: (D,) of distances."""

    points: Array
    succeeded: Array
    scale: Array
    rate: float

    def log_chance(self, z: Array) -> tuple[Array, Array]:
        """log P (m,) and its gradient in z (m, D)."""
        difference = (z[:, None, :] - self.points[None]) * self.scale
        weight = np.exp(-0.5 * np.einsum("mti,mti->mt", difference, difference))
        good = STRENGTH * self.rate + weight @ self.succeeded
        total = STRENGTH + weight.sum(axis=1)
        slope = -weight[:, :, None] * difference * self.scale
        d_good, d_total = np.einsum("mti,t->mi", slope, self.succeeded), slope.sum(axis=1)
        chance = good / total
        low = chance <= LEAST
        gradient = np.where(low[:, None], 0.0, d_good / np.maximum(good, 1e-300)[:, None] - d_total / total[:, None])
        return np.log(np.maximum(chance, LEAST)), gradient


def fit_feasibility(history: History) -> Feasibility | None:
    """The model after the trials of a history; None where nothing has failed, or nothing has succeeded."""
    failed = history.failed
    if not len(failed) or not len(history):
        return None
    points = np.concatenate([history.points, failed])
    succeeded = np.repeat([1.0, 0.0], [len(history), len(failed)])
    rate = float((succeeded.sum() + 1.0) / (len(succeeded) + 1.0))
    relative = np.ones(points.shape[1])
    if history.with_fidelity:
        relative[-1] = FIDELITY_SCALE
    diagonal = np.sqrt(len(history.space.axes))
    squares = np.square(points * relative)
    distance = squares.sum(axis=1)[:, None] + squares.sum(axis=1) - 2.0 * (points * relative) @ (points * relative).T
    np.fill_diagonal(distance, np.inf)

    def foretold(width: float) -> float:
        """Log probability of every trial's outcome given the others."""
        weight = np.exp(-0.5 * np.maximum(distance, 0.0) / (width * diagonal) ** 2)
        chance = (STRENGTH * rate + weight @ succeeded) / (STRENGTH + weight.sum(axis=1))
        return float(np.log(np.where(succeeded == 1.0, chance, 1.0 - chance)).sum())

    best = max(reversed(WIDTHS), key=foretold)
    return Feasibility(points, succeeded, relative / (best * diagonal), rate)
