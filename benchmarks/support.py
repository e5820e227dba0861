"""Time of 1,000 support points: WLH against slice sampling over expected improvement, and against the paper's own times.

    python benchmarks/support.py

After 50 evaluations of Branin, Hartmann 3d and Hartmann 6d (no fidelity), default settings, one BLAS thread, median of five. The
time of WLH includes the search for local minima. Writes benchmarks/results/support.json.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import json
import time
from pathlib import Path

import numpy as np
from tasks import TASKS

import farthing as ft
from farthing.method.local_minima import find_local_minima
from farthing.method.support import SAMPLERS
from farthing.method.surrogate import fit_surrogate

PAPER_SECONDS = {"branin": 0.489, "hartmann3": 1.27, "hartmann6": 8.98}
"""Table 1 of McLeod, Osborne and Roberts (2018), WLH."""


def surrogate_after(task, n: int, seed: int):
    """Half of the points random, half near the minimum, as a search would have them."""
    rng = np.random.default_rng(seed)
    study = ft.Study(task.space, method="pes", seed=seed)
    points = rng.uniform(-1.0, 1.0, (n, task.dimensions))
    values = np.array([task.function(p, 0.0) for p in points])
    best = points[np.argmin(values[: n // 2])]
    for i, p in enumerate(points):
        x = p if i < n // 2 else np.clip(best + 0.15 * rng.standard_normal(task.dimensions), -1.0, 1.0)
        study.add(dict(zip(task.space, map(float, x), strict=True)), task.function(x, 0.0))
    return fit_surrogate(study.history, study.settings, seed)


def main() -> None:
    rows = []
    for name, task in TASKS.items():
        times: dict[str, list[float]] = {"wlh": [], "ei_slice": []}
        for seed in range(5):
            surrogate = surrogate_after(task, 50, seed)
            for sampler in times:
                rng = np.random.default_rng(seed)
                minima = find_local_minima(surrogate, None, rng)
                start = time.perf_counter()
                if sampler == "wlh":
                    minima = find_local_minima(surrogate, None, rng)
                support = SAMPLERS[sampler](surrogate, minima, 1000, rng)
                times[sampler].append(time.perf_counter() - start)
                assert support.shape == (1000, task.dimensions)
        wlh, ei = np.median(times["wlh"]), np.median(times["ei_slice"])
        rows.append(
            {
                "task": name,
                "wlh_seconds": float(wlh),
                "ei_slice_seconds": float(ei),
                "times_faster_than_ei_slice": float(ei / wlh),
                "times_faster_than_paper": float(PAPER_SECONDS[name] / wlh),
            }
        )
        print(
            f"{name:<12} WLH {1e3 * wlh:7.1f} ms   slice over EI {1e3 * ei:8.1f} ms   "
            f"{ei / wlh:6.0f} x   paper's WLH {PAPER_SECONDS[name] / wlh:6.0f} x"
        )
    out = Path(__file__).parent / "results" / "support.json"
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
