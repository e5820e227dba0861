"""fig3: draws from the model itself, with a fidelity that is worth a lot (good) and one that is worth little (bad)."""

from __future__ import annotations

from pathlib import Path

from experiments.contenders import EI, ENVPES, PES
from experiments.curves import NONE, Summary, at, median
from experiments.experiment import Size
from experiments.problem import Problem
from experiments.regret_experiment import RegretExperiment, curves_of, tenths_of
from experiments.synthetic import DRAWS, draw
from experiments.verdicts import Verdict, grade, no_data, told

FAR = 10.0
"""Far ahead: the better of the others has at least so many times EnvPES's regret, at half or more of the tenths of the budget at
which it has any left.
"""

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
    curves = [curves_of(summary, "good", name, clock) for name in ("EnvPES", *OTHERS)]
    if any(curve is None for curve in curves):
        return no_data(claim, "one of the three")
    ours, *others = ([median(at(curve or [], i)) for i in tenths_of(summary["shares"])] for curve in curves)
    best = [min(pair) for pair in zip(*others, strict=True)]
    left = [i for i, regret in enumerate(best) if regret > NONE]
    far = [i for i in left if best[i] >= FAR * ours[i]]
    told_far = ", ".join(f"{10 * (i + 1)}%" for i in far) or "no tenth"
    text = (
        f"the better of the two has at least {FAR:g} times its median regret at {told_far} of the budget, "
        f"and more than {NONE:g} at {len(left)} of ten tenths; at the end {told(ours[-1])} against {told(best[-1])}"
    )
    holds = bool(left) and 2 * len(far) >= len(left) and ours[-1] <= best[-1]
    return Verdict(claim, text, grade(holds, len(far) == len(left)))


def _close(summary: Summary, other: str) -> Verdict:
    claim = f"bad draws: EnvPES within a factor of two of {other} in regret at the end"
    ours, theirs = (curves_of(summary, "bad", name, "evaluations") for name in ("EnvPES", other))
    if ours is None or theirs is None:
        return no_data(claim, "one of the two")
    end, their_end = median(at(ours, -1)), median(at(theirs, -1))
    ratio = end / their_end
    text = f"{ratio:.2g} times the median regret of {other}: {told(end)} against {told(their_end)}"
    return Verdict(claim, text, grade(ratio <= CLOSE, ratio < 1.0))
