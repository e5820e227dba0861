"""Find the reference minima of the tasks whose minimum has no formula, and write references.json.

    .peers/farthing/bin/python -m benchmarks.peers.references --data DIR [--tasks ...] [--runs .peers/runs]

LCBench: the best of 100,000 random configurations at full fidelity, refined by random steps that shrink; median costs of the
random ones. Trained models: the best of 300 configurations, then 120 steps from each of the best six; 3 to 20 minutes a
task. Seeds are fixed. With --runs, what a recorded run has evaluated or recommended at full fidelity counts where it is lower
still: trained models are rough, and eleven optimizers see more of them than one search. Tasks that are not named keep what they
have.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from benchmarks.peers import lcbench, tasks, training
from benchmarks.peers.problem import Axis, Params

CONFIGURATIONS = 100_000
"""Of LCBench."""

RANDOM, STARTS, STEPS = 300, 6, 120
"""Of trained models: configurations, the best of them from which steps are made, and steps from each."""


def from_units(axes: tuple[Axis, ...], units: np.ndarray) -> np.ndarray:
    """Unit points (n, d) -> the user's numbers (n, d)."""
    return np.array([[axis.value(u) for axis, u in zip(axes, unit, strict=True)] for unit in units])


def lcbench_reference(name: str, data: Path) -> dict:
    predict = lcbench.surrogate(data, name.removeprefix("lcbench-"))
    rng = np.random.default_rng(0)

    def at(units: np.ndarray, epoch: float) -> np.ndarray:
        return predict(np.column_stack([np.full(len(units), epoch), from_units(lcbench.AXES, units)]))

    units = rng.random((CONFIGURATIONS, len(lcbench.AXES)))
    found = at(units, lcbench.EPOCHS.full)
    order = np.argsort(found[:, 0])[:50]
    best, errors = units[order], found[order, 0]
    for width in np.geomspace(0.2, 1e-4, 80):
        steps = width * rng.standard_normal((30, *best.shape)) * (rng.random((30, *best.shape)) < 0.5)
        trials = np.clip(best + steps, 0.0, 1.0)
        values = at(trials.reshape(-1, best.shape[1]), lcbench.EPOCHS.full)[:, 0].reshape(30, len(best))
        winner = values.argmin(axis=0)
        better = values.min(axis=0) < errors
        best = np.where(better[:, None], trials[winner, np.arange(len(best))], best)
        errors = np.where(better, values.min(axis=0), errors)
    chosen = best[errors.argmin()]
    return {
        "minimum": float(errors.min()),
        "best_random": float(found[:, 0].min()),
        "median_cost_cheap": float(np.median(at(units[:5000], lcbench.EPOCHS.cheap)[:, 1])),
        "median_cost_full": float(np.median(found[:, 1])),
        "minimizer": {axis.name: axis.value(u) for axis, u in zip(lcbench.AXES, chosen, strict=True)},
    }


def training_reference(name: str) -> dict:
    axes, fidelity, objective, *_ = training.DEFINITIONS[name]
    rng = np.random.default_rng(0)

    def at(unit: np.ndarray) -> float:
        return objective({axis.name: axis.value(u) for axis, u in zip(axes, unit, strict=True)}, fidelity.full)

    units = rng.random((RANDOM, len(axes)))
    values = np.array([at(unit) for unit in units])
    order = np.argsort(values)[:STARTS]
    best, lowest = units[order], values[order]
    for width in np.geomspace(0.2, 0.003, STEPS):
        for i in range(STARTS):
            trial = np.clip(best[i] + width * rng.standard_normal(len(axes)) * (rng.random(len(axes)) < 0.7), 0.0, 1.0)
            found = at(trial)
            if found <= lowest[i]:
                best[i], lowest[i] = trial, found
    winner = int(np.argmin(lowest))
    return {
        "minimum": float(lowest[winner]),
        "best_random": float(values.min()),
        "minimizer": {axis.name: axis.value(u) for axis, u in zip(axes, best[winner], strict=True)},
    }


def lowest_of_runs(folder: Path, name: str) -> tuple[float, Params]:
    """The lowest value at full fidelity that any run on a task in a folder has evaluated or recommended, and where it is."""
    full = training.DEFINITIONS[name][1].full
    lowest: tuple[float, Params] = (np.inf, {})
    for path in sorted(folder.glob(f"{name}/*/*.jsonl")):
        header, *records = (json.loads(line) for line in path.read_text().splitlines())
        seen = [(r["value"], r["params"]) for r in records if "value" in r and r["fidelity"] == full]
        seen += [(header["minimum"] + r["regret"], r["recommended"]) for r in records if "regret" in r]
        lowest = min([lowest, *seen], key=lambda pair: pair[0])
    return lowest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the data folder; default: what FARTHING_DATA says")
    names = (*tasks.LCBENCH, *tasks.TRAINING)
    parser.add_argument("--tasks", nargs="+", default=names, choices=names)
    parser.add_argument("--runs", type=Path, help="recorded runs of trained models, which may have found lower values")
    arguments = parser.parse_args()
    data = tasks.data_folder(arguments.data)
    for name in arguments.tasks:
        reason = tasks.missing(name, data)
        if reason is not None:
            print(f"{name} skipped: {reason}")
            continue
        found = training_reference(name) if name in tasks.TRAINING else lcbench_reference(name, data)
        if name in tasks.TRAINING and arguments.runs is not None:
            value, place = lowest_of_runs(arguments.runs, name)
            found |= {"minimum": value, "minimizer": place} if value < found["minimum"] else {}
        known = json.loads(lcbench.REFERENCES.read_text()) if lcbench.REFERENCES.exists() else {}
        lcbench.REFERENCES.write_text(json.dumps(known | {name: found}, indent=1, sort_keys=True) + "\n")
        print(name, found, flush=True)


if __name__ == "__main__":
    main()
