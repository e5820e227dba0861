"""Regret at shares of the budget: from the records of runs to the numbers that are kept, and from these to quartiles and tests."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from experiments.problem import Array
from experiments.runs import Record

TENTHS = tuple(i / 10 for i in range(1, 11))
TWENTIETHS = tuple(i / 20 for i in range(1, 21))

FLOOR = 1e-9
"""Regrets below this are told as this: minima are known to some ten digits."""

NONE = 1e-6
"""Regrets below this are none where runs are compared: which of two is closer in the seventh digit is of no interest."""

SLACK = 1e-9
"""Of the budget: a recommendation made at a share of it belongs to that share."""

CLEAR = 0.01
"""A difference is clear where a one-sided Mann-Whitney test gives it less than this chance by accident."""

Summary = dict[str, Any]
"""What is kept of an experiment, in experiments/results: see `summarize`."""

Curve = list[float | None]
"""Regret of one run at each share; None before the first recommendation."""


def curve(result: Mapping[str, Any], clock: str, shares: Sequence[float], minimum: float, key: str = "truth") -> Curve:
    """Regret of the last recommendation made by each share of the budget. clock: "evaluations", "total" or "steps".

    key "seen": of the lowest value seen instead, for runs by steps at full fidelity.
    """
    if key == "seen":
        times, values = list(range(1, len(result["seen"]) + 1)), result["seen"]
    else:
        values = result["truth"]
        spent, thought = result["spent"], result["thought"]
        times = {"evaluations": spent, "total": np.add(spent, thought), "steps": result["after"]}[clock]
    out: Curve = []
    for share in shares:
        made = [v for at, v in zip(times, values, strict=True) if at <= (share + SLACK) * result["budget"]]
        out.append(short(max(made[-1] - minimum, 0.0)) if made else None)
    return out


def best_known(records: Sequence[Record]) -> float:
    """The lowest value of any recommendation, where no run knows the minimum."""
    return float(min(v for r in records for v in r["result"]["truth"] if v is not None))


def summarize(records: Sequence[Record], clocks: Sequence[str], shares: Sequence[float]) -> Summary:
    """What is kept: regrets of every run at the shares on each clock, evaluations, overhead; and what was run.

    In the order in which tasks and contenders come in the records.
    """
    tasks: dict[str, dict[str, list[Record]]] = {}
    for record in records:
        tasks.setdefault(record["job"]["task"], {}).setdefault(record["job"]["contender"], []).append(record)
    return {
        **what_was_run(records),
        "clocks": list(clocks),
        "shares": list(shares),
        "tasks": {task: _task(cells, clocks, shares) for task, cells in tasks.items()},
    }


def _task(cells: Mapping[str, Sequence[Record]], clocks: Sequence[str], shares: Sequence[float]) -> dict[str, Any]:
    everything = [record for records in cells.values() for record in records]
    known = all(record["result"]["minimum"] is not None for record in everything)
    lowest = None if known else best_known(everything)
    return {
        "budget": everything[0]["result"]["budget"],
        "best_known": lowest,
        "contenders": {name: _cell(records, clocks, shares, lowest) for name, records in cells.items()},
    }


def _cell(records: Sequence[Record], clocks: Sequence[str], shares: Sequence[float], lowest: float | None) -> dict[str, Any]:
    results = [record["result"] for record in records]
    minima = [result["minimum"] if lowest is None else lowest for result in results]
    pairs = list(zip(results, minima, strict=True))
    cell: dict[str, Any] = {
        "seeds": [record["job"]["seed"] for record in records],
        "evaluations": [len(result["cost"]) for result in results],
        "overhead": [short(sum(result["overhead"]) / len(result["overhead"])) for result in results],
        "regret": {clock: [curve(result, clock, shares, minimum) for result, minimum in pairs] for clock in clocks},
    }
    if all(result["seen"] is not None for result in results):
        cell["seen"] = [curve(result, "steps", shares, minimum, "seen") for result, minimum in pairs]
    return cell


def what_was_run(records: Sequence[Record]) -> dict[str, Any]:
    """Scale, versions and cores of the runs; several where they differ."""
    versions: dict[str, set[str]] = {}
    for record in records:
        for package, version in record["versions"].items():
            versions.setdefault(package, set()).add(version)
    return {
        "scale": records[0]["job"]["scale"],
        "versions": {package: " and ".join(sorted(found)) for package, found in versions.items()},
        "cores": " and ".join(str(cores) for cores in sorted({record["cores"] for record in records})),
        "core_minutes": round(sum(record["seconds"] for record in records) / 60.0, 1),
    }


def short(value: float) -> float:
    """Four digits."""
    return float(f"{value:.4g}") if math.isfinite(value) else value


# From what is kept ------------------------------------------------------------------------------------------------------------


def at(curves: Sequence[Curve], index: int, least: float = NONE) -> Array:
    """(runs,) regrets at one share, infinite before the first recommendation, and never below `least`."""
    return np.array([math.inf if c[index] is None else max(c[index] or 0.0, least) for c in curves])


def quartiles(curves: Sequence[Curve], index: int) -> tuple[float, float, float]:
    """Lower quartile, median and upper quartile over runs; infinite where that is before the first recommendation."""
    values = np.sort(at(curves, index, FLOOR))
    low, _, high = np.percentile(values, [25, 50, 75], method="nearest")
    return float(low), median(values), float(high)


def median(values: Array) -> float:
    ordered = np.sort(values)
    middle = len(ordered) // 2
    return float(ordered[middle]) if len(ordered) % 2 else float(0.5 * ordered[middle - 1] + 0.5 * ordered[middle])


def clearly_lower(ours: Array, theirs: Array) -> bool:
    """Whether our regrets are lower than theirs by more than accident."""
    if median(ours) >= median(theirs):
        return False
    from scipy.stats import mannwhitneyu

    ranks = np.unique(np.concatenate([ours, theirs]), return_inverse=True)[1]  # a test of ranks, some of them infinite
    found = mannwhitneyu(ranks[: len(ours)], ranks[len(ours) :], alternative="less")
    return bool(found.pvalue < CLEAR)
