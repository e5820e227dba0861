"""The axes of a problem, and the way between the user's units and the unit cube.

Everything inside farthing works on unit points x in [0, 1]^d and a unit fidelity s in [0, 1], where s = 0 is the full, true
objective and s = 1 the cheapest one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from farthing.checks import as_number
from farthing.errors import SpaceError

Array = NDArray[np.float64]

ON_A_FACE = 1e-9
"""Unit coordinates closer than this to 0 or 1 are on the face."""


def _number(value: Any, what: str) -> float:
    """A finite float, or an error that names what was given."""
    number = as_number(value)
    if number is None:
        raise SpaceError(f"{what} is {value!r}; give a number")
    if not math.isfinite(number):
        raise SpaceError(f"{what} is {value!r}; give a finite number")
    return number


@dataclass(frozen=True)
class Real:
    """A real axis from low to high, linear or logarithmic."""

    low: float
    high: float
    log: bool = False

    def check(self, name: str) -> None:
        """Raise a SpaceError, naming the axis, if it cannot be."""
        low, high = (
            _number(self.low, f"the lower bound of axis {name!r}"),
            _number(self.high, f"the upper bound of axis {name!r}"),
        )
        if low >= high:
            raise SpaceError(f"axis {name!r} runs from {low!r} to {high!r}; give a lower bound below the upper one")
        if self.log and low <= 0.0:
            raise SpaceError(f"axis {name!r} is logarithmic but starts at {low!r}; give a lower bound above zero or drop log=True")
        if not math.isfinite(high - low) or low + (high - low) * 1e-9 == low:
            raise SpaceError(f"axis {name!r} from {low!r} to {high!r} cannot be resolved in floating point; rescale it")

    def to_unit(self, values: Any) -> Array:
        """The user's units -> [0, 1], elementwise."""
        return _to_unit(np.asarray(values, dtype=float), self.low, self.high, self.log)

    def from_unit(self, unit: Any) -> Array:
        """[0, 1] -> the user's units, elementwise, never outside the bounds."""
        return _from_unit(np.asarray(unit, dtype=float), self.low, self.high, self.log)


@dataclass(frozen=True)
class Fidelity:
    """What an evaluation may cost: from `cheap` to `full`, the true objective; linear or logarithmic between; whole numbers or not.

    `full` may be the larger number (training rows) or the smaller one (a tolerance).
    """

    name: str
    cheap: float
    full: float
    log: bool = False
    integer: bool = False

    def check(self) -> None:
        """Raise a SpaceError if it cannot be."""
        if not isinstance(self.name, str) or not self.name:
            raise SpaceError(f"the fidelity's name is {self.name!r}; give the name of the objective's argument")
        cheap, full = _number(self.cheap, f"cheap of {self.name!r}"), _number(self.full, f"full of {self.name!r}")
        if cheap == full:
            raise SpaceError(f"fidelity {self.name!r} has cheap = full = {full!r}; give two levels or leave the fidelity out")
        if self.log and min(cheap, full) <= 0.0:
            raise SpaceError(f"fidelity {self.name!r} is logarithmic but reaches {min(cheap, full)!r}; keep both ends above zero")
        if self.integer and (cheap != round(cheap) or full != round(full)):
            raise SpaceError(f"fidelity {self.name!r} is of whole numbers but runs from {cheap!r} to {full!r}; round its ends")
        if not math.isfinite(full - cheap):
            raise SpaceError(f"fidelity {self.name!r} from {cheap!r} to {full!r} cannot be resolved; rescale it")

    def to_unit(self, values: Any) -> Array:
        """The user's units -> s, elementwise: full -> 0, cheap -> 1."""
        return _to_unit(np.asarray(values, dtype=float), self.full, self.cheap, self.log)

    def from_unit(self, s: Any) -> Array:
        """s -> the user's units, elementwise, rounded where the fidelity is of whole numbers."""
        values = _from_unit(np.asarray(s, dtype=float), self.full, self.cheap, self.log)
        return np.round(values) if self.integer else values

    def work(self, s: Array) -> tuple[Array, Array]:
        """How much work s means, from its least to 1 at full fidelity, and its derivative in s.

        The amount itself, relative to full, where the user's numbers are amounts (rows, epochs, cells); its reciprocal where
        smaller is dearer (a tolerance); 1 - s where the ends have no common sign.
        """
        if (self.cheap > 0.0) != (self.full > 0.0) or 0.0 in (self.cheap, self.full):
            return 1.0 - s, np.full_like(s, -1.0)
        if self.log:
            rate = abs(math.log(self.cheap) - math.log(self.full))
            work = np.exp(-rate * s)
            return work, -rate * work
        if abs(self.full) > abs(self.cheap):
            rate = self.cheap / self.full - 1.0
            return 1.0 + rate * s, np.full_like(s, rate)
        rate = self.cheap / max(abs(self.full), abs(self.cheap) * 1e-100) * math.copysign(1.0, self.full) - 1.0
        work = 1.0 / (1.0 + rate * s)
        return work, -rate * work**2


def _to_unit(values: Array, start: float, end: float, log: bool) -> Array:
    first, last, scaled = (np.log(start), np.log(end), np.log(values)) if log else (start, end, values)
    unit = np.clip((scaled - first) / (last - first), 0.0, 1.0)
    # The ends are exact, whatever the logarithm's last digit.
    return np.where(values == start, 0.0, np.where(values == end, 1.0, unit))


def _from_unit(unit: Array, start: float, end: float, log: bool) -> Array:
    first, last = (np.log(start), np.log(end)) if log else (start, end)
    values = first + unit * (last - first)
    values = np.clip(np.exp(values) if log else values, min(start, end), max(start, end))
    return np.where(unit == 0.0, start, np.where(unit == 1.0, end, values))


class Space:
    """The axes of a problem by name, and its fidelity if it has one."""

    def __init__(self, axes: Mapping[str, Real], fidelity: Fidelity | None = None) -> None:
        if not isinstance(axes, Mapping) or not axes:
            raise SpaceError(f'the space is {axes!r}; give a dict of axes such as {{"lr": farthing.Real(1e-5, 1, log=True)}}')
        for name, axis in axes.items():
            if not isinstance(name, str) or not name:
                raise SpaceError(f"an axis is named {name!r}; use the name of the objective's argument")
            if not isinstance(axis, Real):
                raise SpaceError(f"axis {name!r} is {axis!r}; give a farthing.Real(low, high)")
            axis.check(name)
        if fidelity is not None:
            if not isinstance(fidelity, Fidelity):
                raise SpaceError(f"the fidelity is {fidelity!r}; give a farthing.Fidelity(name, cheap=..., full=...)")
            fidelity.check()
            if fidelity.name in axes:
                raise SpaceError(f"{fidelity.name!r} is both an axis and the fidelity; drop one of them")
        # Python floats from here on: NumPy's small integers would overflow.
        self.axes = {name: replace(axis, low=float(axis.low), high=float(axis.high)) for name, axis in axes.items()}
        self.fidelity = fidelity and replace(fidelity, cheap=float(fidelity.cheap), full=float(fidelity.full))

    @property
    def dimensions(self) -> int:
        return len(self.axes)

    def unit_points(self, params: Sequence[Mapping[str, float]]) -> Array:
        """Parameters in the user's units -> (n, d) unit points."""
        table = np.array([[p[name] for name in self.axes] for p in params], dtype=float).reshape(-1, self.dimensions)
        return np.stack([axis.to_unit(table[:, i]) for i, axis in enumerate(self.axes.values())], axis=1)

    def params(self, unit_point: Array) -> dict[str, float]:
        """One unit point (d,) -> parameters in the user's units."""
        return {name: float(axis.from_unit(u)) for (name, axis), u in zip(self.axes.items(), unit_point, strict=True)}

    def unit_fidelities(self, fidelities: Sequence[float | None]) -> Array:
        """Fidelities in the user's units -> (n,) s; None is full fidelity."""
        if self.fidelity is None:
            return np.zeros(len(fidelities))
        full = self.fidelity.full
        return self.fidelity.to_unit(np.array([full if f is None else f for f in fidelities], dtype=float))

    def fidelity_value(self, s: float) -> float | int | None:
        """s -> the user's units, None where there is no fidelity."""
        if self.fidelity is None:
            return None
        value = float(self.fidelity.from_unit(s))
        return int(value) if self.fidelity.integer else value

    def check_params(self, params: Mapping[str, Any]) -> dict[str, float]:
        """The parameters as floats within the bounds, or an error that names the culprit."""
        if not isinstance(params, Mapping):
            raise SpaceError(f"parameters are {params!r}; give a dict with the keys {', '.join(self.axes)}")
        unknown, missing = [k for k in params if k not in self.axes], [k for k in self.axes if k not in params]
        if unknown or missing:
            raise SpaceError(
                f"parameters have {f'unknown names {unknown}' if unknown else f'no {missing}'}; the axes are {list(self.axes)}"
            )
        checked = {}
        for name, axis in self.axes.items():
            value = _number(params[name], f"parameter {name!r}")
            if not axis.low <= value <= axis.high:
                raise SpaceError(f"parameter {name!r} is {value!r}, outside its axis from {axis.low!r} to {axis.high!r}")
            checked[name] = value
        return checked

    def check_fidelity(self, fidelity: Any) -> float | int | None:
        """The fidelity as a number within its range (full where None is given), or an error."""
        if self.fidelity is None:
            if fidelity is not None:
                raise SpaceError(f"fidelity {fidelity!r} was given, but the study has none; leave it out")
            return None
        if fidelity is None:
            return self.fidelity_value(0.0)
        value = _number(fidelity, f"fidelity {self.fidelity.name!r}")
        low, high = sorted((self.fidelity.cheap, self.fidelity.full))
        if not low <= value <= high:
            raise SpaceError(f"fidelity {self.fidelity.name!r} is {value:g}, outside its range from {low:g} to {high:g}")
        if self.fidelity.integer and value != round(value):
            raise SpaceError(f"fidelity {self.fidelity.name!r} is {value!r}; give a whole number")
        return int(value) if self.fidelity.integer else value
