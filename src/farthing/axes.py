"""The axes of a problem, and the way of each between the user's units and its columns of the unit cube.

Everything inside farthing works on unit points x in [0, 1]^d and a unit fidelity s in [0, 1], where s = 0 is the full, true
objective and s = 1 the cheapest one. The columns of x are the real axes, then the integer ones, then the choices, each in the
user's order: a choice of c options takes c columns, of which that of its option is HOT and the others 0, so that any two options
are at distance 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from farthing.checks import as_number, as_whole
from farthing.errors import SpaceError

Array = NDArray[np.float64]

ON_A_FACE = 1e-9
"""Unit coordinates closer than this to 0 or 1 are on the face."""

LARGEST = 1e14
"""Of whole numbers: beyond, the unit cube cannot tell neighbors apart."""

HOT = math.sqrt(0.5)
"""The column of the chosen option."""


def finite(value: Any, what: str) -> float:
    """A finite float, or an error that names what was given."""
    number = as_number(value)
    if number is None:
        raise SpaceError(f"{what} is {value!r}; give a number")
    if not math.isfinite(number):
        raise SpaceError(f"{what} is {value!r}; give a finite number")
    return number


def as_scalar(value: Any) -> Any:
    """A NumPy scalar as Python's own; everything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def is_scalar(value: Any) -> bool:
    """Whether a value can be written as JSON and read back the same: text, a finite number, a boolean or None."""
    return value is None or isinstance(value, str | bool | int) or (isinstance(value, float) and math.isfinite(value))


def is_list(value: Any) -> bool:
    """A list, a tuple or an array of one dimension; not text."""
    return value.ndim == 1 if isinstance(value, np.ndarray) else isinstance(value, Sequence) and not isinstance(value, str | bytes)


@dataclass(frozen=True)
class Real:
    """A real axis from low to high, linear or logarithmic."""

    low: float
    high: float
    log: bool = False

    columns = 1

    def checked(self, name: str) -> Real:
        """This axis in Python's floats, or a SpaceError that names it."""
        low, high = _bounds(self, name)
        if self.log and low <= 0.0:
            raise SpaceError(f"axis {name!r} is logarithmic but starts at {low!r}; give a lower bound above zero or drop log=True")
        if not math.isfinite(high - low) or low + (high - low) * 1e-9 == low:
            raise SpaceError(f"axis {name!r} from {low!r} to {high!r} cannot be resolved in floating point; rescale it")
        return replace(self, low=low, high=high)

    def check_value(self, name: str, value: Any) -> float:
        """The value as a float, or a SpaceError."""
        number = finite(value, f"parameter {name!r}")
        if not self.low <= number <= self.high:
            raise SpaceError(f"parameter {name!r} is {number!r}, outside its axis from {self.low!r} to {self.high!r}")
        return number

    def to_unit(self, values: Sequence[Any] | Array) -> Array:
        """n values in the user's units -> (n, 1) unit columns."""
        return unit_of(np.asarray(values, dtype=float), self.low, self.high, self.log)[:, None]

    def from_unit(self, unit: Array) -> list[Any]:
        """(n, 1) unit columns -> values in the user's units, never outside the bounds."""
        return [float(v) for v in value_at(unit[:, 0], self.low, self.high, self.log)]

    def snap(self, unit: Array) -> Array:
        """(n, 1) unit columns -> the nearest ones that can be evaluated: here themselves."""
        return unit

    def scatter(self, unit: Array) -> Array:
        """(n, 1) uniform random columns -> columns uniform over what can be evaluated."""
        return unit


@dataclass(frozen=True)
class Integer:
    """An axis of whole numbers from low to high, both included, linear or logarithmic."""

    low: int
    high: int
    log: bool = False

    columns = 1

    def checked(self, name: str) -> Integer:
        """This axis in Python's ints, or a SpaceError that names it."""
        low, high = _bounds(self, name)
        if low != round(low) or high != round(high):
            raise SpaceError(f"axis {name!r} is of whole numbers but runs from {low!r} to {high!r}; round its bounds")
        if self.log and low < 1.0:
            raise SpaceError(f"axis {name!r} is logarithmic but starts at {low:g}; start it at 1 or above or drop log=True")
        if max(abs(low), abs(high), high - low) > LARGEST:
            raise SpaceError(f"axis {name!r} from {low:g} to {high:g} is too long for whole numbers (10^14 at most); rescale it")
        return replace(self, low=int(low), high=int(high))

    def check_value(self, name: str, value: Any) -> int:
        """The value as an int, or a SpaceError."""
        number = finite(value, f"parameter {name!r}")
        if number != round(number):
            raise SpaceError(f"parameter {name!r} is {value!r}; give a whole number")
        if not self.low <= number <= self.high:
            raise SpaceError(f"parameter {name!r} is {value!r}, outside its axis from {self.low!r} to {self.high!r}")
        return int(number)

    def to_unit(self, values: Sequence[Any] | Array) -> Array:
        """n values in the user's units -> (n, 1) unit columns."""
        return unit_of(np.asarray(values, dtype=float), self.low, self.high, self.log)[:, None]

    def from_unit(self, unit: Array) -> list[Any]:
        """(n, 1) unit columns -> the nearest whole numbers."""
        return [round(v) for v in value_at(unit[:, 0], self.low, self.high, self.log)]

    def snap(self, unit: Array) -> Array:
        """(n, 1) unit columns -> those of the nearest whole numbers."""
        return self.to_unit(np.round(value_at(unit[:, 0], self.low, self.high, self.log)))

    def scatter(self, unit: Array) -> Array:
        """(n, 1) uniform random columns -> whole numbers, each as likely as its share of the scale; the ends are not halved."""
        low, high = self.low - 0.5, self.high + 0.5
        values = value_at(unit[:, 0], low, high, self.log)
        return self.to_unit(np.clip(np.round(values), self.low, self.high))

    def beside(self, unit: Array) -> Array:
        """(1, 1) a unit column -> those of the numbers one below and one above."""
        value = self.from_unit(unit)[0]
        return self.to_unit([v for v in (value - 1, value + 1) if self.low <= v <= self.high])


@dataclass(frozen=True)
class Choice:
    """An axis of unordered options: text, numbers, booleans or None."""

    options: tuple[Any, ...]

    def __init__(self, options: Sequence[Any]) -> None:
        given = options if is_list(options) else (options,)
        object.__setattr__(self, "options", tuple(as_scalar(o) for o in given))

    @property
    def columns(self) -> int:
        return len(self.options)

    def checked(self, name: str) -> Choice:
        """This axis, or a SpaceError that names it."""
        odd = [o for o in self.options if not is_scalar(o)]
        if odd:
            raise SpaceError(f"axis {name!r} has the option {odd[0]!r}; give text, finite numbers, booleans or None")
        if len(self.options) < 2:
            raise SpaceError(f"axis {name!r} has the options {list(self.options)!r}; give a list of at least two")
        if any(a == b for i, a in enumerate(self.options) for b in self.options[:i]):
            raise SpaceError(f"axis {name!r} has equal options among {list(self.options)!r}; give each once")
        return self

    def check_value(self, name: str, value: Any) -> Any:
        """The option that this value is, or a SpaceError."""
        value = as_scalar(value)
        for option in self.options:
            if is_scalar(value) and value == option and isinstance(value, bool) == isinstance(option, bool):
                return option
        raise SpaceError(f"parameter {name!r} is {value!r}; choose one of {', '.join(map(repr, self.options))}")

    def to_unit(self, values: Sequence[Any] | Array) -> Array:
        """n options -> (n, c) columns, one of them HOT."""
        index = {option: i for i, option in enumerate(self.options)}
        unit = np.zeros((len(values), len(self.options)))
        unit[np.arange(len(values)), [index[v] for v in values]] = HOT
        return unit

    def from_unit(self, unit: Array) -> list[Any]:
        """(n, c) columns -> the options of the largest."""
        return [self.options[i] for i in np.argmax(unit, axis=1)]

    def snap(self, unit: Array) -> Array:
        """(n, c) columns -> the same with the largest HOT and the others 0."""
        out = np.zeros(unit.shape)
        out[np.arange(len(unit)), np.argmax(unit, axis=1)] = HOT
        return out

    def scatter(self, unit: Array) -> Array:
        """(n, c) uniform random columns -> options, all equally likely."""
        return self.snap(unit)

    def beside(self, unit: Array) -> Array:
        """(1, c) columns -> those of the other options."""
        return self.to_unit([o for o in self.options if o != self.from_unit(unit)[0]])


Axis = Real | Integer | Choice


def _bounds(axis: Real | Integer, name: str) -> tuple[float, float]:
    low = finite(axis.low, f"the lower bound of axis {name!r}")
    high = finite(axis.high, f"the upper bound of axis {name!r}")
    if low >= high:
        raise SpaceError(f"axis {name!r} runs from {low!r} to {high!r}; give a lower bound below the upper one")
    return low, high


@dataclass(frozen=True)
class Fidelity:
    """What an evaluation may cost: from `cheap` to `full`, the true objective; linear or logarithmic between; whole numbers or not.

    `full` may be the larger number (training rows) or the smaller one (a tolerance). Instead of the two, `levels` lists the only
    values there are, from the cheapest to full: `Fidelity("cells", levels=[64, 128, 256, 512], log=True)`. Amounts of work, such as
    rows, epochs or cells, are best logarithmic.
    """

    name: str
    cheap: float | None = None
    full: float | None = None
    log: bool = False
    integer: bool = False
    levels: tuple[float, ...] | None = None

    def checked(self) -> Fidelity:
        """This fidelity in Python's floats, its ends known, or a SpaceError."""
        if not isinstance(self.name, str) or not self.name:
            raise SpaceError(f"the fidelity's name is {self.name!r}; give the name of the objective's argument")
        if self.levels is not None:
            return self._with_levels(self.levels)._checked_ends()
        return self._checked_ends()

    def _with_levels(self, levels: Sequence[float]) -> Fidelity:
        if self.cheap is not None or self.full is not None:
            ends = (levels[0], levels[-1]) if isinstance(levels, tuple) and levels else None
            if (self.cheap, self.full) != ends:
                raise SpaceError(f"fidelity {self.name!r} has levels, and cheap or full beside them; give one or the other")
        if not is_list(levels) or len(levels) < 2:
            raise SpaceError(f"fidelity {self.name!r} has the levels {levels!r}; list at least two, from the cheapest to full")
        numbers = tuple(finite(level, f"a level of {self.name!r}") for level in levels)
        steps = np.sign(np.diff(numbers))
        if not (steps == steps[0]).all() or steps[0] == 0.0:
            raise SpaceError(
                f"fidelity {self.name!r} has the levels {list(levels)!r}; list them in order, from the cheapest to full"
            )
        whole = all(as_whole(as_scalar(level)) is not None for level in levels)
        return replace(self, cheap=numbers[0], full=numbers[-1], levels=numbers, integer=self.integer or whole)

    def _checked_ends(self) -> Fidelity:
        cheap, full = finite(self.cheap, f"cheap of {self.name!r}"), finite(self.full, f"full of {self.name!r}")
        if cheap == full:
            raise SpaceError(f"fidelity {self.name!r} has cheap = full = {full!r}; give two levels or leave the fidelity out")
        if self.log and min(cheap, full) <= 0.0:
            raise SpaceError(f"fidelity {self.name!r} is logarithmic but reaches {min(cheap, full)!r}; keep both ends above zero")
        if self.integer and any(v != round(v) for v in (cheap, full, *(self.levels or ()))):
            raise SpaceError(f"fidelity {self.name!r} is of whole numbers but runs from {cheap!r} to {full!r}; round its ends")
        if not math.isfinite(full - cheap):
            raise SpaceError(f"fidelity {self.name!r} from {cheap!r} to {full!r} cannot be resolved; rescale it")
        return replace(self, cheap=cheap, full=full)

    @property
    def ends(self) -> tuple[float, float]:
        """Full and cheap, as numbers."""
        assert self.full is not None
        assert self.cheap is not None
        return self.full, self.cheap

    @property
    def count(self) -> float:
        """How many values there are."""
        if self.levels is not None:
            return len(self.levels)
        full, cheap = self.ends
        return abs(full - cheap) + 1.0 if self.integer else math.inf

    def to_unit(self, values: Any) -> Array:
        """The user's units -> s, elementwise: full -> 0, cheap -> 1."""
        return unit_of(np.asarray(values, dtype=float), *self.ends, self.log)

    def from_unit(self, s: Any) -> Array:
        """s -> the user's units, elementwise: the nearest level, or whole number, where the fidelity has those."""
        s = np.asarray(s, dtype=float)
        if self.levels is not None:
            levels = np.array(self.levels)
            return levels[np.abs(self.to_unit(levels) - s[..., None]).argmin(axis=-1)]
        values = value_at(s, *self.ends, self.log)
        return np.round(values) if self.integer else values

    def snap(self, s: Array) -> Array:
        """s -> the nearest s that can be evaluated, elementwise."""
        return self.to_unit(self.from_unit(s)) if self.integer or self.levels is not None else s

    def beside(self, s: float) -> Array:
        """The next s below and above that can be evaluated, where there are gaps between them."""
        if self.levels is not None:
            levels = np.sort(self.to_unit(np.array(self.levels)))
            at = int(np.abs(levels - s).argmin())
            return levels[[i for i in (at - 1, at + 1) if 0 <= i < len(levels)]]
        if not self.integer:
            return np.empty(0)
        full, cheap = self.ends
        beside = np.round(value_at(np.array([s]), full, cheap, self.log)) + np.array([-1.0, 1.0])
        return self.to_unit(beside[(beside >= min(full, cheap)) & (beside <= max(full, cheap))])

    def work(self, s: Array) -> tuple[Array, Array]:
        """How much work s means, from its least to 1 at full fidelity, and its derivative in s.

        The amount itself, relative to full, where the user's numbers are amounts (rows, epochs, cells); its reciprocal where
        smaller is dearer (a tolerance); 1 - s where the ends have no common sign.
        """
        full, cheap = self.ends
        if (cheap > 0.0) != (full > 0.0) or 0.0 in (cheap, full):
            return 1.0 - s, np.full_like(s, -1.0)
        if self.log:
            rate = abs(math.log(cheap) - math.log(full))
            work = np.exp(-rate * s)
            return work, -rate * work
        if abs(full) > abs(cheap):
            rate = cheap / full - 1.0
            return 1.0 + rate * s, np.full_like(s, rate)
        rate = cheap / max(abs(full), abs(cheap) * 1e-100) * math.copysign(1.0, full) - 1.0
        work = 1.0 / (1.0 + rate * s)
        return work, -rate * work**2


def unit_of(values: Array, start: float, end: float, log: bool) -> Array:
    first, last, scaled = (np.log(start), np.log(end), np.log(values)) if log else (start, end, values)
    unit = np.minimum(np.maximum((scaled - first) / (last - first), 0.0), 1.0)  # in a third of the time of np.clip
    # The ends are exact, whatever the logarithm's last digit.
    return np.where(values == start, 0.0, np.where(values == end, 1.0, unit))


def value_at(unit: Array, start: float, end: float, log: bool) -> Array:
    first, last = (np.log(start), np.log(end)) if log else (start, end)
    values = first + unit * (last - first)
    values = np.minimum(np.maximum(np.exp(values) if log else values, min(start, end)), max(start, end))
    return np.where(unit == 0.0, start, np.where(unit == 1.0, end, values))
