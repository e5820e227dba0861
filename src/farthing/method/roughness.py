"""Roughness: whether the objective, where it is low, is more uneven than the surrogate takes it for.

A model that is trained with a fixed seed gives the same value again, and is uneven all the same: the next setting is better or
worse by luck. A surrogate of it is sure of minima between the places tried that are not there, and of what is to be learned about
them. It shows in how the lowest values seen are foretold by all the others: on a smooth objective ever better than expected, as
many are near, on a rough one no better than expected, or worse, however many there are.
"""

from __future__ import annotations

import numpy as np

from farthing.method.surrogate import Surrogate
from farthing.settings import Settings
from farthing.trials import History

LOWEST = 8
"""Values at full fidelity by which it is judged: so many, the lowest; with fewer than these it is not."""

SURPRISED = 1.0
"""Root mean square of their errors, in standard deviations expected, from which on the objective is rough."""


def is_rough(history: History, surrogate: Surrogate, settings: Settings) -> bool:
    """Whether it is; never where values are noisy, or may be, since then unevenness is no property of a place."""
    if repeatability(history, settings) < 1.0 or history.noises.any():
        return False
    at_full = np.flatnonzero((surrogate.process.probes.points[:, surrogate.dimensions :] == 0.0).all(axis=1))
    if len(at_full) < LOWEST:
        return False
    lowest = at_full[np.argsort(surrogate.values[at_full], kind="stable")[:LOWEST]]
    errors, variances = (part[:, lowest] for part in surrogate.process.leave_one_out())
    return float(surrogate.weights @ (errors**2 / variances).mean(axis=1)) >= SURPRISED**2


def repeatability(history: History, settings: Settings) -> float:
    """The chance that the objective gives the same value again: as stated, until a repeat has told."""
    if settings.noise is not None:
        return 0.0
    if 0.0 < settings.repeatable < 1.0 and history.repeatable is not None:
        return float(history.repeatable)
    return settings.repeatable
