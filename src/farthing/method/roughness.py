"""Roughness: whether the objective, where it is low, is more uneven than the surrogate takes it for.

A model that is trained with a fixed seed gives the same value again, and is uneven all the same: the next setting is better or
worse by luck. A surrogate of it is sure of minima between the places tried that are not there, and of what is to be learned about
them. It shows in how the lowest values seen are foretold by all the others: on a smooth objective ever better than expected, as
many are near, on a rough one no better than expected, or worse, however many there are. Then what was seen is relied on. The lowest
are of twice as many at least: where there are few, some of them are not low at all, but far from the rest, where a surrogate is
surprised by a smooth objective too.

Or the surrogate takes what is uneven for noise, though there is none. Then it is relied on for where the objective is low, and
luck for the rest.

Or the objective counts, errors among so many images for one: places apart have the very same value, and next to the lowest seen may
lie one of a count less, of which a smooth surrogate knows nothing. Then it is rough and uneven, whatever the surrogate says of it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from farthing.method.surrogate import Surrogate
from farthing.settings import Settings
from farthing.trials import History

LOWEST = 8
"""Values at full fidelity by which roughness is judged: so many, the lowest, of twice as many at least."""

FEWEST = 8
"""Values at full fidelity without which nothing is uneven."""

SURPRISED = 1.0
"""Root mean square of their errors, in standard deviations expected, from which on the objective is rough."""

APART = 1e-3
"""Places farther from each other than this on some axis are apart: closer, even a smooth objective may round to the same value."""

NOISELESS = 1e-4
"""Where the noise is not stated, an inferred variance below this share of that of the values is taken for none."""


def is_rough(history: History, surrogate: Surrogate, settings: Settings) -> bool:
    """Whether it is; never where values are noisy, or may be, since then unevenness is no property of a place."""
    if counts(history, surrogate, settings):
        return True
    at_full = _telling(history, surrogate, settings)
    if len(at_full) < 2 * LOWEST:
        return False
    lowest = _lowest(surrogate, at_full)
    errors, variances = (part[:, lowest] for part in surrogate.process.leave_one_out())
    return float(surrogate.weights @ (errors**2 / variances).mean(axis=1)) >= SURPRISED**2


def is_uneven(history: History, surrogate: Surrogate, settings: Settings) -> bool:
    """Whether the surrogate takes for noise what is none, since the objective gives the same value again; or it counts."""
    if len(_telling(history, surrogate, settings)) < FEWEST:
        return False
    return not is_noiseless(surrogate) or counts(history, surrogate, settings)


def counts(history: History, surrogate: Surrogate, settings: Settings) -> bool:
    """Whether two of the lowest values at full fidelity are the very same at places apart: it takes a count for that."""
    at_full = _telling(history, surrogate, settings)
    if len(at_full) < FEWEST:
        return False
    lowest = _lowest(surrogate, at_full)
    places, values = surrogate.process.probes.points[lowest, : surrogate.dimensions], surrogate.values[lowest]
    same = values[:, None] == values[None]
    return bool((same & (np.abs(places[:, None] - places[None]).max(axis=2) > APART)).any())


def _lowest(surrogate: Surrogate, observations: NDArray[np.intp]) -> NDArray[np.intp]:
    """Those of the observations with the lowest values."""
    return observations[np.argsort(surrogate.values[observations], kind="stable")[:LOWEST]]


def is_noiseless(surrogate: Surrogate) -> bool:
    """Whether hardly any noise is inferred."""
    return float(np.exp(surrogate.weights @ np.log(surrogate.noise))) < NOISELESS


def _telling(history: History, surrogate: Surrogate, settings: Settings) -> NDArray[np.intp]:
    """Which observations are at full fidelity; none where values are noisy, or may be."""
    if repeatability(history, settings) < 1.0 or history.noises.any():
        return np.arange(0)
    return np.flatnonzero((surrogate.process.probes.points[:, surrogate.dimensions :] == 0.0).all(axis=1))


def repeatability(history: History, settings: Settings) -> float:
    """The chance that the objective gives the same value again: as stated, until a repeat has told."""
    if settings.noise is not None:
        return 0.0
    if 0.0 < settings.repeatable < 1.0 and history.repeatable is not None:
        return float(history.repeatable)
    return settings.repeatable
