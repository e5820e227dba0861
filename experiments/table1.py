"""table1: how good support points are, and how fast they are made, while PES runs.

After every fifth evaluation, 1,000 support points by each sampler, then 10,000 joint posterior draws over them; with N draws, m
points and n_i draws that are lowest at point i,

    p_i = (n_i + 1) / (m + N)        KL = sum_i p_i log(m p_i)
    unused = #{n_i = 0}              useful = #{n_i >= N / (10 m)}        rate = (useful - 1) / seconds

averaged over steps and runs. The draws come from the mixture over hyperparameter draws, from each in proportion to its weight. The
seconds of WLH include the search for local minima, which slice sampling is given.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import farthing as ft
from experiments import variants
from experiments.contenders import PES
from experiments.curves import Summary, short, what_was_run
from experiments.experiment import Experiment, Size
from experiments.figures import footer, panels
from experiments.markdown import table
from experiments.problem import Array
from experiments.runs import Job, Record
from experiments.synthetic import plain
from experiments.table1_paper import METRICS, PAPER, RIVALS, SAMPLERS, judge
from experiments.verdicts import Verdict
from farthing.method.local_minima import LocalMinima, find_local_minima
from farthing.method.support import SAMPLERS as LIBRARY
from farthing.method.surrogate import Surrogate, fit_surrogate
from farthing.numerics.gaussian_process import cholesky

STEPS, EVERY, FIRST = 50, 5, 10
POINTS, DRAWS = 1000, 10_000
BATCH = 1000
"""Draws that are made at once."""

PURE = "WLH, no uniform share"
"""WLH as the paper has it, without the share of points that the library draws uniformly."""


def quality(counts: NDArray[np.int64], seconds: float) -> dict[str, float]:
    """The paper's figures for counts (m,) of how often each point was lowest, made in so many seconds."""
    m, total = len(counts), int(counts.sum())
    p = (counts + 1.0) / (m + total)
    useful = int((counts >= total / (10.0 * m)).sum())
    return {
        "kl": float((p * np.log(m * p)).sum()),
        "useful": 100.0 * useful / m,
        "time": seconds,
        "rate": (useful - 1) / seconds,
        "unused": 100.0 * float((counts == 0).mean()),
    }


def count_lowest(surrogate: Surrogate, support: Array, draws: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """(m,) how many of so many joint posterior draws over support points (m, d) are lowest at each."""
    process, z = surrogate.process, surrogate.at_full_fidelity(support)
    white = process.whiten(process.kernel.values(z, process.probes.points))
    mean = np.einsum("kmn,kn->km", white, process.whitened)
    counts = np.zeros(len(z), dtype=np.int64)
    for k, share in enumerate(rng.multinomial(draws, surrogate.weights)):
        kernel = process.kernel.only(k)
        lower = cholesky(kernel.values(z, z)[0] - white[k] @ white[k].T, kernel.variance_at(z)[0])
        for first in range(0, share, BATCH):
            normal = rng.standard_normal((len(z), min(BATCH, share - first)))
            counts += np.bincount(np.argmin(mean[k, :, None] + lower @ normal, axis=0), minlength=len(z))
    return counts


def draw_timed(
    sampler: str, surrogate: Surrogate, minima: LocalMinima, count: int, rng: np.random.Generator
) -> tuple[Array, float]:
    """Support points by a sampler of the table, and the seconds they took."""
    name = SAMPLERS.get(sampler, "wlh")
    with variants.applied("no_uniform_share" if sampler == PURE else None):
        start = time.perf_counter()
        if name == "wlh":
            minima = find_local_minima(surrogate, None, rng)
        points = LIBRARY[name](surrogate, minima, count, rng)
        return points, time.perf_counter() - start


class Table1(Experiment):
    name = "table1"
    title = "Quality of support points"
    claim = "WLH is the best of the samplers, uniform excluded, in 14 of 16 rows: KL divergence, useful points, time, rate."
    full = Size(16, 16, 1.0)
    quick = Size(1, 1, 0.2)
    tasks = tuple(PAPER["kl"])

    def jobs(self, size: Size) -> list[Job]:
        definition = {"version": self.definition, "every": EVERY, "points": POINTS, "draws": DRAWS}
        tasks = size.tasks or self.tasks
        return [Job.of(self.name, task, PES.label, seed, size.scale, definition) for seed in range(size.runs) for task in tasks]

    def run(self, job: Job, data: Path | None) -> dict[str, Any]:
        """PES on one objective; support points are judged beside it, and it does not learn of that."""
        steps = round(STEPS * job.scale)
        problem = plain(job.task, steps, job.seed)
        study = ft.Study(problem.space, method=PES.make(), seed=job.seed, settings=PES.settings_with(problem.overhead_price))
        measured = []
        for step in range(1, steps + 1):
            trial = study.ask()
            study.tell(trial, problem.objective(**trial.params))
            if step >= FIRST and step % EVERY == 0:
                measured.append({"step": step, "samplers": _measure(study, job.seed, step)})
        return {"measured": measured}

    def collect(self, records: Sequence[Record]) -> Summary:
        tasks: dict[str, Any] = {}
        for task in dict.fromkeys(record["job"]["task"] for record in records):
            these = [record["result"]["measured"] for record in records if record["job"]["task"] == task]
            rows = {
                sampler: {
                    metric: short(float(np.mean([m["samplers"][sampler][metric] for run in these for m in run])))
                    for metric in (*METRICS, "unused")
                }
                for sampler in (*SAMPLERS, PURE)
            }
            tasks[task] = {"runs": len(these), "measured": sum(len(run) for run in these), "samplers": rows}
        return {**what_was_run(records), "tasks": tasks}

    def draw(self, summary: Summary, path: Path) -> None:
        """Ours beside the paper's, one panel a figure of merit."""
        counts = {task: cell["runs"] for task, cell in summary["tasks"].items()}
        with panels(1, len(METRICS), path, footer(summary, counts), (2.2, 2.6)) as axes:
            for axis, (metric, label) in zip(axes[0], METRICS.items(), strict=True):
                for i, sampler in enumerate(SAMPLERS):
                    places = np.arange(len(summary["tasks"])) + 0.2 * (i - 1.5)
                    ours = [cell["samplers"][sampler][metric] for cell in summary["tasks"].values()]
                    theirs = [PAPER[metric][task][i] for task in summary["tasks"]]
                    axis.plot(places, ours, "o", color=f"C{i}", markersize=4, label=f"{sampler}, farthing")
                    axis.plot(places, theirs, "_", color=f"C{i}", markersize=8, label=f"{sampler}, paper")
                axis.set_title(label)
                axis.set_xticks(range(len(summary["tasks"])), list(summary["tasks"]), rotation=30)
                if metric != "useful":
                    axis.set_yscale("log")
            axes[0, 0].legend(frameon=False, fontsize=5)

    def verdicts(self, summary: Summary) -> list[Verdict]:
        return judge({task: cell["samplers"] for task, cell in summary["tasks"].items()})

    def tables(self, summary: Summary) -> str:
        columns = (*SAMPLERS, PURE)
        rows = []
        for metric, label in METRICS.items():
            for task, cell in summary["tasks"].items():
                ours = {sampler: cell["samplers"][sampler][metric] for sampler in columns}
                theirs = dict(zip(SAMPLERS, PAPER[metric][task], strict=True))
                best = (max if metric in ("useful", "rate") else min)(RIVALS, key=lambda sampler: ours[sampler])
                cells = [f"**{ours[s]:.3g}**" if s == best else f"{ours[s]:.3g}" for s in columns]
                rows.append([label, task, *cells, *(f"{theirs[s]:.3g}" for s in SAMPLERS)])
        return table(["", "objective", *columns, *(f"paper: {s}" for s in SAMPLERS)], rows)

    def remarks(self, summary: Summary) -> list[str]:
        cells = summary["tasks"].values()
        points = min(cell["measured"] for cell in cells)
        unused = ", ".join(f"{cell['samplers']['WLH']['unused']:.3g}" for cell in cells)
        return [
            f"Every fifth evaluation from the tenth on, at least {points} times an objective. Unused points of WLH, %: {unused}.",
            f"WLH is the library's, a share of whose points is drawn uniformly; '{PURE}' is the same without.",
        ]


def _measure(study: ft.Study, seed: int, step: int) -> dict[str, dict[str, float]]:
    """All samplers at one history."""
    rng = np.random.default_rng([seed, step, 8])
    surrogate = fit_surrogate(study.history, study.settings, study.seed)
    minima = find_local_minima(surrogate, None, rng)
    out = {}
    for sampler in (*SAMPLERS, PURE):
        points, seconds = draw_timed(sampler, surrogate, minima, POINTS, rng)
        counts = count_lowest(surrogate, points, DRAWS, rng)
        out[sampler] = {metric: float(value) for metric, value in quality(counts, seconds).items()}
    return out
