"""Random streams: one for each purpose and number, so that what was drawn never depends on what else was computed."""

from __future__ import annotations

import numpy as np

PURPOSES = ("design", "hyperparameters", "proposal", "recommendation", "regret")


def stream(seed: int, purpose: str, number: int) -> np.random.Generator:
    """The generator for this purpose at this number (a trial's, or of observations)."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(PURPOSES.index(purpose), number)))
