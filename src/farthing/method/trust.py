"""Trust: for how long a belief is relied on before the truth is looked at.

A surrogate that has seen values fall along the fidelity expects them to fall on, also those of a network that overfits in the end.
It is sure of it, so that full fidelity seems to tell little for its price, and it may recommend a bad place for as long as the
budget lasts. So once twice the price of a full evaluation has been spent on cheaper ones, or ten times that on full ones
elsewhere, the place held for the best is evaluated at full fidelity, whatever that is expected to tell: a check. One that keeps
its promise doubles what is spent before the next; one that does not brings back the first, and what was spent on cheap evaluations
before it is spent at full fidelity in turn, where the most improvement is to be expected: whatever cheap evaluations have led to
has to hold its own against a search that does without them.

A check may also disappoint: what was held for the best turns out worse than a place that was tried before. Objectives that are
rough do that again and again. After it a place that was not tried is recommended only where it is likely to be better.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farthing.numerics.kernels import Array
from farthing.trials import CHECK, INITIAL, REPEAT, History, Trial

FIRST = 2.0
"""What is spent below full fidelity before a check, with no more trust than at first, in full evaluations at the place to check."""

IN_FULL = 0.1
"""By how much what is spent at full fidelity brings the next check nearer: it is the truth, only not about the place held for the
best.
"""

NEAR = 0.02
"""A place closer than this on every axis to one evaluated at full fidelity needs no check."""


@dataclass(frozen=True)
class Standing:
    """How beliefs stand.

    trust: what may be spent on cheap evaluations before a check, in full ones; spent: what has been since the last, with a part of
    what was spent on full ones; owed: what is to be spent at full fidelity for cheap ones that led to a broken promise;
    disappointed: whether the last check was worse than a place tried before.
    """

    trust: float
    spent: float
    owed: float
    disappointed: bool

    @classmethod
    def of(cls, history: History) -> Standing:
        assert history.space.fidelity is not None
        full = history.space.fidelity.full
        trust, cheap, in_full, owed = FIRST, 0.0, 0.0, 0.0
        lowest, disappointed = float("inf"), False
        for trial in history.trials:
            if trial.proposal.kind == CHECK:
                if trial.value is not None:
                    disappointed = trial.value > lowest
                    trust, owed = (2.0 * trust, 0.0) if _kept(trial, history) else (FIRST, owed + cheap)
                cheap = in_full = 0.0
            elif trial.proposal.kind in (INITIAL, REPEAT):  # the design ends with a full one at the best place
                pass
            elif trial.fidelity == full:
                in_full += trial.charge
                owed = max(owed - trial.charge, 0.0)
            else:
                cheap += trial.charge
            if trial.fidelity == full and trial.value is not None:
                lowest = min(lowest, trial.value)
        return cls(trust, cheap + IN_FULL * in_full, owed, disappointed)


def wants_check(history: History, place: Array, full_cost: float) -> bool:
    """Whether to check the place (d,), where full fidelity is predicted to cost `full_cost`."""
    standing = Standing.of(history)
    return standing.spent >= standing.trust * full_cost and not _known(history, place)


def is_broken(history: History) -> bool:
    """Whether cheap evaluations have led to a broken promise, and less was spent at full fidelity since than on them before."""
    return Standing.of(history).owed > 0.0


def is_disappointed(history: History) -> bool:
    """Whether what was held for the best, when it was looked at last, was worse than a place tried before."""
    return history.space.fidelity is not None and Standing.of(history).disappointed


def _kept(check: Trial, history: History) -> bool:
    """Whether the value is closer to what was promised than to what is usual, the median of all earlier values."""
    promised, value = check.proposal.recommendation, check.value
    earlier = [t.value for t in history.trials if t.number < check.number and t.value is not None]
    return promised is not None and value is not None and 2.0 * value <= promised.mean + float(np.median(earlier))


def _known(history: History, place: Array) -> bool:
    at_full = history.points[history.points[:, -1] == 0.0, :-1]
    return bool((np.abs(at_full - place).max(axis=1, initial=0.0) < NEAR).any())
