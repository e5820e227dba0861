"""How well costs are foretold: priors of the cost model side by side on recorded runs.

    python -m benchmarks.costs --runs DIR [DIR ...] [--data DIR]

DIR/TASK/farthing/SEED.jsonl are runs recorded by `python -m benchmarks.peers`. After some of their evaluations the cost of the next
one, and of a hundred random places at random fidelities where costs are simulated, is foretold from the costs so far. The next one
was chosen, in part for being cheap, so that a model which mistakes chance for slopes is too low there. Writes
benchmarks/results/costs.json.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.density import recorded
from benchmarks.peers import tasks
from benchmarks.peers.farthing_peers import EnvPES
from benchmarks.peers.problem import Task
from benchmarks.recommendations import group_of
from experiments.runs import farthing_version
from farthing.method import cost
from farthing.method.cost import fit_cost

RESULTS = Path(__file__).parent / "results" / "costs.json"
RANGES = ((10, 12), (13, 20), (21, 40))
"""Numbers of evaluations, from and to, that are told together."""

AFTER = (10, 11, 12, 13, 14, 16, 18, 20, 24, 30, 40)
PLACES = 100

FORMER = {"LOG_VARIANCE": (np.log(0.02), 1.5), "SLOPE": (0.0, 1.0), "LOG_NOISE": (np.log(1e-4), 2.5)}
"""Priors that farthing had before."""

PRIORS: dict[str, dict[str, tuple[float, float]]] = {
    "farthing": {},
    "farthing's before": FORMER,
    "slopes of sd 1": {"SLOPE": (0.0, 1.0)},
    "slopes of sd 0.3": {"SLOPE": (0.0, 0.3)},
    "process of variance 0.2": {"LOG_VARIANCE": (np.log(0.2), 0.7)},
}
"""Priors of method/cost.py that differ from what they are."""


def errors(task: Task, records: list[dict[str, Any]]) -> Iterator[tuple[str, str, int, float]]:
    """Priors, "next" or "random", number of evaluations, and log of the true cost less that of the predicted one."""
    study = EnvPES(task, 0)._study
    rng = np.random.default_rng(0)
    for n, record in enumerate(records[: AFTER[-1] + 1]):
        if n in AFTER:
            asked = {"next": [(record["params"], record["fidelity"], record["cost"])]}
            if task.cost is not None:
                units = [(task.params(u[:-1]), task.fidelity.value(u[-1])) for u in rng.random((PLACES, task.dimensions + 1))]
                asked["random"] = [(params, fidelity, task.cost(params, fidelity)) for params, fidelity in units]
            history = study.history
            for name, priors in PRIORS.items():
                with _in_force(priors):
                    model = fit_cost(history, study.settings.growth)
                for kind, told in asked.items():
                    params, fidelities, costs = zip(*told, strict=True)
                    x, s = history.space.unit_points(list(params)), history.space.unit_fidelities(list(fidelities))
                    for error in np.log(np.array(costs)) - np.log(model(np.column_stack([x, s]))):
                        yield name, kind, n, float(error)
        study.add(record["params"], record["value"], fidelity=record["fidelity"], cost=record["cost"])


def _in_force(priors: dict[str, tuple[float, float]]) -> AbstractContextManager[Any]:
    return patch.multiple(cost, **priors) if priors else nullcontext()


def summarize(found: dict[tuple[str, str, str, int], list[float]]) -> list[dict[str, Any]]:
    """Root mean square and mean of the errors by group of tasks, priors, kind and range of n."""
    rows = []
    for group in dict.fromkeys(key[0] for key in found):
        for name in PRIORS:
            for kind in ("next", "random"):
                for first, last in RANGES:
                    all_of_it = [
                        e
                        for (g, p, k, n), these in found.items()
                        for e in these
                        if (g, p, k) == (group, name, kind) and first <= n <= last
                    ]
                    if all_of_it:
                        e = np.array(all_of_it)
                        row = {"group": group, "priors": name, "kind": kind, "from": first, "to": last, "count": len(e)}
                        rows.append(row | {"rms": round(float(np.sqrt((e**2).mean())), 3), "mean": round(float(e.mean()), 3)})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, nargs="+", required=True)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    data = tasks.data_folder(arguments.data)
    found: dict[tuple[str, str, str, int], list[float]] = {}
    runs: dict[str, int] = {}
    for name, seed, records in recorded(arguments.runs, data):
        group = group_of(name)
        runs[group] = runs.get(group, 0) + 1
        for priors, kind, n, error in errors(tasks.make_task(name, seed, data), records):
            found.setdefault((group, priors, kind, n), []).append(error)
        print(f"{name} {seed}", flush=True)
    summary = {"farthing": farthing_version(), "runs": runs, "rows": summarize(found)}
    arguments.results.write_text(json.dumps(summary, indent=1) + "\n")
    print(f"written to {arguments.results}. Next: python -m benchmarks.report")


if __name__ == "__main__":
    main()
