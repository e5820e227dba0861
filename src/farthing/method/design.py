"""The initial design: where to look before there is anything to go by."""

from __future__ import annotations

import numpy as np

from farthing.method.acquisition_search import sobol
from farthing.method.beliefs import Beliefs
from farthing.method.domain import Domain
from farthing.method.situation import Situation
from farthing.method.streams import stream
from farthing.method.taken import Taken
from farthing.numerics.kernels import Array
from farthing.settings import Settings
from farthing.trials import History

SPARES = 64
"""Further points, for those that would repeat one before."""

INITIAL_SHARE = {True: 0.15, False: 1.0 / 3.0}
"""The initial design ends early when it has taken this share of the budget: less where the method chooses the fidelity, since where
cheap evaluations cost that much they are no longer cheap, and still not the truth.
"""

DEAR = 2.0
"""The initial design ends at no place that is dearer at full fidelity than so many times the median of its places."""


def initial_point(situation: Situation, beliefs: Beliefs | None, taken: Taken) -> Array | None:
    """The next point (x, s) of the initial design; None after its end, and where it would only repeat what is there.

    The last is at full fidelity, because cheap evaluations may agree with one another and not with the truth: at the best place so
    far, but for those that are dear.
    """
    history, number = situation.history, situation.number
    chooses = situation.method.chooses_fidelity and history.with_fidelity
    if beliefs is not None and not _designing(situation, chooses):
        return None
    if beliefs is not None and beliefs.surrogate.with_fidelity and number == situation.settings.initial - 1:
        best = _best_of_design(history, beliefs)
        return best if len(taken.free(best[None])) else None
    domain = Domain(history.space, chooses)
    points = domain.scatter(_next_points(history, situation.settings, situation.seed, chooses))
    if beliefs is None:  # there is nothing else to go by yet
        points = taken.new(points, domain)[:1]
    points = points if chooses else np.column_stack([points, np.zeros(len(points))])
    free = taken.free(points)
    return np.asarray(free[0]) if len(free) else None


def _designing(situation: Situation, chooses: bool) -> bool:
    """Whether the initial design goes on: too few trials yet, and not too much spent on it."""
    return situation.number < situation.settings.initial and situation.budget_left > 1.0 - INITIAL_SHARE[chooses]


def _best_of_design(history: History, beliefs: Beliefs) -> Array:
    """The place evaluated so far that is held for the best of those that are not dear, at full fidelity, (d + 1,)."""
    places = history.points[:, :-1]
    at_full = beliefs.surrogate.at_full_fidelity(places)
    mean, _ = beliefs.surrogate.mixture(places)
    costs = beliefs.cost(at_full)
    return np.asarray(at_full[np.where(costs <= DEAR * np.median(costs), mean, np.inf).argmin()])


def _next_points(history: History, settings: Settings, seed: int, chooses: bool) -> Array:
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
