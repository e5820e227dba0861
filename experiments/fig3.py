"""fig3: draws from the model itself, with a fidelity that is worth a lot (good) and one that is worth little (bad)."""

from __future__ import annotations

from pathlib import Path

from experiments.contenders import EI, ENVPES, PES
from experiments.curves import Summary, at, median
from experiments.experiment import Size
from experiments.problem import Problem
from experiments.regret_experiment import RegretExperiment, curves_of
from experiments.synthetic import DRAWS, draw
from experiments.verdicts import Verdict, first_share_at, grade, no_data, told

FAR, VERY_FAR = 0.5, 0.25
"""Far ahead: by this share of the budget EnvPES has reached what the best other method ends with."""

CLOSE = 2.0
"""Close: within this factor of the other's regret at the end."""

OTHERS = ("EI", "PES")


class Fig3(RegretExperiment):
    name = "fig3"
    title = "Draws from the Matérn kernel, a good and a bad fidelity"
    claim = (
        "Where cheap evaluations are cheap and close to the truth (good) EnvPES is far ahead of EI and PES; where they are neither "
        "(bad) it no longer performs as well as the others, but reasonably."
    )
    full = Size(40, 40, 1.0)
    quick = Size(2, 2, 0.06)
    tasks = tuple(DRAWS)
    contenders = (EI, PES, ENVPES)

    def problem(self, task: str, seed: int, scale: float, data: Path | None) -> Problem:
        return draw(task, seed, scale)

    def verdicts(self, summary: Summary) -> list[Verdict]:
        return [*(_far_ahead(summary, clock) for clock in ("evaluations", "total")), *(_close(summary, other) for other in OTHERS)]


def _far_ahead(summary: Summary, clock: str) -> Verdict:
    by = "by evaluation cost" if clock == "evaluations" else "with overhead"
    claim = f"good draws, {by}: EnvPES far ahead of EI and PES"
    curves = {name: curves_of(summary, "good", name, clock) for name in ("EnvPES", *OTHERS)}
    ours, others = curves["EnvPES"], [median(at(curve, -1)) for name in OTHERS if (curve := curves[name]) is not None]
    if ours is None or len(others) < len(OTHERS):
        return no_data(claim, "one of the three")
    share = first_share_at(ours, min(others), summary["shares"])
    text = f"final median {told(median(at(ours, -1)))} against {told(min(others))} of the better of the two"
    if share is None:
        return Verdict(claim, f"{text}, which EnvPES does not reach", grade(False, False))
    return Verdict(
        claim, f"{text}, which EnvPES reaches at {100 * share:.0f}% of the budget", grade(share <= FAR, share <= VERY_FAR)
    )


def _close(summary: Summary, other: str) -> Verdict:
    claim = f"bad draws: EnvPES within a factor of two of {other} in regret at the end"
    ours, theirs = (curves_of(summary, "bad", name, "evaluations") for name in ("EnvPES", other))
    if ours is None or theirs is None:
        return no_data(claim, "one of the two")
    ratio = median(at(ours, -1)) / median(at(theirs, -1))
    return Verdict(claim, f"{ratio:.2g} times the median regret of {other}", grade(ratio <= CLOSE, ratio <= 1.0))
