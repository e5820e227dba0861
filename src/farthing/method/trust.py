"""Trust: for how long cheap evaluations are relied on before the truth is looked at.

A surrogate that has seen values fall along the fidelity expects them to fall on, also those of a network that overfits in the end.
It is sure of it, so that full fidelity seems to tell little for its price, and it may recommend a bad place for as long as the
budget lasts. So once twice the price of a full evaluation has been spent on cheaper ones, the place held for the best is evaluated
at full fidelity, whatever that is expected to tell: a check. One that keeps its promise doubles what is spent before the next; one
that does not brings back the first, and what was spent on cheap evaluations before it is spent at full fidelity in turn, where the
most improvement is to be expected: whatever cheap evaluations have led to has to hold its own against a search that does without
them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farthing.numerics.kernels import Array
from farthing.trials import CHECK, INITIAL, History, Trial

FIRST = 2.0
"""What is spent below full fidelity before a check, with no more trust than at first, in full evaluations at the place to check."""

NEAR = 0.02
"""A place closer than this on every axis to one evaluated at full fidelity needs no check."""


@dataclass(frozen=True)
class Standing:
    """How cheap evaluations stand.

    trust: what may be spent on them before a check, in full evaluations; spent: what has been since the last; owed: what is to be
    spent at full fidelity for those that led to a broken promise.
    """

    trust: float
    spent: float
    owed: float

    @classmethod
    def of(cls, history: History) -> Standing:
        assert history.space.fidelity is not None
        full = history.space.fidelity.full
        trust, spent, owed = FIRST, 0.0, 0.0
        for trial in history.trials:
            if trial.proposal.kind == CHECK:
                if trial.value is not None:
                    kept = _kept(trial, history)
                    trust, owed = (2.0 * trust, 0.0) if kept else (FIRST, owed + spent)
                spent = 0.0
            elif trial.proposal.kind == INITIAL:  # which ends with a full one at the best place
                continue
            elif trial.fidelity == full:
                owed = max(owed - trial.charge, 0.0)
            else:
                spent += trial.charge
        return cls(trust, spent, owed)


def wants_check(history: History, place: Array, full_cost: float) -> bool:
    """Whether to check the place (d,), where full fidelity is predicted to cost `full_cost`."""
    standing = Standing.of(history)
    return standing.spent >= standing.trust * full_cost and not _known(history, place)


def is_broken(history: History) -> bool:
    """Whether cheap evaluations have led to a broken promise, and less was spent at full fidelity since than on them before."""
    return Standing.of(history).owed > 0.0


def _kept(check: Trial, history: History) -> bool:
    """Whether the value is closer to what was promised than to what is usual, the median of all earlier values."""
    promised, value = check.proposal.recommendation, check.value
    earlier = [t.value for t in history.trials if t.number < check.number and t.value is not None]
    return promised is not None and value is not None and 2.0 * value <= promised.mean + float(np.median(earlier))


def _known(history: History, place: Array) -> bool:
    at_full = history.points[history.points[:, -1] == 0.0, :-1]
    return bool((np.abs(at_full - place).max(axis=1, initial=0.0) < NEAR).any())
