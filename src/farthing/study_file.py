"""A study file: a study, its objective and its limits in TOML, checked in full before anything runs."""

from __future__ import annotations

import difflib
import json
import os
import re
import shlex
import shutil
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import reduce
from pathlib import Path
from typing import Any

from farthing.axes import Choice, Fidelity, Integer, Real
from farthing.budget import parse_budget
from farthing.checks import as_finite, as_whole
from farthing.command import Command
from farthing.definition import KINDS, axis_of_json, fidelity_of_json, method_of_json, settings_of_json
from farthing.errors import FarthingError, KernelError, SettingsError, StudyFileError
from farthing.function import Function
from farthing.methods import Method
from farthing.settings import Settings
from farthing.space import Space
from farthing.study import MAX_FAILURES, Study
from farthing.toml_lines import Key, lines_of

STORE_BYTES = 255 - len("-journal")
"""Of the name of a database, at most: file systems take 255, and SQLite puts files of its own beside it."""


@dataclass(frozen=True)
class Limits:
    """When a run ends, and how it evaluates: arguments of `Study.run` by the same names."""

    budget: float | str | None = None
    evaluations: int | None = None
    target: float | None = None
    regret: float | None = None
    workers: int = 1
    timeout: float | str | None = None
    max_failures: int = MAX_FAILURES


@dataclass(frozen=True)
class StudyFile:
    """What a study file says.

    path: of the file; store: an absolute path or a URL; axes: the space, for `Study`; objective: None where the file has none;
    objective_at: where in the file it stands.
    """

    path: Path
    name: str
    store: str | Path
    axes: dict[str, Any]
    fidelity: Fidelity | None
    method: Method
    settings: Settings
    seed: int | None
    limits: Limits
    objective: Command | Function | None
    objective_at: str

    def study(self) -> Study:
        """The study, created in its store or gone on with."""
        return Study(
            self.axes,
            fidelity=self.fidelity,
            budget=self.limits.budget,
            method=self.method,
            seed=self.seed,
            store=self.store,
            name=self.name,
            settings=self.settings,
        )

    def checked_objective(self) -> Command | Function:
        """The objective, if there is one and this machine can call it; otherwise a StudyFileError."""
        if self.objective is None:
            raise StudyFileError(
                f"{self.path}: there is no [objective] table, so there is nothing to run; add one, with "
                'command = ["python", "train.py", ...] or python = "module:function"; or use farthing ask and farthing tell'
            )
        try:
            if isinstance(self.objective, Function):
                self.objective.check([*self.axes, *([self.fidelity.name] if self.fidelity else [])])
            else:
                _check_program(self.objective)
        except SettingsError as error:
            raise StudyFileError(f"{self.objective_at}: {error}") from error
        return self.objective


def read_study_file(path: str | os.PathLike[str]) -> StudyFile:
    """The study file at that path. A StudyFileError names the line, the key and the remedy."""
    path = Path(path)
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise StudyFileError(f"there is no study file {path}; check the path, or write one with farthing init") from error
    except IsADirectoryError as error:
        raise StudyFileError(f"{path} is a folder, not a study file; give the path of the file in it") from error
    except (OSError, ValueError) as error:  # a ValueError for a path with a null character
        raise StudyFileError(f"the study file {path} cannot be read ({error}); check the path and its permissions") from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise StudyFileError(f"{path}, line {line}: this is not UTF-8 text; save the file in UTF-8") from error
    return parse_study_file(text, path)


def parse_study_file(text: str, path: Path) -> StudyFile:
    """The study file that has this text, at that path."""
    if not text.strip():
        raise StudyFileError(f"{path} is empty; write a study file with farthing init")
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r" \(at line (\d+), column \d+\)$", str(error))
        line = place[1] if place else len(text.rstrip().splitlines())  # "(at end of document)" says no number
        what = re.sub(r" \(at line \d+, (column \d+)\)$", r" (at \1)", str(error))
        raise StudyFileError(f"{path}, line {line}: this is not TOML: {what}; mend the line, or see https://toml.io") from error
    except RecursionError as error:
        raise StudyFileError(f"{path}: its values are nested too deep; a study file needs lists and tables of one level") from error
    return _Reader(path, data, lines_of(text)).study_file()


class _Reader:
    """Turns the data of a file into a StudyFile; knows on which line everything stands."""

    def __init__(self, path: Path, data: dict[str, Any], lines: Mapping[Key, int]) -> None:
        self._path, self._data, self._lines = path, data, lines
        self._folder = path.absolute().parent

    def study_file(self) -> StudyFile:
        self._check_tables()
        self._refuse_unknown("study", allowed=_STUDY_KEYS)
        name = self._value("study", "name", self._path.stem, _is_text, "text in quotes")
        seed = self._value("study", "seed", None, _whole_from(0), "a whole number from 0 up")
        axes, fidelity = self._space()
        method, settings = self._method(), self._settings()
        try:
            Study(axes, fidelity=fidelity, method=method, settings=settings, name=name)
        except KernelError as error:
            raise self._error("settings", "kernel", what=error) from error
        except SettingsError as error:
            raise self._error("study", "name", what=error) from error
        objective = self._objective([*axes, *([fidelity.name] if fidelity else [])])
        at = self._at("objective", "python" if isinstance(objective, Function) else "command")
        return StudyFile(self._path, name, self._store(name), axes, fidelity, method, settings, seed, self._limits(), objective, at)

    # Tables -----------------------------------------------------------------------------------------------------------------

    def _check_tables(self) -> None:
        for name, value in self._data.items():
            if name in _TABLES and not isinstance(value, dict):
                raise self._error(name, what=f"this is no table; write [{name}] on a line of its own, and its keys below")
            if name not in _TABLES and not isinstance(value, dict):
                home = "study" if name in _STUDY_KEYS else "objective" if name in _OBJECTIVE_KEYS else "space"
                raise self._error(name, what=f"this stands outside of any table; put it below [{home}]")
            if name not in _TABLES:
                near = difflib.get_close_matches(name, _TABLES, 1)
                meant = f"did you mean [{near[0]}]?" if near else f"there may be {', '.join(f'[{t}]' for t in _TABLES)}"
                raise self._error(name, what=f"a study file has no such table; {meant}")

    def _space(self) -> tuple[dict[str, Any], Fidelity | None]:
        if not self._data.get("space"):
            what = "there is no axis in [space]; add one, such as lr = { real = [1e-5, 1e-1], log = true }"
            raise self._error("space", what=what)
        axes = {}
        for name, described in self._data["space"].items():
            if isinstance(described, dict):
                self._refuse_unknown("space", name, allowed=(*KINDS, "log"))
            with self._located("space", name):
                axis = axis_of_json(name, described)
                axes[name] = axis.checked(name) if isinstance(axis, Real | Integer | Choice) else axis
        fidelity = None
        if "fidelity" in self._data:
            self._refuse_unknown("fidelity", allowed=[f.name for f in fields(Fidelity)])
            with self._located("fidelity"):
                fidelity = fidelity_of_json(self._data["fidelity"]).checked()
        with self._located("space"):
            Space(axes, fidelity)
        return axes, fidelity

    def _method(self) -> Method:
        expected = 'a name such as "envpes", or a table such as { name = "pes", rivals = 4 }'
        described = self._value("study", "method", "envpes", _is_method, expected)
        with self._located("study", "method"):
            return method_of_json(described)

    def _settings(self) -> Settings:
        self._refuse_unknown("settings", allowed=[f.name for f in fields(Settings)])
        with self._located("settings"):
            return settings_of_json(self._data.get("settings", {}))

    def _limits(self) -> Limits:
        given: dict[str, Any] = {}
        for key, (ok, expected) in _LIMITS.items():
            if key in self._data.get("study", {}):
                given[key] = self._value("study", key, None, ok, expected)
        return Limits(**given)

    def _store(self, name: str) -> str | Path:
        store: str = self._value("study", "store", "", _is_text, "a path, or postgresql://USER@HOST/DATABASE")
        if not store and ("/" in name or os.sep in name):
            what = f'no file can be called {name}.db; give store = "results.db" too, or another name'
            raise self._error("study", "name", what=what)
        if not store and len(os.fsencode(f"{name}.db")) > STORE_BYTES:
            what = 'the name is too long for that of a file, NAME.db; give store = "results.db" too, or a shorter name'
            raise self._error("study", "name", what=what)
        path = (store or f"./{name}.db").removeprefix("sqlite:///")
        return path if "://" in path else self._folder / os.path.expanduser(path)

    def _objective(self, names: list[str]) -> Command | Function | None:
        if "objective" not in self._data:
            return None
        table = self._data["objective"]
        self._refuse_unknown("objective", allowed=_OBJECTIVE_KEYS)
        if ("command" in table) == ("python" in table):
            what = 'give it either command = ["python", "train.py", ...] or python = "module:function"'
            raise self._error("objective", what=what)
        folder = self._value("objective", "folder", ".", _is_text, "the path of a folder")
        place = str(self._folder / os.path.expanduser(folder))
        if not os.path.isdir(place):
            raise self._error("objective", "folder", what=f"there is no folder {place}; create it, or name another")
        if "python" in table:
            where = self._value("objective", "python", None, _is_text, 'text such as "module:function"')
            with self._located("objective", "python"):
                return Function(where, place)
        arguments = self._arguments(table["command"])
        with self._located("objective", "command"):
            command = Command(arguments, place)
            command.check(names)
        return command

    def _arguments(self, given: Any) -> tuple[str, ...]:
        if isinstance(given, str):
            what = f"this is one text; give the program and its arguments one by one, such as {_as_list(given)}"
            raise self._error("objective", "command", what=what)
        if not isinstance(given, list) or not given or not all(isinstance(argument, str) for argument in given):
            what = f'this is {given!r}; give a list of texts such as ["python", "train.py"]'
            raise self._error("objective", "command", what=what)
        return tuple(given)

    # Values and places ------------------------------------------------------------------------------------------------------

    def _value(self, table: str, key: str, default: Any, ok: Callable[[Any], bool], expected: str) -> Any:
        """What the file has there, if it is what is expected; the default where it has nothing."""
        values = self._data.get(table, {})
        if key not in values:
            return default
        if not ok(values[key]):
            raise self._error(table, key, what=f"this is {values[key]!r}; give {expected}")
        return values[key]

    def _refuse_unknown(self, *table: str, allowed: Collection[str]) -> None:
        for key in reduce(lambda data, part: data.get(part, {}), table, self._data):
            if key not in allowed:
                near = difflib.get_close_matches(key, allowed, 1)
                meant = f"did you mean {near[0]!r}?" if near else f"there may be {', '.join(allowed)}"
                raise self._error(*table, key, what=f"there is no such key here; {meant}")

    @contextmanager
    def _located(self, *table: str) -> Iterator[None]:
        """Gives an error of farthing its place: the key of the table that it mentions, if it mentions one."""
        try:
            yield
        except FarthingError as error:
            values = reduce(lambda data, part: data[part], table, self._data)
            keys = values if isinstance(values, dict) else ()
            mentioned = next((key for key in keys if re.search(rf"(?<!\w){re.escape(key)}(?!\w)", str(error))), None)
            raise self._error(*table, *([] if mentioned is None else [mentioned]), what=error) from error

    def _error(self, *key: str, what: object) -> StudyFileError:
        return StudyFileError(f"{self._at(*key)}: {what}")

    def _at(self, *key: str) -> str:
        """The key's place in words; where the file does not have it, its table's."""
        while key and key not in self._lines:
            key = key[:-1]
        if not key:
            return str(self._path)
        table, rest = key[0], ".".join(key[1:])
        name = f"[{table}] {rest}".rstrip() if table in _TABLES else table
        return f"{self._path}, line {self._lines[key]}, {name}"


def _whole_from(least: int) -> Callable[[Any], bool]:
    return lambda value: (number := as_whole(value)) is not None and number >= least


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _is_amount(value: Any) -> bool:
    try:
        return parse_budget(value) is not None
    except SettingsError:
        return False


def _is_method(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, dict) and isinstance(value.get("name"), str))


_AMOUNT = 'a number above zero, or a time such as "90 s", "30 min" or "8 h"'
_COUNT = (_whole_from(1), "a whole number from 1 up")

_LIMITS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "budget": (_is_amount, _AMOUNT),
    "evaluations": _COUNT,
    "target": (lambda value: as_finite(value) is not None, "a finite number"),
    "regret": (lambda value: (as_finite(value) or 0.0) > 0.0, "a finite number above zero"),
    "workers": _COUNT,
    "timeout": (_is_amount, _AMOUNT),
    "max_failures": _COUNT,
}
_STUDY_KEYS = ("name", "store", "method", "seed", *_LIMITS)
_OBJECTIVE_KEYS = ("command", "python", "folder")
_TABLES = ("study", "objective", "space", "fidelity", "settings")


def _check_program(command: Command) -> None:
    program = command.arguments[0]
    path = program if not os.path.dirname(program) else os.path.join(command.folder or "", program)
    if "{" not in program and shutil.which(path) is None:
        raise SettingsError(f"there is no program {program!r} that can be executed; check the path, or whether it is on PATH")


def _as_list(command: str) -> str:
    try:
        return json.dumps(shlex.split(command), ensure_ascii=False)
    except ValueError:  # quotes that do not match
        return '["python", "train.py", "--lr", "{lr}"]'
