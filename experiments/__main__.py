"""python -m experiments NAME: make the runs that are missing, sum them up, draw the figure, write the page."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from experiments.catalog import EXPERIMENTS
from experiments.data import DataMissingError
from experiments.engine import Engine, StoppedError
from experiments.experiment import Experiment, Size
from experiments.page import DOCS, NOTES, RESULTS, save_summary, write_report
from experiments.regret_experiment import RegretExperiment
from experiments.runs import ROOT, WORK, load

INTERRUPTED = 130

EPILOG = """\
Runs are kept in the work folder as soon as they are finished. After Ctrl-C, a kill or a crash the same command makes those
that are missing, and nothing twice. One run uses one core; overheads, and the costs of fig5 and fig6, are real seconds: leave the
cores alone meanwhile, and take no more jobs than there are cores."""


def main(arguments: Sequence[str] | None = None) -> int:
    given = _parser().parse_args(arguments)
    out = given.out or (given.work / "quick" if given.quick else None)
    results, docs = (RESULTS, DOCS) if out is None else (out / "results", out / "docs")
    if given.name == "report":
        print(f"written: {write_report(results, docs, NOTES)}")
        return 0
    names = list(EXPERIMENTS) if given.name == "all" else [given.name]
    status = 0
    for name in names:
        experiment = EXPERIMENTS[name]
        size = _size(experiment, given)
        try:
            made = _make(experiment, size, given, results)
        except DataMissingError as error:
            print(f"{name} left out: {error}", file=sys.stderr)
            made = False
        except StoppedError as stopped:
            command = " ".join(["python -m experiments", *(sys.argv[1:] if arguments is None else arguments)])
            print(f"\nstopped: {stopped}. To go on: {command}", file=sys.stderr)
            return INTERRUPTED
        status = status if made else 1
    print(f"written: {write_report(results, docs, NOTES)}")
    return status


def _make(experiment: Experiment, size: Size, given: argparse.Namespace, results: Path) -> bool:
    """Whether all runs of the experiment are there; what there is is summed up."""
    print(f"{experiment.name}: {experiment.title}, scale {size.scale:g}", file=sys.stderr)
    if isinstance(experiment, RegretExperiment):
        for absent in (c.label for c in experiment.contenders if not c.available):
            print(f"{absent} is not available in this farthing, and is left out", file=sys.stderr)
    experiment.check_data(given.data, size)
    wanted = experiment.jobs(size)
    engine = Engine(given.work, given.data, given.jobs, given.current)
    engine.make(wanted)
    records = [record for job in wanted if (record := load(job, given.work, given.current)) is not None]
    if records:
        print(f"written: {save_summary(experiment.name, experiment.collect(records), results)}")
    if engine.failed:
        print(f"{len(engine.failed)} runs failed; the same command tries them again", file=sys.stderr)
    return not engine.failed


def _size(experiment: Experiment, given: argparse.Namespace) -> Size:
    size = experiment.quick if given.quick else experiment.full
    if given.runs is not None:
        size = replace(size, runs=given.runs, slow_runs=given.runs)
    return size if given.scale is None else replace(size, scale=given.scale)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__, epilog=EPILOG)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("name", choices=[*EXPERIMENTS, "all", "report"], help="report: figures and page from results alone")
    parser.add_argument("--runs", type=_positive_whole, help="of every method; default: the experiment's own")
    parser.add_argument("--scale", type=_positive, help="of budgets, and of data where there are; 1: the paper's")
    parser.add_argument("--jobs", type=_positive_whole, default=max((os.cpu_count() or 2) - 1, 1), help="runs at once")
    parser.add_argument("--data", type=_folder, help="folder with mnist_12k_2k.npz and uk_demand_2015.npz; default: download")
    parser.add_argument("--quick", action="store_true", help="minutes: few runs, short budgets, written to the work folder")
    parser.add_argument("--current", action="store_true", help="make runs again that other sources of farthing have made")
    parser.add_argument("--work", type=Path, default=ROOT / WORK, help="where runs are kept; default: .experiments")
    parser.add_argument("--out", type=Path, help="where results and docs go instead of the project's own folders")
    return parser


def _positive(text: str) -> float:
    value = float(text)
    if not 0.0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a number above zero")
    return value


def _positive_whole(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number from 1 up")
    return value


def _folder(text: str) -> Path:
    path = Path(text)
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {text}")
    return path


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
