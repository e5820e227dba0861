"""How a study stands, as data and in words."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from farthing.cli.output import cell, sparkline
from farthing.cli.wording import in_cli_words
from farthing.definition import Definition
from farthing.report import (
    Standing,
    convergence,
    cost_in_words,
    costs_are_seconds,
    failure_counts,
    params_in_words,
    spend_by_fidelity,
)
from farthing.study import Study
from farthing.thinking import Thinking
from farthing.trials import ABANDONED, COMPLETE, FAILED, PENDING, History, Recommendation


@dataclass(frozen=True)
class Snapshot:
    """A study at one moment: others may go on with it meanwhile. best: None where nothing was evaluated."""

    study: Study
    history: History
    thinking: Thinking
    best: Recommendation | None

    @classmethod
    def of(cls, study: Study, best: Recommendation | None = None) -> Snapshot:
        """As it is now. best: the recommendation, if it is known already."""
        history = study.history
        definition = Definition(study.space, study.method, study.seed, study.settings)
        thinking = Thinking(definition, time.perf_counter)
        with thinking.metered():
            return cls(study, history, thinking, best or (thinking.recommend(history) if len(history) else None))

    @property
    def standing(self) -> Standing:
        rate = self.thinking.overhead_rate(self.history)
        return Standing(self.history, (), self.study.budget, None, 0, rate, self.best)


def summary(seen: Snapshot) -> dict[str, Any]:
    """What is known, what it cost, and what went wrong, as JSON."""
    study, history, standing = seen.study, seen.history, seen.standing
    states = Counter(trial.state for trial in history.trials)
    return {
        "study": study.name,
        "recommendation": None if seen.best is None else asdict(seen.best),
        "budget": study.budget,
        "spent": standing.spent,
        "spent_on_evaluations": history.spent,
        "spent_on_thinking": standing.thinking,
        "costs_are_seconds": standing.overhead_rate == 1.0 or costs_are_seconds(history, standing.overhead_rate),
        "trials": {state: states[state] for state in (COMPLETE, FAILED, PENDING, ABANDONED)},
        "spend_by_fidelity": [{"fidelity": label, "evaluations": n, "cost": cost} for label, n, cost in spend_by_fidelity(history)],
        "failures": [{"reason": in_cli_words(reason), "count": count} for reason, count in failure_counts(history)],
    }


def prospects(seen: Snapshot) -> dict[str, Any]:
    """How the recommendation came about, down to the present one, and how much better it may get, as JSON."""
    standing = seen.standing
    course = convergence(seen.history, standing.overhead_rate)
    regret = None
    if seen.best is not None:
        course.append((standing.spent, seen.best.mean, seen.best.std))
        with seen.thinking.metered():
            regret = seen.thinking.regret(seen.history)
    return {
        "expected_regret": regret,
        "convergence": [{"spent": spent, "mean": mean, "std": std} for spent, mean, std in course],
    }


def summary_lines(known: dict[str, Any]) -> list[tuple[str, str]]:
    """The same in words."""

    def cost(number: float) -> str:
        return cost_in_words(number, known["costs_are_seconds"])

    best, of = known["recommendation"], "" if known["budget"] is None else f" of {cost(known['budget'])}"
    lines = [("study", known["study"])]
    if best is None:
        lines.append(("recommendation", "none yet: nothing was evaluated"))
    else:
        lines.append(("recommendation", params_in_words(best["params"])))
        lines.append(("expected there", f"{best['mean']:.6g} ± {best['std']:.2g} at full fidelity"))
    thinking = f"evaluations {cost(known['spent_on_evaluations'])}, thinking {cost(known['spent_on_thinking'])}"
    lines.append(("spent", f"{cost(known['spent'])}{of}: {thinking}"))
    for spend in known["spend_by_fidelity"]:
        lines.append((f"  {spend['fidelity']}", f"{cost(spend['cost'])} for {spend['evaluations']}"))
    lines.append(("trials", ", ".join(f"{count} {state}" for state, count in known["trials"].items() if count) or "none"))
    lines += [(f"  failed {failure['count']} x", failure["reason"]) for failure in known["failures"]]
    return lines


def prospects_lines(known: dict[str, Any]) -> list[tuple[str, str]]:
    """The same in words."""
    lines, means = [], [point["mean"] for point in known["convergence"]]
    if known["expected_regret"] is not None:
        lines.append(("expected regret", cell(known["expected_regret"])))
    if means:
        lines.append(("convergence", f"{sparkline(means)}  {means[0]:.4g} to {means[-1]:.4g}"))
    return lines
