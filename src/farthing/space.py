"""A problem's axes side by side: parameters in the user's units, and (n, d) unit points."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from farthing.axes import Array, Axis, Choice, Fidelity, Integer, Real, as_scalar, finite, is_scalar
from farthing.errors import SpaceError


class Space:
    """The axes of a problem by name, the parameters that are held fixed, and its fidelity if it has one."""

    def __init__(self, axes: Mapping[str, Any], fidelity: Fidelity | None = None) -> None:
        if not isinstance(axes, Mapping) or not axes:
            raise SpaceError(f'the space is {axes!r}; give a dict of axes such as {{"lr": farthing.Real(1e-5, 1, log=True)}}')
        self.axes: dict[str, Axis] = {}
        self.fixed: dict[str, Any] = {}
        for name, axis in axes.items():
            if not isinstance(name, str) or not name:
                raise SpaceError(f"an axis is named {name!r}; use the name of the objective's argument")
            if isinstance(axis, Real | Integer | Choice):
                self.axes[name] = axis.checked(name)
            elif is_scalar(as_scalar(axis)):
                self.fixed[name] = as_scalar(axis)
            else:
                raise SpaceError(
                    f"axis {name!r} is {axis!r}; give a farthing.Real(low, high), an Integer(low, high), a Choice([...]), "
                    "or a plain value to hold it fixed"
                )
        if not self.axes:
            raise SpaceError(f"the space {axes!r} has fixed values alone; give at least one axis such as farthing.Real(low, high)")
        self.names = tuple(axes)
        if fidelity is not None:
            if not isinstance(fidelity, Fidelity):
                raise SpaceError(f"the fidelity is {fidelity!r}; give a farthing.Fidelity(name, cheap=..., full=...)")
            fidelity = fidelity.checked()
            if fidelity.name in axes:
                raise SpaceError(f"{fidelity.name!r} is both an axis and the fidelity; drop one of them")
        self.fidelity = fidelity

    # Columns ----------------------------------------------------------------------------------------------------------------

    @cached_property
    def columns(self) -> dict[str, slice]:
        """The unit columns of each axis: real axes, then integers, then choices."""
        out, start = {}, 0
        for kind in (Real, Integer, Choice):
            for name, axis in self.axes.items():
                if isinstance(axis, kind):
                    out[name] = slice(start, start + axis.columns)
                    start += axis.columns
        return out

    @cached_property
    def dimensions(self) -> int:
        """d, the number of unit columns."""
        return sum(axis.columns for axis in self.axes.values())

    @cached_property
    def reals(self) -> int:
        """How many of the first columns are real."""
        return sum(isinstance(axis, Real) for axis in self.axes.values())

    @cached_property
    def numbers(self) -> int:
        """How many of the first columns are real or whole numbers; the rest are choices."""
        return sum(not isinstance(axis, Choice) for axis in self.axes.values())

    @cached_property
    def groups(self) -> NDArray[np.intp]:
        """(d,) the axis to which each column belongs, counted in the order of the columns."""
        return np.repeat(np.arange(len(self.columns)), [c.stop - c.start for c in self.columns.values()])

    @cached_property
    def count(self) -> float:
        """How many different parameters there are: infinite with a real axis."""
        return math.prod(
            math.inf if isinstance(a, Real) else a.high - a.low + 1 if isinstance(a, Integer) else len(a.options)
            for a in self.axes.values()
        )

    def snap(self, points: Array) -> Array:
        """(m, d) unit points -> the nearest that can be evaluated."""
        return self._by_axis("snap", points)

    def scatter(self, points: Array) -> Array:
        """(m, d) uniform random points of the cube -> points uniform over what can be evaluated."""
        return self._by_axis("scatter", points)

    def _by_axis(self, what: str, points: Array) -> Array:
        out = points.copy()
        for name, columns in self.columns.items():
            out[:, columns] = getattr(self.axes[name], what)(points[:, columns])
        return out

    def stepped(self, point: Array) -> Array:
        """(m, d) the points that differ from this one (d,) on one integer axis, by one."""
        return self._changed(point, Integer)

    def exchanged(self, point: Array) -> Array:
        """(m, d) the points that differ from this one (d,) on one choice."""
        return self._changed(point, Choice)

    def _changed(self, point: Array, kind: type[Integer] | type[Choice]) -> Array:
        out = []
        for name, columns in self.columns.items():
            axis = self.axes[name]
            if not isinstance(axis, kind):
                continue
            values = axis.beside(point[None, columns])
            moved = np.tile(point, (len(values), 1))
            moved[:, columns] = values
            out.append(moved)
        return np.concatenate(out) if out else np.empty((0, self.dimensions))

    def every_point(self) -> Array:
        """(count, d) all unit points of a finite space."""
        columns = []
        for name in self.columns:
            axis = self.axes[name]
            assert not isinstance(axis, Real)
            options = range(axis.low, axis.high + 1) if isinstance(axis, Integer) else axis.options
            columns.append(axis.to_unit(list(options)))
        index = np.indices([len(c) for c in columns]).reshape(len(columns), -1)
        return np.concatenate([c[i] for c, i in zip(columns, index, strict=True)], axis=1)

    # Between the user's units and the cube ----------------------------------------------------------------------------------

    def unit_points(self, params: Sequence[Mapping[str, Any]]) -> Array:
        """Parameters in the user's units -> (n, d) unit points."""
        out = np.empty((len(params), self.dimensions))
        for name, columns in self.columns.items():
            out[:, columns] = self.axes[name].to_unit([p[name] for p in params])
        return out

    def params(self, unit_point: Array) -> dict[str, Any]:
        """One unit point (d,) -> parameters in the user's units, fixed ones included."""
        values = {name: self.axes[name].from_unit(unit_point[None, columns])[0] for name, columns in self.columns.items()}
        return {name: self.fixed[name] if name in self.fixed else values[name] for name in self.names}

    def unit_fidelities(self, fidelities: Sequence[float | None]) -> Array:
        """Fidelities in the user's units -> (n,) s; None is full fidelity."""
        if self.fidelity is None:
            return np.zeros(len(fidelities))
        full = self.fidelity.ends[0]
        return self.fidelity.to_unit(np.array([full if f is None else f for f in fidelities], dtype=float))

    def fidelity_value(self, s: float) -> float | int | None:
        """s -> the user's units, None where there is no fidelity."""
        if self.fidelity is None:
            return None
        value = float(self.fidelity.from_unit(s))
        return int(value) if self.fidelity.integer else value

    # What users give --------------------------------------------------------------------------------------------------------

    def check_params(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters as their axes have them, or an error that names the culprit. Fixed ones may be left out."""
        if not isinstance(params, Mapping):
            raise SpaceError(f"parameters are {params!r}; give a dict with the keys {', '.join(self.axes)}")
        unknown, missing = [k for k in params if k not in self.names], [k for k in self.axes if k not in params]
        if unknown or missing:
            raise SpaceError(
                f"parameters have {f'unknown names {unknown}' if unknown else f'no {missing}'}; the axes are {list(self.axes)}"
            )
        for name, value in self.fixed.items():
            given = as_scalar(params.get(name, value))
            if not is_scalar(given) or given != value:
                raise SpaceError(f"parameter {name!r} is {params[name]!r}, but is held fixed at {value!r}; leave it out")
        return {
            name: self.fixed[name] if name in self.fixed else self.axes[name].check_value(name, params[name]) for name in self.names
        }

    def check_fidelity(self, fidelity: Any) -> float | int | None:
        """The fidelity as a number within its range (full where None is given), or an error."""
        if self.fidelity is None:
            if fidelity is not None:
                raise SpaceError(f"fidelity {fidelity!r} was given, but the study has none; leave it out")
            return None
        if fidelity is None:
            return self.fidelity_value(0.0)
        value = finite(fidelity, f"fidelity {self.fidelity.name!r}")
        low, high = sorted(self.fidelity.ends)
        if not low <= value <= high:
            raise SpaceError(f"fidelity {self.fidelity.name!r} is {value:g}, outside its range from {low:g} to {high:g}")
        if self.fidelity.levels is not None and value not in self.fidelity.levels:
            levels = ", ".join(f"{level:g}" for level in self.fidelity.levels)
            raise SpaceError(f"fidelity {self.fidelity.name!r} is {value:g}; its levels are {levels}")
        if self.fidelity.integer and value != round(value):
            raise SpaceError(f"fidelity {self.fidelity.name!r} is {value!r}; give a whole number")
        return int(value) if self.fidelity.integer else value
