"""Write docs/benchmarks.md, docs/peers.svg and docs/defaults.md from the committed results.

python -m benchmarks.report
"""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

from benchmarks import report_defaults
from benchmarks.peers import document, plot
from benchmarks.peers.document import table

HERE = Path(__file__).parent
RESULTS = HERE / "results"
DOCS = HERE.parent / "docs"


def _results(name: str) -> Any:
    return json.loads((RESULTS / f"{name}.json").read_text())


def _sources(data: dict) -> str:
    """Which farthing was measured."""
    return f"farthing {data['farthing']}"


def overhead() -> str:
    data = _results("overhead")
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
five proposals. {_sources(data)}, Python {data["python"]}, NumPy {data["numpy"]}, SciPy {data["scipy"]}, two shared cores.

{table(["d", "optimizer", *(f"n={n}" for n in sizes)], rows)}

At n = 500, d = 6, the mean over twenty steps of one study was {data["amortized_seconds_n500_d6"]:.3f} s, the slowest of them
{data["slowest_of_twenty_n500_d6"]:.3f} s. From n = 100 to n = 500 a step grows {n500 / n100:.1f} times. Peak memory at n = 1000,
d = 6: {data["peak_memory_mb_n1000_d6"]:.0f} MB. `import farthing`: {data["import_seconds"]:.2f} s.

Where the time goes at d = 6, milliseconds a step:

{table(["stage", *(f"n={row['n']}" for row in stages)], stage_rows)}
"""


def acquisition() -> str:
    data = _results("acquisition")
    return f"""## Acquisition search

On {data["problems"]} random problems (d = 2 to 6, plus fidelity) the search came within 2% of the best of {data["points"]:,}
points refined locally in {100 * data["share_within_2_percent"]:.1f}% of them; the worst reached {100 * data["worst"]:.1f}% of the
reference. {_sources(data)}.
"""


def store() -> str:
    data = _results("store")
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


def highlights() -> str:
    """What one would look for first."""
    peers, seconds, effort, growth = (_results(name) for name in ("peers", "peers_overhead", "effort", "growth"))
    behind = f"it is behind in {len(effort['behind'])} cases" if effort["behind"] else "it is behind nowhere"
    last = max((row for row in growth["rows"] if row["level"] == "normal"), key=lambda row: row["n"])
    lines = [
        *document.highlights(peers, seconds),
        f"Wall-clock to a stated regret against random search and Optuna, evaluations of 1 ms to 10 s: {behind} "
        "([effort](#effort-follows-price)).",
        f"At n = {last['n']:,}, d = {growth['axes']}, a step takes {last['amortized_seconds']:.2f} s amortized; a run so far, "
        f"{growth['whole_run'][-1]['total_seconds']:.0f} s and {growth['peak_memory_mb']:.0f} MB ([growth](#growth)).",
    ]
    return "\n".join(textwrap.fill(f"- {line}", 130, subsequent_indent="  ", break_on_hyphens=False) for line in lines) + "\n"


def peers() -> str:
    """What the runs beside other optimizers say, and the plot."""
    summary = _results("peers")
    plot.draw(summary, DOCS / document.PLOT)
    return document.section(summary, _results("peers_overhead"))


def growth() -> str:
    data = _results("growth")
    sizes = sorted({row["n"] for row in data["rows"]})
    found = {(row["n"], row["level"]): row for row in data["rows"]}

    def line(name: str, level: str, key: str, scale: float, digits: int) -> list[str]:
        return [name, *(f"{scale * found[n, level][key]:.{digits}f}" for n in sizes)]

    rows = [
        line("normal: mean step", "normal", "seconds", 1e3, 0),
        line("normal: amortized, with moves of the draws", "normal", "amortized_seconds", 1e3, 0),
        line("normal: first step on n added results", "normal", "first_seconds", 1e3, 0),
        line("light: mean step", "light", "seconds", 1e3, 0),
        line("quick: ask, in memory", "quick, memory", "ask_ms", 1.0, 2),
        line("quick: ask, SQLite", "quick, sqlite", "ask_ms", 1.0, 1),
    ]
    stages = found[sizes[-1], "normal"]["stages"]
    stage_rows = [[stage, *(f"{1e3 * found[n, 'normal']['stages'][stage]:.0f}" for n in sizes)] for stage in stages]
    last = found[sizes[-1], "normal"]
    whole = [
        ["all steps so far, s", *(f"{row['total_seconds']:.0f}" for row in data["whole_run"])],
        ["mean step since the size before, ms", *(f"{1e3 * row['seconds']:.0f}" for row in data["whole_run"])],
        ["slowest of these, ms", *(f"{1e3 * row['slowest']:.0f}" for row in data["whole_run"])],
    ]
    return f"""## Growth

Milliseconds a step after n evaluations at {data["axes"]} axes, full fidelity, on one core, by level of effort (`python -m
benchmarks.growth`). Peak memory at n = {sizes[-1]}: {last["memory_mb"]:.0f} MB. {_sources(data)}.

{table(["", *(f"n={n}" for n in sizes)], rows)}

Where the time goes at the normal level:

{table(["stage", *(f"n={n}" for n in sizes)], stage_rows)}

A whole run, with a fidelity, from its first step on, all of it at the normal level: proposing and taking the results, with moves of
the draws, checks and doubt. Peak memory: {data["peak_memory_mb"]:.0f} MB.

{table(["", *(f"n={row['n']}" for row in data["whole_run"])], whole)}
"""


def effort() -> str:
    """Seconds until a stated regret, by what an evaluation takes."""
    data = _results("effort")
    found = {(row["task"], row["evaluation_seconds"], row["optimizer"]): row for row in data["rows"]}
    optimizers = list(dict.fromkeys(name for _, _, name in found))

    def seconds(spread: dict) -> str:
        return "never" if spread["median"] is None else f"{spread['median']:.3g}"

    rows, shares = [], []
    for task, each in dict.fromkeys((task, each) for task, each, _ in found):
        here = {name: found[task, each, name] for name in optimizers}
        for mark in here["farthing"]["until"]:
            rows.append([task, f"{each:g} s", mark, *(seconds(here[name]["until"][mark]) for name in optimizers)])
        efforts = ", ".join(f"{count} {level}" for level, count in here["farthing"]["efforts"].items())
        cells = (f"{here[name]['thinking_share']:.0%}, {here[name]['proposal_ms']:.2g} ms" for name in optimizers)
        shares.append([task, f"{each:g} s", *cells, efforts])
    lost = data["behind"]
    verdict = "farthing is behind nowhere." if not lost else "farthing is behind:\n\n" + "\n".join(f"- {line}" for line in lost)
    runs = data["rows"][0]["runs"]
    return f"""## Effort follows price

Wall-clock seconds until the optimizer's answer has a regret, at full fidelity, when an evaluation takes 1 ms to 10 s
(`python -m benchmarks.effort`): medians of {runs} runs. Evaluations up to 0.1 s really sleep; longer ones pass on a simulated
clock, on which thinking takes its real time. Random search is taken to think for no time at all.
{_sources(data)}.

{table(["task", "evaluation", "regret", *optimizers], rows)}

Behind is a later median than random search's, or one more than a tenth later than another's. {verdict}

The share of the time that is not the stated length of evaluations: thinking, bookkeeping of the loop and of this benchmark, and
what a sleep takes longer than it was asked to, about a tenth of a millisecond; then the milliseconds of thinking recorded for a
proposal, and farthing's levels of effort. Farthing keeps its recorded thinking to about a fifth of the time at the most; at 1 ms an
evaluation the rest is more than that thinking.

{table(["task", "evaluation", *optimizers, "levels"], shares)}
"""


def main() -> None:
    parts = [
        "# Benchmarks\n",
        "Written by `python -m benchmarks.report` from `benchmarks/results/`; measured again by `make benchmarks` and, against\n"
        "peers, by `make peers` and `make peers-benchmark`. How farthing's own methods and samplers compare is in\n"
        "[results](results.md), and why its defaults are what they are in [defaults](defaults.md).\n",
        highlights(),
        peers(),
        overhead(),
        effort(),
        growth(),
        acquisition(),
        store(),
    ]
    (DOCS / "benchmarks.md").write_text("\n".join(parts))
    (DOCS / "defaults.md").write_text(report_defaults.text(RESULTS))


if __name__ == "__main__":
    main()
