"""What the runs say, small enough to be kept: regret at shares of the budget on both clocks, seeds, steps, overhead, ends.

    python -m benchmarks.peers.summary [--runs .peers/runs] [--out benchmarks/results/peers.json] [--keep] [--note TEXT]

A clock shows evaluation cost alone, or evaluation cost and overhead. At a share of the budget counts the last recommendation made
by then, also where a run had ended before: by its wall limit, or, on the clock of evaluations alone, because overhead had used up
the rest. Ranks, tables and the plot are made of the file alone, by `standings.py`, `document.py` and `plot.py`.

Runs take days, and are not all made at once or on one machine. So the regrets of every run are recorded beside the file, a line a
run, and with --keep recorded runs count as those here do: but for the same peer, task and seed, and those of the same peer and task
with other versions, which runs made here replace. Of peers and tasks without any runs, what the file says stays.

A run's regrets are above the minimum that was known when it was made. Where a lower one has been found since (references.json),
they are told above that.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers import environments, tasks
from benchmarks.peers.interface import PEERS
from benchmarks.peers.run import is_complete

RESULTS = environments.ROOT / "benchmarks" / "results" / "peers.json"
RUNS = environments.FOLDER / "runs"

CLOCKS = ("total", "evaluations")
MARKS = (0.1, 0.25, 0.5, 1.0)
SHARES = tuple(i / 20 for i in range(1, 21))
"""Of the curve that is plotted, on the total clock."""

SLACK = 1e-3
"""Of the budget: where it is a multiple of what evaluations cost, a second of overhead is not to count like one of them."""

OURS, OUR_EI = "farthing", "farthing-ei"


@dataclass(frozen=True)
class Run:
    """One run, read from its file.

    minimum: what regrets are above; spent, thinking: cumulative seconds when each regret was known; steps: how many were made.
    """

    peer: str
    task: str
    seed: int
    budget: float
    minimum: float
    wall: float
    versions: dict[str, str]
    spent: np.ndarray
    thinking: np.ndarray
    regrets: np.ndarray
    steps: int
    seconds: dict[str, float]
    ended: str
    reason: str

    @classmethod
    def read(cls, path: Path) -> Run:
        header, *records = (json.loads(line) for line in path.read_text().splitlines())
        made = [record for record in records if "step" in record]
        told = [record for record in made if "regret" in record]
        spent, thinking = (made[-1][key] if made else 0.0 for key in ("spent", "thinking"))
        return cls(
            header["peer"],
            header["task"],
            header["seed"],
            header["budget"],
            header["minimum"],
            header["wall"],
            header["versions"],
            np.array([record["spent"] for record in told]),
            np.array([record["thinking"] for record in told]),
            np.array([record["regret"] for record in told]),
            len(made),
            {"evaluations": spent, "total": spent + thinking, "overhead": thinking},
            records[-1]["ended"],
            records[-1].get("reason", ""),
        )

    def record(self) -> dict[str, Any]:
        """The run in short, ready for JSON: where the regret of its recommendation changes.

        Regrets to five digits, times to a microsecond: a recommendation made just after a share of the budget is not to count as
        made before it.
        """
        changes = np.flatnonzero(np.diff(self.regrets, prepend=np.inf))
        told = {name: [round(float(v), 6) for v in getattr(self, name)[changes]] for name in ("spent", "thinking")}
        told["regrets"] = [float(f"{v:.5g}") for v in self.regrets[changes]]
        return {field.name: getattr(self, field.name) for field in fields(self)} | told

    @classmethod
    def recorded(cls, record: dict[str, Any]) -> Run:
        return cls(**record | {name: np.array(record[name]) for name in ("spent", "thinking", "regrets")})

    def above(self, minimum: float) -> Run:
        """The same run with regrets above another minimum."""
        return replace(self, minimum=minimum, regrets=self.regrets + (self.minimum - minimum))

    def regret_at(self, share: float, clock: str) -> float:
        """Regret of the last recommendation made by a share of the budget; infinite before the first."""
        time = self.spent if clock == "evaluations" else self.spent + self.thinking
        made = self.regrets[time <= (share + SLACK) * self.budget]
        return float(made[-1]) if len(made) else np.inf

    def was_cut(self, share: float, clock: str) -> bool:
        """Whether it was stopped, or failed, before it came to a share of the budget."""
        return self.ended != "budget" and self.seconds[clock] < share * self.budget


def read_runs(folder: Path) -> list[Run]:
    """All complete runs in a folder, of the peers and tasks that there are."""
    found = (Run.read(path) for path in sorted(folder.glob("*/*/*.jsonl")) if is_complete(path))
    return [run for run in found if run.peer in PEERS and run.task in tasks.NAMES]


def joined(recorded: list[Run], made: list[Run]) -> list[Run]:
    """Runs made here and recorded ones that they do not replace, in order."""
    here = {(run.task, run.peer, run.seed) for run in made}
    versions = {(run.task, run.peer): run.versions for run in made}
    stay = [
        run
        for run in recorded
        if (run.task, run.peer, run.seed) not in here and versions.get((run.task, run.peer), run.versions) == run.versions
    ]
    return sorted([*stay, *made], key=lambda run: (tasks.NAMES.index(run.task), list(PEERS).index(run.peer), run.seed))


def read_records(path: Path) -> list[Run]:
    """Runs recorded beside a summary."""
    return [Run.recorded(json.loads(line)) for line in path.read_text().splitlines()] if path.exists() else []


def above_known(runs: list[Run]) -> list[Run]:
    """The runs with regrets above the minima that are known now."""
    known = tasks.reference_minima()
    return [run.above(known[run.task]) if run.task in known else run for run in runs]


def quartiles(runs: Iterable[Run], share: float, clock: str) -> list[float | None]:
    """Lower quartile, median and upper quartile of the regrets; None where that is before the first recommendation."""
    regrets = np.sort([run.regret_at(share, clock) for run in runs])
    # Of the nearest rank, since there may be infinite ones among them.
    found = np.percentile(regrets, [25, 50, 75], method="nearest")
    if len(regrets) % 2 == 0:
        found[1] = regrets[len(regrets) // 2 - 1 : len(regrets) // 2 + 1].mean()
    return [_short(value) for value in found]


def _short(value: float) -> float | None:
    return float(f"{value:.4g}") if np.isfinite(value) else None


def summarize(runs: list[Run], kept: dict[str, Any] | None = None) -> dict[str, Any]:
    """Everything that is told of the runs, ready for JSON; cells are in the order of peers and tasks.

    kept: a summary whose cells stay where there are no runs.
    """
    before = kept["tasks"] if kept else {}
    found: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        found.setdefault((run.task, run.peer), []).append(run)
    cells = {(name, peer): cell for name, task in before.items() for peer, cell in task["peers"].items()}
    cells |= {key: _cell(these) for key, these in found.items()}
    peers = [peer for peer in PEERS if any(other == peer for _, other in cells)]
    versions = (kept["versions"] if kept else {}) | {run.peer: run.versions for run in reversed(runs)}
    budgets = {name: task["budget"] for name, task in before.items()} | {run.task: run.budget for run in runs}
    return {
        "marks": MARKS,
        "shares": SHARES,
        "versions": {peer: versions[peer] for peer in peers},
        "tasks": {
            name: {
                "budget": budgets[name],
                "floor": tasks.floor(name),
                "peers": {peer: cells[name, peer] for peer in peers if (name, peer) in cells},
            }
            for name in tasks.NAMES
            if name in budgets
        },
    }


def _cell(these: list[Run]) -> dict[str, Any]:
    failures = sorted({run.reason for run in these if run.ended == "failed"})
    steps = sum(run.steps for run in these)
    return {
        "seeds": len(these),
        "steps": float(np.median([run.steps for run in these])),
        "overhead": _short(sum(run.seconds["overhead"] for run in these) / steps) if steps else None,
        "wall": sorted({run.wall for run in these}),
        "stopped": sum(run.ended == "wall" for run in these),
        "failed": sum(run.ended == "failed" for run in these),
        **({"failures": failures} if failures else {}),
        **{clock: [quartiles(these, mark, clock) for mark in MARKS] for clock in CLOCKS},
        "cut": {clock: [sum(run.was_cut(mark, clock) for run in these) for mark in MARKS] for clock in CLOCKS},
        "curve": [quartiles(these, share, "total")[1] for share in SHARES],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, default=RUNS)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--keep", action="store_true", help="count recorded runs too, and keep the rest of the file")
    parser.add_argument("--note", help="what the documentation should say of these runs")
    arguments = parser.parse_args()
    made, records = read_runs(arguments.runs), arguments.out.with_name(f"{arguments.out.stem}_runs.jsonl")
    runs = above_known(joined(read_records(records) if arguments.keep else [], made))
    if not made:
        parser.error(f"there are no complete runs in {arguments.runs}; make them with python -m benchmarks.peers")
    kept = json.loads(arguments.out.read_text()) if arguments.keep and arguments.out.exists() else None
    summary = summarize(runs, kept) | ({"note": arguments.note} if arguments.note else {})
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(summary, separators=(",", ":"), allow_nan=False) + "\n")
    records.write_text("".join(json.dumps(run.record(), separators=(",", ":"), allow_nan=False) + "\n" for run in runs))
    for name, task in summary["tasks"].items():
        for peer, cell in task["peers"].items():
            for reason in cell.get("failures", ()):
                print(f"{name} {peer}: {cell['failed']} of {cell['seeds']} failed: {reason}")
    print(f"{len(made)} runs here, {len(runs)} in all; written to {arguments.out}. Next: python -m benchmarks.report")


if __name__ == "__main__":
    main()
