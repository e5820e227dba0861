"""`farthing export`, `farthing plot` and `farthing delete`."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from farthing.cli.chosen import File, Name, Store, open_study
from farthing.errors import FarthingError


class Format(StrEnum):
    """How trials can be written."""

    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


def export(
    file: File = None,
    form: Annotated[Format, typer.Option("--format", help="How to write the trials.")] = Format.CSV,
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="Where to; without, standard output.")] = None,
    store: Store = None,
    name: Name = None,
) -> None:
    """Write all trials as CSV, JSON or Parquet."""
    from farthing.export import write_trials

    write_trials(open_study(file, store, name).trials, str(form), output)


def plot(
    file: File = None,
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="The picture; without, NAME.png here.")] = None,
    store: Store = None,
    name: Name = None,
) -> None:
    """Draw how the recommendation got better with what was spent; prints the path of the picture."""
    from farthing.plots import save_plot

    study = open_study(file, store, name)
    path = output or Path(re.sub(r"[^\w.-]+", "_", study.name) + ".png")
    save_plot(study, path)
    typer.echo(path)


def delete(
    file: File = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    store: Store = None,
    name: Name = None,
) -> None:
    """Remove a study and all its trials from its store."""
    study = open_study(file, store, name)
    trials = len(study.trials)
    if not yes:
        typed = typed_name(f"This removes {study.name!r} and its {trials} trials for good. Type its name to go on")
        if typed != study.name:
            raise FarthingError(f"the study is called {study.name!r}, not {typed!r}; nothing was deleted")
    study.store.delete(study.name)
    typer.echo(f"deleted {study.name} with {trials} trials")


def typed_name(question: str) -> str:
    """The answer; an error where nobody can answer."""
    try:
        return str(typer.prompt(question, err=True))
    except typer.Abort as aborted:
        typer.echo(err=True)  # the question has no end of line
        if isinstance(aborted.__context__, EOFError):
            raise FarthingError("the input ended without an answer, and nothing was deleted; give --yes to delete") from None
        raise
