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
    """Values y -> (bent(y) - location) / scale. A bend of 0 leaves values as they are."""

    location: float
    scale: float
    knee: float
    bend: float

    @classmethod
    def of(cls, values: Array) -> Standardization:
        largest = float(np.abs(values).max(initial=0.0))
        if largest == 0.0:
            return cls(0.0, 1.0, 0.0, 0.0)
        unit = values / largest  # so that neither 1e300 nor 1e-300 leaves the range of floats when squared
        knee = float(np.median(unit))
        bend = max(float(np.median(part) - part.min()) for part in (unit[:FIRST], unit))
        unit = _bent(unit, knee, bend)
        location, sd = float(unit.mean()), float(unit.std())
        # Values that are all the same to rounding have no scale of their own.
        scale = sd if sd > 1e-14 else 1.0
        return cls(location * largest, max(scale * largest, 1e-307), knee * largest, min(bend * largest, 1e308))

    def apply(self, values: Array) -> Array:
        """Values in the user's units -> standardized ones."""
        # Halves, lest 1e308 - -1e308 overflow.
        return (0.5 * _bent(values, self.knee, self.bend) - 0.5 * self.location) / self.scale * 2.0

    def apply_noise(self, sds: Array, values: Array) -> Array:
        """Standard deviations of values, in the user's units -> variances in standardized ones: less where values are bent."""
        with np.errstate(over="ignore"):
            slope = 1.0 / (1.0 + _above(values, self.knee, self.bend))
            return np.minimum(sds / self.scale * slope, 1e6) ** 2

    def restore(self, mean: float, sd: float) -> tuple[float, float]:
        """A standardized mean and standard deviation -> the user's units."""
        value, sd = mean * self.scale + self.location, sd * self.scale
        if value > self.knee and self.bend > 0.0:
            above = min((value - self.knee) / self.bend, 600.0)
            value, sd = self.knee + self.bend * float(np.expm1(above)), sd * float(np.exp(above))
        largest = float(np.finfo(float).max)
        return min(max(value, -largest), largest), min(sd, largest)


def _above(values: Array, knee: float, bend: float) -> Array:
    """How far values lie above the knee, in units of the bend; 0 below it, and everywhere where there is no bend."""
    if bend == 0.0:
        return np.zeros_like(values)
    with np.errstate(over="ignore"):
        return np.clip((0.5 * values - 0.5 * knee) / bend * 2.0, 0.0, 1e300)


def _bent(values: Array, knee: float, bend: float) -> Array:
    above = _above(values, knee, bend)
    return np.where(above > 0.0, knee + bend * np.log1p(above), values)
