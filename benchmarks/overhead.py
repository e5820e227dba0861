"""Overhead: how long `ask` and `recommend` take after n evaluations, stage by stage, beside Optuna's GPSampler.

    python -m benchmarks.overhead [--quick] [--no-optuna] [--memory]

One BLAS thread. A study with a fidelity and default settings gets n evaluations of a smooth function; after one first step, steps
of ask, tell and recommend are timed: the median over five studies of the mean over four steps. For n = 500, d = 6 also the mean
over twenty steps of one study. Optuna's GPSampler is timed in the same process on the same points at full fidelity: the median of
five proposals. Writes benchmarks/results/overhead.json.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import json
import platform
import subprocess
import sys
import time
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
import scipy

import farthing as ft
from experiments.runs import farthing_version
from farthing.method import beliefs, deliberation, propose

RESULTS = Path(__file__).parent / "results"
STAGES = {
    "hyperparameters and factor": (beliefs, propose, "fit_surrogate"),
    "cost model": (beliefs, "fit_cost"),
    "local minima": (beliefs, propose, "find_local_minima"),
    "overhead model": (beliefs, "scheduled_overhead"),
    "support points": (deliberation, "draw_support"),
    "minimizer draws": (deliberation, "_draw_minimizers"),
    "conditioning (EP)": (deliberation, "condition_on_minimizers"),
    "acquisition search": (propose, "maximize"),
    "recommendation": (propose, "recommend"),
}
"""The modules that call a stage, and its name there."""

seconds: dict[str, float] = defaultdict(float)


def instrument() -> None:
    """Time every stage of `farthing.method` by name."""

    def timed(stage: str, function):
        def wrapper(*args, **kwargs):
            start = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                seconds[stage] += time.perf_counter() - start

        return wrapper

    for stage, (*modules, name) in STAGES.items():
        for module in modules:
            setattr(module, name, timed(stage, getattr(module, name)))


def smooth(x: np.ndarray, s: float) -> float:
    """A bowl with waves, shifted and lifted by the fidelity."""
    z = x - 0.4 - 0.1 * s
    return float(3.0 * (z**2).sum() + 0.5 * np.sin(7.0 * z[0]) * np.cos(5.0 * z[-1]) + 0.3 * s)


def study_with(n: int, d: int, seed: int) -> ft.Study:
    rng = np.random.default_rng(seed)
    space = {f"x{i}": ft.Real(0.0, 1.0) for i in range(d)}
    study = ft.Study(
        space,
        fidelity=ft.Fidelity("s", cheap=1.0, full=0.0),
        seed=seed,
        budget=1e7,
        settings=ft.Settings(overhead_price=1.0),
    )
    # As in a real run, half of the evaluations crowd around the minimum.
    for i in range(n):
        x = rng.random(d) if i % 2 else np.clip(0.4 + 0.15 * rng.standard_normal(d), 0.0, 1.0)
        s = float(rng.random())
        study.add({f"x{j}": float(v) for j, v in enumerate(x)}, smooth(x, s), fidelity=s, cost=120.0 + 1680.0 * (1.0 - s) ** 2)
    return study


def step(study: ft.Study) -> float:
    """Seconds for one ask and one recommend; telling the result is not counted."""
    start = time.perf_counter()
    trial = study.ask()
    asked = time.perf_counter() - start
    x = np.array(list(trial.params.values()))
    study.tell(trial, smooth(x, trial.fidelity), cost=120.0 + 1680.0 * (1.0 - trial.fidelity) ** 2)
    start = time.perf_counter()
    study.recommend()
    return asked + time.perf_counter() - start


def farthing_row(n: int, d: int, studies: int, steps: int) -> dict:
    means, first = [], []
    seconds_by_stage: dict[str, list[float]] = defaultdict(list)
    for seed in range(studies):
        study = study_with(n, d, seed)
        step(study)  # the repeat, which takes no thought
        first.append(step(study))
        seconds.clear()
        means.append(np.mean([step(study) for _ in range(steps)]))
        for stage in (*STAGES, "support points"):
            seconds_by_stage[stage].append(seconds[stage] / steps)
    return {
        "optimizer": "farthing",
        "n": n,
        "d": d,
        "seconds": float(np.median(means)),
        "first_step_seconds": float(np.median(first)),
        "stages": {stage: float(np.median(values)) for stage, values in seconds_by_stage.items()},
    }


def optuna_row(n: int, d: int, repeats: int) -> dict:
    import optuna
    import torch

    torch.set_num_threads(1)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    distributions = {f"x{i}": optuna.distributions.FloatDistribution(0.0, 1.0) for i in range(d)}
    times = []
    rng = np.random.default_rng(0)
    points = np.where(np.arange(n)[:, None] % 2, rng.random((n, d)), np.clip(0.4 + 0.15 * rng.standard_normal((n, d)), 0.0, 1.0))
    study = optuna.create_study(sampler=optuna.samplers.GPSampler(seed=0))
    for x in points:
        params = {f"x{i}": float(v) for i, v in enumerate(x)}
        study.add_trial(optuna.trial.create_trial(params=params, distributions=distributions, value=smooth(x, 0.0)))
    for _ in range(repeats + 1):
        start = time.perf_counter()
        trial = study.ask(distributions)
        times.append(time.perf_counter() - start)
        study.tell(trial, smooth(np.array([trial.params[f"x{i}"] for i in range(d)]), 0.0))
    return {"optimizer": "optuna GPSampler", "n": n, "d": d, "seconds": float(np.median(times[1:]))}


def import_seconds() -> float:
    """Median of five fresh interpreters, less a bare one."""
    code = "import time; t = time.perf_counter(); import farthing; print(time.perf_counter() - t)"
    return float(
        np.median([float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout) for _ in range(5)])
    )


def peak_memory() -> float:
    """MB at the most, of a process that asks and recommends at n = 1000, d = 6."""
    command = [sys.executable, "-c", "from benchmarks import overhead; overhead.peak()"]
    return float(subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=True).stdout)


def peak() -> None:
    study = study_with(1000, 6, 0)
    for _ in range(3):
        step(study)
    # Of this process alone (Linux): getrusage would count what its parent held when it was started.
    status = Path("/proc/self/status").read_text()
    print(int(status.partition("VmHWM:")[2].split()[0]) / 1024.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="n up to 100 and two studies each")
    parser.add_argument("--no-optuna", action="store_true")
    parser.add_argument("--memory", action="store_true", help="measure memory and import time again, and nothing else")
    arguments = parser.parse_args()
    if arguments.memory:
        kept = json.loads((RESULTS / "overhead.json").read_text())
        kept |= {"import_seconds": import_seconds(), "peak_memory_mb_n1000_d6": peak_memory()}
        (RESULTS / "overhead.json").write_text(json.dumps(kept, indent=1))
        return
    instrument()
    sizes, studies = ((20, 50, 100), 2) if arguments.quick else ((20, 50, 100, 200, 500, 1000), 5)
    rows = []
    for d in (2, 6, 10):
        for n in sizes:
            rows.append(farthing_row(n, d, studies, 4))
            row = rows[-1]
            stages = ", ".join(f"{stage} {1e3 * value:.0f}" for stage, value in row["stages"].items())
            print(
                f"farthing d={d:<3} n={n:<5} {row['seconds']:.3f} s  (first {row['first_step_seconds']:.3f})  ms: {stages}",
                flush=True,
            )
            if not arguments.no_optuna:
                rows.append(optuna_row(n, d, 5 if n <= 200 else 3))
                print(f"optuna   d={d:<3} n={n:<5} {rows[-1]['seconds']:.3f} s", flush=True)
    summary = {
        "farthing": farthing_version(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "import_seconds": import_seconds(),
        "rows": rows,
    }
    if not arguments.quick:
        study = study_with(500, 6, 0)
        step(study)
        steps = [step(study) for _ in range(20)]
        summary["amortized_seconds_n500_d6"] = float(np.mean(steps))
        summary["slowest_of_twenty_n500_d6"] = float(np.max(steps))
        summary["peak_memory_mb_n1000_d6"] = peak_memory()
    print(json.dumps({k: v for k, v in summary.items() if k != "rows"}, indent=1))
    if not arguments.quick:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / "overhead.json").write_text(json.dumps(summary, indent=1))


if __name__ == "__main__":
    main()
