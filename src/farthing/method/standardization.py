"""Values as the surrogate sees them: mean 0, standard deviation 1, and no disaster that hides everything else.

Losses are skewed: most settings of a real model are somewhat bad and a few are terrible. What lies above the median is therefore
bent: y -> knee + bend * log(1 + (y - knee) / bend), which keeps the order, and so the minimizer, and leaves values below the median
as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farthing.numerics.kernels import Array

FIRST = 10
"""The bend is the way from the best value to the median, among the first so many values or among all, whichever is longer: as a
search closes in, most values lie near the best one, and the rest must not be flattened for that."""


@dataclass(frozen=True)
class Standardization:
    """Values y -> (bent(y) - location) / scale. An infinite bend leaves values as they are."""

    location: float
    scale: float
    knee: float
    bend: float

    @classmethod
    def of(cls, values: Array) -> Standardization:
        largest = float(np.abs(values).max(initial=0.0))
        if largest == 0.0:
            return cls(0.0, 1.0, 0.0, np.inf)
        unit = values / largest  # so that neither 1e300 nor 1e-300 leaves the range of floats when squared
        knee = float(np.median(unit))
        bend = max(float(np.median(part) - part.min()) for part in (unit[:FIRST], unit))
        unit = _bent(unit, knee, bend if bend > 0.0 else np.inf)
        location, sd = float(unit.mean()), float(unit.std())
        # Values that are all the same to rounding have no scale of their own.
        scale = sd if sd > 1e-14 else 1.0
        return cls(location * largest, max(scale * largest, 1e-307), knee * largest, bend * largest or np.inf)

    def apply(self, values: Array) -> Array:
        """Values in the user's units -> standardized ones."""
        # Halves, lest 1e308 - -1e308 overflow.
        return (0.5 * _bent(values, self.knee, self.bend) - 0.5 * self.location) / self.scale * 2.0

    def apply_noise(self, sds: Array) -> Array:
        """Standard deviations in the user's units -> variances in standardized ones."""
        return np.minimum(sds / self.scale, 1e6) ** 2

    def restore(self, mean: float, sd: float) -> tuple[float, float]:
        """A standardized mean and standard deviation -> the user's units."""
        value = mean * self.scale + self.location
        if value <= self.knee or np.isinf(self.bend):
            return value, sd * self.scale
        above = min((value - self.knee) / self.bend, 600.0)
        return self.knee + self.bend * float(np.expm1(above)), sd * self.scale * float(np.exp(above))


def _bent(values: Array, knee: float, bend: float) -> Array:
    if np.isinf(bend):
        return values
    with np.errstate(over="ignore"):
        above = np.minimum((0.5 * values - 0.5 * knee) / (0.5 * bend), 1e300)
    return np.where(above > 0.0, knee + bend * np.log1p(np.maximum(above, 0.0)), values)
