"""Trust: for how long cheap evaluations are relied on before the truth is looked at.

A surrogate that has seen values fall along the fidelity expects them to fall on, also those of a network that overfits in the end.
It is sure of it, so that full fidelity seems to tell little for its price, and it may recommend a bad place for as long as the
budget lasts. So once a few times the price of a full evaluation has been spent on cheaper ones, the place held for the best is
evaluated at full fidelity, whatever that is expected to tell: a check. One that keeps its promise, the lowest value at full
fidelity so far, doubles what is spent before the next; one that does not brings back the first.
"""

from __future__ import annotations

import numpy as np

from farthing.numerics.kernels import Array
from farthing.trials import CHECK, INITIAL, History

FIRST = 4.0
"""What is spent below full fidelity before a check, with no more trust than at first, in full evaluations at the place to check."""

NEAR = 0.02
"""A place closer than this on every axis to one evaluated at full fidelity needs no check."""


def is_due(history: History, place: Array, full_cost: float) -> bool:
    """Whether to check the place (d,), where full fidelity is predicted to cost `full_cost`."""
    assert history.space.fidelity is not None
    full = history.space.fidelity.full
    trust, spent, lowest = FIRST, 0.0, np.inf
    for trial in history.trials:
        if trial.proposal.kind == CHECK:
            spent = 0.0
            if trial.value is not None:
                trust = 2.0 * trust if trial.value < lowest else FIRST
        elif trial.proposal.kind != INITIAL and trial.fidelity != full:  # the design ends with a full one at the best place
            spent += trial.charge
        if trial.fidelity == full and trial.value is not None:
            lowest = min(lowest, trial.value)
    return spent >= trust * full_cost and not _known(history, place)


def _known(history: History, place: Array) -> bool:
    at_full = history.points[history.points[:, -1] == 0.0, :-1]
    return bool((np.abs(at_full - place).max(axis=1, initial=0.0) < NEAR).any())
