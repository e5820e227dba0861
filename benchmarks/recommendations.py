"""What to recommend: rules side by side on recorded runs, by the true regret of what each would have recommended.

    python -m benchmarks.recommendations --runs DIR [DIR ...] [--data DIR]

DIR/TASK/farthing/SEED.jsonl are runs recorded by `python -m benchmarks.peers`. Beliefs are formed anew from what was evaluated by
10, 25, 50 and 100% of the budget, overhead included, and every rule is asked for a place. The runs are the same for all rules, and
what to evaluate does not depend on them. Writes benchmarks/results/recommendations.json.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy.special import ndtr

from benchmarks.density import recorded
from benchmarks.peers import tasks
from benchmarks.peers.farthing_peers import EnvPES
from benchmarks.peers.problem import Task
from benchmarks.peers.summary import MARKS, SLACK
from farthing.method import recommend as recommending
from farthing.method.beliefs import Beliefs
from farthing.method.effort import NORMAL, Tally
from farthing.method.recommend import recommend
from farthing.numerics.kernels import Probes
from farthing.settings import Settings
from farthing.trials import History

RESULTS = Path(__file__).parent / "results" / "recommendations.json"

FEWEST = 4
"""Evaluations before which there is nothing to compare."""

Array = np.ndarray


@dataclass(frozen=True)
class Known:
    """What a rule goes by. at_full: (n, d) places evaluated at full fidelity, with their values; at_any: places at any fidelity."""

    history: History
    beliefs: Beliefs
    at_any: Array
    at_full: Array
    values: Array

    @classmethod
    def of(cls, history: History, beliefs: Beliefs) -> Known:
        d = beliefs.surrogate.dimensions
        full = (history.points[:, d:] == 0.0).all(axis=1)
        return cls(history, beliefs, np.unique(history.points[:, :d], axis=0), history.points[full, :d], history.values[full])

    def mean(self, x: Array) -> Array:
        return self.beliefs.surrogate.mixture(x)[0]

    def chance(self, x: Array, other: Array) -> float:
        """That the objective is lower at one place than at another."""
        surrogate = self.beliefs.surrogate
        mean, covariance = surrogate.process.predict(Probes.values(surrogate.at_full_fidelity(np.stack([x, other]))))
        variance = covariance[:, 0, 0] + covariance[:, 1, 1] - 2.0 * covariance[:, 0, 1]
        return float(surrogate.weights @ ndtr((mean[:, 1] - mean[:, 0]) / np.sqrt(np.maximum(variance, 1e-300))))


def posterior_minimum(known: Known) -> Array:
    return known.beliefs.minima.x[0]


def halfway(repeatable: float, known: Known) -> Array:
    """farthing's own rule for objectives that are not rough, by how likely one is to give the same value again."""
    beliefs, space = known.beliefs, known.history.space
    with patch.object(recommending, "is_rough", return_value=False):
        best = recommend(known.history, beliefs.surrogate, beliefs.minima, Settings(repeatable=repeatable))
    return space.unit_points([best.params])[0]


def wary(known: Known) -> Array:
    """farthing's own rule after a check that disappointed."""
    with patch.object(recommending, "is_disappointed", return_value=True):
        return halfway(Settings().repeatable, known)


def best_at_any(known: Known) -> Array:
    return known.at_any[np.argmin(known.mean(known.at_any))]


def best_at_full(known: Known) -> Array:
    if not len(known.at_full):
        return posterior_minimum(known)
    return known.at_full[np.argmin(known.mean(known.at_full))]


def lowest_at_full(known: Known) -> Array:
    return known.at_full[np.argmin(known.values)] if len(known.at_full) else posterior_minimum(known)


def cautious(known: Known) -> Array:
    places = np.concatenate([known.beliefs.minima.x, known.at_any])
    mean, variance = known.beliefs.surrogate.mixture(places)
    return places[np.argmin(mean + np.sqrt(variance))]


def if_likely(chance: float, tried: Callable[[Known], Array], known: Known) -> Array:
    untried, place = posterior_minimum(known), tried(known)
    return untried if known.chance(untried, place) >= chance else place


RULES: dict[str, Callable[[Known], Array]] = {
    "posterior minimum": posterior_minimum,
    "the same, or a place tried whose mean and value, in parts of 3 : 1, are lower": partial(halfway, 0.25),
    "in equal parts (farthing)": partial(halfway, 0.5),
    "in equal parts, and the posterior minimum only if it is better with a chance of 80% (farthing after a disappointment)": wary,
    "the value alone": partial(halfway, 1.0),
    "lowest mean plus one sd": cautious,
    "lowest mean among places evaluated at any fidelity": best_at_any,
    "lowest mean among places evaluated at full fidelity": best_at_full,
    "lowest value at full fidelity": lowest_at_full,
    "posterior minimum if that is better than the lowest mean at full fidelity with a chance of 80%": partial(
        if_likely, 0.8, best_at_full
    ),
    "the same, 90%": partial(if_likely, 0.9, best_at_full),
    "the same, 97.5%": partial(if_likely, 0.975, best_at_full),
    "posterior minimum if that is better than the lowest mean at any fidelity with a chance of 80%": partial(
        if_likely, 0.8, best_at_any
    ),
}
DEFAULT = next(iter(RULES))


def known_after(task: Task, seed: int, records: list[dict[str, Any]]) -> Known:
    """What is known after these evaluations."""
    peer = EnvPES(task, seed)
    for record in records:
        peer.observe(record["params"], record["fidelity"], record["value"], record["cost"])
    study = peer._study
    history, thinking = study.history, study._thinking
    beliefs = thinking.believe(thinking.situation(history, Tally.of(history.space, history.trials), None, NORMAL))
    assert beliefs is not None
    return Known.of(history, beliefs)


def regrets(task: Task, seed: int, records: list[dict[str, Any]]) -> dict[str, float]:
    """True regret, not below the task's floor, of what each rule recommends after these evaluations."""
    known = known_after(task, seed, records)
    space = known.beliefs.surrogate.space
    return {name: max(task.regret(space.params(rule(known))), tasks.floor(task.name)) for name, rule in RULES.items()}


def group_of(name: str) -> str:
    return "LCBench" if name in tasks.LCBENCH else "training" if name in tasks.TRAINING else "simulated"


def summarize(found: dict[tuple[str, str, float], list[dict[str, float]]]) -> dict[str, Any]:
    """Mean log10 regret of the default rule by group and mark, over tasks and seeds, and by how much the others are above it."""
    rows = []
    for group in dict.fromkeys(group for group, _, _ in found):
        for mark in MARKS:
            cells = [cell for (g, _, m), these in found.items() if (g, m) == (group, mark) for cell in these]
            logs = {name: np.log10([cell[name] for cell in cells]) for name in RULES}
            rows.append({"group": group, "mark": mark, "runs": len(cells), "default": round(float(logs[DEFAULT].mean()), 3)})
            rows[-1]["above"] = {
                name: [round(float(apart.mean()), 3), round(float(apart.std(ddof=1) / np.sqrt(len(apart))), 3)]
                for name, apart in ((name, logs[name] - logs[DEFAULT]) for name in RULES if name != DEFAULT)
            }
    return {"rows": rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, nargs="+", required=True)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    data = tasks.data_folder(arguments.data)
    found: dict[tuple[str, str, float], list[dict[str, float]]] = {}
    for name, seed, records in recorded(arguments.runs, data):
        task = tasks.make_task(name, seed, data)
        for mark in MARKS:
            made = [r for r in records if r["spent"] + r["thinking"] <= (mark + SLACK) * task.budget]
            if len(made) >= FEWEST:
                found.setdefault((group_of(name), name, mark), []).append(regrets(task, seed, made))
        print(f"{name} {seed}", flush=True)
    arguments.results.write_text(json.dumps(summarize(found), indent=1) + "\n")
    print(f"written to {arguments.results}. Next: python -m benchmarks.report")


if __name__ == "__main__":
    main()
