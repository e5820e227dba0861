"""Hamiltonian Monte Carlo with a given metric, for many chains at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from farthing.numerics.kernels import Array

LogDensityAndGradient = Callable[[Array], tuple[Array, Array]]
"""points (m, P) -> log densities (m,), gradients (m, P)."""


@dataclass(frozen=True)
class HamiltonianInfo:
    """Mean acceptance probability over chains and transitions, and gradient evaluations over all chains."""

    acceptance: float
    evaluations: int


def transitions(
    log_density: LogDensityAndGradient,
    state: Array,
    rng: np.random.Generator,
    *,
    whitening: Array,
    count: int,
    step: float = 0.8,
    leapfrogs: int = 3,
) -> tuple[Array, HamiltonianInfo]:
    """Move every chain (K, P) by `count` HMC transitions in coordinates e with x = whitening e, whitening (P, P).

    Each transition draws its step from step * U(0.6, 1.2) and runs 1 to `leapfrogs`+1 leapfrogs, which keeps chains off resonances.
    A trajectory that reaches a non-finite density is rejected.
    """
    x = state.copy()
    current, gradient = log_density(x)
    used, accepted_total = len(x), 0.0
    for _ in range(count):
        epsilon = step * rng.uniform(0.6, 1.2)
        length = int(rng.integers(1, leapfrogs + 2))
        momentum = rng.standard_normal(x.shape)
        start_energy = 0.5 * (momentum**2).sum(axis=1) - current
        y, p, grad, density = x, momentum, gradient, current
        for _ in range(length):
            p = p + 0.5 * epsilon * (grad @ whitening)
            y = y + epsilon * (p @ whitening.T)
            density, grad = log_density(y)
            used += len(x)
            grad = np.where(np.isfinite(density)[:, None], grad, 0.0)
            p = p + 0.5 * epsilon * (grad @ whitening)
        energy = np.where(np.isfinite(density), 0.5 * (p**2).sum(axis=1) - density, np.inf)
        probability = np.exp(np.minimum(start_energy - energy, 0.0))
        accepted = rng.random(len(x)) < probability
        x = np.where(accepted[:, None], y, x)
        current = np.where(accepted, density, current)
        gradient = np.where(accepted[:, None], grad, gradient)
        accepted_total += float(probability.mean())
    return x, HamiltonianInfo(accepted_total / max(count, 1), used)
