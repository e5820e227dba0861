"""Small multiples, one a task: median regret against the share of the budget on the total clock, drawn from the summary alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.interface import PEERS
from benchmarks.peers.standings import Summary, peers_of
from benchmarks.peers.summary import OURS

COLUMNS = 4
DECADES = 100.0
"""Panels whose regrets lie within this factor have plain numbers for ticks, others powers of ten."""

STYLES = ("-", "--", ":")
"""Lines of peers that would have the same color."""


def draw(summary: Summary, path: Path) -> None:
    """Write the plot, the same file for the same summary; farthing has a thick line, and bars for its quartiles at the marks."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    settings = {
        "svg.fonttype": "none",
        "svg.hashsalt": "peers",
        "font.size": 7,
        "font.sans-serif": ["DejaVu Sans", "Arial"],
        "axes.linewidth": 0.6,
    }
    with plt.rc_context(settings):
        count = len(summary["tasks"])
        columns = min(COLUMNS, count)
        rows = -(-count // columns)
        figure, axes = plt.subplots(rows, columns, figsize=(2.9 * columns, 2.1 * rows + 0.7), squeeze=False, layout="constrained")
        for axis, (name, task) in zip(axes.flat, summary["tasks"].items(), strict=False):
            _panel(axis, summary, task)
            axis.set_title(name, fontsize=8)
        for axis in axes.flat[count:]:
            axis.set_visible(False)
        handles = {label: line for axis in axes.flat for line, label in zip(*axis.get_legend_handles_labels(), strict=True)}
        shown = [peer for peer in peers_of(summary) if peer in handles]
        figure.legend([handles[peer] for peer in shown], shown, loc="outside upper center", ncols=6, fontsize=8, frameon=False)
        figure.supxlabel("% of the budget, evaluation cost and overhead", fontsize=8)
        figure.supylabel("median regret", fontsize=8)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)


def _panel(axis: Any, summary: Summary, task: dict[str, Any]) -> None:
    from matplotlib.ticker import LogLocator

    shares = 100.0 * np.array(summary["shares"])
    for peer, cell in task["peers"].items():
        curve = np.array([np.nan if value is None else max(value, task["floor"]) for value in cell["curve"]])
        ours = peer == OURS
        axis.plot(shares, curve, linewidth=2.2 if ours else 1.0, zorder=3 if ours else 2, label=peer, **_look(peer))
    if OURS in task["peers"]:
        for share, found in zip(summary["marks"], task["peers"][OURS]["total"], strict=True):
            if None not in found:
                low, _, high = np.maximum(found, task["floor"])
                axis.vlines(100.0 * share, low, high, linewidth=0.8, zorder=3, color=_look(OURS)["color"])
    axis.set_yscale("log")
    low, high = axis.get_ylim()
    if high < DECADES * low:
        axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=20))
        axis.yaxis.set_major_formatter("{x:g}")
    else:
        axis.yaxis.set_major_locator(LogLocator(numticks=5))
    axis.minorticks_off()
    axis.set_xlim(0.0, 102.0)
    axis.set_xticks([0, 25, 50, 75, 100])
    axis.tick_params(labelsize=6, width=0.5)


def _look(peer: str) -> dict[str, Any]:
    """Color and style of a peer, the same in every plot: peers of one environment share the color."""
    if peer == OURS:
        return {"color": "black", "linestyle": "-"}
    if peer == "random":
        return {"color": "0.6", "linestyle": "-"}
    shared = list(dict.fromkeys(entry.environment for entry in PEERS.values()))
    same = [name for name, entry in PEERS.items() if entry.environment == PEERS[peer].environment and name not in (OURS, "random")]
    return {"color": f"C{shared.index(PEERS[peer].environment)}", "linestyle": STYLES[same.index(peer)]}
