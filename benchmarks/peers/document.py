"""What docs/benchmarks.md says of farthing and its peers, in short and at length, written from the results alone."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np

from benchmarks.peers import standings
from benchmarks.peers.interface import PEERS
from benchmarks.peers.standings import Summary
from benchmarks.peers.summary import OUR_EI, OURS

CLOCKS = {"total": "evaluation cost and overhead", "evaluations": "evaluation cost alone"}
PLOT = "peers.svg"

SHARES = (0.25, 0.5, 1.0)
"""Of the budget, at which it is told in short who stands where."""

LARGEST = {"d": 6, "n": 100}
"""Dimensions and observations at which it is told in short how long each thinks."""


def highlights(summary: Summary, overhead: list[dict[str, Any]]) -> list[str]:
    """The figures one would look for first, losses as well as wins."""
    lines = [_standing(summary)]
    lcbench = standings.groups(summary).get("LCBench")
    if lcbench:
        lines.append(_rank_line(summary, lcbench))
    seconds = {row["peer"]: row["mean"] for row in overhead if row["d"] == LARGEST["d"] and row["n"] == LARGEST["n"]}
    if OURS in seconds:
        others = ", ".join(f"{peer} {_seconds(mean, seconds[OURS])}" for peer, mean in seconds.items() if peer != OURS)
        lines.append(
            f"Seconds per proposal at d = {LARGEST['d']}, n = {LARGEST['n']}, in brackets times farthing's: farthing "
            f"{seconds[OURS]:.2g}, {others}."
        )
    return lines


def _standing(summary: Summary) -> str:
    columns = _first_columns(summary)
    lowest = _lowest(columns)
    others = _first_columns(standings.without(summary, OUR_EI))
    aside = f" (its own EI left aside {_lowest(others)})" if OUR_EI in columns[0] else ""
    lost = sum(loss.share in SHARES for loss in standings.losses(summary, "total"))
    return (
        f"Of {len(summary['tasks'])} tasks, farthing has the lowest median regret of all {len(columns[0])} optimizers {lowest} "
        f"of the budget{aside}; at 100% it is lowest or within a factor of two on {columns[-1][OURS]}. "
        f"[Where it is not first](#where-farthing-is-not-first): {lost} cases at these shares."
    )


def _lowest(columns: list[dict[str, int]]) -> str:
    """On how many tasks farthing is lowest at each of the shares."""
    return ", ".join(f"on {column[OURS]} at {share:.0%}" for column, share in zip(columns, SHARES, strict=False))


def _rank_line(summary: Summary, names: list[str]) -> str:
    told = []
    for share in SHARES:
        ranks = standings.mean_ranks(summary, names, "total", list(summary["marks"]).index(share))
        next_best = min((peer for peer in ranks if peer != OURS), key=ranks.__getitem__)
        told.append(f"{ranks[OURS]:.1f} at {share:.0%} of the budget ({next_best} {ranks[next_best]:.1f})")
    return (
        f"Its mean rank on the {len(names)} tasks of LCBench, real learning curves, and that of the next best: {', '.join(told)}."
    )


def section(summary: Summary, overhead: list[dict[str, Any]]) -> str:
    """Everything under "Against peers"."""
    parts = [
        *_introduction(summary),
        *_counts(summary),
        *_losses(summary),
        *_ranks(summary),
        *_overhead(summary, overhead),
        *_regrets(summary),
        *_runs(summary),
    ]
    return "\n\n".join(_wrapped(part) for part in parts) + "\n"


def _introduction(summary: Summary) -> list[str]:
    used = {
        f"{package} {versions[package]}": None
        for peer, versions in summary["versions"].items()
        for package in PEERS[peer].packages
        if package in versions
    }
    return [
        "## Against peers",
        "Other optimizers on the same tasks with the same budget of seconds, each in an environment of its own, on one thread. "
        "What an evaluation costs is simulated, or its wall time in the tasks svc, boosting and mlp. The total clock also counts "
        "the seconds that an optimizer takes to propose and to take a result, as a user would wait for them. Regret is that of the "
        "parameters an optimizer would recommend at a share of the budget, evaluated at full fidelity without noise. Peers that "
        "choose no fidelity evaluate at full. Peers that think long have fewer seeds; a run that reaches its limit of wall time is "
        "stopped, and keeps its last recommendation. How each is set up is told at the top of its adapter in `benchmarks/peers`.",
        *([summary["note"]] if "note" in summary else []),
        f"![Median regret against the share of the budget, one panel a task]({PLOT})",
        table(["peer", "what it is", "chooses fidelity", "seeds", "runs", "stopped", "failed", "limit, s"], _peer_rows(summary)),
        f"Stopped: by the limit of wall time before the budget was spent. {', '.join(used)}.",
        _floors(summary),
    ]


def _peer_rows(summary: Summary) -> list[list[str]]:
    rows = []
    for peer in standings.peers_of(summary):
        cells = [task["peers"][peer] for task in summary["tasks"].values() if peer in task["peers"]]
        counts = [str(sum(cell[key] for cell in cells)) for key in ("seeds", "stopped", "failed")]
        seeds, walls = (_range(values) for values in ([c["seeds"] for c in cells], [w for c in cells for w in c["wall"]]))
        rows.append([peer, PEERS[peer].title, "yes" if PEERS[peer].chooses_fidelity else "no", seeds, *counts, walls])
    return rows


def _range(values: list[float]) -> str:
    low, high = min(values), max(values)
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def _floors(summary: Summary) -> str:
    """Which regrets are the same."""
    by_floor: dict[float, list[str]] = {}
    for name, task in summary["tasks"].items():
        by_floor.setdefault(task["floor"], []).append("LCBench" if name.startswith("lcbench-") else name)
    told = [f"{floor:g} ({', '.join(dict.fromkeys(names))})" for floor, names in sorted(by_floor.items())]
    return (
        "Median regrets below a floor count as the same, since there is nothing left to gain: " + ", ".join(told) + ". Regret on "
        "LCBench and svc is in percentage points of error, on boosting and mlp in log loss."
    )


def _overhead(summary: Summary, rows: list[dict[str, Any]]) -> list[str]:
    if not rows:
        return []
    runs = _mean_overheads(summary)
    sizes, dimensions = sorted({row["n"] for row in rows}), sorted({row["d"] for row in rows})
    found = {(row["peer"], row["d"], row["n"]): row["mean"] for row in rows}
    columns = [(d, n) for d in dimensions for n in sizes]
    lines = []
    for peer in dict.fromkeys(row["peer"] for row in rows):
        line = [peer]
        for column in columns:
            line.append(_seconds(found.get((peer, *column)), found.get((OURS, *column))))
        lines.append([*line, _seconds(runs.get(peer), runs.get(OURS))])
    steps = {pace: [row["steps"] for row in rows if PEERS[row["peer"]].pace == pace] for pace in ("fast", "medium", "slow")}
    means = ", ".join(f"{_range(these)} of {pace} peers" for pace, these in steps.items() if these)
    return [
        "### Seconds per proposal",
        "To propose and to take the result after n observations in d dimensions; in brackets, times farthing's. One peer after "
        f"another on one thread of one core; mean over consecutive steps ({means}) after two that are not counted, since in one of "
        "them models are fitted from nothing. Some think hard only once in many steps (SMAC plans a round of Hyperband at once), "
        "so the last column tells the mean over all steps of the runs below, tasks alike.",
        table(["peer", *(f"d={d}, n={n}" for d, n in columns), "in the runs"], lines),
    ]


def _mean_overheads(summary: Summary) -> dict[str, float]:
    """Seconds of overhead a step of each peer's runs, the mean over tasks."""
    found: dict[str, list[float]] = {}
    for task in summary["tasks"].values():
        for peer, cell in task["peers"].items():
            if cell["overhead"] is not None:
                found.setdefault(peer, []).append(cell["overhead"])
    return {peer: float(np.mean(seconds)) for peer, seconds in found.items()}


def _seconds(seconds: float | None, ours: float | None) -> str:
    if seconds is None:
        return ""
    return f"{seconds:.2g}" + ("" if ours is None else f" ({_times(seconds / ours)})")


def _times(ratio: float) -> str:
    return f"{ratio:.0f}×" if ratio >= 10.0 else f"{ratio:.1f}×" if ratio >= 1.0 else f"{ratio:.2f}×" if ratio >= 0.01 else "<0.01×"


def _ranks(summary: Summary) -> list[str]:
    return [
        "### Mean rank",
        "Of the median regret, 1 for the lowest, at shares of the budget on the total clock, among the peers that ran on every "
        "task of a group.",
        _rank_table(summary, "total"),
        *_folded(f"The same by {CLOCKS['evaluations']}", [_rank_table(summary, "evaluations")]),
    ]


def _rank_table(summary: Summary, clock: str) -> str:
    header, columns = ["peer"], []
    for group, names in standings.groups(summary).items():
        for mark, share in enumerate(summary["marks"]):
            header.append(f"{group} ({len(names)}), {share:.0%}" if mark == 0 else f"{share:.0%}")
            columns.append({p: round(rank, 1) for p, rank in standings.mean_ranks(summary, names, clock, mark).items()})
    rows = []
    for peer in standings.peers_of(summary):
        ranks = [(column.get(peer), min(column.values(), default=None)) for column in columns]
        rows.append([peer, *("" if rank is None else _bold(f"{rank:.1f}", rank == least) for rank, least in ranks)])
    return table(header, rows)


def _counts(summary: Summary) -> list[str]:
    columns = _first_columns(summary)
    rows = [
        [peer, *(str(column[peer]) for column in columns), _score(standings.against(summary, peer)) if peer != OURS else ""]
        for peer in standings.peers_of(summary)
    ]
    header = ["peer", *(f"lowest at {share:.0%}" for share in SHARES), "lowest or within a factor 2 at 100%"]
    return [
        "### How often each is first",
        f"On how many of {len(summary['tasks'])} tasks, by the median regret on the total clock; those that share the lowest all "
        "count. The last column: on how many tasks farthing's regret at 100% is lower, the same and higher, in brackets those of "
        "them on which the quartiles of three seeds or more of each lie apart.",
        table([*header, "farthing lower : same : higher"], rows),
    ]


def _first_columns(summary: Summary) -> list[dict[str, int]]:
    """Of each peer, on how many tasks it is lowest at the shares, and lowest or near it at the end."""
    marks = list(summary["marks"])
    lowest = [standings.firsts(summary, "total", marks.index(share)) for share in SHARES]
    return [*lowest, standings.firsts(summary, "total", marks.index(1.0), standings.NEAR)]


def _score(counts: dict[str, int]) -> str:
    return f"{counts['lower']} ({counts['clearly_lower']}) : {counts['same']} : {counts['higher']} ({counts['clearly_higher']})"


def _losses(summary: Summary) -> list[str]:
    found = standings.losses(summary, "total")
    if not found:
        return ["### Where farthing is not first", "Nowhere, at these shares of the budget on the total clock."]
    rows = []
    for loss in found:
        floor = summary["tasks"][loss.task]["floor"]
        numbers = [_number(loss.ours, floor), ", ".join(loss.winners), _number(loss.theirs, floor), _times(loss.ours / loss.theirs)]
        rows.append([loss.task, f"{loss.share:.0%}", *numbers])
    cases = sum(OURS in task["peers"] for task in summary["tasks"].values()) * len(summary["marks"])
    return [
        "### Where farthing is not first",
        f"{len(found)} of {cases} cases: median regret on the total clock, and how many times the lowest farthing's is.",
        table(["task", "budget spent", "farthing", "lowest", "its regret", "times"], rows),
    ]


def _regrets(summary: Summary) -> list[str]:
    marks = range(len(summary["marks"]))
    tables = {clock: [part for mark in marks for part in _regret_table(summary, clock, mark)] for clock in CLOCKS}
    cut = any(any(cell["cut"][clock]) for task in summary["tasks"].values() for cell in task["peers"].values() for clock in CLOCKS)
    note = " \\* some runs were stopped or failed before they came so far: what they last recommended counts." if cut else ""
    return [
        "### Median regret",
        f"On the total clock; the lowest in bold.{note}",
        *tables["total"],
        *_folded(f"The same by {CLOCKS['evaluations']}", tables["evaluations"]),
    ]


def _regret_table(summary: Summary, clock: str, mark: int) -> list[str]:
    peers, rows = standings.peers_of(summary), []
    for name, task in summary["tasks"].items():
        values = standings.regrets(task, clock, mark)
        first = standings.lowest(values)
        cells = []
        for peer in peers:
            flag = "\\*" if peer in values and task["peers"][peer]["cut"][clock][mark] else ""
            cells.append(_bold(_number(values[peer], task["floor"]), peer in first) + flag if peer in values else "")
        rows.append([name, *cells])
    return [f"At {summary['marks'][mark]:.0%} of the budget:", table(["task", *peers], rows)]


def _runs(summary: Summary) -> list[str]:
    peers, rows = standings.peers_of(summary), []
    for name, task in summary["tasks"].items():
        cells = [_run(task["peers"][peer]) if peer in task["peers"] else "" for peer in peers]
        rows.append([name, _duration(task["budget"]), *cells])
    text = (
        "Seeds × median number of evaluations, mean seconds of overhead a step; in brackets, how many runs were stopped by the "
        "limit of wall time, and how many failed."
    )
    return _folded("Seeds, evaluations and overhead of every cell", [text, table(["task", "budget", *peers], rows)])


def _run(cell: dict[str, Any]) -> str:
    ends = [f"{cell[key]} {key}" for key in ("stopped", "failed") if cell[key]]
    overhead = "" if cell["overhead"] is None else f", {cell['overhead']:.2g} s"
    return f"{cell['seeds']} × {cell['steps']:.0f}{overhead}" + (f" ({', '.join(ends)})" if ends else "")


def _folded(title: str, parts: list[str]) -> list[str]:
    """Parts that are shown when their title is clicked."""
    return ["<details>", f"<summary>{title}</summary>", *parts, "</details>"]


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def _wrapped(part: str) -> str:
    return part if part.startswith(("|", "!", "#", "<")) else textwrap.fill(part, 130, break_on_hyphens=False)


def _bold(text: str, bold: bool) -> str:
    return f"**{text}**" if bold else text


def _number(regret: float, floor: float) -> str:
    """A regret with two digits; how low the floor is where it is not above."""
    if not np.isfinite(regret):
        return "none"
    if regret <= floor:
        return f"≤{floor:g}"
    return f"{regret:.0f}" if regret >= 10.0 else f"{regret:.2g}"


def _duration(seconds: float) -> str:
    return f"{seconds / 3600:.3g} h" if seconds >= 3600 else f"{seconds:.0f} s"
