"""How much faster this machine is than the one that recorded runs were made on: the factor for `--speed`.

    python -m benchmarks.peers --tasks svc boosting mlp --peers random --seeds 2 --out FOLDER
    python -m benchmarks.peers.speed --runs FOLDER

The random peer proposes the same points with the same seed, and the training tasks cost real seconds. So the seconds that its
first evaluations took, as many as were recorded, are compared with the seconds that were recorded for them, run by run.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from benchmarks.peers import tasks
from benchmarks.peers.run import is_complete
from benchmarks.peers.summary import RESULTS, Run, read_records


def factors(folder: Path, recorded: Iterable[Run]) -> dict[tuple[str, int], float]:
    """By task and seed of the runs of both: recorded seconds of their common evaluations over those taken here."""
    found = {}
    for run in recorded:
        path = folder / run.task / run.peer / f"{run.seed}.jsonl"
        if run.peer != "random" or run.task not in tasks.TRAINING or not is_complete(path):
            continue
        header, *records = (json.loads(line) for line in path.read_text().splitlines())
        counted = {record["step"]: record["spent"] for record in records if "step" in record}
        if run.steps in counted:
            found[run.task, run.seed] = run.seconds["evaluations"] / (counted[run.steps] / header["speed"])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, required=True, help="where runs of the random peer were made here")
    parser.add_argument("--recorded", type=Path, default=RESULTS.with_name("peers_runs.jsonl"))
    arguments = parser.parse_args()
    found = factors(arguments.runs, read_records(arguments.recorded))
    if not found:
        sys.exit(f"{arguments.runs} has no run of the random peer that comes as far as one recorded on {', '.join(tasks.TRAINING)}")
    for (task, seed), factor in found.items():
        print(f"{task} {seed}: {factor:.2f}")
    print(f"--speed {np.exp(np.mean(np.log(list(found.values())))):.2f}")


if __name__ == "__main__":
    main()
