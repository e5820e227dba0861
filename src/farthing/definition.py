"""A study's definition as JSON: what it is about, and how it decides. A study file has its axes in the same words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from farthing.axes import Axis, Choice, Fidelity, Integer, Real, is_scalar
from farthing.errors import SettingsError, SpaceError
from farthing.methods import METHODS, Method
from farthing.settings import Settings
from farthing.space import Space

KINDS = ("real", "integer", "choice", "fixed")


@dataclass(frozen=True)
class Definition:
    """All of a study but its budget and its trials."""

    space: Space
    method: Method
    seed: int
    settings: Settings

    def to_json(self) -> dict[str, Any]:
        """As dicts, lists and numbers; `of_json` gives it back."""
        space, fidelity = self.space, self.space.fidelity
        described = {n: axis_to_json(space.axes[n]) if n in space.axes else {"fixed": space.fixed[n]} for n in space.names}
        return {
            "space": described,
            "fidelity": None if fidelity is None else fidelity_to_json(fidelity),
            "method": {"name": method_name(self.method), **asdict(self.method)},
            "seed": self.seed,
            "settings": {key: list(v) if isinstance(v, tuple) else v for key, v in asdict(self.settings).items()},
        }

    @classmethod
    def of_json(cls, data: Mapping[str, Any]) -> Definition:
        """From what `to_json` gave; an error says what is not understood."""
        axes = {name: axis_of_json(name, axis) for name, axis in data["space"].items()}
        fidelity = None if data["fidelity"] is None else fidelity_of_json(data["fidelity"])
        return cls(Space(axes, fidelity), method_of_json(data["method"]), int(data["seed"]), settings_of_json(data["settings"]))


def axis_to_json(axis: Axis) -> dict[str, Any]:
    """{"real": [low, high], "log": true}, {"integer": [low, high]}, {"choice": [options]}."""
    if isinstance(axis, Choice):
        return {"choice": list(axis.options)}
    described: dict[str, Any] = {"real" if isinstance(axis, Real) else "integer": [axis.low, axis.high]}
    return {**described, "log": True} if axis.log else described


def axis_of_json(name: str, described: Any) -> Any:
    """The axis, or the fixed value, that is described; a bare value is a fixed one."""
    if is_scalar(described):
        return described
    kinds = [key for key in KINDS if isinstance(described, Mapping) and key in described]
    if len(kinds) != 1:
        raise SpaceError(f"axis {name!r} is {described!r}; give it one of {', '.join(KINDS)}, such as {{ real = [0.0, 1.0] }}")
    kind = kinds[0]
    allowed = {kind, "log"} if kind in ("real", "integer") else {kind}
    unknown = [key for key in described if key not in allowed]
    if unknown:
        raise SpaceError(f"axis {name!r} has the unknown key {unknown[0]!r}; it may have {', '.join(sorted(allowed))}")
    value = described[kind]
    if kind == "fixed":
        return value
    if kind == "choice":
        if not isinstance(value, list):
            raise SpaceError(f"axis {name!r} has the options {value!r}; give a list of at least two")
        return Choice(value)
    if not isinstance(value, list) or len(value) != 2:
        raise SpaceError(f"axis {name!r} has the bounds {value!r}; give a list [low, high]")
    log = described.get("log", False)
    if not isinstance(log, bool):
        raise SpaceError(f"axis {name!r} has log = {log!r}; give true or false")
    low, high = value
    return Real(low, high, log) if kind == "real" else Integer(low, high, log)


def fidelity_to_json(fidelity: Fidelity) -> dict[str, Any]:
    """{"name": ..., "cheap": ..., "full": ..., "log": true, "integer": true}, or with "levels" instead of the ends."""
    full, cheap = (int(v) if fidelity.integer else v for v in fidelity.ends)
    described: dict[str, Any] = {"name": fidelity.name}
    if fidelity.levels is None:
        described |= {"cheap": cheap, "full": full}
    else:
        described["levels"] = [int(level) if fidelity.integer else level for level in fidelity.levels]
    return described | {key: True for key in ("log", "integer") if getattr(fidelity, key)}


def fidelity_of_json(described: Any) -> Fidelity:
    """The fidelity that is described."""
    allowed = [f.name for f in fields(Fidelity)]
    if not isinstance(described, Mapping):
        raise SpaceError(f"the fidelity is {described!r}; give it name, cheap and full")
    unknown = [key for key in described if key not in allowed]
    if unknown:
        raise SpaceError(f"the fidelity has the unknown key {unknown[0]!r}; it may have {', '.join(allowed)}")
    if "name" not in described:
        raise SpaceError("the fidelity has no name; give the name of the objective's argument")
    for key in ("log", "integer"):
        if not isinstance(described.get(key, False), bool):
            raise SpaceError(f"the fidelity has {key} = {described[key]!r}; give true or false")
    return Fidelity(**described)


def method_name(method: Method) -> str:
    """The name by which a method is known."""
    return next(name for name, kind in METHODS.items() if kind is type(method))


def method_of_json(described: Any) -> Method:
    """The method that is described: a name, or a table with its name and options."""
    if not isinstance(described, str | Mapping):
        raise SettingsError(f"the method is {described!r}; give its name, one of {', '.join(METHODS)}, or its name and options")
    options = {"name": described} if isinstance(described, str) else dict(described)
    name = options.pop("name", None)
    if not isinstance(name, str) or name not in METHODS:
        raise SettingsError(f"there is no method {name!r}; choose one of {', '.join(METHODS)}")
    allowed = [f.name for f in fields(METHODS[name])]
    unknown = [key for key in options if key not in allowed]
    if unknown:
        raise SettingsError(f"method {name!r} has no option {unknown[0]!r}; it has {', '.join(allowed) or 'none'}")
    return METHODS[name](**options)


def settings_of_json(described: Mapping[str, Any]) -> Settings:
    """The settings that are described; those left out have their defaults."""
    allowed = [f.name for f in fields(Settings)]
    unknown = [key for key in described if key not in allowed]
    if unknown:
        raise SettingsError(f"there is no setting {unknown[0]!r}; there are {', '.join(allowed)}")
    values: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in described.items()}
    return Settings(**values)


def differences(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    """Where two definitions differ, in words."""
    out = []
    for key in ("space", "fidelity", "method", "settings"):
        a, b = mine.get(key), theirs.get(key)
        if json.dumps(a) == json.dumps(b):  # not a == b, by which 1 is True, and the order of axes does not matter
            continue
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            names = [n for n in {**b, **a} if n not in a or n not in b or json.dumps(a[n]) != json.dumps(b[n])]
            out += [f"{key}: {n!r} is {b.get(n, 'not there')} there and {a.get(n, 'not')} here" for n in names] or [
                f"{key}: another order"
            ]
        else:
            out.append(f"{key} is {b} there and {a} here")
    return out
