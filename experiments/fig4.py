"""fig4: offset Branin and Hartmanns, two minutes at the cheapest to thirty at full fidelity."""

from __future__ import annotations

from pathlib import Path

from experiments.contenders import EI, ENVPES, FABOLAS, PES
from experiments.curves import Summary
from experiments.experiment import Size
from experiments.problem import Problem
from experiments.regret_experiment import RegretExperiment, envpes_against
from experiments.synthetic import OFFSET, offset
from experiments.verdicts import Verdict


class Fig4(RegretExperiment):
    name = "fig4"
    title = "Common synthetic functions with a shifting fidelity"
    claim = (
        "EnvPES matches or exceeds the other methods on each function; by evaluation cost FABOLAS is similar, and with overhead "
        "EnvPES is ahead of it."
    )
    full = Size(20, 5, 1.0)
    quick = Size(2, 1, 0.1)
    tasks = tuple(OFFSET)
    contenders = (EI, PES, FABOLAS, ENVPES)

    def problem(self, task: str, seed: int, scale: float, data: Path | None) -> Problem:
        return offset(task, scale)

    def verdicts(self, summary: Summary) -> list[Verdict]:
        return envpes_against(summary, self.tasks, ("EI", "PES", "FABOLAS"))
