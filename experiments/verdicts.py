"""Verdicts: what was measured beside what the paper says, judged by rules and by nothing else.

    better        the claim holds, and more than that
    reproduced    the claim holds
    undecided     it holds not quite by the medians, and these runs do not contradict it either
    not           it does not hold
    no data       what it takes was not run
    too few runs  there are fewer than five of something

Regrets are clearly lower or higher where a one-sided Mann-Whitney test over runs gives the difference a chance below 1%.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from experiments.curves import NONE, Curve, at, clearly_lower, median

BETTER, REPRODUCED, UNDECIDED, NOT = "better", "reproduced", "undecided", "not"
NO_DATA, TOO_FEW = "no data", "too few runs"

FEWEST = 5
"""Runs from which on a verdict is given."""


@dataclass(frozen=True)
class Verdict:
    """One claim, what was measured, and how they compare. runs: behind it, where that is not the fewest of the experiment."""

    claim: str
    measured: str
    outcome: str
    runs: int | None = None


def no_data(claim: str, missing: str) -> Verdict:
    return Verdict(claim, f"{missing} was not run", NO_DATA)


def with_enough_runs(verdicts: Sequence[Verdict], runs: int) -> list[Verdict]:
    """The verdicts, if so many runs allow for any."""

    def enough(verdict: Verdict) -> bool:
        return verdict.outcome == NO_DATA or (runs if verdict.runs is None else verdict.runs) >= FEWEST

    return [verdict if enough(verdict) else replace(verdict, outcome=TOO_FEW) for verdict in verdicts]


def grade(holds: bool, exceeds: bool) -> str:
    if not holds:
        return NOT
    return BETTER if exceeds else REPRODUCED


def at_every_tenth(claim: str, ours: Sequence[Curve], theirs: Sequence[Curve], tenths: Sequence[int], other: str) -> Verdict:
    """Ours at least equal to the other's at every tenth of the budget; tenths: their indices in the curves.

    It holds where our median is nowhere higher, and is exceeded where ours is clearly lower at the end too. It is undecided where
    our median is the higher one at up to half of the tenths, and clearly higher at none.
    """
    apart = _Tenths.of(ours, theirs, tenths)
    lower, number = apart.at_or_below, len(tenths)
    text = f"median at or below {other}'s at {lower} of {number} tenths; {apart.told()}"
    if apart.clearly_higher or 2 * lower < number:
        return Verdict(claim, text, NOT)
    return Verdict(claim, text, grade(True, f"{10 * number}%" in apart.clearly_lower) if lower == number else UNDECIDED)


def ahead(claim: str, ours: Sequence[Curve], theirs: Sequence[Curve], tenths: Sequence[int]) -> Verdict:
    """Ours ahead of theirs; tenths: their indices in the curves.

    It holds where ours is clearly lower at a tenth or more and clearly higher at none; it is exceeded where ours is clearly lower
    at half of them.
    """
    apart = _Tenths.of(ours, theirs, tenths)
    text = f"clearly lower {apart.listed(apart.clearly_lower)}; {apart.told()}"
    holds = bool(apart.clearly_lower) and not apart.clearly_higher
    return Verdict(claim, text, grade(holds, 2 * len(apart.clearly_lower) >= len(tenths)))


@dataclass(frozen=True)
class _Tenths:
    """How two sets of runs compare at the tenths of the budget: how often our median is not the higher one; where one is clear."""

    at_or_below: int
    clearly_lower: list[str]
    clearly_higher: list[str]
    ends: tuple[float, float]

    @classmethod
    def of(cls, ours: Sequence[Curve], theirs: Sequence[Curve], tenths: Sequence[int]) -> _Tenths:
        pairs = {f"{10 * (k + 1)}%": (at(ours, i), at(theirs, i)) for k, i in enumerate(tenths)}
        return cls(
            sum(median(a) <= median(b) for a, b in pairs.values()),
            [share for share, (a, b) in pairs.items() if clearly_lower(a, b)],
            [share for share, (a, b) in pairs.items() if clearly_lower(b, a)],
            (median(at(ours, tenths[-1])), median(at(theirs, tenths[-1]))),
        )

    @staticmethod
    def listed(shares: Sequence[str]) -> str:
        return f"at {', '.join(shares)}" if shares else "nowhere"

    def told(self) -> str:
        ours, theirs = map(told, self.ends)
        return f"at the end {ours} against {theirs}; clearly higher {self.listed(self.clearly_higher)}"


def told(regret: float) -> str:
    """A median regret in a sentence."""
    return f"{regret:.1e}" if regret > NONE else f"no more than {NONE:g}"
