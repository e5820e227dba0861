"""What a step takes as a study grows to thousands of observations, at six axes: where the time goes, and memory.

    python -m benchmarks.growth [--quick] [--sizes 100 200 500 1000 2000] [--steps 12]

A study is given n results, half of them crowded around the minimum. At the normal and at the light level the first step on them is
reported apart, then the mean over the steps after it, in all and stage by stage. Amortized: the mean with the first step's move of
the hyperparameters spread over the steps until n has grown by the growth factor. Quick: ask and tell without a model, in memory and
in SQLite. And a whole run: a study with a fidelity from its first step on, all of it at the normal level, with everything that
belongs to a step. Writes benchmarks/results/growth.json, unless it is quick.
"""

from __future__ import annotations

import argparse
import json
import platform
import tempfile
import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np

import farthing as ft
from benchmarks.overhead import STAGES, instrument, seconds, smooth
from benchmarks.peers.simulated import quadratic_cost
from experiments.runs import farthing_version
from farthing.method.effort import LIGHT, NORMAL
from farthing.trials import COMPLETE, Proposal, Trial

RESULTS = Path(__file__).parent / "results"
AXES = 6


def filled(count: int, share: float, store: Path | None = None) -> ft.Study:
    """A study with so many results of evaluations of a minute."""
    rng = np.random.default_rng(0)
    space = {f"x{i}": ft.Real(0.0, 1.0) for i in range(AXES)}
    study = ft.Study(space, seed=0, settings=ft.Settings(thinking_share=share, overhead_price=1.0), store=store)
    for number in range(count):
        x = rng.random(AXES) if number % 2 else np.clip(0.4 + 0.15 * rng.standard_normal(AXES), 0.0, 1.0)
        params = {f"x{i}": float(v) for i, v in enumerate(x)}
        made = Proposal("acquisition", effort=NORMAL)
        study.store.insert(
            study.name, Trial(number, params, None, made, state=COMPLETE, value=smooth(x, 0.0), cost=60.0, overhead=1.0)
        )
    return study


def step(study: ft.Study, level: str) -> float:
    """Seconds of one step at that level; the result is told without the clock."""
    thinking, journal = study._thinking, study._journal
    start = time.perf_counter()
    tally = journal.tally
    point, proposal = thinking.propose(thinking.situation(study.history, tally, None, level))
    taken = time.perf_counter() - start
    trial = journal.begin(point, replace(proposal, effort=level), 0.0, None)
    study.tell(trial, smooth(point[:AXES], 0.0), cost=60.0)
    return taken


def row(count: int, level: str, steps: int) -> dict:
    study = filled(count, 1.0)
    first = step(study, level)
    moved = dict(seconds)
    seconds.clear()
    times = [step(study, level) for _ in range(steps)]
    stages = {stage: seconds[stage] / steps for stage in STAGES}
    # A step that moves the draws is like the first one but for what is fitted once; one is due whenever n has grown by the factor.
    growth = study.settings.growth
    between = max((growth - 1.0) * count, 1.0)
    amortized = float(np.mean(times)) + moved.get("hyperparameters and factor", 0.0) / between
    return {
        "n": count,
        "level": level,
        "first_seconds": first,
        "seconds": float(np.mean(times)),
        "slowest": float(np.max(times)),
        "amortized_seconds": amortized,
        "first_stages": moved,
        "stages": stages,
        "memory_mb": memory(),
    }


def quick_row(count: int, where: str) -> dict:
    """Milliseconds of ask and of tell without a model."""
    with tempfile.TemporaryDirectory() as folder:
        study = filled(count, 1e-9, Path(folder) / "study.db" if where == "sqlite" else None)
        times = defaultdict(list)
        for _ in range(100):
            start = time.perf_counter()
            trial = study.ask()
            asked = time.perf_counter()
            study.tell(trial, smooth(np.array(list(trial.params.values())), 0.0), cost=0.0)
            times["ask"].append(asked - start)
            times["tell"].append(time.perf_counter() - asked)
        assert trial.proposal.effort == "quick"
    return {"n": count, "level": f"quick, {where}"} | {f"{name}_ms": 1e3 * float(np.median(t)) for name, t in times.items()}


def whole_run(sizes: list[int]) -> list[dict]:
    """Of one study that goes on to the largest size, at every size: seconds of all steps so far, of those since the size before and
    of the slowest of these.
    """
    space = {f"x{i}": ft.Real(0.0, 1.0) for i in range(AXES)}
    fidelity = ft.Fidelity("s", cheap=1.0, full=0.0)
    study = ft.Study(space, fidelity=fidelity, seed=0, settings=ft.Settings(thinking_share=1.0, overhead_price=1.0))
    rows, times, total, before = [], [], 0.0, 0
    for n in range(1, max(sizes) + 1):
        start = time.perf_counter()
        trial = study.ask()
        asked = time.perf_counter()
        value = smooth(np.array(list(trial.params.values())), trial.fidelity)
        told = time.perf_counter()
        study.tell(trial, value, cost=quadratic_cost(trial.fidelity))
        times.append(asked - start + time.perf_counter() - told)
        if n in sizes:
            total += sum(times)
            mean, slowest = sum(times) / (n - before), max(times)
            rows.append({"n": n, "total_seconds": total, "seconds": mean, "slowest": slowest})
            print(f"n={n:<6}whole run: {total:.0f} s so far, {mean:.3f} s a step lately, slowest {slowest:.2f}", flush=True)
            times, before = [], n
    return rows


def memory() -> float:
    """MB that this process holds at the most so far (Linux)."""
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) / 1024.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="up to 500 and three steps each")
    parser.add_argument("--sizes", nargs="+", type=int, default=[100, 200, 500, 1000, 2000])
    parser.add_argument("--steps", type=int, default=12)
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.sizes, arguments.steps = [100, 500], 3
    instrument()
    rows = []
    for count in arguments.sizes:
        for where in ("memory", "sqlite"):
            rows.append(quick_row(count, where))
            print(
                f"n={count:<6}{rows[-1]['level']:<16}{rows[-1]['ask_ms']:.2f} ms to ask, {rows[-1]['tell_ms']:.2f} to tell",
                flush=True,
            )
        for level in (LIGHT, NORMAL):
            seconds.clear()
            rows.append(row(count, level, arguments.steps))
            made = rows[-1]
            stages = ", ".join(f"{stage} {1e3 * s:.0f}" for stage, s in made["stages"].items() if s >= 5e-4)
            print(
                f"n={count:<6}{level:<8}{made['seconds']:.3f} s a step, slowest {made['slowest']:.3f}, "
                f"first {made['first_seconds']:.2f}, amortized {made['amortized_seconds']:.3f}, {made['memory_mb']:.0f} MB",
                f"   ms: {stages}",
                flush=True,
            )
    whole = whole_run(sorted(arguments.sizes))
    if not arguments.quick:
        RESULTS.mkdir(exist_ok=True)
        versions = {"farthing": farthing_version(), "python": platform.python_version(), "numpy": np.__version__}
        summary = {**versions, "axes": AXES, "rows": rows, "whole_run": whole, "peak_memory_mb": memory()}
        (RESULTS / "growth.json").write_text(json.dumps(summary, indent=1))


if __name__ == "__main__":
    main()
