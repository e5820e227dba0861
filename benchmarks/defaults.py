"""What changes of farthing's defaults do to regret: variants that differ by one thing, on tasks of the comparison with peers.

    python -m benchmarks.defaults --out DIR [--data DIR] [--tasks ...] [--seeds 3] [--variants ...] [--wall 600] [--until 1.0]
                                 [--speed 1]
    python -m benchmarks.defaults --runs default=DIR "paths 0"=DIR ... [--note TEXT]

The first makes the runs that are missing, DIR/VARIANT/TASK/farthing/SEED.jsonl, half a minute to some minutes each, and summarizes
all. The second only summarizes runs made elsewhere, in folders of the same layout, TASK/farthing/SEED.jsonl, or in the place of a
folder those of farthing that `benchmarks.peers.summary` has recorded in a file; the note is kept with their summary.

Each variant is compared, run by run, with the one from which it differs: the difference of the natural logarithm of regret,
averaged over shares of the budget from 15% to 100%, evaluation cost and overhead together, regrets floored where there is nothing
left to gain. With --until runs end at a share of the budget, and what comes after it does not count; with --speed a second counts
as so many, as in `benchmarks.peers`. Variants that are no settings are made by patching farthing during the run. Writes
benchmarks/results/defaults.json.
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import farthing as ft
from benchmarks.costs import FORMER
from benchmarks.peers import run, tasks
from benchmarks.peers.farthing_peers import Farthing
from benchmarks.peers.interface import PEERS
from benchmarks.peers.problem import Task
from benchmarks.peers.summary import OURS, SLACK, Run, read_records
from farthing.method import cost, design, hyperparameters, propose, roughness, trust
from farthing.method import recommend as recommending
from farthing.method.deliberation import SEEK
from farthing.method.predictive_entropy import InformationGain
from farthing.methods import EnvPES
from farthing.trials import ACQUISITION

RESULTS = Path(__file__).parent / "results" / "defaults.json"
SHARES = np.linspace(0.15, 1.0, 18)
MOST = 1e3
"""A regret above this counts as this."""

DEFAULT = "default"


@dataclass(frozen=True)
class Variant:
    """What differs from the default: the method's options, settings, or a patch that is in force during a run.

    against: the variant from which it differs by one thing.
    """

    what: str
    method: EnvPES = field(default_factory=EnvPES)
    settings: dict[str, Any] = field(default_factory=dict)
    changed: Callable[[], AbstractContextManager[Any]] = nullcontext
    against: str = "default"

    def peer(self, task: Task, seed: int) -> Farthing:
        """farthing as the comparison with peers has it, but for what differs."""
        kind = type("Variant", (Farthing,), {"method": self.method})
        with patch.object(ft, "Settings", partial(ft.Settings, **self.settings)):
            return kind(task, seed)


def _tolerant(share: float) -> Callable[[], AbstractContextManager[Any]]:
    """Differences below a share of the values' standard deviation count as noise."""
    usual_of = InformationGain.of

    def of(cls: type[InformationGain], surrogate: Any, conditioned: Any, tolerance: float, hope: float) -> InformationGain:
        return usual_of(surrogate, conditioned, max(tolerance, share * surrogate.standardization.scale), hope)

    return lambda: patch.object(InformationGain, "of", classmethod(of))


@contextmanager
def _all(*changes: AbstractContextManager[Any]) -> Iterator[None]:
    with ExitStack() as stack:
        for change in changes:
            stack.enter_context(change)
        yield


def _gone() -> AbstractContextManager[Any]:
    raise ValueError("these sources cannot make runs of that version; give recorded ones with --runs")


def _later_doubt() -> AbstractContextManager[Any]:
    return patch.object(propose, "HARDLY", 1e-3)


_usual_priors = hyperparameters.Layout.priors.fget


def _half(layout: hyperparameters.Layout) -> list[tuple[float, float]]:
    """The usual priors, but for the lengthscales of numbers."""
    usual = _usual_priors(layout)
    return [usual[0], *[(float(np.log(0.5)), 1.0)] * layout.numbers, *usual[1 + layout.numbers :]]


VARIANTS = {
    DEFAULT: Variant("farthing as it is"),
    "no trend": Variant("the surrogate's mean has no slope in s, as in the paper", settings={"trend": False}),
    "lengthscales 0.5": Variant(
        "the lengthscales' prior has median 0.5 whatever the number of axes",
        changed=lambda: patch.object(hyperparameters.Layout, "priors", property(_half)),
    ),
    "shorter lengthscale of s": Variant(
        "the prior of the fidelity's lengthscale has median 0.3 and width 0.75, not 1.0 and 1.25: cheap evaluations tell less",
        changed=lambda: patch.object(hyperparameters, "LOG_FIDELITY_LENGTHSCALE", (np.log(0.3), 0.75)),
    ),
    "paths 0": Variant("no minimizer draw follows a sample path", EnvPES(paths=0.0)),
    "paths 1": Variant("all minimizer draws follow sample paths", EnvPES(paths=1.0)),
    "tolerance": Variant(
        "information that tells apart values closer than 1% of their standard deviation does not count", changed=_tolerant(0.01)
    ),
    "no polishing": Variant(
        "what is finer than the largest improvement expected anywhere counts for nothing, in every proposal",
        changed=lambda: patch.object(propose, "_aim", lambda *known: (SEEK, ACQUISITION)),
    ),
    "no seeking": Variant(
        "digits of a known minimum count in every proposal, as in the paper, and not in every second", EnvPES(seek=False)
    ),
    "no luck": Variant(
        "an uneven objective is sought on and polished like any other",
        changed=lambda: patch.object(propose, "is_uneven", lambda *known: False),
    ),
    "no greed": Variant(
        "no proposal is greedy, however many parameters there are", changed=lambda: patch.object(propose, "MANY", 1_000_000)
    ),
    "no counts": Variant(
        "an objective whose lowest values are the very same is one like any other",
        changed=lambda: _all(*(patch.object(module, "counts", lambda *known: False) for module in (propose, roughness))),
    ),
    "no doubt": Variant("nothing is spent on the doubt that there may be a lower minimum elsewhere", EnvPES(doubt=False)),
    "no checks": Variant("cheap evaluations are never checked, as in the paper", EnvPES(check=False)),
    "no truth": Variant(
        "after a check that broke its promise nothing more is spent at full fidelity",
        changed=lambda: patch.object(trust, "is_broken", lambda history: False),
    ),
    "trifles count": Variant("cheap places are preferred for it however little they cost, as in the paper", EnvPES(trifle=0.0)),
    "former priors of cost": Variant(
        "slopes of the cost along x are taken to be steeper, and costs to be more even",
        changed=lambda: patch.multiple(cost, **FORMER),
    ),
    "version before": Variant(
        "no truth, trifles count, former priors of cost",
        EnvPES(trifle=0.0),
        changed=lambda: _all(patch.object(trust, "is_broken", lambda history: False), patch.multiple(cost, **FORMER)),
    ),
    "later doubt": Variant(
        "doubt begins where a thousandth of the values' spread is left to hope for, not a hundredth", changed=_later_doubt
    ),
    "never wary": Variant(
        "the initial design ends at its best place however dear, no full evaluation brings a check nearer, none disappoints, and "
        "doubt begins at a thousandth of the values' spread",
        changed=lambda: _all(
            patch.object(design, "DEAR", np.inf),
            patch.object(trust, "IN_FULL", 0.0),
            patch.object(recommending, "is_disappointed", lambda history: False),
            _later_doubt(),
        ),
    ),
    "former doubt": Variant(
        "doubt is a surrogate with shorter lengthscales, and there are 300 support points: the version before", changed=_gone
    ),
    "any fidelity": Variant(
        "a fidelity that saves less than a tenth of the price may be chosen, as in the paper", EnvPES(nearly=1.0)
    ),
    "four minimizers": Variant("four minimizer draws for each hyperparameter draw, not two", settings={"minimizers": 4}),
    "repeated places": Variant(
        "each place of the initial design is evaluated at s = 0.5 and at s = 1, and not once at an s of its own",
        settings={"initial_repeats": True},
    ),
    "longer design": Variant(
        "the initial design may take a third of the budget where cheap evaluations make it too, not 15%",
        changed=lambda: patch.dict(design.INITIAL_SHARE, {True: design.INITIAL_SHARE[False]}),
    ),
    "initial 6": Variant("six evaluations in the initial design, not ten", settings={"initial": 6}),
}


def make_runs(name: str, out: Path, wanted: Iterable[tuple[int, str]], data: Path | None, options: argparse.Namespace) -> None:
    """The runs of a variant that are not there yet, of seeds and tasks. Options: wall, until, speed."""
    variant = VARIANTS[name]
    for seed, task_name in wanted:
        path = out / task_name / "farthing" / f"{seed}.jsonl"
        if run.is_complete(path):
            continue
        task = replace(tasks.make_task(task_name, seed, data), speed=options.speed)
        header = {
            "peer": "farthing",
            "variant": name,
            "task": task_name,
            "seed": seed,
            "budget": task.budget,
            "minimum": task.minimum,
        }
        header |= {"wall": options.wall, "speed": options.speed, "python": platform.python_version()}
        header |= {"versions": PEERS["farthing"].versions()}
        with variant.changed():
            run.write(path, header, _to_share(options.until * task.budget, run.steps(task, variant.peer(task, seed), options.wall)))
        print(f"{name}: {task_name} {seed}", flush=True)


def _to_share(seconds: float, steps: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The records of a run up to so many seconds of its budget."""
    for record in steps:
        yield record
        if "ended" not in record and record["spent"] + record["thinking"] > seconds:
            yield {"ended": "budget"}
            return


def log_regret(made: Run, shares: np.ndarray = SHARES) -> float:
    """Mean natural log of regret over shares of the budget; what was recommended first counts from the beginning."""
    latest = np.searchsorted(made.spent + made.thinking, (shares + SLACK) * made.budget, side="right") - 1
    return float(np.log(np.clip(made.regrets[np.maximum(latest, 0)], tasks.floor(made.task), MOST)).mean())


def read(source: Path, shares: np.ndarray = SHARES) -> dict[tuple[str, int], float]:
    """Task and seed of farthing's complete runs in a folder or a file of records, with their mean log regret; those that failed are
    left out.
    """
    if source.is_file():
        made = [each for each in read_records(source) if each.peer == OURS]
    else:
        made = [Run.read(path) for path in sorted(source.glob("*/farthing/*.jsonl")) if run.is_complete(path)]
    return {(each.task, each.seed): log_regret(each, shares) for each in made if each.ended != "failed"}


def compare(these: dict[tuple[str, int], float], those: dict[tuple[str, int], float]) -> dict[str, dict[str, Any]]:
    """Differences to a reference in the runs that both have, by group of tasks; below 0 is better. A tie is half won."""
    out = {}
    for group in ("LCBench", "others"):
        keys = [key for key in these if key in those and (key[0] in tasks.LCBENCH) == (group == "LCBench")]
        if not keys:
            continue
        differences = np.array([these[key] - those[key] for key in keys])
        count = len(keys)
        out[group] = {
            "runs": count,
            "tasks": len({name for name, _ in keys}),
            "seeds": len({seed for _, seed in keys}),
            "difference": round(float(differences.mean()), 3),
            "median": round(float(np.median(differences)), 3),
            "error": round(float(differences.std(ddof=1) / np.sqrt(count)), 3) if count > 1 else None,
            "won": round(float((differences < 0.0).mean() + 0.5 * (differences == 0.0).mean()), 3),
        }
    return out


def summarize(folders: dict[str, Path], note: str = "", until: float = 1.0) -> dict[str, Any]:
    """Every variant against the one it differs from."""
    shares = SHARES[until + SLACK > SHARES]
    runs = {name: read(folder, shares) for name, folder in folders.items()}
    rows = []
    for name in runs:
        variant = VARIANTS[name]
        if name != variant.against and variant.against in runs:
            groups = compare(runs[name], runs[variant.against])
            rows.append({"variant": name, "what": variant.what, "against": variant.against, "groups": groups})
    return {
        "note": note,
        "shares": [round(float(share), 2) for share in shares],
        "rows": [row for row in rows if row["groups"]],
    }


def _pair(text: str) -> tuple[str, Path]:
    name, equals, folder = text.partition("=")
    if not equals or name not in VARIANTS:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=DIR with one of the names {', '.join(VARIANTS)}")
    return name, Path(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--out", type=Path, help="where runs are made, and kept")
    source.add_argument("--runs", type=_pair, nargs="+", metavar="NAME=DIR", help="runs made elsewhere, to be summarized")
    parser.add_argument("--note", default="", help="what is to be known of runs made elsewhere")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--tasks", nargs="+", choices=tasks.NAMES)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0, help="fresh ones, to confirm what others have suggested")
    parser.add_argument("--until", type=float, default=1.0, help="a share of the budget, from 0.15 up, at which runs end")
    makeable = [name for name, variant in VARIANTS.items() if variant.changed is not _gone]
    parser.add_argument("--variants", nargs="+", choices=makeable, default=makeable)
    parser.add_argument("--wall", type=float, default=run.WALL)
    parser.add_argument("--speed", type=float, default=1.0, help="seconds that a second of this machine counts")
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    if arguments.runs:
        folders = dict(arguments.runs)
    else:
        data = tasks.data_folder(arguments.data)
        names = arguments.tasks or [name for name in (*tasks.LCBENCH, *tasks.SIMULATED) if tasks.missing(name, data) is None]
        folders = {name: arguments.out / name.replace(" ", "-") for name in arguments.variants}
        seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
        for name, folder in folders.items():
            make_runs(name, folder, product(seeds, names), data, arguments)
    summary = summarize(folders, arguments.note, arguments.until)
    arguments.results.write_text(json.dumps(summary, indent=1) + "\n")
    for row in summary["rows"]:
        for group, found in row["groups"].items():
            error = "" if found["error"] is None else f" ± {found['error']:.2f}"
            figures = f"{found['difference']:+.2f}{error}, median {found['median']:+.2f}, won {found['won']:.2f} of {found['runs']}"
            print(f"{row['variant']:<32}against {row['against']:<10}{group:<9}{figures}")
    print(f"written to {arguments.results}. Next: python -m benchmarks.report")


if __name__ == "__main__":
    main()
