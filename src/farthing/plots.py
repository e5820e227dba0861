"""A study in one picture: values against spend, where the spend went, and the values along each parameter."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from farthing.axes import Array, Choice, Integer
from farthing.errors import MissingExtra, NothingToReport, SettingsError
from farthing.report import convergence, cost_in_words, costs_are_seconds, spend_by_fidelity
from farthing.study import Study
from farthing.trials import COMPLETE, FAILED, PENDING, History, Recommendation, Trial

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg", ".pdf")

PANELS = 6
"""Parameters that get a panel, at most."""

DECADES = 1.5
"""Positive values that span more than this are drawn on a logarithmic scale."""

LONG_TAIL, TAIL = 8.0, 3.0
"""Where the highest value is more than LONG_TAIL times as far above the lowest as the upper quartile is, the picture ends at TAIL
times that distance, and what lies above is drawn at its edge: one disastrous value must not flatten the rest."""

PLAIN, ACCENT, FAILURE, QUIET = "#35608d", "#d95f02", "#c0392b", "#8a8a8a"


def save_plot(study: Study, path: str | PathLike[str]) -> None:
    """Save the picture of a study; the format goes by the suffix: png, svg or pdf."""
    target = Path(path)
    if target.suffix.lower() not in FORMATS:
        raise SettingsError(f"the plot's path is {str(path)!r}; let it end in {', '.join(FORMATS[:-1])} or {FORMATS[-1]}")
    if not target.parent.is_dir():
        raise SettingsError(f"there is no folder {str(target.parent)!r} to save {target.name!r} in; make it, or give another path")
    picture = figure(study)
    try:
        picture.savefig(target, dpi=130)
    except OSError as error:
        raise SettingsError(f"the plot could not be saved to {str(path)!r} ({error}); give a path that may be written") from error


def figure(study: Study) -> Figure:
    """A matplotlib Figure of a study that has results; pyplot has no part in it, so nothing needs closing."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra('plots need matplotlib, which is not installed; pip install "farthing[plots]"') from error
    if not len(study.history):
        raise NothingToReport("there is nothing to plot: nothing was evaluated yet; tell() or add() at least one result first")
    seen = _Seen.of(study)
    names = list(study.space.axes)[:PANELS]
    rows = _rows(names)
    heights = [3.4, *([2.1] if study.space.fidelity is not None else []), *([2.8] * len(rows))]
    picture = Figure(figsize=(11.0, sum(heights)), layout="constrained")
    FigureCanvasAgg(picture)
    strips = list(picture.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0])
    top = strips.pop(0)
    left, right = top.subplots(1, 2, width_ratios=[2, 1])
    _draw_values(left, seen)
    _draw_spend(right, seen)
    if study.space.fidelity is not None:
        bar = top.colorbar(seen.shades, ax=left, label=_plain(study.space.fidelity.name), pad=0.02)
        if study.space.fidelity.integer and not study.space.fidelity.log:
            bar.ax.locator_params(axis="y", integer=True)
        _draw_fidelity(strips.pop(0).subplots(), seen)
    for strip, row in zip(strips, rows, strict=True):
        for i, (panel, name) in enumerate(zip(strip.subplots(1, len(row), squeeze=False)[0], row, strict=True)):
            _draw_parameter(panel, seen, name)
            panel.set_ylabel("" if i else "value")
    if len(names) < len(study.space.axes):
        strips[-1].supxlabel(f"The first {len(names)} of {len(study.space.axes)} parameters", fontsize="small")
    return picture


def _rows(names: list[str]) -> list[list[str]]:
    """At most three in a row, and rows of about the same length."""
    count = -(-len(names) // 3)
    return [list(row) for row in np.array_split(np.array(names, dtype=object), count)]


@dataclass(frozen=True)
class _Seen:
    """What is drawn, from one look at the study.

    done, failed: trials; spent: by number, all up to and including a trial; best: the recommendation now; line: (n, 3) what was
    spent when, and the mean and sd of each recommendation.
    """

    study: Study
    history: History
    overhead_rate: float
    done: list[Trial]
    failed: list[Trial]
    spent: Array
    best: Recommendation
    line: Array
    in_seconds: bool

    @classmethod
    def of(cls, study: Study) -> _Seen:
        history, rate = study.history, study.overhead_rate
        trials = history.trials
        spent = np.cumsum([rate * t.overhead + (0.0 if t.proposal.kind == "added" else t.cost or 0.0) for t in trials])
        best = study.recommend()
        line = np.array([*convergence(history, rate), (spent[-1], best.mean, best.std)])
        done, failed = ([t for t in trials if t.state == state] for state in (COMPLETE, FAILED))
        return cls(study, history, rate, done, failed, spent, best, line, costs_are_seconds(history, rate))

    @cached_property
    def values(self) -> Array:
        return np.array([t.value for t in self.done], dtype=float)

    @cached_property
    def log(self) -> bool:
        """Whether values are drawn on a logarithmic scale, on which most recommendations, and the last one, must have a place."""
        low, high = self.values.min(), self.values.max()
        return bool(low > 0.0 and np.log10(high / low) > DECADES and self._placed[-1] and self._placed.mean() > 0.6)

    @cached_property
    def _placed(self) -> NDArray[np.bool_]:
        """(n,) which means of the line have a place on a logarithmic scale: those no more than a decade below every value."""
        placed: NDArray[np.bool_] = self.line[:, 1] > 0.1 * self.values.min()
        return placed

    @cached_property
    def means(self) -> Array:
        """(n,) the line as it is drawn, with gaps where it has no place."""
        return np.where(self._placed, self.line[:, 1], np.nan) if self.log else self.line[:, 1]

    @cached_property
    def limits(self) -> tuple[float, float]:
        """The lowest and the highest value in the picture, recommendation included."""
        low, quartile, high = (float(v) for v in np.quantile(self.values, [0.0, 0.75, 1.0]))
        best = self.best
        if self.log:
            low, high = np.log([min(low, np.nanmin(self.means)), max(high, np.nanmax(self.means))])
        else:
            if high - low > LONG_TAIL * (quartile - low) > 0.0:
                high = low + TAIL * (quartile - low)
            low, high = min(low, best.mean - best.std), max(high, best.mean + best.std)
        margin = 0.08 * (high - low) or 0.1 * abs(high) or 1.0
        low, high = low - margin * (2.0 if self.failed else 1.0), high + margin  # failures are drawn along the lower edge
        return (float(np.exp(low)), float(np.exp(high))) if self.log else (low, high)

    @cached_property
    def shades(self) -> ScalarMappable:
        """Colors of fidelities: dark is full, and nothing is so light that it would not be seen on white."""
        from matplotlib import colormaps
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import ListedColormap, LogNorm, Normalize

        assert self.study.space.fidelity is not None
        full, cheap = self.study.space.fidelity.ends
        shades = colormaps["viridis"](np.linspace(0.0, 0.88, 256))
        norm = (LogNorm if self.study.space.fidelity.log else Normalize)(vmin=min(full, cheap), vmax=max(full, cheap))
        return ScalarMappable(norm, ListedColormap(shades[::-1] if full > cheap else shades))

    def colors(self, trials: list[Trial]) -> Any:
        if self.study.space.fidelity is None:
            return PLAIN
        return self.shades.to_rgba(np.array([t.fidelity for t in trials], dtype=float))

    def draw_values(self, panel: Axes, at: Array, failed_at: Array) -> None:
        """A dot for each value, a triangle at the upper edge for one beyond it, a cross at the lower for a failure."""
        low, high = self.limits
        panel.set_yscale("log" if self.log else "linear")
        panel.set_ylim(low, high)
        size = 34.0 if len(self.done) < 60 else 16.0
        inside = self.values <= high
        colors = self.colors(self.done)
        for chosen, marker in ((inside, "o"), (~inside, "^")):
            height = self.values[chosen] if marker == "o" else np.full(int(chosen.sum()), 0.97)
            where = panel.transData if marker == "o" else panel.get_xaxis_transform()
            color = colors if isinstance(colors, str) else colors[chosen]
            label = f"above {high:.3g}" if marker == "^" and chosen.any() else None
            panel.scatter(
                at[chosen], height, s=size, c=color, marker=marker, linewidths=0, alpha=0.85, transform=where, label=label
            )
        if self.failed:
            bottom, where = np.full(len(self.failed), 0.03), panel.get_xaxis_transform()
            panel.scatter(failed_at, bottom, marker="x", color=FAILURE, s=30, transform=where, label="failed", clip_on=False)


def _draw_values(panel: Axes, seen: _Seen) -> None:
    seen.draw_values(panel, seen.spent[[t.number for t in seen.done]], seen.spent[[t.number for t in seen.failed]])
    at, mean, std = seen.line[:, 0], seen.means, seen.line[:, 2]
    lowest = seen.limits[0]
    panel.fill_between(at, np.maximum(mean - std, lowest), mean + std, color=ACCENT, alpha=0.2, linewidth=0, zorder=0)
    what = "recommendation" if seen.study.space.fidelity is None else "recommendation, at full fidelity"
    panel.plot(at, mean, color=ACCENT, marker=".", markersize=4, label=f"{what} (± 1 sd)")
    panel.set(xlabel=f"{'seconds' if seen.in_seconds else 'cost'} spent, thinking included", ylabel="value")
    panel.set_title("Values", loc="left")
    _legend_above(panel)


def _draw_spend(panel: Axes, seen: _Seen) -> None:
    rows = spend_by_fidelity(seen.history)
    thinking = seen.overhead_rate * seen.history.overhead_seconds
    share = thinking / (seen.history.spent + thinking or 1.0)
    costs = np.array([*(cost for _, _, cost in rows), thinking])
    amounts = [cost_in_words(cost, seen.in_seconds) for cost in costs]
    notes = [f"{amount} ({note})" for amount, note in zip(amounts, [*(count for _, count, _ in rows), f"{share:.0%}"], strict=True)]
    colors = [FAILURE if name == "failed" else PLAIN for name, _, _ in rows] + [QUIET]
    labels = [*(_plain(name.replace(" (", "\n(")) for name, _, _ in rows), "thinking"]
    bars = panel.barh(range(len(labels)), costs, color=colors)
    panel.set_yticks(range(len(labels)), labels, fontsize="small")
    for text in panel.bar_label(bars, notes, padding=3, fontsize="small"):
        text.set_in_layout(False)
    panel.set_xlim(0.0, 1.6 * costs.max() or 1.0)
    panel.invert_yaxis()
    panel.set(xlabel="seconds" if seen.in_seconds else "cost", title="Spend (evaluations)")


def _draw_fidelity(panel: Axes, seen: _Seen) -> None:
    fidelity = seen.study.space.fidelity
    assert fidelity is not None
    pending = [t for t in seen.history.trials if t.state == PENDING]
    for trials, style in (
        (seen.done, {"c": seen.colors(seen.done), "linewidths": 0, "s": 34.0 if len(seen.done) < 60 else 16.0}),
        (seen.failed, {"color": FAILURE, "marker": "x", "s": 30, "label": "failed"}),
        (pending, {"facecolors": "none", "edgecolors": QUIET, "s": 30, "label": "pending"}),
    ):
        if trials:
            panel.scatter([t.number for t in trials], [float(t.fidelity or 0.0) for t in trials], clip_on=False, zorder=3, **style)
    panel.set(xlabel="trial", ylabel=_plain(fidelity.name), yscale="log" if fidelity.log else "linear")
    panel.set_title("Fidelity", loc="left")
    if seen.failed or pending:
        _legend_above(panel)


def _draw_parameter(panel: Axes, seen: _Seen, name: str) -> None:
    axis = seen.study.space.axes[name]

    def along(params: list[dict[str, Any]]) -> Array:
        values = [p[name] for p in params]
        return np.array([axis.options.index(v) for v in values] if isinstance(axis, Choice) else values, dtype=float)

    # Trials of the same option side by side, by a sequence that spreads them evenly.
    shift = np.array([(0.618 * t.number % 1.0 - 0.5) * 0.5 for t in seen.done]) * isinstance(axis, Choice)
    seen.draw_values(panel, along([t.params for t in seen.done]) + shift, along([t.params for t in seen.failed]))
    best = float(along([seen.best.params])[0])
    panel.axvline(best, color=ACCENT, linewidth=1, alpha=0.6, zorder=0)
    panel.errorbar(best, seen.best.mean, seen.best.std, color=ACCENT, marker="*", markersize=13, markeredgecolor="white", zorder=4)
    panel.set_xlabel(_plain(name))
    if isinstance(axis, Choice):
        texts = [str(option) for option in axis.options]
        labels = [_plain(_short(text)) for text in (texts if len(set(texts)) == len(texts) else map(repr, axis.options))]
        crowded = len(labels) * max(map(len, labels)) > 30
        panel.set_xticks(range(len(labels)), labels, rotation=30 if crowded else 0, ha="right" if crowded else "center")
        panel.set_xlim(-0.5, len(labels) - 0.5)
        return
    panel.set_xscale("log" if axis.log else "linear")
    if isinstance(axis, Integer) and not axis.log:
        panel.locator_params(axis="x", integer=True)
    ends = np.log([axis.low, axis.high]) if axis.log else np.array([axis.low, axis.high], dtype=float)
    ends += 0.03 * np.array([-1.0, 1.0]) * (ends[1] - ends[0])
    panel.set_xlim(*(np.exp(ends) if axis.log else ends))


def _legend_above(panel: Axes) -> None:
    """Beside the title, where no dots are."""
    panel.legend(fontsize="small", loc="lower right", bbox_to_anchor=(1.0, 0.98), ncols=3, frameon=False)


def _short(text: str) -> str:
    return text if len(text) <= 12 else f"{text[:11]}…"


def _plain(text: str) -> str:
    """Text as it is: matplotlib would take dollar signs for mathematics."""
    return text.replace("$", r"\$")
