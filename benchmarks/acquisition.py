"""Does the acquisition search find the maximum? 200 random problems against 100,000 points refined locally.

    python -m benchmarks.acquisition [--problems 200] [--points 100000] [--jobs 2]

Each problem: d from 2 to 6 and a fidelity, a function drawn at random, 10 to 60 evaluations, a surrogate and the information rate
with default settings. The reference is the best of 100,000 points, half uniform and half crowded around the candidates, the best
60 refined with gradients, and of the search's own result. Found: within 2% of the reference. Writes
benchmarks/results/acquisition.json.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

import farthing as ft
from experiments.runs import farthing_version
from farthing.method.acquisition_search import maximize
from farthing.method.beliefs import believe
from farthing.method.deliberation import deliberate
from farthing.method.situation import Situation
from farthing.method.streams import stream
from farthing.methods import EnvPES
from farthing.numerics.box_search import minimize_in_box


def random_problem(number: int) -> Situation:
    """A smooth random function of x and s: a sum of cosines with random frequencies, plus a bowl."""
    rng = np.random.default_rng(1000 + number)
    d = 2 + number % 5
    n = int(rng.integers(10, 61))
    frequencies = rng.standard_normal((40, d + 1)) * np.append(np.full(d, rng.uniform(1.0, 6.0)), rng.uniform(0.3, 2.0))
    phases, amplitudes = rng.uniform(0.0, 2.0 * np.pi, 40), rng.standard_normal(40) / np.sqrt(40)
    center, bowl = rng.random(d), rng.uniform(0.0, 4.0)

    def function(x: np.ndarray, s: float) -> float:
        return float(amplitudes @ np.cos(frequencies @ np.append(x, s) + phases) + bowl * ((x - center) ** 2).sum())

    study = ft.Study(
        {f"x{i}": ft.Real(0.0, 1.0) for i in range(d)},
        fidelity=ft.Fidelity("s", cheap=1.0, full=0.0),
        seed=number,
        budget=1e5,
        settings=ft.Settings(overhead_price=1.0),
    )
    best = rng.random(d)
    for i in range(n):
        x = rng.random(d) if i < n // 2 else np.clip(best + 0.1 * rng.standard_normal(d), 0.0, 1.0)
        s = float(rng.random()) if rng.random() < 0.8 else 0.0
        value = function(x, s)
        study.add({f"x{j}": float(v) for j, v in enumerate(x)}, value, fidelity=s, cost=120.0 + 1680.0 * (1.0 - s) ** 2)
        if i < n // 2 and value <= min(t.value for t in study.trials):
            best = x
    return Situation(study.history, EnvPES(), study.settings, number, 1e5, 1.0)


def solve(number: int, points: int) -> dict:
    situation = random_problem(number)
    thought = deliberate(situation, believe(situation), stream(number, "proposal", situation.number))
    found = float(maximize(thought.acquisition, thought.domain, thought.candidates, situation.settings.starts)[1][0])

    rng = np.random.default_rng(5000 + number)
    axes = thought.candidates.shape[1]
    uniform = rng.random((points // 2, axes))
    crowd = thought.candidates[rng.integers(0, len(thought.candidates), points - len(uniform))]
    crowd = np.clip(crowd + rng.choice([0.01, 0.05, 0.2], (len(crowd), 1)) * rng.standard_normal(crowd.shape), 0.0, 1.0)
    everywhere = np.concatenate([uniform, crowd])
    scores = np.concatenate([thought.acquisition.value(block) for block in np.array_split(everywhere, points // 2000 + 1)])
    best = everywhere[np.argsort(-scores)[:60]]

    def negative(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, gradient = thought.acquisition.with_gradient(z)
        return -value, -gradient

    refined = minimize_in_box(negative, best, np.zeros(axes), np.ones(axes), evaluations=150, tolerance=1e-6)
    reference = max(float(-refined.values.min()), found)
    return {"problem": number, "d": axes - 1, "n": len(situation.history), "ratio": float(np.exp(found - reference))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=int, default=200)
    parser.add_argument("--points", type=int, default=100_000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "acquisition.json")
    arguments = parser.parse_args()
    with ProcessPoolExecutor(arguments.jobs) as pool:
        rows = list(pool.map(solve, range(arguments.problems), [arguments.points] * arguments.problems))
    ratios = np.array([row["ratio"] for row in rows])
    summary = {
        "farthing": farthing_version(),
        "problems": len(rows),
        "points": arguments.points,
        "share_within_2_percent": float((ratios >= 0.98).mean()),
        "worst": float(ratios.min()),
        "by_dimension": {
            str(d): float(np.mean([row["ratio"] >= 0.98 for row in rows if row["d"] == d])) for d in sorted({r["d"] for r in rows})
        },
    }
    print(json.dumps(summary, indent=1))
    arguments.out.parent.mkdir(exist_ok=True)
    arguments.out.write_text(json.dumps({**summary, "rows": rows}))


if __name__ == "__main__":
    main()
