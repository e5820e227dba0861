"""The questions of `farthing init`."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import typer

from farthing.budget import parse_budget
from farthing.cli.drafts import Described, Draft, any_axis_of, fidelity_of, placeholders, scalar, split, toml
from farthing.cli.wording import in_cli_words
from farthing.command import Command
from farthing.definition import axis_of_json, fidelity_of_json
from farthing.errors import FarthingError, SettingsError, StudyFileError
from farthing.function import Function
from farthing.study_file import parse_study_file

AXIS = "low:high, low:high:log, low:high:integer, or options a,b,c"
FIDELITY = "cheap:full, with :log for amounts such as rows or epochs, and :integer for whole numbers; or levels a,b,c"


def interview(file: Path) -> Draft:
    """What the user answers. file: the one to write; the study is called like it, unless another name is given."""
    name = ask("Name of the study", file.stem, partial(study_name, file))
    typer.echo("What is to be minimized? A command with {name} for each parameter: python train.py --lr {lr} --rows {rows}")
    typer.echo("or a function as module:function, or nothing if evaluations are made elsewhere.")
    command, python = ask("Objective", "", objective)
    names = placeholders(command) or ask("Its parameters, separated by commas", None, separated)
    called = ask("Which of these decides what an evaluation costs? Empty if none", "", one_of(names))
    axes = {each: ask(f"{each} ({AXIS})", None, partial(axis, each)) for each in names if each != called}
    described = ask(f"{called} ({FIDELITY})", None, partial(fidelity, called)) if called else {}
    return Draft(name, command, python, axes, called, described, ask("Budget, such as 30 min or 8 h; empty if none", "", budget))


def ask(question: str, default: str | None, read: Callable[[str], Any] = str) -> Any:
    """The answer, asked for again until it can be read."""
    while True:
        answer = typer.prompt(question, default=default, show_default=bool(default)).strip()
        try:
            return read(answer)
        except (typer.BadParameter, FarthingError) as error:
            typer.echo(f"  {in_cli_words(str(error))}")


# How answers are read -------------------------------------------------------------------------------------------------------


def study_name(file: Path, answer: str) -> str:
    """A name that a study, and its store, can have."""
    try:
        parse_study_file(f"[study]\nname = {toml(answer)}\n[space]\nx = {{ real = [0, 1] }}\n", file)
    except StudyFileError as error:
        raise SettingsError(str(error).rpartition("[study] name: ")[2]) from None  # there is no file yet
    return answer


def objective(answer: str) -> tuple[list[str], str]:
    """The command, or the function."""
    if re.fullmatch(r"[\w.]+:[\w.]+", answer):
        return [], Function(answer, ".").where
    command = split(answer)
    if command:
        Command(tuple(command))
    if command and not placeholders(command):
        raise SettingsError("the command has no {name}, so that all evaluations would be the same; put in its parameters")
    return command, ""


def separated(answer: str) -> list[str]:
    """At least one name."""
    names = [name.strip() for name in answer.split(",") if name.strip()]
    if not names:
        raise SettingsError("there is no name; give at least one")
    return names


def one_of(names: list[str]) -> Callable[[str], str]:
    """Reads one of the names, or nothing."""

    def read(answer: str) -> str:
        if answer and answer not in names:
            raise SettingsError(f"there is no {answer!r}; give one of {', '.join(names)}, or nothing")
        if names == [answer]:
            raise SettingsError(f"{answer!r} is the only parameter, and there must be another to choose; give nothing")
        return answer

    return read


def axis(name: str, answer: str) -> Described:
    """An axis that can be."""
    described = any_axis_of(answer)
    axis_of_json(name, described).checked(name)
    return described


def fidelity(name: str, answer: str) -> Described:
    """A fidelity that can be."""
    described = fidelity_of(answer)
    fidelity_of_json({"name": name, **described}).checked()
    return described


def budget(answer: str) -> str:
    """A budget that can be understood, or nothing."""
    parse_budget(scalar(answer) if answer else None)
    return answer
