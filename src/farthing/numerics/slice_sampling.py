"""Slice sampling (Neal 2003): stepping out and shrinkage, for many chains at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from farthing.numerics.kernels import Array

LogDensity = Callable[[Array], Array]
"""points (m, P) -> log densities (m,), -inf where there is no mass."""


@dataclass(frozen=True)
class SliceInfo:
    """How much a sweep took: density evaluations over all chains."""

    evaluations: int


def sweep(
    log_density: LogDensity,
    state: Array,
    rng: np.random.Generator,
    *,
    directions: Array,
    step_outs: int = 8,
    shrinks: int = 60,
) -> tuple[Array, SliceInfo]:
    """Move every chain (K, P) once along each row of `directions` (R, P), whose lengths are the initial slice widths.

    Along a direction v from x: a level log p(x) - Exp(1); an interval of length |v| placed at random around x, stepped out
    until both ends lie below the level (at most `step_outs` steps in all, shared at random between the ends, which keeps
    detailed balance); then uniform draws, each rejected one becoming the new end on its side. A chain whose interval shrinks to
    nothing stays.
    """
    x = state.copy()
    current = log_density(x)
    used = len(x)
    for v in directions:
        level = current - rng.exponential(size=len(x))
        left = -rng.random(len(x))
        right = left + 1.0
        left_steps = np.floor(rng.random(len(x)) * (step_outs + 1))
        for end, sign, allowance in ((left, -1.0, left_steps), (right, 1.0, step_outs - left_steps)):
            active = np.flatnonzero(allowance > 0)
            while len(active):
                inside = log_density(x[active] + end[active, None] * v) > level[active]
                used += len(active)
                active = active[inside]
                end[active] += sign
                allowance[active] -= 1
                active = active[allowance[active] > 0]
        active = np.arange(len(x))
        for _ in range(shrinks):
            position = left[active] + rng.random(len(active)) * (right[active] - left[active])
            proposal = x[active] + position[:, None] * v
            density = log_density(proposal)
            used += len(active)
            inside = density > level[active]
            x[active[inside]], current[active[inside]] = proposal[inside], density[inside]
            outside = ~inside
            below = position[outside] < 0.0
            active, position = active[outside], position[outside]
            left[active[below]] = position[below]
            right[active[~below]] = position[~below]
            if not len(active):
                break
    return x, SliceInfo(used)
