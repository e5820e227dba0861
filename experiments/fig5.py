"""fig5: error of an RBF support vector classifier on MNIST, whose training set may be smaller. Real seconds.

C = e^(10 x0), gamma = e^(10 x1), pixels from 0 to 1; the training rows go from 100 to 10,000, logarithmically, a fresh random
subset for every evaluation; error on 2,000 test digits. The paper has 10 h and about five minutes for a full evaluation, 120 of
them.

Scale f: 10 f hours, and 10,000 f^0.36 rows at full fidelity. At f = 1/200, three minutes with 1,485 rows, a full evaluation takes
about a second of a present core, so that nearly 200 of them fit.
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import farthing as ft
from experiments import data as data_sets
from experiments.contenders import EI, ENVPES, ORIGINAL_FABOLAS, PES
from experiments.curves import TENTHS, Summary
from experiments.experiment import Size
from experiments.problem import HOUR, Params, Problem
from experiments.regret_experiment import RegretExperiment, envpes_against
from experiments.verdicts import Verdict

HOURS, ROWS, CHEAPEST, SHRINK = 10.0, 10_000, 100, 0.36

REPEATS = 2
"""Fixed training sets over which the true error of a recommendation is averaged."""


def full_rows(scale: float) -> int:
    return max(round(ROWS * math.pow(scale, SHRINK)), CHEAPEST + 1)


@cache
def _digits(folder: Path | None) -> tuple[Any, Any, Any, Any]:
    """Training and test rows of 784 numbers from 0 to 1, with their labels."""
    arrays = data_sets.mnist(folder)
    rows = [arrays[key].reshape(len(arrays[key]), -1) / 255.0 for key in ("x_train", "x_test")]
    return rows[0], arrays["y_train"], rows[1], arrays["y_test"]


def error(params: Params, rows: int, rng: np.random.Generator, folder: Path | None) -> float:
    """Share of the test digits that a classifier trained on so many random rows gets wrong."""
    from sklearn.svm import SVC

    x, y, x_test, y_test = _digits(folder)
    chosen = rng.permutation(len(y))[:rows]
    if len(set(y[chosen])) < 2:
        return 1.0 - float(np.mean(y_test == y[chosen[0]]))
    model = SVC(C=math.exp(10.0 * params["x0"]), gamma=math.exp(10.0 * params["x1"])).fit(x[chosen], y[chosen])
    return float(np.mean(model.predict(x_test) != y_test))


class Fig5(RegretExperiment):
    name = "fig5"
    title = "Hyperparameters of a support vector classifier on MNIST"
    claim = (
        "EnvPES is superior to the other methods; it and FABOLAS reach low values sooner than methods without a fidelity, and "
        "FABOLAS is then slowed down by its overhead."
    )
    full = Size(5, 5, 0.005)
    quick = Size(1, 1, 0.0005)
    tasks = ("mnist",)
    contenders = (EI, PES, ORIGINAL_FABOLAS, ENVPES)
    shares = TENTHS

    def problem(self, task: str, seed: int, scale: float, data: Path | None) -> Problem:
        rows = full_rows(scale)
        rng = np.random.default_rng([seed, 5])
        _digits(data)  # to read them is nobody's cost

        def objective(rows: int, **params: float) -> float:
            return error(params, rows, rng, data)

        def truth(params: Params) -> float:
            return float(np.mean([error(params, rows, np.random.default_rng([r, 6]), data) for r in range(REPEATS)]))

        fidelity = ft.Fidelity("rows", cheap=CHEAPEST, full=rows, log=True, integer=True)
        return Problem(2, fidelity, objective, truth, None, HOURS * HOUR * scale, overhead_price=None)

    def check_data(self, data: Path | None, size: Size) -> None:
        data_sets.mnist(data)

    def verdicts(self, summary: Summary) -> list[Verdict]:
        return envpes_against(summary, self.tasks, ("EI", "PES", "FABOLAS"))

    def remarks(self, summary: Summary) -> list[str]:
        rows, minutes = full_rows(summary["scale"]), summary["tasks"]["mnist"]["budget"] / 60.0
        here = f"{CHEAPEST} to {rows} training rows and {minutes:.3g} minutes, against 100 to 10,000 and 10 hours in the paper"
        return [
            f"{here}; the error of a recommendation is the mean over {REPEATS} fixed training sets, and regret is what it is above "
            "the lowest error of any recommendation.",
            *super().remarks(summary),
        ]
