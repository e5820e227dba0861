"""fig1: what a run should report, the lowest value seen or the posterior minimum, on Branin without a fidelity."""

from __future__ import annotations

from pathlib import Path

from experiments.contenders import EI, PES
from experiments.curves import NONE, Summary, at, median
from experiments.experiment import Size
from experiments.figures import COLORS, draw_curves, footer, panels, run_counts
from experiments.problem import Problem
from experiments.regret_experiment import RegretExperiment, tenths_of
from experiments.synthetic import plain
from experiments.verdicts import NOT, REPRODUCED, Verdict, no_data

STEPS = 100
MUCH = 2.0
"""The posterior minimum is much better where the best seen has this many times its regret.

They are compared at the last tenth of the evaluations at which the best seen still has a regret: later, both are at the minimum.
"""


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
        found = {label: there for label in ("EI", "PES") if (there := _last_difference(summary, label)) is not None}
        claims = [f"{label}: the posterior minimum has much the lower regret" for label in ("EI", "PES")]
        most = "the difference is greatest with PES"
        out = [
            no_data(claim, label)
            if label not in found
            else Verdict(
                claim,
                f"the best seen has {found[label][0]:.3g} times its median regret at {100 * found[label][1]:g}% of the evaluations"
                + ("" if found[label][1] == 1.0 else f", and later none above {NONE:g}"),
                REPRODUCED if found[label][0] >= MUCH else NOT,
            )
            for label, claim in zip(("EI", "PES"), claims, strict=True)
        ]
        if len(found) < 2:
            return [*out, no_data(most, "one of the two")]
        text = f"{found['PES'][0]:.3g} times with PES, {found['EI'][0]:.3g} times with EI"
        return [*out, Verdict(most, text, REPRODUCED if found["PES"][0] > found["EI"][0] else NOT)]


def _last_difference(summary: Summary, label: str) -> tuple[float, float] | None:
    """Median regret of the best seen over that of the posterior minimum, and the share of the evaluations at which it is taken."""
    cell = summary["tasks"]["branin"]["contenders"].get(label)
    if cell is None:
        return None
    shares = summary["shares"]
    tenths = tenths_of(shares)
    last = next((i for i in reversed(tenths) if median(at(cell["seen"], i)) > NONE), tenths[-1])
    return median(at(cell["seen"], last)) / median(at(cell["regret"]["steps"], last)), shares[last]
