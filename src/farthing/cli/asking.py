"""`farthing ask` and `farthing tell`: for evaluations that are made elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from farthing.cli.chosen import DEFAULT, AsJson, File, Name, Store, open_study
from farthing.cli.output import cell, print_json, print_lines


def ask(file: File = None, store: Store = None, name: Name = None, as_json: AsJson = False) -> None:
    """Print the next evaluation to make. With a study file, the study is created if need be."""
    from farthing.report import why
    from farthing.study_file import read_study_file

    study = open_study(file, store, name) if store or name else read_study_file(file or DEFAULT).study()
    trial = study.ask()
    predicted = trial.proposal.predicted_cost
    if as_json:
        fidelity = {"fidelity": trial.fidelity, "fidelity_name": trial.fidelity_name}
        print_json({"number": trial.number, "params": trial.params, **fidelity, "predicted_cost": predicted, "why": why(trial)})
        return
    exactly = [(key, str(value)) for key, value in trial.kwargs.items()]
    print_lines(
        [("number", str(trial.number)), *exactly, ("predicted cost", cell(predicted) or "not known yet"), ("why", why(trial))]
    )


def tell(
    arguments: Annotated[
        list[str],
        typer.Argument(metavar="[STUDY.TOML] NUMBER [VALUE]", help="The study file, the trial, and what its evaluation gave."),
    ],
    cost: Annotated[float | None, typer.Option(help="What it cost; without, the seconds since it was asked for.")] = None,
    noise: Annotated[float | None, typer.Option(help="The standard deviation of the value, if known.")] = None,
    failed: Annotated[str | None, typer.Option(metavar="REASON", help="Instead of a value: why there is none.")] = None,
    store: Store = None,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Record the result of an evaluation."""
    from farthing.report import first_line

    file, number, value = told(arguments, failed is not None)
    if failed is not None and noise is not None:
        raise typer.BadParameter("--noise was given for a trial that failed; leave it out")
    study = open_study(file, store, name)
    trial = study.tell(number, value, cost, noise) if failed is None else study.fail(number, failed, cost)
    if as_json:
        keys = ("number", "state", "value", "cost", "noise", "reason")
        print_json({key: getattr(trial, key) for key in keys})
    else:
        result = f"value {value!r}" if failed is None else first_line(failed)
        print_lines([(f"trial {trial.number}", f"{trial.state}: {result}, cost {cell(trial.cost)}")])


def told(arguments: list[str], failed: bool) -> tuple[Path | None, int, Any]:
    """The study file if one is given, the trial's number, and its value unless it failed."""
    file = None if is_number(arguments[0], int) else Path(arguments[0])
    rest = arguments if file is None else arguments[1:]
    wanted = ("NUMBER",) if failed else ("NUMBER", "VALUE")
    if len(rest) != len(wanted):
        raise typer.BadParameter(
            f"there are {len(rest)} arguments beside the study file ({' '.join(rest)}); give {' '.join(wanted)}"
        )
    for text, name, kind in zip(rest, wanted, (int, float), strict=False):
        if not is_number(text, kind):
            raise typer.BadParameter(f"{name} is {text!r}; give a {'whole ' if kind is int else ''}number")
    return file, int(rest[0]), None if failed else float(rest[1])


def is_number(text: str, kind: type[int] | type[float]) -> bool:
    try:
        kind(text)
    except ValueError:
        return False
    return True
