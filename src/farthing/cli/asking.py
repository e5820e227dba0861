"""`farthing ask` and `farthing tell`: for evaluations that are made elsewhere."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from farthing.cli.chosen import DEFAULT, AsJson, File, Name, Store, open_study
from farthing.cli.output import cell, print_json, print_lines

if TYPE_CHECKING:
    from farthing.study import Study
    from farthing.trials import Trial


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
    abandon: Annotated[bool, typer.Option("--abandon", help="Instead of a value: nobody will evaluate it.")] = False,
    store: Store = None,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Record the result of an evaluation."""
    from farthing.report import first_line

    if abandon and failed is not None:
        raise typer.BadParameter("both --abandon and --failed were given; give one of them")
    file, number, value = told(arguments, abandon or failed is not None)
    if noise is not None and (abandon or failed is not None):
        raise typer.BadParameter(f"--noise was given for a trial that {'was abandoned' if abandon else 'failed'}; leave it out")
    if abandon and cost is not None:
        raise typer.BadParameter(
            "--cost was given for a trial that was abandoned, which costs nothing; leave it out, or give --failed"
        )
    study = open_study(file, store, name)
    if abandon:
        trial, result = study.abandon(number), "given up"
    elif failed is not None:
        trial, result = study.fail(number, failed, cost), f"{first_line(failed)}, cost "
    else:
        trial, result = record(study, number, value, cost, noise), f"value {value!r}, cost "
    if as_json:
        keys = ("number", "state", "value", "cost", "noise", "reason")
        print_json({key: getattr(trial, key) for key in keys})
    else:
        print_lines([(f"trial {trial.number}", f"{trial.state}: {result}{cell(trial.cost)}")])


def record(study: Study, number: int, value: float, cost: float | None, noise: float | None) -> Trial:
    """Tell a result. That thinking has no price where costs are stated is said at the first that is."""
    with warnings.catch_warnings():
        if any(trial.stated_cost and trial.proposal.kind != "added" for trial in study.trials):
            warnings.filterwarnings("ignore", "costs are stated")
        return study.tell(number, value, cost, noise)


def told(arguments: list[str], without_value: bool) -> tuple[Path | None, int, Any]:
    """The study file if one is given, the trial's number, and its value if there is to be one."""
    file = None if is_number(arguments[0], int) else Path(arguments[0])
    rest = arguments if file is None else arguments[1:]
    wanted = ("NUMBER",) if without_value else ("NUMBER", "VALUE")
    if len(rest) != len(wanted):
        raise typer.BadParameter(
            f"there are {len(rest)} arguments beside the study file ({' '.join(rest)}); give {' '.join(wanted)}"
        )
    for text, name, kind in zip(rest, wanted, (int, float), strict=False):
        if not is_number(text, kind):
            raise typer.BadParameter(f"{name} is {text!r}; give a {'whole ' if kind is int else ''}number")
    return file, int(rest[0]), None if without_value else float(rest[1])


def is_number(text: str, kind: type[int] | type[float]) -> bool:
    try:
        kind(text)
    except ValueError:
        return False
    return True
