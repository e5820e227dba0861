"""`farthing init`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from farthing.cli.chosen import DEFAULT, run_command
from farthing.cli.drafts import Draft, axis_of, fidelity_of, named, split
from farthing.cli.output import say
from farthing.errors import FarthingError, StudyFileError

if TYPE_CHECKING:
    from farthing.study_file import StudyFile

Ranges = Annotated[list[str] | None, typer.Option(metavar="NAME=LOW:HIGH[:log]", help="An axis of numbers. May be given again.")]


def init(
    name: Annotated[str | None, typer.Option(help="Of the study; without, that of the file.")] = None,
    command: Annotated[str | None, typer.Option(help='What to run, such as "python train.py --lr {lr}".')] = None,
    python: Annotated[str | None, typer.Option(metavar="MODULE:FUNCTION", help="What to call instead.")] = None,
    real: Ranges = None,
    integer: Ranges = None,
    choice: Annotated[
        list[str] | None, typer.Option(metavar="NAME=A,B,...", help="An axis of options. May be given again.")
    ] = None,
    fidelity: Annotated[
        str | None,
        typer.Option(metavar="NAME=CHEAP:FULL[:log][:integer]", help="What an evaluation may cost; or NAME=A,B,... for levels."),
    ] = None,
    budget: Annotated[str | None, typer.Option(metavar="AMOUNT", help='A number, or a time such as "8 h".')] = None,
    output: Annotated[Path, typer.Option(metavar="FILE", help="The file to write.")] = DEFAULT,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
) -> None:
    """Write a study file, from the options or, without any, by asking."""
    from farthing.study_file import parse_study_file

    if output.exists() and not force:
        raise FarthingError(f"there is a file {output} already; give --force to write over it, or --output for another")
    if any((name, command, python, real, integer, choice, fidelity, budget)):
        if command and python:
            raise typer.BadParameter("both --command and --python were given; give one of them")
        axes = [named(text, lambda spec: axis_of(spec, "real")) for text in real or []]
        axes += [named(text, lambda spec: axis_of(spec, "integer")) for text in integer or []]
        axes += [named(text, lambda spec: axis_of(spec, "choice")) for text in choice or []]
        called, described = named(fidelity, fidelity_of) if fidelity else ("", {})
        draft = Draft(name or output.stem, split(command or ""), python or "", dict(axes), called, described, budget or "")
    elif sys.stdin.isatty() and sys.stdout.isatty():
        from farthing.cli.interview import interview

        draft = interview(output)
    else:
        raise typer.BadParameter("there is no terminal to ask questions on; give options such as --command and --real")
    text = draft.text()
    try:
        written = parse_study_file(text, output)
    except StudyFileError as error:
        raise FarthingError(f"nothing was written, as the file would not be right: {error}") from error
    try:
        with output.open("w" if force else "x", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        raise FarthingError(f"{output} could not be written ({error.strerror}); give another --output") from error
    typer.echo(output)
    say(f"wrote {output}; {what_next(written)}")


def what_next(described: StudyFile) -> str:
    """What to do with a study file, and what a run would still want of it."""
    run = run_command(described.path)
    limit = "" if described.limits.budget else 'budget = "8 h" or evaluations = 50'
    if described.objective is None:
        ask = run.replace("farthing run", "farthing ask", 1)
        return f"it has no [objective]: {ask}, evaluate, and farthing tell; or add one{limit and f', and {limit}'}, then: {run}"
    if limit:
        return f"it does not say when to end: add {limit} to its [study], then: {run}"
    return f"look at it, then: {run}"
