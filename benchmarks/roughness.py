"""What roughness changes: the recommendation without it against the best place tried, where the objective is taken for rough.

    python -m benchmarks.roughness --runs DIR [DIR ...] [--data DIR] [--note TEXT]

DIR/TASK/farthing/SEED.jsonl are runs recorded by `python -m benchmarks.peers`; roughness changes no proposal. At shares of the
budget the surrogate is fitted anew to what was known then, for what would be recommended if nothing were rough. Where it says that
the objective is rough, the lowest value seen at full fidelity is recommended in its place. The noisy task is left out. Writes
benchmarks/results/roughness.json.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.density import recorded
from benchmarks.peers import tasks
from benchmarks.peers.problem import Task
from benchmarks.peers.summary import MARKS, SLACK
from benchmarks.recommendations import group_of, halfway, known_after
from farthing.method.roughness import is_rough
from farthing.settings import Settings

RESULTS = Path(__file__).parent / "results" / "roughness.json"


def at_mark(task: Task, seed: int, records: list[dict[str, Any]], mark: float) -> tuple[bool, float, float] | None:
    """Whether the objective is taken for rough, and the regrets of what would be recommended if nothing were rough and of the best
    place tried, not below the task's floor; None before the first recommendation.
    """
    told = [r for r in records if "regret" in r and r["spent"] + r["thinking"] <= (mark + SLACK) * task.budget]
    if not told:
        return None
    made = [r for r in records if r["step"] <= told[-1]["step"]]
    known = known_after(task, seed, made)
    rough = is_rough(known.history, known.beliefs.surrogate, Settings(repeatable=1.0))
    regret = task.regret(known.history.space.params(halfway(1.0, known)))
    tried = min((r["value"] - task.minimum for r in made if r["fidelity"] == task.fidelity.full), default=regret)
    floor = tasks.floor(task.name)
    return rough, max(regret, floor), max(tried, floor)


def summarize(found: dict[tuple[str, float], list[tuple[bool, float, float]]]) -> list[dict[str, Any]]:
    """By group and mark: runs, how many were rough, how the natural log of regret would differ, and the medians."""
    rows = []
    for (group, mark), these in sorted(found.items()):
        without = np.array([regret for _, regret, _ in these])
        now = np.array([tried if rough else regret for rough, regret, tried in these])
        apart = np.log(now / without)
        rows.append(
            {
                "group": group,
                "mark": mark,
                "runs": len(these),
                "rough": sum(rough for rough, _, _ in these),
                "difference": round(float(apart.mean()), 3),
                "error": round(float(apart.std(ddof=1) / np.sqrt(len(apart))), 3) if len(apart) > 1 else None,
                "lower": int((apart < 0.0).sum()),
                "higher": int((apart > 0.0).sum()),
                "medians": [float(f"{np.median(regrets):.3g}") for regrets in (without, now)],
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, nargs="+", required=True)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--note", default="", help="what is to be known of the runs")
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    data = tasks.data_folder(arguments.data)
    found: dict[tuple[str, float], list[tuple[bool, float, float]]] = {}
    for name, seed, records in recorded(arguments.runs, data):
        if name == "noisy":
            continue
        task, group = tasks.make_task(name, seed, data), name if name in tasks.TRAINING else group_of(name)
        for mark in MARKS:
            if (seen := at_mark(task, seed, records, mark)) is not None:
                found.setdefault((group, mark), []).append(seen)
        print(f"{name} {seed}", flush=True)
    arguments.results.write_text(json.dumps({"note": arguments.note, "rows": summarize(found)}, indent=1) + "\n")
    print(f"written to {arguments.results}. Next: python -m benchmarks.report")


if __name__ == "__main__":
    main()
