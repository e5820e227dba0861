"""Tables of the results page."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments.curves import Summary, quartiles


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def regret_table(summary: Summary, marks: Sequence[float], clocks: Sequence[str]) -> str:
    """Median regret and quartiles of every contender at shares of the budget, evaluations and overhead."""
    shares = summary["shares"]
    short = {"evaluations": "of evaluation cost", "total": "with overhead", "steps": "of the evaluations"}
    head = ["task", "method", "runs", *(f"{100 * mark:g}% {short[clock]}" for clock in clocks for mark in marks)]
    rows = []
    for task_name, task in summary["tasks"].items():
        for name, cell in task["contenders"].items():
            found = [quartiles(cell["regret"][clock], _index(shares, mark)) for clock in clocks for mark in marks]
            row = [task_name, name, str(len(cell["seeds"])), *(quartile_text(*q) for q in found)]
            rows.append([*row, f"{np.median(cell['evaluations']):.0f}", f"{np.median(cell['overhead']):.3g}"])
    return table([*head, "evaluations", "overhead, s a step"], rows)


def _index(shares: Sequence[float], mark: float) -> int:
    return int(np.argmin(np.abs(np.asarray(shares) - mark)))


def quartile_text(low: float, middle: float, high: float) -> str:
    return "none yet" if not np.isfinite(middle) else f"{middle:.1e} ({low:.0e} to {high:.0e})"
