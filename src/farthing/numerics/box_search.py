"""Minimization in a box from many starts at once.

Every start runs its own projected BFGS, and all of them ask for values and gradients in one batch. A start that has converged
leaves the batch, so that late iterations cost little. Made for few axes (some dozens): Hessians are kept whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from farthing.numerics.kernels import Array

Function = Callable[[Array], tuple[Array, Array]]
"""points (m, D) -> values (m,), gradients (m, D)."""

SUFFICIENT_DECREASE = 1e-4


@dataclass(frozen=True)
class Minima:
    """Where each start ended: points (m, D), values (m,), and how many batches were evaluated."""

    points: Array
    values: Array
    evaluations: int


@dataclass
class _Searches:
    """The searches still running, each with its approximate Hessian (m, D, D), and whether that has seen any curvature yet."""

    x: Array
    f: Array
    g: Array
    direction: Array
    step: Array
    hessian: Array
    curved: NDArray[np.bool_]

    def keep(self, mask: NDArray[np.bool_]) -> None:
        for name, value in vars(self).items():
            setattr(self, name, value[mask])

    def accept(self, which: NDArray[np.bool_], x: Array, f: Array, g: Array) -> None:
        if which.all():
            self.x, self.f, self.g = x, f, g
        else:
            self.x = np.where(which[:, None], x, self.x)
            self.f = np.where(which, f, self.f)
            self.g = np.where(which[:, None], g, self.g)


def minimize_in_box(
    function: Function, starts: Array, lower: Array, upper: Array, *, evaluations: int = 50, tolerance: float = 1e-6
) -> Minima:
    """Local minima of `function` reached from each start (m, D) within lower <= x <= upper (D,).

    Stops a start when its projected gradient, in units of the box, is below `tolerance`, or no step lowers the value;
    stops all after `evaluations` batches. Values must be finite at the starts; a non-finite value later counts as too far a step.
    """
    width = upper - lower
    x = np.clip(starts, lower, upper)
    f, g = function(x)
    points, values = x.copy(), f.copy()
    running = np.arange(len(x))
    count, axes = x.shape
    searches = _Searches(x, f, g, np.zeros_like(x), np.zeros(count), np.zeros((count, axes, axes)), np.zeros(count, dtype=bool))
    _new_direction(searches, np.ones(len(x), dtype=bool), lower, upper, width)
    used = 1
    while used < evaluations and len(running):
        s = searches
        trial = np.minimum(np.maximum(s.x + s.step[:, None] * s.direction, lower), upper)
        f_new, g_new = function(trial)
        used += 1
        moved = trial - s.x
        predicted = np.einsum("mi,mi->m", s.g, moved)
        finite = np.isfinite(f_new) & np.isfinite(g_new).all(axis=1)
        accepted = finite & (f_new <= s.f + SUFFICIENT_DECREASE * predicted)
        gain = np.where(accepted, s.f - f_new, 0.0)

        _learn_curvature(s, accepted, moved, g_new - s.g)
        if not accepted.all():
            _shorten(s, ~accepted, np.where(finite, f_new, np.inf), predicted)
        s.accept(accepted, trial, f_new, g_new)
        _new_direction(s, accepted, lower, upper, width)
        points[running], values[running] = s.x, s.f

        flat = np.abs(_projected(s.x, s.g, lower, upper) * width).max(axis=1) < tolerance
        stalled = accepted & (gain <= 1e-13 * (1.0 + np.abs(s.f)))
        stuck = s.step * np.abs(s.direction / width).max(axis=1) < 1e-11
        alive = ~(flat | stalled | stuck)
        if not alive.all():
            running = running[alive]
            searches.keep(alive)
    return Minima(points, values, used)


def _projected(x: Array, g: Array, lower: Array, upper: Array) -> Array:
    """The gradient without the components that push against a face the point lies on."""
    return np.where(((x <= lower) & (g > 0.0)) | ((x >= upper) & (g < 0.0)), 0.0, g)


def _learn_curvature(s: _Searches, accepted: NDArray[np.bool_], step: Array, change: Array) -> None:
    """BFGS update of the Hessian H where a step was accepted and curved upwards.

    H' = H - H step step^T H / (step . H step) + change change^T / (step . change)
    """
    curvature = np.einsum("mi,mi->m", step, change)
    squared = np.einsum("mi,mi->m", change, change)
    i = np.flatnonzero(accepted & (curvature > 1e-12 * squared))
    if not len(i):
        return
    step, change, curvature = step[i], change[i], curvature[i]
    first = ~s.curved[i]
    if first.any():
        s.hessian[i[first]] = (squared[i[first]] / curvature[first])[:, None, None] * np.eye(step.shape[1])
        s.curved[i] = True
    hessian = s.hessian[i]
    turned = np.einsum("mij,mj->mi", hessian, step)
    believed = np.maximum(np.einsum("mi,mi->m", step, turned), 1e-300)
    hessian += change[:, :, None] * (change / curvature[:, None])[:, None, :]
    hessian -= turned[:, :, None] * (turned / believed[:, None])[:, None, :]
    s.hessian[i] = hessian


def _shorten(s: _Searches, rejected: NDArray[np.bool_], f_new: Array, predicted: Array) -> None:
    """Where a step failed, go to the minimum of the parabola through what is known, at most half and at least a tenth as far."""
    excess = np.where(rejected & np.isfinite(f_new), f_new - s.f - predicted, np.inf)
    ratio = np.where(excess > 0.0, -0.5 * predicted / np.maximum(excess, 1e-300), 0.5)
    s.step = np.where(rejected, s.step * np.clip(ratio, 0.1, 0.5), s.step)


def _new_direction(s: _Searches, which: NDArray[np.bool_], lower: Array, upper: Array, width: Array) -> None:
    """The quasi-Newton direction for the searches in `which`, on the axes that are free to move."""
    # An axis a hair off its face counts as on it, and is sent there: else clipping would cancel every step.
    near = 1e-8 * width
    g = _projected(s.x, s.g, lower + near, upper - near)
    free = g != 0.0
    # The Newton step of the free axes alone: the others get a row and a column of the identity.
    reduced = np.where(free[:, :, None] & free[:, None, :] & s.curved[:, None, None], s.hessian, np.eye(g.shape[1]))
    d = np.where(free, _solve(reduced, -g), 0.0)
    downhill = s.curved & (np.einsum("mi,mi->m", d, g) < 0.0)
    if not downhill.all():
        # Without curvature yet, aim for a tenth of the box along the steepest axis, scaled by the box.
        scale = 0.1 / np.maximum(np.abs(g * width).max(axis=1), 1e-300)
        d = np.where(downhill[:, None], d, -g * width**2 * scale[:, None])
    pressed = ~free & (s.g != 0.0)
    if pressed.any():
        to_face = np.where(s.x - lower < upper - s.x, lower, upper) - s.x
        d = np.where(pressed, to_face, d)
    s.direction = np.where(which[:, None], d, s.direction)
    s.step = np.where(which, 1.0, s.step)


def _solve(matrices: Array, vectors: Array) -> Array:
    """The solutions of (m, D, D) systems; a singular one gets its right-hand side back, which is still a way down."""
    try:
        return np.asarray(np.linalg.solve(matrices, vectors[:, :, None])[:, :, 0], dtype=float)
    except np.linalg.LinAlgError:
        return vectors
