"""Verdicts: what was measured beside what the paper says, judged by rules and by nothing else.

    better        the claim holds, and more than that
    reproduced    the claim holds
    not           it does not
    no data       what it takes was not run
    too few runs  there are fewer than five of something

Regrets are clearly lower or higher where a one-sided Mann-Whitney test over runs gives the difference a chance below 1%.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from experiments.curves import Curve, at, clearly_lower, median

BETTER, REPRODUCED, NOT, NO_DATA, TOO_FEW = "better", "reproduced", "not", "no data", "too few runs"

FEWEST = 5
"""Runs from which on a verdict is given."""


@dataclass(frozen=True)
class Verdict:
    """One claim, what was measured, and how they compare."""

    claim: str
    measured: str
    outcome: str


def no_data(claim: str, missing: str) -> Verdict:
    return Verdict(claim, f"{missing} was not run", NO_DATA)


def with_enough_runs(verdicts: Sequence[Verdict], runs: int) -> list[Verdict]:
    """The verdicts, if so many runs allow for any."""
    if runs >= FEWEST:
        return list(verdicts)
    return [verdict if verdict.outcome == NO_DATA else replace(verdict, outcome=TOO_FEW) for verdict in verdicts]


def grade(holds: bool, exceeds: bool) -> str:
    if not holds:
        return NOT
    return BETTER if exceeds else REPRODUCED


def at_every_tenth(
    claim: str, ours: Sequence[Curve], theirs: Sequence[Curve], tenths: Sequence[int], names: tuple[str, str]
) -> Verdict:
    """Ours at least equal to theirs at every tenth of the budget; tenths: their indices in the curves.

    It holds where ours is nowhere clearly higher, and its median is higher at no more than half of the tenths; it is exceeded where
    the median is nowhere higher, and at the end clearly lower.
    """
    pairs = [(at(ours, i), at(theirs, i)) for i in tenths]
    lower = sum(median(a) <= median(b) for a, b in pairs)
    worse = [f"{10 * (k + 1)}%" for k, (a, b) in enumerate(pairs) if clearly_lower(b, a)]
    ended = clearly_lower(*pairs[-1])
    a, b = (median(values) for values in pairs[-1])
    text = f"median at or below {names[1]}'s at {lower} of {len(pairs)} tenths; at the end {a:.1e} against {b:.1e}"
    text += f"; clearly higher at {', '.join(worse)}" if worse else "; clearly higher nowhere"
    return Verdict(claim, text, grade(not worse and 2 * lower >= len(pairs), lower == len(pairs) and ended))


def first_share_at(curves: Sequence[Curve], target: float, shares: Sequence[float]) -> float | None:
    """The first share of the budget at which the median regret is at or below a target."""
    return next((share for i, share in enumerate(shares) if median(at(curves, i)) <= target), None)
