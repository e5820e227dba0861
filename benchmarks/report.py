"""Write docs/benchmarks.md and docs/peers.svg from the committed results.

python -m benchmarks.report
"""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

from benchmarks.peers import document, plot

HERE = Path(__file__).parent
RESULTS = HERE / "results"
DOCS = HERE.parent / "docs"


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def _sources(data: dict) -> str:
    """Which farthing was measured."""
    return f"farthing {data['farthing']}" if "farthing" in data else "farthing as it was before every second proposal sought"


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
five proposals. {_sources(data)}, Python {data["python"]}, NumPy {data["numpy"]}, SciPy {data["scipy"]}, two shared cores.

{table(["d", "optimizer", *(f"n={n}" for n in sizes)], rows)}

At n = 500, d = 6, the mean over twenty steps of one study was {data["amortized_seconds_n500_d6"]:.3f} s, the slowest of them
{data["slowest_of_twenty_n500_d6"]:.3f} s. From n = 100 to n = 500 a step grows {n500 / n100:.1f} times. Peak memory at n = 1000,
d = 6: {data["peak_memory_mb_n1000_d6"]:.0f} MB. `import farthing`: {data["import_seconds"]:.2f} s.

Where the time goes at d = 6, milliseconds a step:

{table(["stage", *(f"n={row['n']}" for row in stages)], stage_rows)}
"""


def acquisition() -> str:
    data = json.loads((RESULTS / "acquisition.json").read_text())
    return f"""## Acquisition search

On {data["problems"]} random problems (d = 2 to 6, plus fidelity) the search came within 2% of the best of {data["points"]:,}
points refined locally in {100 * data["share_within_2_percent"]:.1f}% of them; the worst reached {100 * data["worst"]:.1f}% of the
reference. {_sources(data)}.
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


def peers() -> str:
    """What the runs beside other optimizers say, and the plot; nothing where there are none."""
    if not (RESULTS / "peers.json").exists():
        return ""
    summary = json.loads((RESULTS / "peers.json").read_text())
    plot.draw(summary, DOCS / document.PLOT)
    overhead_file = RESULTS / "peers_overhead.json"
    return document.section(summary, json.loads(overhead_file.read_text()) if overhead_file.exists() else [])


BEFORE_THE_SLOPE = (
    " Measured before the mean had a slope in s, and with a prior of lengthscales of median 1.0 and width 1.5: that is the\n"
    '"default" here.'
)
"""What is to be said of a table of densities that is older than the slope."""


def defaults() -> str:
    """Why the defaults are what they are: held-out density and regret of variants; nothing where there are no results."""
    names = ("density", "recommendations", "defaults_seek", "defaults_fidelity", "defaults", "defaults_trend", "defaults_before")
    files = [RESULTS / f"{name}.json" for name in names]
    if not all(file.exists() for file in files):
        return ""
    density, rules, seek, fidelity, compared, trend, before = (json.loads(file.read_text()) for file in files)
    count = sum(density["runs"].values())
    return f"""## Why these defaults

How well the surrogate foretells (`python -m benchmarks.density --runs FOLDER`; the runs behind this whole section are not in the
repository), fitted to the first n evaluations of {count}
recorded runs: mean log predictive density of values at full fidelity, at 150 random places and at the best 60 of 3,000, in nats; by
how much variants are above the default, in bold where that is more than two standard errors over runs from zero, as some of so many
cells are by chance; and the share of values inside the central 90% at n = 20, which is less than 90% at places chosen for their
values.{"" if "no slope in s" in {row["variant"] for row in density["rows"]} else BEFORE_THE_SLOPE}

{_density_table(density["rows"])}

What to recommend (`python -m benchmarks.recommendations --runs FOLDER`), on recorded runs, three of each task, made before every
second proposal sought: mean log10 of the true regret at shares of the budget, and by how much other rules are above it, in bold
where that is more than two standard errors over runs from zero. Below 0 is better.

{_rules_table(rules["rows"])}

On the tasks that train real models, whose values are rough and have cliffs, a place that was tried seems the better recommendation
at a quarter and half of the budget, though not by more than chance in nine runs; on LCBench, where few are at full fidelity, and on
smooth functions, where the minimum between places is known to many digits, it is the worse one. No rule is clearly better anywhere,
and the paper's stays. A run ends with an evaluation of its recommendation, and then recommends the best place that was evaluated.

Regret (`python -m benchmarks.defaults --out FOLDER`): its natural logarithm, averaged over the budget from 15% on, less that of the
variant it is compared with on the same task and seed. Below 0 is better. Mean and standard error over runs; median; runs won.

{_regret_table(seek["rows"])}

{textwrap.fill(seek["note"], 130, break_on_hyphens=False)}

Before that:

{_regret_table(fidelity["rows"])}

{textwrap.fill(fidelity["note"], 130, break_on_hyphens=False)}

Before that:

{_regret_table(compared["rows"])}

{textwrap.fill(compared["note"], 130, break_on_hyphens=False)}

Doubt costs digits where the lowest minimum was found at once, and finds it where it was not. Full fidelity where it has nearly the
price matters where cheap evaluations differ from full ones in the last digits, and little elsewhere.

Before these:

{_regret_table(trend["rows"])}

{textwrap.fill(trend["note"], 130, break_on_hyphens=False)}
The slope in s and the logarithmic scale of epochs matter on LCBench, together by some 0.6, a regret that is half as high: without
them the surrogate took what all cheap evaluations have in common, a loss that falls with every epoch, for a sign that they tell
nothing of the objective, and bought full evaluations. On the other tasks the slope makes no difference that these runs could tell.

Before that, other changes were tried, with a prior of lengthscales of median 1.0 and width 1.5 and a constant mean:

{_regret_table(before["rows"])}

{textwrap.fill(before["note"], 130, break_on_hyphens=False)}
Whether none, half or all of the minimizer draws should follow sample paths these runs do not tell; half is a middle way, not a
finding. Not taken: wider priors still; a price that leaves out what the cost owes to x, at once or by and by, worse in three of
four runs; a tolerance, four minimizers and other initial designs, which showed no gain.
"""


def _density_table(rows: list[dict]) -> str:
    sizes = sorted({row["n"] for row in rows})
    found = {(row["group"], row["variant"], row["n"]): row for row in rows}
    lines = []
    for group in sorted({row["group"] for row in rows}):
        for variant in dict.fromkeys(row["variant"] for row in rows):
            these = {n: found[group, variant, n] for n in sizes if (group, variant, n) in found}
            cells = [_gain(these[n][kind]) if n in these else "" for kind in ("random", "best") for n in sizes]
            inside = [f"{100 * these[20][kind]['inside_90']:.0f}%" if 20 in these else "" for kind in ("random", "best")]
            lines.append([group, variant, *cells, *inside])
    header = [f"{kind}, n={n}" for kind in ("random", "best") for n in sizes]
    return table(["tasks", "variant", *header, "random, inside 90%", "best, inside 90%"], lines)


def _rules_table(rows: list[dict]) -> str:
    """One line a rule, one column for each group of tasks and share of the budget."""

    def cell(apart: list[float]) -> str:
        mean, error = apart
        return f"**{mean:+.2f}**" if abs(mean) > 2.0 * error else f"{mean:+.2f}"

    names = list(rows[0]["above"])
    lines = [["posterior minimum (farthing)", *(f"{row['default']:.2f}" for row in rows)]]
    lines += [[name, *(cell(row["above"][name]) for row in rows)] for name in names]
    return table(["rule", *(f"{row['group']}, {100 * row['mark']:g}%" for row in rows)], lines)


def _gain(measures: dict) -> str:
    """The default's density itself, or how far a variant's is above it."""
    if "gain" not in measures:
        return f"{measures['log_density']:.2f}"
    clear = measures["error"] is not None and abs(measures["gain"]) > 2.0 * measures["error"]
    return f"**{measures['gain']:+.2f}**" if clear else f"{measures['gain']:+.2f}"


def _regret_table(rows: list[dict]) -> str:
    def cell(found: dict | None) -> str:
        if found is None:
            return ""
        error = "" if found["error"] is None else f" ± {found['error']:.2f}"
        return f"{found['difference']:+.2f}{error}; {found['median']:+.2f}; {100 * found['won']:.0f}% of {found['runs']}"

    lines = [
        [row["variant"], row["what"], row["against"], *(cell(row["groups"].get(g)) for g in ("LCBench", "others"))] for row in rows
    ]
    return table(["variant", "what differs", "against", "LCBench", "others"], lines)


def growth() -> str:
    file = RESULTS / "growth.json"
    if not file.exists():
        return ""
    data = json.loads(file.read_text())
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
    return f"""## Growth

Milliseconds a step after n evaluations at {data["axes"]} axes, full fidelity, on one core, by level of effort (`python -m
benchmarks.growth`). Peak memory at n = {sizes[-1]}: {last["memory_mb"]:.0f} MB. {_sources(data)}.

{table(["", *(f"n={n}" for n in sizes)], rows)}

Where the time goes at the normal level:

{table(["stage", *(f"n={n}" for n in sizes)], stage_rows)}
"""


def effort() -> str:
    """Seconds until a stated regret, by what an evaluation takes; nothing where there are no results."""
    file = RESULTS / "effort.json"
    if not file.exists():
        return ""
    data = json.loads(file.read_text())
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
what a sleep takes longer than it was asked to (0.12 ms of 1 ms); then the milliseconds of thinking recorded for a proposal, and
farthing's levels of effort. Farthing keeps its recorded thinking near a fifth of the time; at 1 ms an evaluation the rest is as
much again.

{table(["task", "evaluation", *optimizers, "levels"], shares)}
"""


def main() -> None:
    parts = [
        "# Benchmarks\n",
        "Written by `python -m benchmarks.report` from `benchmarks/results/`; measured again by `make benchmarks` and, against\n"
        "peers, by `make peers` and `make peers-benchmark`. How farthing's own methods and samplers compare is in\n"
        "[results](results.md).\n",
        overhead(),
        growth(),
        effort(),
        acquisition(),
        defaults(),
        store(),
        peers(),
    ]
    (DOCS / "benchmarks.md").write_text("\n".join(part for part in parts if part))


if __name__ == "__main__":
    main()
