"""fig1: what a run should report, the lowest value seen or the posterior minimum, on Branin without a fidelity."""

from __future__ import annotations

from pathlib import Path

from experiments.contenders import EI, PES
from experiments.curves import Summary, at, median
from experiments.experiment import Size
from experiments.figures import COLORS, draw_curves, footer, panels, run_counts
from experiments.problem import Problem
from experiments.regret_experiment import RegretExperiment
from experiments.synthetic import plain
from experiments.verdicts import NOT, REPRODUCED, Verdict, no_data

STEPS = 100
MUCH = 2.0
"""The posterior minimum is much better where the best seen has this many times its regret."""


class Fig1(RegretExperiment):
    name = "fig1"
    title = "Best seen against posterior minimum, Branin"
    claim = (
        "Reporting the posterior minimum rather than the lowest value seen leads to substantially lower errors after similar "
        "beginnings, most of all with PES."
    )
    full = Size(25, 25, 1.0)
    quick = Size(2, 2, 0.2)
    tasks = ("branin",)
    contenders = (EI, PES)
    clocks = ("steps",)

    def problem(self, task: str, seed: int, scale: float, data: Path | None) -> Problem:
        return plain(task, round(STEPS * scale))

    def draw(self, summary: Summary, path: Path) -> None:
        task = summary["tasks"]["branin"]
        x = [share * task["budget"] for share in summary["shares"]]
        with panels(1, 1, path, footer(summary, run_counts(summary)), (4.5, 3.0)) as axes:
            axis = axes[0, 0]
            for label, cell in task["contenders"].items():
                draw_curves(axis, x, cell["regret"]["steps"], f"{label}, posterior minimum", color=COLORS[label])
                draw_curves(axis, x, cell["seen"], f"{label}, best seen", color=COLORS[label], linestyle="--")
            axis.set_xlabel("evaluations")
            axis.set_ylabel("regret, median and quartiles")
            axis.legend(frameon=False)

    def verdicts(self, summary: Summary) -> list[Verdict]:
        ratios = {label: ratio for label in ("EI", "PES") if (ratio := _ratio(summary, label)) is not None}
        claims = [f"{label}: the posterior minimum has much the lower regret at the end" for label in ("EI", "PES")]
        most = "the difference is greatest with PES"
        out = [
            no_data(claim, label)
            if label not in ratios
            else Verdict(
                claim,
                f"the best seen has {ratios[label]:.3g} times its median regret",
                REPRODUCED if ratios[label] >= MUCH else NOT,
            )
            for label, claim in zip(("EI", "PES"), claims, strict=True)
        ]
        if len(ratios) < 2:
            return [*out, no_data(most, "one of the two")]
        text = f"{ratios['PES']:.3g} times with PES, {ratios['EI']:.3g} times with EI"
        return [*out, Verdict(most, text, REPRODUCED if ratios["PES"] > ratios["EI"] else NOT)]


def _ratio(summary: Summary, label: str) -> float | None:
    """Median regret of the best seen over that of the posterior minimum, at the end."""
    cell = summary["tasks"]["branin"]["contenders"].get(label)
    if cell is None:
        return None
    return median(at(cell["seen"], -1)) / median(at(cell["regret"]["steps"], -1))
