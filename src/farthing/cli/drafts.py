"""A study file in the making: what was answered, and the text that says it."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import typer

Described = dict[str, Any]
"""An axis or a fidelity in the words of a study file."""


@dataclass(frozen=True)
class Draft:
    """What a study file is to say. command, python: at most one of them is not empty; fidelity_name: empty for none."""

    name: str
    command: list[str]
    python: str
    axes: dict[str, Described]
    fidelity_name: str
    fidelity: Described
    budget: str

    def text(self) -> str:
        """The file."""
        budget = f"budget = {toml(scalar(self.budget))}" if self.budget else '# budget = "8 h"'
        parts = [
            "[study]",
            f"name = {toml(self.name)}",
            f"{budget:<24}# in all: a number of cost units, or a time; and/or evaluations = 50, target = 0.02, regret = 0.001",
            '# store = "results.db"  # default: NAME.db beside this file; or postgresql://USER@HOST/DATABASE',
            "# workers = 2           # evaluations at once",
            '# timeout = "30 min"    # of one evaluation',
            "",
            *self._objective(),
            "",
            "[space]",
            *(f"{key(name)} = {toml(axis)}" for name, axis in self.axes.items()),
            '# other kinds: { integer = [1, 8] }, { choice = ["adam", "sgd"] }; a plain value is held fixed',
            "",
            *self._fidelity(),
        ]
        return "\n".join(parts) + "\n"

    def _objective(self) -> list[str]:
        if self.python:
            return [
                "[objective]",
                f"python = {toml(self.python)}",
                "# it is called with the parameters by name, and returns a number",
            ]
        if self.command:
            return ["[objective]", f"command = {toml(self.command)}", "# the last line that it prints is the value"]
        return [
            "# [objective]             # without one, evaluate with farthing ask and farthing tell",
            '# python = "module:function"',
        ]

    def _fidelity(self) -> list[str]:
        if not self.fidelity_name:
            return [
                "# [fidelity]              # what an evaluation may cost",
                '# name = "rows"',
                "# cheap = 100",
                "# full = 10000",
                "# log = true              # for amounts, such as rows, epochs or cells",
                "# integer = true",
            ]
        return ["[fidelity]", f"name = {toml(self.fidelity_name)}", *(f"{k} = {toml(value)}" for k, value in self.fidelity.items())]


def toml(value: Any) -> str:
    """Text, a number, a boolean, a list or an inline table as TOML."""
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key(name)} = {toml(v)}' for name, v in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value).lower() if isinstance(value, bool) else repr(value)


def key(name: str) -> str:
    """A key as TOML."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml(name)


def scalar(text: str) -> int | float | bool | str:
    """What was typed: a number, true or false; otherwise the text itself."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


# What options and answers say -----------------------------------------------------------------------------------------------


def named(text: str, describe: Callable[[str], Described]) -> tuple[str, Described]:
    """NAME=SPECIFICATION."""
    name, equals, specification = text.partition("=")
    if not equals or not name.strip():
        raise typer.BadParameter(f"{text!r} has no name; give NAME=..., such as lr=1e-5:1e-1:log")
    return name.strip(), describe(specification)


def axis_of(text: str, kind: str) -> Described:
    """LOW:HIGH[:log] as a real or an integer axis; A,B,... as a choice."""
    if kind == "choice":
        return {"choice": [scalar(option.strip()) for option in text.split(",")]}
    low, high, words = _range(text, {"log"})
    return {kind: [low, high], **dict.fromkeys(words, True)}


def any_axis_of(text: str) -> Described:
    """LOW:HIGH[:log], LOW:HIGH:integer[:log] or A,B,..."""
    if ":" not in text:
        return axis_of(text, "choice")
    rest = text.split(":")
    kind = "integer" if "integer" in rest[2:] else "real"
    return axis_of(":".join([*rest[:2], *(word for word in rest[2:] if word != "integer")]), kind)


def fidelity_of(text: str) -> Described:
    """CHEAP:FULL[:log][:integer], or A,B,... as levels."""
    if ":" not in text:
        return {"levels": [scalar(level.strip()) for level in text.split(",")]}
    cheap, full, words = _range(text, {"log", "integer"})
    return {"cheap": cheap, "full": full, **dict.fromkeys(words, True)}


def _range(text: str, allowed: set[str]) -> tuple[float, float, list[str]]:
    low, _, rest = text.partition(":")
    high, *words = (part.strip() for part in rest.split(":"))
    ends = [end for end in (scalar(low.strip()), scalar(high)) if isinstance(end, int | float) and not isinstance(end, bool)]
    if len(ends) != 2 or not allowed.issuperset(words):
        may = " or ".join(f":{word}" for word in sorted(allowed))
        raise typer.BadParameter(f"{text!r} is no range; give two numbers, LOW:HIGH, and after them perhaps {may}")
    return ends[0], ends[1], words


def split(command: str) -> list[str]:
    """A command line as its arguments."""
    try:
        return shlex.split(command)
    except ValueError as error:
        raise typer.BadParameter(f"the command {command!r} cannot be split into arguments: {error}") from None


def placeholders(command: list[str]) -> list[str]:
    """The names in braces, each once."""
    return list(dict.fromkeys(name for argument in command for name in re.findall(r"(?<!\{)\{([^{}]+)\}", argument)))
