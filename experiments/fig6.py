"""fig6: hyperparameters of a Gaussian process on half-hourly UK demand, whose likelihood may be that of a subset. Real seconds.

National demand of 2015 in GW, centered, under a GP with Matérn 5/2 kernel, variance A = 10^(3 x0) GW^2 and lengthscale 10^(3 x1)
days. With the log likelihood of a random subset of n = (1 - 0.98 s) N half hours, by a Cholesky factor:

    v = -loglik N / n,    the objective is v where v < 1, and 1 + log v elsewhere

The paper is silent on the noise; here its standard deviation is 0.1 GW. The paper has 8 h and about ten minutes for a full
evaluation, 48 of them. Scale f: 8 f hours, and the first 17,518 f^0.16 half hours. At f = 1/200, 2.4 minutes with 7,504 half
hours, a full evaluation takes some four seconds of a present core, so that some 40 of them fit.
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import numpy as np

import farthing as ft
from experiments import data as data_sets
from experiments.contenders import EI, ENVPES, FABOLAS, PES
from experiments.curves import TENTHS, Summary
from experiments.experiment import Size
from experiments.problem import HOUR, Array, Params, Problem
from experiments.regret_experiment import RegretExperiment, envpes_against
from experiments.verdicts import Verdict

HOURS, HALF_HOURS, SHRINK = 8.0, 17_518, 0.16
SMALLEST = 0.02
"""The share of the half hours that the cheapest evaluation uses."""

NOISE = 0.1
"""Standard deviation, in GW."""

BLOCK = 256
"""Columns of the covariance that are computed at once."""

FAR = 80.0
"""Where q = sqrt(5) |t - t'| / lengthscale is larger, the correlation, below 1e-31, is none. Numbers that are smaller still would
make the factor five times as slow, at some lengthscales and not at others."""


def full_count(scale: float) -> int:
    return max(round(HALF_HOURS * math.pow(scale, SHRINK)), 100)


@cache
def _series(folder: Path | None) -> tuple[Array, Array]:
    """Days, and demand in GW."""
    arrays = data_sets.demand(folder)
    return arrays["t_days"], arrays["nd_mw"] / 1000.0


def log_likelihood(t: Array, y: Array, variance: float, lengthscale: float, noise: float = NOISE) -> float:
    """log N(y; 0, K + noise^2 I) with the Matérn 5/2 K, of n values at times t; only the lower half of K is computed."""
    from scipy.linalg import lapack

    n = len(t)
    covariance = np.zeros((n, n), order="F")
    for first in range(0, n, BLOCK):
        last = min(first + BLOCK, n)
        q = np.abs(t[first:, None] - t[None, first:last]) * (math.sqrt(5.0) / lengthscale)
        block = variance * (1.0 + q + q * q / 3.0) * np.exp(-q)
        covariance[first:, first:last] = np.where(q < FAR, block, 0.0)
    covariance[np.diag_indices(n)] += noise**2
    lower, failed = lapack.dpotrf(covariance, lower=1, overwrite_a=1, clean=0)
    if failed:
        raise ArithmeticError(
            f"the covariance of {n} half hours is not positive definite at variance {variance}, {lengthscale} days"
        )
    white = lapack.dtrtrs(lower, y, lower=1)[0]
    return float(-0.5 * white @ white - np.log(np.diagonal(lower)).sum() - 0.5 * n * math.log(2.0 * math.pi))


def transformed(log_likelihood: float, subset: int, everything: int) -> float:
    """v = -loglik N / n, then v where it is below 1, and 1 + log v elsewhere."""
    v = -log_likelihood * everything / subset
    return v if v < 1.0 else 1.0 + math.log(v)


def subset_size(s: float, everything: int) -> int:
    return max(round((1.0 - (1.0 - SMALLEST) * s) * everything), 2)


class Fig6(RegretExperiment):
    name = "fig6"
    title = "Kernel hyperparameters of a Gaussian process on UK electricity demand"
    claim = (
        "EnvPES reaches low values much earlier than methods without a fidelity, and converges faster in real time than FABOLAS, "
        "due to lower overhead."
    )
    full = Size(5, 5, 0.005)
    quick = Size(1, 1, 0.0006)
    tasks = ("demand",)
    contenders = (EI, PES, FABOLAS, ENVPES)
    shares = TENTHS

    def problem(self, task: str, seed: int, scale: float, data: Path | None) -> Problem:
        count = full_count(scale)
        t, demand = (values[:count] for values in _series(data))
        y = demand - demand.mean()
        rng = np.random.default_rng([seed, 7])

        def value(params: Params, s: float) -> float:
            size = subset_size(s, count)
            chosen = np.sort(rng.permutation(count)[:size]) if size < count else np.arange(count)
            found = log_likelihood(t[chosen], y[chosen], 10.0 ** (3.0 * params["x0"]), 10.0 ** (3.0 * params["x1"]))
            return transformed(found, size, count)

        def objective(s: float, **params: float) -> float:
            return value(params, s)

        fidelity = ft.Fidelity("s", cheap=1.0, full=0.0)
        return Problem(2, fidelity, objective, lambda p: value(p, 0.0), None, HOURS * HOUR * scale, overhead_price=None)

    def check_data(self, data: Path | None, size: Size) -> None:
        data_sets.demand(data)

    def verdicts(self, summary: Summary) -> list[Verdict]:
        return envpes_against(summary, self.tasks, ("EI", "PES", "FABOLAS"))

    def remarks(self, summary: Summary) -> list[str]:
        count, minutes = full_count(summary["scale"]), summary["tasks"]["demand"]["budget"] / 60.0
        return [
            f"The first {count} half hours and {minutes:.3g} minutes, against 17,518 and 8 hours in the paper; regret is what the "
            "objective on all of them is above the lowest of any recommendation.",
            *super().remarks(summary),
        ]
