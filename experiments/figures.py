"""Figures, drawn from what is kept of an experiment and from nothing else. The same numbers give the same file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from experiments.curves import FLOOR, Curve, Summary, quartiles

COLORS = {"EnvPES": "tab:purple", "PES": "tab:red", "EI": "tab:blue", "FABOLAS": "tab:green"}
"""The paper's."""

CLOCK_LABELS = {"evaluations": "evaluation cost", "total": "evaluation cost + overhead", "steps": "evaluations"}

STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.size": 7,
    "font.sans-serif": ["DejaVu Sans", "Arial"],
    "axes.linewidth": 0.6,
    "axes.titlesize": 8,
    "legend.fontsize": 7,
}


def footer(summary: Summary, counts: Mapping[str, int]) -> str:
    """What was run: runs, scale, versions, cores."""
    return f"{runs_text(counts)}; scale {summary['scale']:g}; {versions_text(summary)}; {cores_text(summary)}"


def runs_text(counts: Mapping[str, int]) -> str:
    usual = max(set(counts.values()), key=list(counts.values()).count)
    others = [f"{name} {count}" for name, count in counts.items() if count != usual]
    return f"{usual} runs each" + (f" ({', '.join(others)})" if others else "")


def versions_text(summary: Summary) -> str:
    return ", ".join(f"{package} {version}" for package, version in summary["versions"].items())


def cores_text(summary: Summary) -> str:
    return "1 core" if summary["cores"] == "1" else f"{summary['cores']} cores"


def run_counts(summary: Summary) -> dict[str, int]:
    """The fewest runs of each contender on any task."""
    counts: dict[str, int] = {}
    for task in summary["tasks"].values():
        for name, cell in task["contenders"].items():
            counts[name] = min(counts.get(name, len(cell["seeds"])), len(cell["seeds"]))
    return counts


def fewest_runs(summary: Summary) -> int:
    """Of any contender on any task."""
    if all("runs" in task for task in summary["tasks"].values()):
        return min((task["runs"] for task in summary["tasks"].values()), default=0)
    return min(run_counts(summary).values(), default=0)


@contextmanager
def panels(rows: int, columns: int, path: Path, foot: str, size: tuple[float, float] = (3.0, 2.4)) -> Iterator[Any]:
    """Axes of a grid to draw in; written to the path, with what was run below, when the context ends."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    with plt.rc_context({**STYLE, "svg.hashsalt": path.stem}):
        width, height = size[0] * columns, size[1] * rows + 0.5
        figure, axes = plt.subplots(rows, columns, figsize=(max(width, 4.5), height), squeeze=False, layout="constrained")
        try:
            yield axes
            figure.supxlabel(_wrapped(foot, int(25 * max(width, 4.5))), fontsize=5.5, color="0.35")
            path.parent.mkdir(parents=True, exist_ok=True)
            figure.savefig(path, metadata={"Date": None})
        finally:
            plt.close(figure)


def _wrapped(text: str, width: int) -> str:
    from textwrap import fill

    return fill(text, width)


def draw_curves(axis: Any, x: Sequence[float], curves: Sequence[Curve], label: str, **look: Any) -> None:
    """Median and interquartile range over runs, on a logarithmic axis."""
    found = np.array([quartiles(curves, i) for i in range(len(x))])
    found[~np.isfinite(found)] = np.nan
    low, middle, high = found.T
    (line,) = axis.plot(x, middle, linewidth=1.2, label=label, **look)
    both = np.isfinite(low) & np.isfinite(high)
    axis.fill_between(np.asarray(x)[both], low[both], high[both], color=line.get_color(), alpha=0.15, linewidth=0)
    axis.set_yscale("log")


def time_axis(budget: float, shares: Sequence[float]) -> tuple[list[float], str]:
    """Shares of a budget of seconds in hours or minutes, with the unit."""
    unit, name = (3600.0, "h") if budget >= 5400.0 else (60.0, "min") if budget >= 90.0 else (1.0, "s")
    return [share * budget / unit for share in shares], name


def draw_regrets(summary: Summary, path: Path) -> None:
    """Regret against each clock (rows) on each task (columns), one line a contender."""
    tasks, clocks, shares = summary["tasks"], summary["clocks"], summary["shares"]
    with panels(len(clocks), len(tasks), path, footer(summary, run_counts(summary))) as axes:
        for column, (name, task) in enumerate(tasks.items()):
            for row, clock in enumerate(clocks):
                axis = axes[row, column]
                if clock == "steps":
                    x, unit = [share * task["budget"] for share in shares], ""
                else:
                    x, unit = time_axis(task["budget"], shares)
                for label, cell in task["contenders"].items():
                    draw_curves(axis, x, cell["regret"][clock], label, color=COLORS.get(label))
                axis.set_xlabel(CLOCK_LABELS[clock] + (f", {unit}" if unit else ""))
                if row == 0:
                    axis.set_title(name)
                if column == 0:
                    what = "immediate regret" if task["best_known"] is None else f"above the best known, {task['best_known']:.5g}"
                    axis.set_ylabel(f"{what}, median and quartiles")
                axis.set_ylim(bottom=max(axis.get_ylim()[0], FLOOR / 2))
        axes[0, 0].legend(frameon=False)
