"""How a study stands, as data and in words."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import Any

from farthing.cli.output import cell, sparkline
from farthing.errors import NothingToReport
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
from farthing.trials import ABANDONED, COMPLETE, FAILED, PENDING


def summary(study: Study) -> dict[str, Any]:
    """What is known, what it cost, and what went wrong, as JSON."""
    history = study.history
    standing = Standing(history, (), study.budget, None, 0, study.overhead_rate)
    states = Counter(trial.state for trial in history.trials)
    try:
        recommendation = asdict(study.recommend())
    except NothingToReport:
        recommendation = None
    return {
        "study": study.name,
        "recommendation": recommendation,
        "budget": study.budget,
        "spent": standing.spent,
        "spent_on_evaluations": history.spent,
        "spent_on_thinking": standing.thinking,
        "costs_are_seconds": costs_are_seconds(history, study.overhead_rate),
        "trials": {state: states[state] for state in (COMPLETE, FAILED, PENDING, ABANDONED)},
        "spend_by_fidelity": [{"fidelity": label, "evaluations": n, "cost": cost} for label, n, cost in spend_by_fidelity(history)],
        "failures": [{"reason": reason, "count": count} for reason, count in failure_counts(history)],
    }


def prospects(study: Study) -> dict[str, Any]:
    """How the recommendation came about, and how much better it may get, as JSON."""
    history = study.history
    course = convergence(history, study.overhead_rate)
    return {
        "expected_regret": study.expected_regret() if len(history) else None,
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
