"""Write docs/benchmarks.md from the committed results.

python benchmarks/report.py
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from regret import regret_at

HERE = Path(__file__).parent
RESULTS = HERE / "results"


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def overhead() -> str:
    data = json.loads((RESULTS / "overhead.json").read_text())
    sizes = sorted({row["n"] for row in data["rows"]})
    rows = []
    for d in sorted({row["d"] for row in data["rows"]}):
        for name in ("farthing", "optuna GPSampler"):
            found = {row["n"]: row["seconds"] for row in data["rows"] if row["d"] == d and row["optimizer"] == name}
            rows.append([str(d), name, *(f"{found[n]:.3f}" if n in found else "" for n in sizes)])
    stages = [row for row in data["rows"] if row["optimizer"] == "farthing" and row["d"] == 6]
    stage_rows = [[stage, *(f"{1e3 * row['stages'][stage]:.0f}" for row in stages)] for stage in stages[0]["stages"]]
    stage_rows.append(["first step on n added results, all stages", *(f"{1e3 * row['first_step_seconds']:.0f}" for row in stages)])
    n100, n500 = (next(r["seconds"] for r in stages if r["n"] == n) for n in (100, 500))
    return f"""## Overhead

Seconds for one `ask` and one `recommend` after n evaluations, a fidelity and default settings, one BLAS thread: the median over
five studies of the mean over four steps. Optuna's GPSampler (single fidelity) in the same run on the same points: median of
five proposals. Python {data["python"]}, NumPy {data["numpy"]}, SciPy {data["scipy"]}, two shared cores.

{table(["d", "optimizer", *(f"n={n}" for n in sizes)], rows)}

At n = 500, d = 6, the mean over twenty steps of one study was {data["amortized_seconds_n500_d6"]:.3f} s, the slowest of them
{data["slowest_of_twenty_n500_d6"]:.3f} s. From n = 100 to n = 500 a step grows {n500 / n100:.1f} times. Peak memory at n = 1000,
d = 6: {data["peak_memory_mb_n1000_d6"]:.0f} MB. `import farthing`: {data["import_seconds"]:.2f} s.

Where the time goes at d = 6, milliseconds a step:

{table(["stage", *(f"n={row['n']}" for row in stages)], stage_rows)}
"""


def support() -> str:
    rows = [
        [
            row["task"],
            f"{1e3 * row['wlh_seconds']:.1f}",
            f"{1e3 * row['ei_slice_seconds']:.0f}",
            f"{row['times_faster_than_ei_slice']:.0f}",
            f"{row['times_faster_than_paper']:.0f}",
        ]
        for row in json.loads((RESULTS / "support.json").read_text())
    ]
    header = ["task", "WLH, ms", "slice over EI, ms", "WLH faster, times", "than the paper's WLH, times"]
    return f"""## Support points

1,000 support points after 50 evaluations, median of five, the search for local minima included; the paper's times are those of its
Table 1, on its authors' machine.

{table(header, rows)}
"""


def acquisition() -> str:
    data = json.loads((RESULTS / "acquisition.json").read_text())
    return f"""## Acquisition search

On {data["problems"]} random problems (d = 2 to 6, plus fidelity) the search came within 2% of the best of {data["points"]:,}
points refined locally in {100 * data["share_within_2_percent"]:.1f}% of them; the worst reached {100 * data["worst"]:.1f}% of the
reference.
"""


def regret() -> str:
    runs = json.loads((RESULTS / "regret.json").read_text())
    marks = (2.0, 5.0, 10.0)
    rows = []
    for task, method in dict.fromkeys((r["task"], r["method"]) for r in runs):
        these = [r for r in runs if (r["task"], r["method"]) == (task, method)]
        cells = []
        for mark in marks:
            low, middle, high = np.percentile([regret_at(r, mark) for r in these], [25, 50, 75])
            cells.append(f"{middle:.1e} ({low:.0e} to {high:.0e})")
        evaluations = np.median([r["evaluations"] for r in these])
        step = np.median([r["overhead_seconds_per_step"] for r in these])
        rows.append([task, method, *cells, f"{evaluations:.0f}", f"{step:.2f}"])
    seeds = len({r["seed"] for r in runs})
    header = ["task", "method", *(f"{m:g} h" for m in marks), "evaluations", "s/step, two runs at once"]
    return f"""## Regret at equal evaluation cost

Immediate regret of the recommendation, median and quartiles of {seeds} seeds, after so many (simulated) hours of evaluations that
cost from two minutes to half an hour: 120 + 1680 (1 - s)² seconds. Methods other than envpes evaluate at full fidelity only.

{table(header, rows)}
"""


def store() -> str:
    data = json.loads((RESULTS / "store.json").read_text())
    rows = [
        [
            row["store"],
            f"{1e3 * row['changes_and_insert_seconds']:.1f}",
            f"{1e3 * row['finish_seconds']:.1f}",
            f"{row['load_seconds']:.1f}",
        ]
        for row in data["rows"]
    ]
    return f"""## Stores

One step of a study that has {data["rows"][0]["trials"]:,} trials: milliseconds to read what is new and insert a trial (`ask`), and
to record its result (`tell`), medians of 200, durable each time; and seconds to load all trials when the study is opened. SQLite
{data["sqlite"]}, SQLAlchemy {data["sqlalchemy"]}.

{table(["store", "ask, ms", "tell, ms", "first load, s"], rows)}
"""


def main() -> None:
    parts = [
        "# Benchmarks\n",
        "Written by `python benchmarks/report.py` from `benchmarks/results/`; measured again by `make benchmarks`.\n",
        overhead(),
        support(),
        acquisition(),
        regret(),
        store(),
    ]
    (HERE.parent / "docs" / "benchmarks.md").write_text("\n".join(parts))


if __name__ == "__main__":
    main()
