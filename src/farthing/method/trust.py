"""Trust: for how long cheap evaluations are relied on before the truth is looked at.

A surrogate that has seen values fall along the fidelity expects them to fall on, also those of a network that overfits in the end.
It is sure of it, so that full fidelity seems to tell little for its price, and it may recommend a bad place for as long as the
budget lasts. So once twice the price of a full evaluation has been spent on cheaper ones, the place held for the best is evaluated
at full fidelity, whatever that is expected to tell: a check. One that keeps its promise doubles what is spent before the next; one
that does not brings back the first.
"""

from __future__ import annotations

import numpy as np

from farthing.numerics.kernels import Array
from farthing.trials import CHECK, INITIAL, History, Trial

FIRST = 2.0
"""What is spent below full fidelity before a check, with no more trust than at first, in full evaluations at the place to check."""

NEAR = 0.02
"""A place closer than this on every axis to one evaluated at full fidelity needs no check."""


def is_due(history: History, place: Array, full_cost: float) -> bool:
    """Whether to check the place (d,), where full fidelity is predicted to cost `full_cost`."""
    assert history.space.fidelity is not None
    full = history.space.fidelity.full
    trust, spent = FIRST, 0.0
    for trial in history.trials:
        if trial.proposal.kind == CHECK:
            spent = 0.0
            if trial.value is not None:
                trust = 2.0 * trust if _kept(trial, history) else FIRST
        elif trial.proposal.kind != INITIAL and trial.fidelity != full:  # the design ends with a full one at the best place
            spent += trial.charge
    return spent >= trust * full_cost and not _known(history, place)


def _kept(check: Trial, history: History) -> bool:
    """Whether the value is closer to what was promised than to what is usual, the median of all earlier values."""
    promised, value = check.proposal.recommendation, check.value
    earlier = [t.value for t in history.trials if t.number < check.number and t.value is not None]
    return promised is not None and value is not None and 2.0 * value <= promised.mean + float(np.median(earlier))


def _known(history: History, place: Array) -> bool:
    at_full = history.points[history.points[:, -1] == 0.0, :-1]
    return bool((np.abs(at_full - place).max(axis=1, initial=0.0) < NEAR).any())
