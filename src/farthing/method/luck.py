"""Luck: where an objective counts, what is beside the best place that was tried.

A surrogate knows nothing of counts: it goes where its mean is low, and where that is flat it goes there again and again, closer
than anything changes. So every second try of luck goes by no surrogate, but from the best place tried at full fidelity, from any of
those that share the lowest value, a step into some direction. How far is not known, so steps have any length from a hundredth of
the surrogate's lengthscales to a third.
"""

from __future__ import annotations

import numpy as np

from farthing.method.recommend import tried_at_full
from farthing.method.surrogate import Surrogate
from farthing.numerics.kernels import Array
from farthing.settings import Settings
from farthing.trials import LUCK, NEIGHBOR, History

SHORTEST, LONGEST = 0.01, 0.33
"""Lengths of steps, in lengthscales, of which none counts as longer than the box."""

ROUNDED = 1e-9
"""Standardized values that differ by no more are the same."""

STEPS = 64
"""Steps to choose from, where some lead to what was evaluated before, or costs too much."""


def is_neighbors_turn(history: History) -> bool:
    """Whether the next try of luck is a neighbor of the best place."""
    tries = [t.proposal.kind for t in history.trials if t.proposal.kind in (LUCK, NEIGHBOR)]
    return tries[-1:] == [LUCK]


def neighbors(history: History, surrogate: Surrogate, settings: Settings, rng: np.random.Generator) -> Array:
    """Places (m, d) a step away from the best tried at full fidelity. There is one, or nothing would count."""
    tried, expected = tried_at_full(history, surrogate, settings)
    best = tried[expected <= expected.min() + ROUNDED]
    lengthscales = np.exp(surrogate.weights @ np.log(surrogate.process.kernel.lengthscales))[: surrogate.dimensions]
    lengths = np.exp(rng.uniform(np.log(SHORTEST), np.log(LONGEST), (STEPS, 1)))
    steps = lengths * np.minimum(lengthscales, 1.0) * rng.standard_normal((STEPS, surrogate.dimensions))
    return surrogate.space.snap(np.clip(best[rng.integers(len(best), size=STEPS)] + steps, 0.0, 1.0))
