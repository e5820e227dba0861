"""Which study a command is about: that of a study file, or one by its store and name."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from farthing.errors import FarthingError, StudyNotFound

if TYPE_CHECKING:
    from farthing.study import Study

DEFAULT = Path("study.toml")


def study_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Completes --name from the store given before it."""
    from farthing.store import open_store

    try:
        store = existing(ctx.params.get("store") or "")
        return [record.name for record in open_store(store).studies() if record.name.startswith(incomplete)]
    except FarthingError:
        return []


File = Annotated[Path | None, typer.Argument(metavar="STUDY.TOML", help="The study file.  [default: study.toml]")]
Store = Annotated[
    str | None, typer.Option("--store", metavar="STORE", help="Instead of a study file: a SQLite file, or postgresql://...")
]
Name = Annotated[
    str | None,
    typer.Option(
        "--name", metavar="NAME", autocompletion=study_names, help="The study in the store; not needed where there is but one."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def run_command(file: Path) -> str:
    """What to type to run a study file."""
    return f"farthing run {shlex.quote(str(file))}"


def open_study(file: Path | None, store: str | None, name: str | None) -> Study:
    """The study that is meant; it must exist."""
    from farthing.study import Study

    where, called = place(file, store, name)
    return Study.open(existing(where), called)


def place(file: Path | None, store: str | None, name: str | None) -> tuple[str | Path, str | None]:
    """The store and the name that are meant."""
    if store is not None:
        if file is not None:
            raise typer.BadParameter(f"both a study file ({file}) and --store were given; give one of them")
        return store, name
    if name is not None:
        raise typer.BadParameter("--name was given without --store; give the store too, or a study file alone")
    from farthing.study_file import read_study_file

    described = read_study_file(file or DEFAULT)
    return described.store, described.name


def existing(store: str | Path) -> str:
    """The store, if it is there: opening one that is not would create it."""
    path = str(store).removeprefix("sqlite:///")
    if "://" in path:
        return path
    path = os.path.expanduser(path)
    if not Path(path).exists():
        raise StudyNotFound(f"there is no store {path}; check the path, or create a study with farthing run or farthing ask")
    return path
