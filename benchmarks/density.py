"""How well variants of the surrogate foretell: log predictive density of held-out values, on recorded runs.

    python -m benchmarks.density --runs DIR [DIR ...] [--data DIR]

DIR/TASK/farthing/SEED.jsonl are runs recorded by `python -m benchmarks.peers`. The surrogate is fitted anew, with four
sets of draws, to the first 10, 20 and 40 evaluations of each, and asked for the values at full fidelity of places it has not seen:
150 random ones, and the best 60 of 3,000 random ones, where a search is to end. Told of both, as means over runs: the log
predictive density in the user's units (no place counts for less than -50), the root mean square of standardized errors, and the
share of values inside the central 90%.

The variants are no settings of farthing: they are made here, by patching a constant or a method of it while a surrogate is fitted.
The runs are the same for all of them, whatever surrogate they were made with. Writes benchmarks/results/density.json.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy.special import logsumexp, ndtr

from benchmarks.peers import tasks
from benchmarks.peers.farthing_peers import EnvPES
from benchmarks.peers.problem import Params, Task
from benchmarks.peers.run import is_complete
from farthing.method import hyperparameters, standardization
from farthing.method.standardization import Standardization
from farthing.method.surrogate import Surrogate, fit_surrogate
from farthing.threads import one_blas_thread

RESULTS = Path(__file__).parent / "results" / "density.json"

SIZES = (10, 20, 40)
FITS = 4
"""Sets of hyperparameter draws, each from a seed of its own, over which a run's figures are averaged."""

PLACES, ANYWHERE, BEST = 3000, 150, 60
LEAST = -50.0
"""Log density, in nats, below which a place is as badly foretold as can be: one disaster is not to hide the rest."""

MEASURES = ("log_density", "rms", "inside_90")

Patch = Callable[[], AbstractContextManager[Any]]


def lengthscale(median: float, width: float) -> Patch:
    """Another prior of lengthscales: their median on d axes, over the square root of d, and the sd of their natural log."""
    return lambda: patch.object(hyperparameters, "LOG_LENGTHSCALE", (np.log(median), width))


def bend(factor: float) -> Patch:
    """Values above the median are bent over so many times the usual way; 0: not at all."""
    usual_of = Standardization.of

    def of(cls: type[Standardization], values: np.ndarray) -> Standardization:
        usual = usual_of(values)
        bent = standardization._bent(values, usual.knee, factor * usual.bend)
        return cls(float(bent.mean()), float(bent.std()) or 1.0, usual.knee, factor * usual.bend)

    return lambda: patch.object(Standardization, "of", classmethod(of))


def slope(variance: float) -> Patch:
    """Another variance of the mean's slope in s; 0: the paper's constant mean."""
    return lambda: patch.object(hyperparameters, "TREND_VARIANCE", variance)


DEFAULT = "default"
VARIANTS: dict[str, Patch] = {
    DEFAULT: nullcontext,
    "no slope in s": slope(0.0),
    "a slope ten times as wide": slope(100.0),
    "lengthscales 0.2 √d": lengthscale(0.2, 1.0),
    "lengthscales 0.7 √d": lengthscale(0.7, 1.0),
    "lengthscales 1.4 √d": lengthscale(1.4, 1.0),
    "no bend": bend(0.0),
    "bend three times as wide": bend(3.0),
}


@cache
def held_out(name: str, seed: int, data: Path | None) -> tuple[Task, dict[str, tuple[list[Params], np.ndarray]]]:
    """A task, places of it that no surrogate has seen, and what would be observed there at full fidelity."""
    task = tasks.make_task(name, seed, data)
    rng = np.random.default_rng(5)
    params = [task.params(unit) for unit in rng.random((PLACES, task.dimensions))]
    truths = np.array([task.truth(p) for p in params])
    values = truths + task.noise * rng.standard_normal(PLACES)
    chosen = {"random": np.arange(ANYWHERE), "best": np.argsort(truths)[:BEST]}
    return task, {kind: ([params[i] for i in which], values[which]) for kind, which in chosen.items()}


def foretold(name: str, seed: int, data: Path | None, records: list[dict[str, Any]]) -> dict[str, np.ndarray]:
    """What surrogates fitted to recorded evaluations make of held-out places: the measures, at random and at the best ones."""
    task, places = held_out(name, seed, data)
    peer = EnvPES(task, seed)
    for record in records:
        peer.observe(record["params"], record["fidelity"], record["value"], record["cost"])
    study = peer._study
    with one_blas_thread():
        fits = [fit_surrogate(study.history, study.settings, fit) for fit in range(FITS)]
        found = {kind: (study.space.unit_points(params), values) for kind, (params, values) in places.items()}
        return {kind: np.mean([measured(fit, *these) for fit in fits], axis=0) for kind, these in found.items()}


def measured(surrogate: Surrogate, x: np.ndarray, values: np.ndarray) -> list[float]:
    """The measures of a surrogate at places (m, d) whose values at full fidelity are (m,)."""
    means, variances = surrogate.process.marginals(surrogate.at_full_fidelity(x))
    variances = variances + surrogate.noise[:, None]
    weights, y = surrogate.weights[:, None], surrogate.standardization.apply(values)
    # What a standard deviation of 1 becomes is the slope of the standardization.
    log_slope = 0.5 * np.log(surrogate.standardization.apply_noise(np.ones(len(values)), values))
    log_densities = -0.5 * (y - means) ** 2 / variances - 0.5 * np.log(2.0 * np.pi * variances)
    log_density = np.maximum(logsumexp(log_densities, axis=0, b=weights) + log_slope, LEAST)
    mean = (weights * means).sum(axis=0)
    variance = (weights * (variances + (means - mean) ** 2)).sum(axis=0)
    below = (weights * ndtr((y - means) / np.sqrt(variances))).sum(axis=0)
    inside = (below > 0.05) & (below < 0.95)
    return [float(log_density.mean()), float(np.sqrt(((y - mean) ** 2 / variance).mean())), float(inside.mean())]


def recorded(folders: list[Path], data: Path | None) -> Iterator[tuple[str, int, list[dict[str, Any]]]]:
    """Task, seed and evaluations of every complete run of farthing, but, with a word, of tasks that cannot be made here.

    A repeat is left out: farthing's own surrogate does not observe it either.
    """
    for path in sorted(path for folder in folders for path in folder.glob("*/farthing/*.jsonl")):
        if not is_complete(path):
            continue
        header, *records = (json.loads(line) for line in path.read_text().splitlines())
        name, seed = header["task"], header["seed"]
        if (reason := tasks.missing(name, data)) is not None:
            print(f"{name} {seed} left out: {reason}")
            continue
        first = {json.dumps([r["params"], r["fidelity"]]): r for r in reversed(records) if "step" in r}
        yield name, seed, sorted(first.values(), key=lambda record: record["step"])


def summarize(found: dict[tuple[str, str, int], list[dict[str, np.ndarray]]]) -> list[dict[str, Any]]:
    """A row for each variant, group and size: means over runs, and by how much the density is above the default's, paired."""
    rows = []
    for (variant, group, size), runs in found.items():
        row: dict[str, Any] = {"variant": variant, "group": group, "n": size, "runs": len(runs)}
        for kind in ("random", "best"):
            table = np.array([run[kind] for run in runs])
            gains = table[:, 0] - np.array([run[kind][0] for run in found[DEFAULT, group, size]])
            row[kind] = {measure: round(float(v), 3) for measure, v in zip(MEASURES, table.mean(axis=0), strict=True)}
            if variant != DEFAULT:
                row[kind]["gain"] = round(float(gains.mean()), 3)
                row[kind]["error"] = round(float(gains.std(ddof=1) / np.sqrt(len(gains))), 3) if len(gains) > 1 else None
        rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, nargs="+", required=True)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    data = tasks.data_folder(arguments.data)
    found: dict[tuple[str, str, int], list[dict[str, np.ndarray]]] = {}
    counts: dict[str, int] = {}
    for name, seed, records in recorded(arguments.runs, data):
        counts[name] = counts.get(name, 0) + 1
        for variant, changed in VARIANTS.items():
            for size in (size for size in SIZES if size <= len(records)):
                with changed():
                    figures = foretold(name, seed, data, records[:size])
                found.setdefault((variant, "LCBench" if name in tasks.LCBENCH else "others", size), []).append(figures)
        print(f"{name} {seed}: {len(records)} evaluations", flush=True)
    if not found:
        parser.error("there are no complete runs of farthing in these folders; make them with python -m benchmarks.peers")
    summary = {"runs": counts, "rows": summarize(found)}
    arguments.results.write_text(json.dumps(summary, indent=1) + "\n")
    for row in summary["rows"]:
        figures = "   ".join(f"{kind} " + " ".join(f"{row[kind][m]:8.2f}" for m in MEASURES) for kind in ("random", "best"))
        print(f"{row['variant']:<42}{row['group']:<9}n={row['n']:<4}{row['runs']:>3} runs   {figures}")
    print(f"written to {arguments.results}. Next: python -m benchmarks.report")


if __name__ == "__main__":
    main()
