"""fig2: support points by slice sampling over expected improvement against WLH, offset Branin with quadratic cost.

Once with PES, which evaluates at full fidelity, and once with EnvPES, for which the offset and the cost matter. All draws of the
minimizer are among the support points here; by default half of them follow sample paths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from experiments.contenders import Contender
from experiments.curves import Summary, at, clearly_lower, median, short
from experiments.experiment import Size
from experiments.figures import draw_curves, footer, panels, run_counts
from experiments.problem import Array, Problem
from experiments.regret_experiment import RegretExperiment
from experiments.runs import Record
from experiments.synthetic import offset
from experiments.verdicts import Verdict, grade, no_data, told

STEPS = 80
FRACTION, SMALL_FRACTION = 0.5, 0.1
"""Of the overhead: what counts as reduced, and as reduced by more than the paper's figure could show."""

PAIRS = {"PES": ("PES, EI slice", "PES, WLH"), "EnvPES": ("EnvPES, EI slice", "EnvPES, WLH")}
LOOKS = {"EI slice": "tab:red", "WLH": "tab:blue"}


class Fig2(RegretExperiment):
    name = "fig2"
    title = "Overhead and regret by support sampler, offset Branin"
    claim = "With WLH support points regret stays similar while overhead is significantly reduced."
    full = Size(10, 10, 1.0)
    quick = Size(2, 2, 0.25)
    tasks = ("branin",)
    contenders = tuple(
        Contender(f"{method}, {label}", method, {"support": support, "paths": 0.0})
        for method in PAIRS
        for label, support in (("EI slice", "ei_slice"), ("WLH", "wlh"))
    )
    clocks = ("steps",)

    def problem(self, task: str, seed: int, scale: float, data: Path | None) -> Problem:
        return replace(offset(task), budget=None, evaluations=round(STEPS * scale))

    def collect(self, records: Sequence[Record]) -> Summary:
        """Also the median overhead of each step."""
        summary = super().collect(records)
        for name, cell in summary["tasks"]["branin"]["contenders"].items():
            results = [r["result"] for r in records if r["job"]["contender"] == name]
            steps = np.median([result["overhead"] for result in results], axis=0)
            cell["overhead_by_step"] = [short(seconds) for seconds in steps]
        return summary

    def draw(self, summary: Summary, path: Path) -> None:
        task = summary["tasks"]["branin"]
        x = [share * task["budget"] for share in summary["shares"]]
        with panels(2, len(PAIRS), path, footer(summary, run_counts(summary))) as axes:
            for column, (method, pair) in enumerate(PAIRS.items()):
                above, below = axes[:, column]
                for label in (label for label in pair if label in task["contenders"]):
                    cell, color = task["contenders"][label], LOOKS[label.split(", ")[1]]
                    seconds = cell["overhead_by_step"]
                    above.semilogy(range(1, len(seconds) + 1), np.maximum(seconds, 1e-5), color=color, label=label, linewidth=1.0)
                    draw_curves(below, x, cell["regret"]["steps"], label, color=color)
                above.set_title(method)
                above.set_ylabel("overhead of a step, s, median")
                below.set_ylabel("regret, median and quartiles")
                below.set_xlabel("evaluations")
                above.legend(frameon=False)

    def verdicts(self, summary: Summary) -> list[Verdict]:
        cells = summary["tasks"]["branin"]["contenders"]
        out = []
        for method, (slow, fast) in PAIRS.items():
            claim = f"{method}: WLH reaches the same regret at a fraction of the overhead"
            if slow not in cells or fast not in cells:
                out.append(no_data(claim, slow if slow not in cells else fast))
                continue
            share = _thinking(cells[fast]["overhead_by_step"]) / _thinking(cells[slow]["overhead_by_step"])
            theirs, ours = (at(cells[label]["regret"]["steps"], -1) for label in (slow, fast))
            same = not clearly_lower(theirs, ours)
            out.append(Verdict(claim, _text(share, ours, theirs, same), grade(same and share <= FRACTION, share <= SMALL_FRACTION)))
        return out


def _thinking(overhead_by_step: Sequence[float]) -> float:
    """Mean overhead of the steps after the design, the last half."""
    return float(np.mean(overhead_by_step[len(overhead_by_step) // 2 :]))


def _text(share: float, ours: Array, theirs: Array, same: bool) -> str:
    known = "not clearly higher" if same else "clearly higher"
    regrets = f"final median regret {told(median(ours))}, {known} than {told(median(theirs))}"
    return f"{100 * share:.3g}% of the overhead in the second half; {regrets}"
