"""What a person sees of a study: amounts in words, where the money went, why each trial was made, and how a run stands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from farthing.method.quick import QUICK
from farthing.space import Space
from farthing.trials import CHECK, COMPLETE, DOUBT, FAILED, GREED, LUCK, NEIGHBOR, REPEAT, TRUTH, History, Recommendation, Trial

LISTED = 6
"""A fidelity of whole numbers with no more values than this is reported value by value."""


# Words ----------------------------------------------------------------------------------------------------------------------


def seconds_in_words(seconds: float) -> str:
    """0.034 -> '34 ms', 75 -> '75 s', 5400 -> '90 min', 36000 -> '10 h'."""
    for limit, unit, name in ((0.1, 1e-3, "ms"), (100.0, 1.0, "s"), (6000.0, 60.0, "min")):
        if seconds < limit:
            return f"{seconds / unit:.3g} {name}"
    hours = seconds / 3600.0
    return f"{hours:.3g} h" if hours < 1000.0 else f"{hours:.0f} h"


def cost_in_words(cost: float, in_seconds: bool) -> str:
    """An amount of cost: a time where costs are seconds, otherwise a number, never in powers of ten where it is large."""
    if in_seconds:
        return seconds_in_words(cost)
    return f"{cost:.3g}" if abs(cost) < 100.0 else f"{cost:,.0f}"


def params_in_words(params: Mapping[str, Any]) -> str:
    """{'C': 3.14159, 'layers': 3, 'optimizer': 'adam'} -> 'C=3.142, layers=3, optimizer=adam'."""
    return ", ".join(f"{name}={value_in_words(value)}" for name, value in params.items())


def value_in_words(value: Any) -> str:
    """A float to four digits, everything else whole."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def first_line(text: str) -> str:
    """The first line that says anything, without control characters, which would upset a terminal."""
    line = next((line for line in text.splitlines() if line.strip()), "no reason given")
    return "".join(c if c.isprintable() else " " for c in line).strip()


# Where the money went -------------------------------------------------------------------------------------------------------


def costs_are_seconds(history: History, overhead_rate: float) -> bool:
    """Whether costs are wall time: they were measured, or a second of overhead is stated to cost one unit."""
    charged = [t for t in history.trials if t.cost is not None and t.proposal.kind != "added"]
    return bool(charged) and (overhead_rate == 1.0 or not any(t.stated_cost for t in charged))


def spend_by_fidelity(history: History, parts: int = 4) -> list[tuple[str, int, float]]:
    """(fidelity, evaluations, cost), dearest first; the costs add up to `history.spent`, the counts to all results.

    A row for each level, or for full fidelity and for equal parts of the scale below; "all" where there is no fidelity. Then,
    where there are any, "failed", with what failures cost, and "added", which cost the study nothing.
    """
    own = [t for t in history.trials if t.proposal.kind != "added"]
    done, failed = ([t for t in own if t.state == state] for state in (COMPLETE, FAILED))
    added = sum(t.state == COMPLETE for t in history.trials if t.proposal.kind == "added")
    names, ends = _parts(history.space, parts)
    part = np.searchsorted(ends, history.space.unit_fidelities([t.fidelity for t in done]))
    counts = np.bincount(part, minlength=len(names))
    costs = np.bincount(part, [t.cost or 0.0 for t in done], minlength=len(names))
    rows = [(name, int(count), float(cost)) for name, count, cost in zip(names, counts, costs, strict=True)]
    if failed:
        rows.append(("failed", len(failed), float(sum(t.cost or 0.0 for t in failed))))
    if added:
        rows.append(("added", added, 0.0))
    return rows


def _parts(space: Space, parts: int) -> tuple[list[str], list[float]]:
    """Names of the parts of the fidelity's scale, from full to cheap, and the largest s of each."""
    fidelity = space.fidelity
    if fidelity is None:
        return ["all"], [1.0]
    name = f"full ({fidelity.name}={_number(space.fidelity_value(0.0))})"
    if fidelity.levels is None and fidelity.count > LISTED:
        ends = [part / parts for part in range(parts + 1)]
        values = [_number(space.fidelity_value(end)) for end in ends]
        return [name, *(f"{low} to {high}" for high, low in pairwise(values))], ends
    full, cheap = fidelity.ends
    levels = np.linspace(full, cheap, int(fidelity.count)) if fidelity.levels is None else np.array(fidelity.levels[::-1])
    s = fidelity.to_unit(levels)
    between = [*((s[1:] + s[:-1]) / 2.0), 1.0]
    return [name, *(_number(space.fidelity_value(float(level))) for level in s[1:])], [float(end) for end in between]


def _number(value: float | int | None) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def failure_counts(history: History) -> list[tuple[str, int]]:
    """The first lines of the reasons why trials failed, with how often, the most frequent first."""
    return Counter(first_line(t.reason or "") for t in history.trials if t.state == FAILED).most_common()


def convergence(history: History, overhead_rate: float) -> list[tuple[float, float, float]]:
    """(spent, mean, std) of every recommendation that a proposal was made with.

    spent: the thinking up to this proposal, and what the trials before it cost. With several evaluations at once that runs a
    little ahead: some of those were still running.
    """
    out, spent = [], 0.0
    for trial in history.trials:
        spent += overhead_rate * trial.overhead
        made = trial.proposal.recommendation
        if made is not None:
            out.append((spent, made.mean, made.std))
        if trial.proposal.kind != "added":
            spent += trial.cost or 0.0
    return out


# Why a trial was made -------------------------------------------------------------------------------------------------------


def why(trial: Trial) -> str:
    """Why this trial, in a few words: what its fidelity tells and costs, as shares of full fidelity, where it was chosen."""
    made = trial.proposal
    if made.kind == "initial":
        return "initial design"
    if made.kind == "added":
        return "added by the user"
    if made.kind == "confirmation":
        return "confirms the recommendation" if trial.fidelity_name is None else "confirms the recommendation at full fidelity"
    if made.effort == QUICK:
        return "quick search: a model would take longer than it is worth"
    if made.kind == REPEAT:
        return "repeat: whether the objective gives the same value again"
    if made.kind == CHECK:
        return "check: the place held for the best, at full fidelity"
    if made.kind == TRUTH:
        return "truth: a check broke its promise; the most to be gained at full fidelity"
    if made.kind == LUCK:
        return "luck: the objective is uneven; the most to be gained at full fidelity"
    if made.kind == NEIGHBOR:
        return "neighbor: the objective counts; beside the best place tried, at full fidelity"
    if made.kind == GREED:
        return "greed: in turns with learning, the most to be gained at full fidelity"
    if made.kind == DOUBT:
        return "doubt: little is left to hope for at the minima known; is there a lower one elsewhere?"
    information, price = made.information_share, made.price_share
    if trial.fidelity_name is None or information is None or price is None:
        told = made.information_gain
        return "highest acquisition" if told is None else f"highest acquisition: {told:.2g} nats about the minimum"
    if abs(information - 1.0) < 1e-6 and abs(price - 1.0) < 1e-9:
        return "full: nothing cheaper tells as much for its price"
    name = f"{trial.fidelity_name}={value_in_words(trial.fidelity)}"
    return f"{name}: {_share(information)} the information at {_share(price)} the price"


def _share(share: float) -> str:
    if share < 0.001:
        return "less than 0.001 of"
    if share < 0.995:
        return f"{share:.2g} of"
    if share < 1.05:
        return "all of"
    return f"{share:.2g} times" if share < 99.0 else "many times"


@dataclass(frozen=True)
class LedgerRow:
    """A trial as an account of it has it; overhead: seconds of thinking before it; recommendation: the one it was made with."""

    number: int
    state: str
    kind: str
    params: dict[str, Any]
    fidelity: float | int | None
    value: float | None
    predicted_cost: float | None
    cost: float | None
    overhead: float
    information_gain: float | None
    why: str
    recommendation: Recommendation | None
    reason: str | None


def ledger(history: History) -> list[LedgerRow]:
    """Every trial: what was expected of it, what it cost, and why it was made."""
    return [
        LedgerRow(
            number=t.number,
            state=t.state,
            kind=t.proposal.kind,
            params=t.params,
            fidelity=t.fidelity,
            value=t.value,
            predicted_cost=t.proposal.predicted_cost,
            cost=t.cost,
            overhead=t.overhead,
            information_gain=t.proposal.information_gain,
            why=why(t),
            recommendation=t.proposal.recommendation,
            reason=t.reason,
        )
        for t in history.trials
    ]


# How a run stands -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Standing:
    """How things stand in a run.

    history: all that is known; running: the trials being evaluated; budget: in all; evaluations: of this run, at most; done: of
    them; overhead_rate: cost of a second of thinking; final: the recommendation at the end.
    """

    history: History
    running: tuple[Trial, ...]
    budget: float | None
    evaluations: int | None
    done: int
    overhead_rate: float
    final: Recommendation | None = None

    @property
    def thinking(self) -> float:
        """Cost of all thinking."""
        return self.overhead_rate * self.history.overhead_seconds

    @property
    def spent(self) -> float:
        """Cost of evaluations and thinking."""
        return self.history.spent + self.thinking

    @property
    def overhead_share(self) -> float | None:
        """Which part of what was spent was spent on thinking; None where nothing was."""
        return self.thinking / self.spent if self.spent > 0.0 else None

    @property
    def used(self) -> float | None:
        """How much is used up of the budget or of the evaluations, whichever is nearer its end, from 0 to 1; None without both."""
        shares = [self.spent / self.budget] if self.budget else []
        shares += [self.done / self.evaluations] if self.evaluations else []
        return min(max(shares), 1.0) if shares else None

    @property
    def recommendation(self) -> Recommendation | None:
        """The final one, or else that with which the latest proposal was made."""
        if self.final is not None:
            return self.final
        made = (t.proposal.recommendation for t in reversed(self.history.trials))
        return next((r for r in made if r is not None), None)

    def seconds_left(self, earlier: Standing, seconds: float) -> float | None:
        """Seconds until the budget or the evaluations are used up, at the pace since `earlier`, `seconds` ago; None if unknown."""
        amounts = []
        if self.budget is not None:
            amounts.append((self.budget - self.spent, self.spent - earlier.spent))
        if self.evaluations is not None:
            amounts.append((self.evaluations - self.done, self.done - earlier.done))
        left = [seconds * max(remaining, 0.0) / used for remaining, used in amounts if used > 0.0 and seconds > 0.0]
        return min(left, default=None)
