"""Experiments that run contenders on tasks and look at the regret of their recommendations: all but table1."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments import markdown
from experiments.contenders import Contender
from experiments.curves import TENTHS, TWENTIETHS, Curve, Summary, summarize
from experiments.experiment import Experiment, Size
from experiments.figures import draw_regrets
from experiments.problem import Problem
from experiments.runs import Job, Record
from experiments.study_run import CLOCKS, run_study
from experiments.verdicts import Verdict, ahead, at_every_tenth, no_data


class RegretExperiment(Experiment):
    """Every available contender on every task with every seed."""

    tasks: tuple[str, ...]
    contenders: tuple[Contender, ...]
    clocks: tuple[str, ...] = CLOCKS
    shares: tuple[float, ...] = TWENTIETHS

    @abstractmethod
    def problem(self, task: str, seed: int, scale: float, data: Path | None) -> Problem:
        """What is minimized in a run."""

    def contender(self, label: str) -> Contender:
        return next(c for c in self.contenders if c.label == label)

    def jobs(self, size: Size) -> list[Job]:
        return [
            Job.of(self.name, task, c.label, seed, size.scale, {"version": self.definition, **c.described()})
            for seed in range(max(size.runs, size.slow_runs))
            for task in size.tasks or self.tasks
            for c in self.contenders
            if c.available and seed < (size.slow_runs if c.slow else size.runs)
        ]

    def run(self, job: Job, data: Path | None) -> dict[str, Any]:
        problem = self.problem(job.task, job.seed, job.scale, data)
        return run_study(problem, self.contender(job.contender), job.seed, self.shares)

    def collect(self, records: Sequence[Record]) -> Summary:
        return summarize(records, self.clocks, self.shares)

    def draw(self, summary: Summary, path: Path) -> None:
        draw_regrets(summary, path)

    def tables(self, summary: Summary) -> str:
        return markdown.regret_table(summary, (0.2, 0.5, 1.0), summary["clocks"])

    def remarks(self, summary: Summary) -> list[str]:
        run = {name for task in summary["tasks"].values() for name in task["contenders"]}
        missing = [c.label for c in self.contenders if c.label not in run]
        notes = [f"{c.label}: {c.note}." for c in self.contenders if c.note and c.label in run]
        return [*notes, *(f"{label} is not in these results: it was not available when they were made." for label in missing)]


def curves_of(summary: Summary, task: str, contender: str, clock: str) -> list[Curve] | None:
    """Regrets of a contender's runs, if it was run."""
    cell = summary["tasks"].get(task, {"contenders": {}})["contenders"].get(contender)
    return None if cell is None else cell["regret"][clock]


def tenths_of(shares: Sequence[float]) -> list[int]:
    """Where the tenths of the budget are among the shares."""
    return [min(range(len(shares)), key=lambda i: abs(shares[i] - tenth)) for tenth in TENTHS]


def envpes_against(summary: Summary, tasks: Sequence[str], others: Sequence[str]) -> list[Verdict]:
    """fig4 to fig6: EnvPES beside every other method by evaluation cost, and beside FABOLAS on the total clock."""
    verdicts = []
    tenths = tenths_of(summary["shares"])
    for task in tasks:
        for clock, other in [*(("evaluations", other) for other in others), ("total", "FABOLAS")]:
            claim = (
                f"{task}, by evaluation cost: EnvPES at least equal to {other} at every tenth of the budget"
                if clock == "evaluations"
                else f"{task}, with overhead: EnvPES ahead of {other}"
            )
            ours, theirs = (curves_of(summary, task, name, clock) for name in ("EnvPES", other))
            if ours is None or theirs is None:
                verdicts.append(no_data(claim, other if ours is not None else "EnvPES"))
            elif clock == "evaluations":
                verdicts.append(at_every_tenth(claim, ours, theirs, tenths, other))
            else:
                verdicts.append(ahead(claim, ours, theirs, tenths))
    return verdicts
