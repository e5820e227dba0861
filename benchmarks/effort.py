"""Effort follows price: wall-clock until a stated regret, for evaluations of 1 ms to 10 s, against random search and Optuna.

    python -m benchmarks.effort [--quick] [--seeds 7] [--tasks branin hartmann6] [--seconds 0.001 0.01 0.1 1 10]

Branin and Hartmann 6d at full fidelity. An evaluation really sleeps up to 0.1 s; longer ones are added to a simulated clock, on
which thinking takes its real time. What counts is the regret of the answer that the optimizer would give at that moment: for
farthing the recommendation of the latest proposal, or after a quick one the best place evaluated; for the others the best place
evaluated. The time until the best place evaluated has that regret is given as well. Each optimizer is warmed up first, so that
imports are not counted; random search is taken to think for no time at all. Writes benchmarks/results/effort.json, unless quick.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

import numpy as np

import farthing as ft
from benchmarks.peers.problem import Task
from benchmarks.peers.simulated import build
from experiments.runs import farthing_version

RESULTS = Path(__file__).parent / "results"
MARKS = {"branin": (0.1, 0.01, 0.001), "hartmann6": (0.5, 0.2, 0.05)}
LIMITS = {0.001: 8.0, 0.01: 15.0, 0.1: 30.0, 1.0: 120.0, 10.0: 1100.0}
"""Seconds after which a run is given up, by the seconds of an evaluation."""

SLEEPS = 0.1
"""Seconds up to which an evaluation sleeps."""


@dataclass
class Clock:
    """Seconds that pass, and those that are only said to have passed."""

    said: float = 0.0

    def __call__(self) -> float:
        return time.perf_counter() + self.said

    def spend(self, seconds: float) -> None:
        if seconds <= SLEEPS:
            time.sleep(seconds)
        else:
            self.said += seconds


@dataclass
class Course:
    """What a run came to and when: (seconds, regret) of answers and of places evaluated, seconds of each proposal."""

    task: Task
    seconds: float
    clock: Clock = field(default_factory=Clock)
    answers: list[tuple[float, float]] = field(default_factory=list)
    evaluated: list[tuple[float, float]] = field(default_factory=list)
    proposals: list[float] = field(default_factory=list)
    efforts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.begun = self.clock()

    @property
    def elapsed(self) -> float:
        return self.clock() - self.begun

    def value(self, params: dict[str, float]) -> float:
        """An evaluation."""
        self.clock.spend(self.seconds)
        return self.task.regret(params)

    def ended(self, regret: float) -> bool:
        """Take in the regret of a place evaluated just now; whether it is time to end."""
        best = min(regret, self.evaluated[-1][1] if self.evaluated else math.inf)
        self.evaluated.append((self.elapsed, best))
        last = MARKS[self.task.name][-1]
        answered = min((r for _, r in self.answers), default=math.inf)
        return self.elapsed > LIMITS[self.seconds] or (best <= last and answered <= last)

    def summary(self) -> dict:
        def until(course: list[tuple[float, float]], mark: float) -> float | None:
            return next((when for when, regret in course if regret <= mark), None)

        total = self.evaluated[-1][0]
        return {
            "until": {str(mark): until(self.answers, mark) for mark in MARKS[self.task.name]},
            "until_evaluated": {str(mark): until(self.evaluated, mark) for mark in MARKS[self.task.name]},
            "evaluations": len(self.evaluated),
            "thinking_share": max(1.0 - len(self.evaluated) * self.seconds / total, 0.0),
            "proposal_ms": 1e3 * float(np.mean(self.proposals)),
            "efforts": dict(self.efforts),
        }


def farthing_run(course: Course, seed: int) -> None:
    space = {axis.name: ft.Real(axis.low, axis.high) for axis in course.task.axes}
    study = ft.Study(space, seed=seed, clock=course.clock, settings=ft.Settings(confirm=False))

    def done(_: ft.Study, trial: ft.Trial) -> bool:
        course.proposals.append(trial.overhead)
        course.efforts[trial.proposal.effort] += 1
        made = trial.proposal.recommendation
        if made is not None:  # it was known before this evaluation began
            course.answers.append((course.elapsed - course.seconds, course.task.regret(made.params)))
        end = course.ended(trial.value)
        if made is None:
            course.answers.append(course.evaluated[-1])
        return end

    study.run(lambda **params: course.value(params), budget=10.0 * LIMITS[course.seconds], callback=done)


def optuna_run(sampler: str) -> Callable[[Course, int], None]:
    import optuna
    import torch

    torch.set_num_threads(1)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)

    def run(course: Course, seed: int) -> None:
        distributions = {axis.name: optuna.distributions.FloatDistribution(axis.low, axis.high) for axis in course.task.axes}
        study = optuna.create_study(sampler=getattr(optuna.samplers, sampler)(seed=seed))
        end = False
        while not end:
            start = time.perf_counter()
            trial = study.ask(distributions)
            asked = time.perf_counter() - start
            value = course.value(trial.params)
            start = time.perf_counter()
            study.tell(trial, value)
            course.proposals.append(asked + time.perf_counter() - start)
            end = course.ended(value)
            course.answers.append(course.evaluated[-1])

    return run


def random_run(course: Course, seed: int) -> None:
    """Without a clock: evaluations take their time, and nothing else does."""
    rng = np.random.default_rng(seed)
    best = math.inf
    for number in range(1, int(LIMITS[course.seconds] / course.seconds) + 1):
        best = min(best, course.task.regret(course.task.params(rng.random(course.task.dimensions))))
        course.evaluated.append((number * course.seconds, best))
        if best <= MARKS[course.task.name][-1]:
            break
    course.answers, course.proposals = course.evaluated, [0.0]


def warm_up(run: Callable[[Course, int], None]) -> None:
    """Import what is imported at first use: evaluations short and long, so that every level is reached."""
    for seconds, limit in ((1.0, 15.0), (0.01, 0.5)):
        with patch.dict(LIMITS, {seconds: limit}):
            run(Course(build("branin", 0), seconds), 0)


def quartiles(times: list[float | None]) -> dict:
    """Of times, those that were never reached last. None: not reached."""
    ordered = sorted(math.inf if t is None else t for t in times)
    middle = {name: ordered[round(share * (len(ordered) - 1))] for name, share in (("q1", 0.25), ("median", 0.5), ("q3", 0.75))}
    return {name: t if math.isfinite(t) else None for name, t in middle.items()} | {"reached": sum(map(math.isfinite, ordered))}


def row(task: str, seconds: float, name: str, runs: list[dict]) -> dict:
    marks = [str(mark) for mark in MARKS[task]]
    return {
        "task": task,
        "evaluation_seconds": seconds,
        "optimizer": name,
        "runs": len(runs),
        "until": {mark: quartiles([r["until"][mark] for r in runs]) for mark in marks},
        "until_evaluated": {mark: quartiles([r["until_evaluated"][mark] for r in runs]) for mark in marks},
        "evaluations": float(np.median([r["evaluations"] for r in runs])),
        "thinking_share": float(np.median([r["thinking_share"] for r in runs])),
        "proposal_ms": float(np.median([r["proposal_ms"] for r in runs])),
        "efforts": dict(sum((Counter(r["efforts"]) for r in runs), Counter())),
    }


def shown(row: dict) -> str:
    def cell(spread: dict) -> str:
        return f"{'never' if spread['median'] is None else format(spread['median'], '.3g'):>8}"

    until = (
        "".join(cell(s) for s in row["until"].values()) + "   evaluated" + "".join(cell(s) for s in row["until_evaluated"].values())
    )
    return (
        f"{row['task']:<10}{row['evaluation_seconds']:>7g} s  {row['optimizer']:<16}{until}  {row['evaluations']:>6.0f} evaluations"
        f"  {row['thinking_share']:>4.0%} thinking  {row['proposal_ms']:>7.2f} ms  {row['efforts'] or ''}"
    )


def behind(rows: list[dict]) -> list[str]:
    """Where farthing is behind random search, or by more than a tenth behind another, at the median."""
    out = []
    for task, seconds in dict.fromkeys((r["task"], r["evaluation_seconds"]) for r in rows):
        here = {r["optimizer"]: r for r in rows if (r["task"], r["evaluation_seconds"]) == (task, seconds)}
        for mark in map(str, MARKS[task]):
            times = {name: r["until"][mark]["median"] or math.inf for name, r in here.items()}
            for name, other in times.items():
                if name != "farthing" and times["farthing"] > other * (1.0 if name == "random" else 1.1):
                    out.append(f"{task} {mark}, {seconds:g} s: {times['farthing']:.3g} s, {name} {other:.3g} s")
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="three seeds, 1 ms, 100 ms and 1 s")
    parser.add_argument("--seeds", type=int, default=7)
    parser.add_argument("--tasks", nargs="+", default=list(MARKS), choices=list(MARKS))
    parser.add_argument("--seconds", nargs="+", type=float, default=list(LIMITS), choices=list(LIMITS))
    parser.add_argument("--optimizers", nargs="+", default=["farthing", "random", "TPESampler", "GPSampler"])
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.seeds, arguments.seconds = 3, [0.001, 0.1, 1.0]
    runners = {}
    for name in arguments.optimizers:
        runners[name] = {"farthing": farthing_run, "random": random_run}.get(name) or optuna_run(name)
        warm_up(runners[name])
    rows = []
    for task in arguments.tasks:
        for seconds in arguments.seconds:
            for name, run in runners.items():
                runs = []
                for seed in range(arguments.seeds):
                    course = Course(build(task, 0), seconds)
                    run(course, seed)
                    runs.append(course.summary())
                rows.append(row(task, seconds, name, runs))
                print(shown(rows[-1]), flush=True)
    print("farthing is behind nowhere" if not behind(rows) else "\n".join(["farthing is behind:", *behind(rows)]))
    if not arguments.quick:
        RESULTS.mkdir(exist_ok=True)
        versions = {"farthing": farthing_version(), "python": platform.python_version(), "numpy": np.__version__}
        summary = {**versions, "behind": behind(rows), "rows": rows}
        (RESULTS / "effort.json").write_text(json.dumps(summary, indent=1))


if __name__ == "__main__":
    main()
