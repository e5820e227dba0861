"""docs/results.md and the figures, from experiments/results alone."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from experiments.catalog import EXPERIMENTS
from experiments.curves import Summary
from experiments.experiment import Experiment
from experiments.figures import cores_text, fewest_runs, versions_text
from experiments.markdown import table
from experiments.runs import ROOT
from experiments.verdicts import Verdict, with_enough_runs

RESULTS = ROOT / "experiments" / "results"
DOCS = ROOT / "docs"
NOTES = ROOT / "experiments" / "notes"
"""Remarks by hand, one file an experiment if there is something to explain: why a claim does not hold, for one."""

INTRODUCTION = """\
# Results

The experiments of McLeod, Osborne and Roberts, *Practical Bayesian Optimization for Variable Cost Objectives* (2018), made again
with farthing, each beside what the paper claims; and an ablation. Written by `python -m experiments report` from
`experiments/results`; the runs are made by `make experiments`. Verdicts are given by the rules in `experiments/verdicts.py` and in
the experiment's own file: *reproduced* where the claim holds, *better* where more than that does, *not* where it does not. Regrets
are *clearly* lower or higher where a one-sided Mann-Whitney test over runs gives the difference a chance below 1%; regrets below
1e-6 count as equal there, and those below 1e-9 are shown as 1e-9. "At least equal at every tenth" is *reproduced* where the median
is nowhere the higher one, and *undecided* where it is at up to half of the tenths, though clearly at none.

All methods are farthing's own, with its default settings and its initial design, in the same loop with the same recommendation, but
for the last evaluation, that of the recommendation, which is left out: what a recommendation is worth is found out offline at every
step. Evaluation costs of fig1 to fig4 are simulated, overhead is real time on one core a run. In runs of the sources 52364d3d, as
figures say of themselves, each place of the initial design was evaluated at s = 0.5 and at s = 1, which is now
`Settings(initial_repeats=True)`."""


def save_summary(name: str, summary: Summary, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    part = path.with_suffix(".part")
    part.write_text(json.dumps(summary, separators=(",", ":"), allow_nan=False) + "\n", encoding="utf-8")
    part.replace(path)
    return path


def load_summary(name: str, folder: Path) -> Summary | None:
    path = folder / f"{name}.json"
    if not path.exists():
        return None
    loaded: Summary = json.loads(path.read_text(encoding="utf-8"))
    return loaded


def write_report(results: Path = RESULTS, docs: Path = DOCS, notes: Path = NOTES) -> Path:
    """Draw every figure there are results for, and write the page; returns its path."""
    found = {name: summary for name in EXPERIMENTS if (summary := load_summary(name, results)) is not None}
    sections = []
    for name, experiment in EXPERIMENTS.items():
        summary = found.get(name)
        if summary is None:
            sections.append(f"## {name}: {experiment.title}\n\nNot run yet: `python -m experiments {name}`.")
            continue
        experiment.draw(summary, docs / "results" / f"{name}.svg")
        note = notes / f"{name}.md"
        sections.append(section(experiment, summary, note.read_text(encoding="utf-8").strip() if note.exists() else ""))
    path = docs / "results.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n\n".join([INTRODUCTION, overview(found), *sections]) + "\n", encoding="utf-8")
    return path


def overview(found: dict[str, Summary]) -> str:
    """One line an experiment: how many claims came out how."""
    rows = []
    for name, summary in found.items():
        counts = Counter(verdict.outcome for verdict in judged(EXPERIMENTS[name], summary))
        text = ", ".join(f"{outcome}: {count}" for outcome, count in counts.items())
        rows.append(
            [f"[{name}](#{name})", EXPERIMENTS[name].title, text, f"{summary['scale']:g}", f"{summary['core_minutes']:.0f}"]
        )
    return table(["", "what", "verdicts", "scale", "core minutes"], rows) if rows else "Nothing has been run yet."


def judged(experiment: Experiment, summary: Summary) -> list[Verdict]:
    return with_enough_runs(experiment.verdicts(summary), fewest_runs(summary))


def section(experiment: Experiment, summary: Summary, note: str) -> str:
    parts = [
        f'<a id="{experiment.name}"></a>\n\n## {experiment.name}: {experiment.title}',
        f"The paper: {experiment.claim}" if experiment.of_paper else experiment.claim,
        f"![{experiment.title}](results/{experiment.name}.svg)",
        table(["claim", "measured", "verdict"], [[v.claim, v.measured, v.outcome] for v in judged(experiment, summary)]),
        *([note] if note else []),
        experiment.tables(summary),
        *experiment.remarks(summary),
        f"Scale {summary['scale']:g}; {versions_text(summary)}; {cores_text(summary)}; {summary['core_minutes']:.0f} core minutes.",
    ]
    return "\n\n".join(parts)
