"""Values as the surrogate sees them: mean 0, standard deviation 1, and no disaster that hides everything else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farthing.numerics.kernels import Array

CEILING = 100.0
"""A value above the median by more than this many times the way from the best to the median is taken to lie there."""


@dataclass(frozen=True)
class Standardization:
    """Values y -> (min(y, ceiling) - location) / scale: mean 0 and sd 1, with a limit to how far up a disaster can reach."""

    location: float
    scale: float
    ceiling: float

    @classmethod
    def of(cls, values: Array) -> Standardization:
        largest = float(np.abs(values).max(initial=0.0))
        if largest == 0.0:
            return cls(0.0, 1.0, np.inf)
        unit = values / largest  # so that neither 1e300 nor 1e-300 leaves the range of floats when squared
        best, median = float(unit.min()), float(np.median(unit))
        ceiling = median + CEILING * (median - best) if median > best else np.inf
        clipped = np.minimum(unit, ceiling)
        location, sd = float(clipped.mean()), float(clipped.std())
        # Values that are all the same to rounding have no scale of their own.
        scale = sd if sd > 1e-14 else 1.0
        with np.errstate(over="ignore"):
            return cls(location * largest, max(scale * largest, 1e-307), float(np.float64(ceiling) * largest))

    def apply(self, values: Array) -> Array:
        # Halves, lest 1e308 - -1e308 overflow.
        return (0.5 * np.minimum(values, self.ceiling) - 0.5 * self.location) / self.scale * 2.0

    def apply_noise(self, sds: Array) -> Array:
        """Standard deviations in the user's units -> variances in standardized ones."""
        return np.minimum(sds / self.scale, 1e6) ** 2
