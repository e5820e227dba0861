"""What a person sees of a run: a live line, and amounts in words."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TextIO

from farthing.trials import COMPLETE, History, Trial


def seconds_in_words(seconds: float) -> str:
    """0.034 -> '34 ms', 75 -> '75 s', 5400 -> '90 min', 36000 -> '10 h'."""
    for limit, unit, name in ((0.1, 1e-3, "ms"), (100.0, 1.0, "s"), (6000.0, 60.0, "min")):
        if seconds < limit:
            return f"{seconds / unit:.3g} {name}"
    hours = seconds / 3600.0
    return f"{hours:.3g} h" if hours < 1000.0 else f"{hours:.0f} h"


def params_in_words(params: Mapping[str, float]) -> str:
    """{'C': 3.14159, 'gamma': 0.001} -> 'C=3.142, gamma=0.001'."""
    return ", ".join(f"{name}={value:.4g}" for name, value in params.items())


def spend_by_fidelity(history: History, levels: int = 4) -> list[tuple[str, int, float]]:
    """(range of the fidelity, evaluations, cost) over equal parts of the fidelity's scale, dearest first; one row where
    there is none.
    """
    done = [t for t in history.trials if t.state == COMPLETE]
    space = history.space
    if space.fidelity is None:
        return [("all", len(done), sum(t.cost or 0.0 for t in done))]
    rows: list[tuple[str, int, float]] = []
    s = space.unit_fidelities([t.fidelity for t in done])
    full = [t for t, unit in zip(done, s, strict=True) if unit == 0.0]
    rows.append((f"full ({space.fidelity.name}={space.fidelity_value(0.0):g})", len(full), sum(t.cost or 0.0 for t in full)))
    for level in range(levels):
        low, high = level / levels, (level + 1) / levels
        part = [t for t, unit in zip(done, s, strict=True) if low < unit <= high]
        name = f"{space.fidelity_value(high):g} to {space.fidelity_value(low):g}"
        rows.append((name, len(part), sum(t.cost or 0.0 for t in part)))
    return rows


@dataclass
class ProgressLine:
    """One line on a terminal, written over at every step."""

    stream: TextIO
    budget: float | None
    evaluations: int | None
    overhead_rate: float

    def show(self, history: History, trial: Trial) -> None:
        """What was spent, what thinking took, the recommendation, and what is being evaluated."""
        thinking = self.overhead_rate * history.overhead_seconds
        total = history.spent + thinking
        done = len(history)
        parts = [f"{total:.4g}/{self.budget:.4g} spent" if self.budget is not None else f"{total:.4g} spent"]
        parts.append(f"{done}/{self.evaluations} evaluations" if self.evaluations is not None else f"{done} evaluations")
        if total > 0.0:
            parts.append(f"{100.0 * thinking / total:.0f}% thinking")
        best = trial.proposal.recommendation
        if best is not None:
            parts.append(f"best {best.mean:.4g} ± {best.std:.2g} at {params_in_words(best.params)}")
        if trial.fidelity_name is not None:
            parts.append(f"now {trial.fidelity_name}={trial.fidelity:.4g}")
        width = shutil.get_terminal_size((120, 24)).columns - 1
        line = "farthing: " + " · ".join(parts)
        self.stream.write("\r" + line[:width].ljust(width))
        self.stream.flush()

    def close(self) -> None:
        self.stream.write("\n")
        self.stream.flush()
