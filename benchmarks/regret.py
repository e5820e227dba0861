"""Regret at equal evaluation cost: farthing's methods on offset Branin and Hartmann 3d.

    python benchmarks/regret.py [--seeds 10] [--hours 10] [--jobs 2] [--tasks branin hartmann3] [--methods envpes pes ei random]

Immediate regret of the recommendation after each evaluation, median over seeds at given hours of (simulated) evaluation cost.
Overhead is real time. Writes benchmarks/results/regret.json and prints the table.
"""

from __future__ import annotations

import argparse
import json
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from tasks import TASKS

import farthing as ft

RESULTS = Path(__file__).parent / "results"


def trace(task_name: str, method: str, seed: int, hours: float) -> dict:
    """One run: hours of evaluation cost spent when each recommendation was made, and its regret."""
    task = TASKS[task_name]
    settings = ft.Settings(overhead_price=1.0, confirm=False)
    study = ft.Study(task.space, fidelity=task.fidelity, method=method, seed=seed, settings=settings)
    study.run(task, budget=hours * 3600.0)
    spent, hours_spent, regrets = 0.0, [], []
    for trial in study.trials:
        if trial.proposal.recommendation is not None:
            hours_spent.append(spent / 3600.0)
            regrets.append(task.regret(trial.proposal.recommendation.params))
        spent += trial.cost
    hours_spent.append(spent / 3600.0)
    regrets.append(task.regret(study.recommend().params))
    overhead = [t.overhead for t in study.trials if t.proposal.kind == "acquisition"]
    return {
        "task": task_name,
        "method": method,
        "seed": seed,
        "hours": hours_spent,
        "regret": regrets,
        "evaluations": len(study.trials),
        "overhead_seconds_per_step": float(np.mean(overhead)),
    }


def regret_at(run: dict, hours: float) -> float:
    """Regret of the last recommendation made by then; infinite before the first."""
    made = [r for h, r in zip(run["hours"], run["regret"], strict=True) if h <= hours]
    return made[-1] if made else np.inf


def table(runs: list[dict], marks: list[float]) -> str:
    lines = [f"{'task':<12}{'method':<10}" + "".join(f"{f'{m:g} h':>12}" for m in marks) + f"{'evaluations':>14}{'s/step':>9}"]
    for task, method in dict.fromkeys((r["task"], r["method"]) for r in runs):
        these = [r for r in runs if (r["task"], r["method"]) == (task, method)]
        medians = [np.median([regret_at(r, m) for r in these]) for m in marks]
        count = np.median([r["evaluations"] for r in these])
        overhead = np.median([r["overhead_seconds_per_step"] for r in these])
        lines.append(f"{task:<12}{method:<10}" + "".join(f"{m:>12.2e}" for m in medians) + f"{count:>14.0f}{overhead:>9.3f}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--hours", type=float, default=10.0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--tasks", nargs="+", default=["branin", "hartmann3"], choices=list(TASKS))
    parser.add_argument("--methods", nargs="+", default=["envpes", "pes", "ei", "random"])
    parser.add_argument("--out", type=Path, default=RESULTS / "regret.json")
    arguments = parser.parse_args()
    jobs = [(t, m, s, arguments.hours) for t in arguments.tasks for m in arguments.methods for s in range(arguments.seeds)]
    with ProcessPoolExecutor(arguments.jobs) as pool:
        runs = list(pool.map(trace, *zip(*jobs, strict=True)))
    arguments.out.parent.mkdir(exist_ok=True)
    arguments.out.write_text(json.dumps(runs))
    print(table(runs, [arguments.hours * share for share in (0.2, 0.5, 1.0)]))
    print(f"written to {arguments.out}")


if __name__ == "__main__":
    main()
