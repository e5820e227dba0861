"""Who stands where, by what `summary.py` has written: median regrets, ranks, who is first, and where farthing is not.

Regrets below a task's floor are the same. A peer that has recommended nothing yet comes last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.peers import tasks
from benchmarks.peers.summary import OURS

Summary = dict[str, Any]

NEAR = 2.0
"""Within this factor of the lowest regret a peer is near it."""

SOME = 3
"""Seeds from which on quartiles tell something."""


def peers_of(summary: Summary) -> list[str]:
    return list(summary["versions"])


def without(summary: Summary, peer: str) -> Summary:
    """The summary as it would be if that peer had not run."""

    def left(known: dict[str, Any]) -> dict[str, Any]:
        return {other: value for other, value in known.items() if other != peer}

    others = {name: task | {"peers": left(task["peers"])} for name, task in summary["tasks"].items()}
    return summary | {"versions": left(summary["versions"]), "tasks": others}


def groups(summary: Summary) -> dict[str, list[str]]:
    """The tasks over which means are taken, by the name of the group; groups that have any."""
    names = list(summary["tasks"])
    lcbench = [name for name in names if name in tasks.LCBENCH]
    others = [name for name in names if name not in tasks.LCBENCH]
    found = {"all tasks": names, "LCBench": lcbench, "other tasks": others}
    return {group: chosen for group, chosen in found.items() if chosen}


def regrets(task: dict[str, Any], clock: str, mark: int) -> dict[str, float]:
    """Median regret of each peer at the mark of that index, not below the floor; infinite where there is none yet."""
    medians = {peer: cell[clock][mark][1] for peer, cell in task["peers"].items()}
    return {peer: np.inf if median is None else max(median, task["floor"]) for peer, median in medians.items()}


def lowest(values: dict[str, float]) -> list[str]:
    """Those with the lowest value; none where all are infinite."""
    least = min(values.values())
    return [name for name, value in values.items() if value == least < np.inf]


def ranks_of(values: dict[str, float]) -> dict[str, float]:
    """Ranks from 1 for the lowest; equal values share their mean rank."""
    ordered = sorted(values.values())
    return {name: float(np.mean([i + 1 for i, other in enumerate(ordered) if other == value])) for name, value in values.items()}


def mean_ranks(summary: Summary, names: list[str], clock: str, mark: int) -> dict[str, float]:
    """Mean rank over tasks, among the peers that have run on all of them."""
    complete = [p for p in peers_of(summary) if all(p in summary["tasks"][name]["peers"] for name in names)]
    ranks = []
    for name in names:
        values = regrets(summary["tasks"][name], clock, mark)
        ranks.append(ranks_of({peer: values[peer] for peer in complete}))
    return {peer: float(np.mean([rank[peer] for rank in ranks])) for peer in complete}


def firsts(summary: Summary, clock: str, mark: int, factor: float = 1.0) -> dict[str, int]:
    """On how many tasks each peer has the lowest median regret, alone or with others, or comes within a factor of it."""
    counts = dict.fromkeys(peers_of(summary), 0)
    for task in summary["tasks"].values():
        values = regrets(task, clock, mark)
        limit = factor * min(values.values())
        for peer, value in values.items():
            counts[peer] += value <= limit and value < np.inf
    return counts


def against(summary: Summary, peer: str) -> dict[str, int]:
    """Tasks on which our median regret at the end, on the total clock, is lower than a peer's, higher or the same; and on how many
    clearly: the quartiles of some seeds of each lie apart.
    """
    counts = {"lower": 0, "clearly_lower": 0, "same": 0, "higher": 0, "clearly_higher": 0}
    for task in summary["tasks"].values():
        if peer not in task["peers"] or OURS not in task["peers"]:
            continue
        cells = [task["peers"][name] for name in (OURS, peer)]
        ours, theirs = ([np.inf if q is None else max(q, task["floor"]) for q in cell["total"][-1]] for cell in cells)
        if ours[1] == theirs[1]:
            counts["same"] += 1
            continue
        side, low, high = ("lower", ours, theirs) if ours[1] < theirs[1] else ("higher", theirs, ours)
        counts[side] += 1
        counts[f"clearly_{side}"] += int(low[2] < high[0] and min(cell["seeds"] for cell in cells) >= SOME)
    return counts


@dataclass(frozen=True)
class Loss:
    """A task and a share of the budget at which others have a lower median regret than farthing."""

    task: str
    share: float
    ours: float
    winners: list[str]
    theirs: float


def losses(summary: Summary, clock: str) -> list[Loss]:
    """Where farthing is not first."""
    found = []
    for name, task in summary["tasks"].items():
        for mark, share in enumerate(summary["marks"]):
            values = regrets(task, clock, mark)
            winners = lowest(values)
            if OURS in values and winners and OURS not in winners:
                found.append(Loss(name, share, values[OURS], winners, values[winners[0]]))
    return found
