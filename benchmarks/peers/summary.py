"""What the runs say: regret at shares of the budget on both clocks, ranks, wins and losses; as JSON, Markdown and a plot.

    python -m benchmarks.peers.summary [--runs .peers/runs] [--plot FILE]

A clock shows evaluation cost alone, or evaluation cost and overhead. At a share of the budget counts the last recommendation made
by then, also where a run had ended before: by its wall limit, or, on the clock of evaluations alone, because overhead had used up
the rest. Writes benchmarks/results/peers.json and the plot.
"""

from __future__ import annotations

import argparse
import json
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers import environments, tasks
from benchmarks.peers.interface import PEERS
from benchmarks.peers.run import is_complete

RESULTS = environments.ROOT / "benchmarks" / "results"
PLOT = environments.ROOT / "docs" / "peers.svg"
RUNS = environments.FOLDER / "runs"

CLOCKS = {"evaluations": "evaluation cost alone", "total": "evaluation cost and overhead"}
MARKS = (0.1, 0.25, 0.5, 1.0)
FLOOR = 1e-6
"""Regrets below this are the same: there is nothing left to gain."""

SLACK = 1e-3
"""Of the budget: where it is a multiple of what evaluations cost, a second of overhead is not to count like one of them."""

OURS = "farthing"


@dataclass(frozen=True)
class Run:
    """One run, read from its file. spent, thinking: cumulative seconds when each regret was known; shares are of the budget."""

    peer: str
    task: str
    seed: int
    budget: float
    versions: dict[str, str]
    spent: np.ndarray
    thinking: np.ndarray
    regrets: np.ndarray
    steps: int
    overhead: float
    ended: str
    reason: str

    @classmethod
    def read(cls, path: Path) -> Run:
        header, *records = (json.loads(line) for line in path.read_text().splitlines())
        made = [record for record in records if "step" in record]
        told = [record for record in made if "regret" in record]
        return cls(
            header["peer"],
            header["task"],
            header["seed"],
            header["budget"],
            header.get("versions", {}),
            np.array([record["spent"] for record in told]),
            np.array([record["thinking"] for record in told]),
            np.array([record["regret"] for record in told]),
            len(made),
            float(np.mean([record["overhead"] for record in made])) if made else np.nan,
            records[-1]["ended"],
            records[-1].get("reason", ""),
        )

    def regret_at(self, share: float, clock: str) -> float:
        """Regret of the last recommendation made by a share of the budget; infinite before the first."""
        time = self.spent if clock == "evaluations" else self.spent + self.thinking
        made = self.regrets[time <= (share + SLACK) * self.budget]
        return float(made[-1]) if len(made) else np.inf


def read_runs(folder: Path) -> list[Run]:
    """All complete runs in a folder."""
    return [Run.read(path) for path in sorted(folder.glob("*/*/*.jsonl")) if is_complete(path)]


def quartiles(runs: Iterable[Run], share: float, clock: str) -> list[float | None]:
    """Lower quartile, median and upper quartile of the regrets; None where that is before the first recommendation."""
    regrets = np.sort([run.regret_at(share, clock) for run in runs])
    # Of the nearest rank, since there may be infinite ones among them.
    found = np.percentile(regrets, [25, 50, 75], method="nearest")
    if len(regrets) % 2 == 0 and np.isfinite(regrets[len(regrets) // 2]):
        found[1] = regrets[len(regrets) // 2 - 1 : len(regrets) // 2 + 1].mean()
    return [float(f"{value:.4g}") if np.isfinite(value) else None for value in found]


def summarize(runs: list[Run]) -> dict[str, Any]:
    """Everything that is told of the runs, ready for JSON."""
    peers = [peer for peer in PEERS if any(run.peer == peer for run in runs)]
    names = [name for name in tasks.NAMES if any(run.task == name for run in runs)]
    cells = {(t, p): [run for run in runs if (run.task, run.peer) == (t, p)] for t in names for p in peers}
    cells = {key: these for key, these in cells.items() if these}
    summary: dict[str, Any] = {
        "marks": list(MARKS),
        "versions": {peer: next(run.versions for run in runs if run.peer == peer) for peer in peers},
        "tasks": {
            name: {
                "budget": next(run.budget for run in runs if run.task == name),
                "peers": {peer: _cell(cells[name, peer]) for peer in peers if (name, peer) in cells},
            }
            for name in names
        },
    }
    groups = {
        "all": names,
        "lcbench": [n for n in names if n in tasks.LCBENCH],
        "other": [n for n in names if n not in tasks.LCBENCH],
    }
    summary["ranks"] = {
        clock: {group: _mean_ranks(summary["tasks"], chosen, peers, clock) for group, chosen in groups.items() if chosen}
        for clock in CLOCKS
    }
    summary["against"] = {clock: _against(cells, names, peers, clock) for clock in CLOCKS}
    return summary


def _cell(these: list[Run]) -> dict[str, Any]:
    failed = sorted({run.reason for run in these if run.ended == "failed"})
    return {
        "runs": len(these),
        "steps": float(np.median([run.steps for run in these])),
        "overhead": float(f"{np.median([run.overhead for run in these]):.3g}"),
        "wall_limited": sum(run.ended == "wall" for run in these),
        "failed": sum(run.ended == "failed" for run in these),
        **({"failures": failed} if failed else {}),
        **{clock: {f"{mark:g}": quartiles(these, mark, clock) for mark in MARKS} for clock in CLOCKS},
    }


def _final(cell: dict[str, Any], clock: str) -> float:
    """The median regret at the end of the budget, below which nothing counts."""
    median = cell[clock]["1"][1]
    return np.inf if median is None else max(median, FLOOR)


def ranks_of(values: dict[str, float]) -> dict[str, float]:
    """Ranks from 1 for the lowest; equal values share their mean rank."""
    ordered = sorted(values.values())
    return {name: float(np.mean([i + 1 for i, other in enumerate(ordered) if other == value])) for name, value in values.items()}


def _mean_ranks(cells: dict[str, Any], names: list[str], peers: list[str], clock: str) -> dict[str, float]:
    """Mean rank of each peer at the end of the budget, over the tasks that all of these peers have run on."""
    shared = [name for name in names if set(peers) <= set(cells[name]["peers"])]
    ranks = [ranks_of({peer: _final(cells[name]["peers"][peer], clock) for peer in peers}) for name in shared]
    return {peer: round(float(np.mean([r[peer] for r in ranks])), 2) for peer in peers} if ranks else {}


def _against(cells: dict[tuple[str, str], list[Run]], names: list[str], peers: list[str], clock: str) -> dict[str, dict[str, int]]:
    """Tasks on which our median regret at the end is lower than a peer's, higher, or the same; and how many of them clearly."""
    from scipy.stats import mannwhitneyu

    out = {}
    for peer in peers:
        counts = {"wins": 0, "clear_wins": 0, "losses": 0, "clear_losses": 0, "ties": 0}
        for name in names:
            if peer == OURS or (name, peer) not in cells or (name, OURS) not in cells:
                continue
            ours, theirs = ([max(r.regret_at(1.0, clock), FLOOR) for r in cells[name, p]] for p in (OURS, peer))
            if np.median(ours) == np.median(theirs):
                counts["ties"] += 1
                continue
            side = "wins" if np.median(ours) < np.median(theirs) else "losses"
            counts[side] += 1
            counts[f"clear_{side}"] += int(mannwhitneyu(ours, theirs).pvalue < 0.05)
        if peer != OURS:
            out[peer] = counts
    return out


# Markdown -------------------------------------------------------------------------------------------------------------------


def markdown(summary: dict[str, Any], overhead: list[dict[str, Any]] | None = None) -> str:
    """The part of the documentation that tells what was found."""
    parts = [*_introduction(summary), *_regret_tables(summary), *_overhead_table(overhead or [])]
    wrapped = [part if part.startswith("|") else textwrap.fill(part, 130, break_on_hyphens=False) for part in parts]
    return "\n\n".join(wrapped) + "\n"


def _introduction(summary: dict[str, Any]) -> list[str]:
    peers = list(summary["versions"])
    used = sorted(
        {item for versions in summary["versions"].values() for item in versions.items()}, key=lambda item: item[0].lower()
    )
    runs = sorted({cell["runs"] for task in summary["tasks"].values() for cell in task["peers"].values()})
    seeds = f"{runs[0]}" if len(runs) == 1 else f"{runs[0]} to {runs[-1]}"
    rows = []
    for peer in peers:
        ranks = [summary["ranks"][clock].get(group, {}).get(peer) for clock in CLOCKS for group in ("all", "lcbench")]
        against = [summary["against"][clock].get(peer) for clock in CLOCKS]
        rows.append([peer, *("" if r is None else f"{r:.1f}" for r in ranks), *map(_score, against)])
    header = ["peer", "rank", "LCBench", "rank, with overhead", "LCBench, with overhead", "farthing against it", "with overhead"]
    return [
        "## Beside other optimizers",
        f"Regret of each optimizer's own recommendation at equal budget, {seeds} seeds a task, on two clocks: the cost of "
        "evaluations alone, and with the seconds that the optimizer itself took. Mean rank of the median regret when the budget is "
        "spent; and on how many tasks farthing's was lower (in brackets: lower by a rank-sum test at 5%), the same, and higher.",
        table(header, rows),
        "Versions: " + ", ".join(" ".join(item) for item in used) + ".",
    ]


def _score(counts: dict[str, int] | None) -> str:
    if counts is None:
        return ""
    return f"{counts['wins']} ({counts['clear_wins']}) : {counts['ties']} : {counts['losses']} ({counts['clear_losses']})"


def _regret_tables(summary: dict[str, Any]) -> list[str]:
    parts = ["### Regret at shares of the budget"]
    flagged = False
    for name, task in summary["tasks"].items():
        rows = []
        for peer, cell in task["peers"].items():
            flag = "*" if cell["wall_limited"] else ""
            flag += "†" if cell["failed"] else ""
            flagged = flagged or bool(flag)
            values = [_number(cell[clock][f"{mark:g}"][1]) for clock in CLOCKS for mark in summary["marks"]]
            rows.append([peer + flag, *values, f"{cell['steps']:.0f}", f"{cell['overhead']:.2g}"])
        shares = [f"{100 * mark:g}%" for mark in summary["marks"]]
        header = ["peer", *shares, *(f"{share} with overhead" for share in shares), "evaluations", "s/step"]
        parts += [f"**{name}**, {_hours(task['budget'])}", table(header, rows)]
    if flagged:
        parts.append("\\* some runs reached their limit of wall time before the budget was spent; † some ended with an error.")
    return parts


def _overhead_table(rows: list[dict[str, Any]]) -> list[str]:
    if not rows:
        return []
    sizes, dimensions = sorted({row["n"] for row in rows}), sorted({row["d"] for row in rows})
    found = {(row["peer"], row["d"], row["n"]): row for row in rows}
    columns = [(d, n) for d in dimensions for n in sizes]
    lines = [
        [peer, *(_step(found[peer, d, n]) if (peer, d, n) in found else "" for d, n in columns)]
        for peer in dict.fromkeys(row["peer"] for row in rows)
    ]
    return [
        "### Overhead of one proposal",
        "Seconds to propose and to take the result, after n observations in d dimensions: median of five, and in brackets the "
        "first, in which every model is fitted.",
        table(["peer", *(f"d={d}, n={n}" for d, n in columns)], lines),
    ]


def _step(row: dict[str, Any]) -> str:
    return f"{row['seconds']:.2g} ({row['first']:.2g})"


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def _number(regret: float | None) -> str:
    if regret is None:
        return ""
    return f"{regret:.1e}" if regret > FLOOR else "0"


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:.3g} h" if seconds >= 3600 else f"{seconds:.0f} s"


# Plot -----------------------------------------------------------------------------------------------------------------------


def plot(runs: list[Run], path: Path, clock: str = "total") -> None:
    """Small multiples, one a task: regret against the share of the budget, median and quartiles, on a logarithmic axis."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = [name for name in tasks.NAMES if any(run.task == name for run in runs)]
    peers = [peer for peer in PEERS if any(run.peer == peer for run in runs)]
    columns = min(4, len(names))
    rows = -(-len(names) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(3.4 * columns, 2.6 * rows + 0.8), squeeze=False, layout="constrained")
    colors = dict(zip(PEERS, plt.get_cmap("tab20").colors, strict=False))
    shares = np.linspace(0.02, 1.0, 50)
    for axis, name in zip(axes.flat, names, strict=False):
        for peer in peers:
            these = [run for run in runs if (run.task, run.peer) == (name, peer)]
            if not these:
                continue
            curve = np.array([quartiles(these, share, clock) for share in shares], dtype=float)
            low, middle, high = np.maximum(curve, FLOOR).T
            width = 2.2 if peer == OURS else 1.1
            axis.plot(100 * shares, middle, color=colors[peer], linewidth=width, label=peer, zorder=3 if peer == OURS else 2)
            axis.fill_between(100 * shares, low, high, color=colors[peer], alpha=0.12, linewidth=0)
        axis.set_yscale("log")
        axis.set_title(name, fontsize=9)
        axis.tick_params(labelsize=7)
    for axis in axes.flat[len(names) :]:
        axis.set_visible(False)
    handles = {label: line for axis in axes.flat for line, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=6, fontsize=8, frameon=False)
    figure.supxlabel(f"% of the budget ({CLOCKS[clock]})", fontsize=9)
    figure.supylabel("regret", fontsize=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, default=RUNS)
    parser.add_argument("--out", type=Path, default=RESULTS / "peers.json")
    parser.add_argument("--plot", type=Path, default=PLOT)
    parser.add_argument("--clock", choices=list(CLOCKS), default="total", help="of the plot")
    arguments = parser.parse_args()
    runs = read_runs(arguments.runs)
    if not runs:
        parser.error(f"there are no complete runs in {arguments.runs}; make them with python -m benchmarks.peers")
    summary = summarize(runs)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(summary, separators=(",", ":")) + "\n")
    plot(runs, arguments.plot, arguments.clock)
    overhead = RESULTS / "peers_overhead.json"
    print(markdown(summary, json.loads(overhead.read_text()) if overhead.exists() else None))
    print(f"{len(runs)} runs; written to {arguments.out} and {arguments.plot}")


if __name__ == "__main__":
    main()
