"""ablation: what each choice of the method is worth, on fig4's objectives and fig3's good draws.

Every variant differs from its reference by one choice: from EnvPES with its defaults, or, for the samplers of support points, from
EnvPES whose minimizer draws are all among them. Variants without a switch are substitutions of `variants.py`. Slice sampling of the
support takes ten times as long as everything else, and gets fewer runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from experiments.contenders import Contender
from experiments.curves import FLOOR, NONE, Summary, at, median
from experiments.experiment import Size
from experiments.figures import footer, panels, run_counts
from experiments.markdown import table
from experiments.problem import Problem
from experiments.regret_experiment import RegretExperiment
from experiments.runs import Record
from experiments.synthetic import OFFSET, draw, offset
from experiments.verdicts import Verdict, no_data
from farthing.numerics.kernels import Array

OURS, SUPPORT_ONLY = "ours", "WLH, no paths"
PAPER_DESIGN = {"initial": 20, "initial_fidelities": (0.5, 0.75, 0.875), "initial_repeats": True}
CLEARLY = 2.6
"""Standard errors from which on a difference is more than accident: a chance of one in a hundred."""

HELPS, HURTS, TIE = "our choice is better", "our choice is worse", "no clear difference"


def _variant(
    label: str, note: str, reference: str = OURS, variant: str | None = None, slow: bool = False, **options: object
) -> Contender:
    return Contender(label, "EnvPES", options, variant=variant, reference=reference, note=note, slow=slow)


def _settings(label: str, note: str, **settings: object) -> Contender:
    return Contender(label, "EnvPES", settings=settings, reference=OURS, note=note)


CONTENDERS = (
    Contender(OURS, "EnvPES", note="EnvPES with its defaults"),
    _variant("faces stationary", "the gradient vanishes on faces too, as in the paper", variant="faces_stationary"),
    _variant("off-diagonals zero", "the off-diagonal Hessian of a minimizer is zero, as in the paper", off_diagonal=True),
    _variant("paper's constraints", "both, and no rivals", variant="faces_stationary", off_diagonal=True, rivals=0),
    _variant(
        "no seeking", "digits of a known minimum count in every proposal, as in the paper, and not in every second", seek=False
    ),
    _variant("no doubt", "nothing is spent on the doubt that the objective may be rougher than it seems", doubt=False),
    _variant(
        "any fidelity", "a fidelity that saves a little is chosen, as in the paper, and not full fidelity instead", nearly=1.0
    ),
    _variant("clipped support", "support points outside the box are moved onto its faces", variant="clipped_support"),
    _variant("equal weights", "every local minimum has the same weight in WLH", variant="equal_weights"),
    _variant(SUPPORT_ONLY, "no minimizer draw follows a sample path", paths=0.0),
    _variant("EI slice, no paths", "support by slice sampling over EI", SUPPORT_ONLY, support="ei_slice", paths=0.0, slow=True),
    _variant("LCB slice, no paths", "support by slice sampling over LCB", SUPPORT_ONLY, support="lcb_slice", paths=0.0, slow=True),
    _variant("uniform, no paths", "uniform support", SUPPORT_ONLY, support="uniform", paths=0.0),
    _variant("last overhead", "the overhead to come is the last one, FABOLAS's rule", variant="last_overhead"),
    _settings("paper's design", "twenty evaluations at s = 0.5, 0.75, 0.875, the last one replaced by a full one", **PAPER_DESIGN),
    _settings("1 draw (MAP)", "the most probable hyperparameters", draws=1, sampler="map"),
    _settings("4 draws", "four hyperparameter draws instead of eight", draws=4),
    _settings("16 draws", "sixteen", draws=16),
    _settings("32 draws", "thirty-two", draws=32),
)


class Ablation(RegretExperiment):
    name = "ablation"
    title = "What each choice is worth"
    of_paper = False
    claim = "The paper has no ablation; these are the choices of this implementation, each beside its alternative."
    full = Size(10, 3, 1.0)
    quick = Size(1, 1, 0.06, ("branin",))
    tasks = (*OFFSET, "good")
    contenders = CONTENDERS
    shares = (0.25, 0.5, 1.0)

    def problem(self, task: str, seed: int, scale: float, data: Path | None) -> Problem:
        return draw(task, seed, scale) if task == "good" else offset(task, scale)

    def draw(self, summary: Summary, path: Path) -> None:
        """How many times the reference's median regret every variant has at the end, and its overhead, one panel a task."""
        names = [c.label for c in self.contenders if c.reference]
        with panels(1, len(summary["tasks"]), path, footer(summary, run_counts(summary)), (2.6, 3.4)) as axes:
            for axis, (task_name, task) in zip(axes[0], summary["tasks"].items(), strict=True):
                for row, name in enumerate(names):
                    for i, share in enumerate(summary["shares"]):
                        ratio = self._ratio(task, name, i)
                        if ratio is not None:
                            axis.plot(
                                ratio,
                                row,
                                "o",
                                markersize=2 + 1.5 * i,
                                color=f"C{i}",
                                label=f"{100 * share:g}%" if not row else None,
                            )
                axis.axvline(1.0, color="0.6", linewidth=0.6)
                axis.set_xscale("log")
                axis.set_yticks(range(len(names)), names if axis is axes[0, 0] else [])
                axis.invert_yaxis()
                axis.set_title(task_name)
                axis.set_xlabel("median regret / the reference's")
            axes[0, -1].legend(frameon=False, title="of the budget")

    def _ratio(self, task: Summary, name: str, index: int) -> float | None:
        reference = self.contender(name).reference
        if name not in task["contenders"] or reference not in task["contenders"]:
            return None
        found = [median(at(task["contenders"][which]["regret"]["total"], index)) for which in (name, reference)]
        return found[0] / found[1] if np.isfinite(found).all() else None

    def verdicts(self, summary: Summary) -> list[Verdict]:
        """By the regret with overhead, over all tasks and shares."""
        return [self._judge(summary, c) for c in self.contenders if c.reference]

    def _judge(self, summary: Summary, variant: Contender) -> Verdict:
        claim = f"{variant.reference} beside {variant.label} ({variant.note})"
        apart = self._apart(summary, variant)
        if len(apart) < 2:
            return no_data(claim, variant.label)
        mean, error, text = _told(np.nanmean(apart, axis=1))
        outcome = HELPS if mean > CLEARLY * error else HURTS if mean < -CLEARLY * error else TIE
        return Verdict(claim, f"{variant.label} {text} in log10 regret, {len(apart)} pairs of runs", outcome, runs=len(apart))

    def _apart(self, summary: Summary, variant: Contender) -> Array:
        """(pairs, shares): log10 regret of the variant less that of its reference, on the same task with the same seed.

        NaN before the first recommendation of either.
        """
        rows = []
        for task in summary["tasks"].values():
            cells = [task["contenders"].get(name) for name in (variant.label, variant.reference)]
            runs = [dict(zip(cell["seeds"], cell["regret"]["total"], strict=True)) for cell in cells if cell is not None]
            for seed in sorted(set.intersection(*map(set, runs))) if len(runs) == 2 else ():
                theirs, ours = (np.array([at([run[seed]], i)[0] for i in range(len(summary["shares"]))]) for run in runs)
                row, known = np.full(len(ours), np.nan), np.isfinite(theirs) & np.isfinite(ours)
                row[known] = np.log10(theirs[known] / ours[known])
                rows.append(row)
        return np.array(rows).reshape(-1, len(summary["shares"]))

    def collect(self, records: Sequence[Record]) -> Summary:
        order = {c.label: i for i, c in enumerate(self.contenders)}
        return super().collect(sorted(records, key=lambda r: (self.tasks.index(r["job"]["task"]), order[r["job"]["contender"]])))

    def tables(self, summary: Summary) -> str:
        marks = [f"{100 * share:g}% of the budget" for share in summary["shares"]]
        pooled = []
        for variant in self.contenders:
            apart = self._apart(summary, variant) if variant.reference else np.empty((0, 1))
            if len(apart) > 1:
                means = np.nanmean(apart, axis=1)
                told = [_told(column)[2] for column in (*apart.T, means)]
                won = f"{np.mean(means < 0.0):.0%}"
                pooled.append([variant.label, str(variant.reference), str(len(apart)), *told, won])
        rows = []
        for task_name, task in summary["tasks"].items():
            for name, cell in task["contenders"].items():
                regrets = [median(at(cell["regret"]["total"], i, FLOOR)) for i in range(len(summary["shares"]))]
                texts = [f"{value:.1e}" if np.isfinite(value) else "none yet" for value in regrets]
                rest = [f"{np.median(cell['evaluations']):.0f}", f"{np.median(cell['overhead']):.3g}"]
                rows.append([task_name, name, str(len(cell["seeds"])), *texts, *rest])
        return "\n\n".join(
            [
                "By how much the log10 of a variant's regret is above that of its reference on the same task with the same seed, "
                "overhead included: mean and standard error over pairs of runs; below 0 the variant is the better one. Regrets "
                f"below {NONE:g} are the same. Last, the share of pairs that the variant has won.",
                table(["variant", "reference", "pairs", *marks, "mean", "won"], pooled),
                "Median regret at shares of the budget, overhead included:",
                table(["task", "variant", "runs", *marks, "evaluations", "overhead, s a step"], rows),
            ]
        )

    def remarks(self, summary: Summary) -> list[str]:
        return [
            f"A choice is better or worse where the mean is more than {CLEARLY:g} standard errors from zero, a chance of one in a "
            "hundred for each of so many comparisons.",
        ]


def _told(differences: Array) -> tuple[float, float, str]:
    """Mean of those that are known, its standard error, and both in words."""
    differences = differences[np.isfinite(differences)]
    if len(differences) < 2:
        return 0.0, np.inf, "none yet"
    mean, error = float(differences.mean()), float(differences.std(ddof=1) / np.sqrt(len(differences)))
    return mean, error, f"{mean:+.2f} ± {error:.2f}"
