"""The initial design: where to look before there is anything to go by."""

from __future__ import annotations

import numpy as np

from farthing.method.acquisition_search import sobol
from farthing.method.streams import stream
from farthing.numerics.kernels import Array
from farthing.settings import Settings
from farthing.trials import History

SPARES = 64
"""Further points, for those that would repeat one before."""


def next_points(history: History, settings: Settings, seed: int, chooses: bool) -> Array:
    """The next unit point (x, s) of a design that fills the space, and spares, (m, d + 1).

    s is an axis like the others, between the lowest and the highest of the design's fidelities; or each x has all of them in turn,
    as in the paper. Where the method does not choose it, s = 0.
    """
    space, number = history.space, len(history.trials)
    rng = stream(seed, "design", 0)
    levels = np.array(settings.initial_fidelities if chooses else (0.0,))
    if chooses and not settings.initial_repeats:
        unit = sobol(space.dimensions + 1, number + SPARES, rng)[number:]
        unit[:, -1] = levels.min() + np.ptp(levels) * unit[:, -1]
        return unit
    if chooses and space.fidelity is not None:
        levels = np.array(list(dict.fromkeys(space.fidelity.snap(levels).tolist())))
    place, level = divmod(number, len(levels))
    unit = sobol(space.dimensions, place + SPARES, rng)[place:]
    return np.column_stack([unit, np.full(len(unit), levels[level])])
