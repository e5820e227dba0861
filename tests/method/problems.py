"""Small problems with known hyperparameters, for tests of the method."""

from __future__ import annotations

import numpy as np

import farthing as ft
from farthing.method.standardization import Standardization
from farthing.method.surrogate import Surrogate
from farthing.numerics.gaussian_process import condition
from farthing.numerics.kernels import Kernel, Probes, family
from farthing.space import Space
from farthing.trials import Carried, History


def known_surrogate(
    points: np.ndarray,
    values: np.ndarray,
    dimensions: int,
    lengthscales: list[list[float]],
    variances: list[float] | None = None,
    noise: float = 1e-4,
    weights: list[float] | None = None,
    trend: float = 0.0,
) -> Surrogate:
    """A surrogate whose hyperparameters are given rather than inferred; values are taken as standardized."""
    scales = np.array(lengthscales, dtype=float)
    draws = len(scales)
    variance = np.ones(draws) if variances is None else np.array(variances)
    process = condition(
        Kernel(family("matern52"), variance, scales, trend=trend),
        Probes.values(points),
        values,
        np.full((draws, len(points)), noise),
    )
    share = np.full(draws, 1.0 / draws) if weights is None else np.array(weights)
    carried = Carried(((0.0,) * (scales.shape[1] + 2),) * draws, len(points), 0.0, 1.0, 0.0, 0.0)
    standard = Standardization(0.0, 1.0, 0.0, 0.0)
    space = Space({f"x{i}": ft.Real(0.0, 1.0) for i in range(dimensions)})
    return Surrogate(process, share, np.full(draws, noise), values, standard, space, carried)


def sampled_surrogate(seed: int, axes: int, dimensions: int, n: int, lengthscales: list[float], noise: float = 1e-4) -> Surrogate:
    """The posterior after n observations of a function drawn from the prior itself."""
    rng = np.random.default_rng(seed)
    points = rng.random((n, axes))
    kernel = Kernel(family("matern52"), np.ones(1), np.array([lengthscales]))
    cov = kernel.values(points, points)[0] + noise * np.eye(n)
    values = np.linalg.cholesky(cov) @ rng.standard_normal(n)
    return known_surrogate(points, values, dimensions, [lengthscales], noise=noise)


def history_of(points: np.ndarray, values: np.ndarray, costs: np.ndarray | None = None, fidelity: bool = False) -> History:
    """A study's history in which the unit points (n, d), or (n, d + 1) with s last, were added."""
    d = points.shape[1] - int(fidelity)
    axes = {f"x{i}": ft.Real(0.0, 1.0) for i in range(d)}
    study = ft.Study(axes, fidelity=ft.Fidelity("s", cheap=1.0, full=0.0) if fidelity else None)
    for i, (point, value) in enumerate(zip(points, values, strict=True)):
        params = {f"x{j}": float(point[j]) for j in range(d)}
        s = float(point[d]) if fidelity else None
        study.add(params, float(value), fidelity=s, cost=None if costs is None else float(costs[i]))
    return study.history
