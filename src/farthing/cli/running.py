"""`farthing run`."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from farthing.cli.chosen import DEFAULT, AsJson, run_command
from farthing.cli.failures import INTERRUPTED
from farthing.cli.output import print_json, print_lines, say, stdout_for_results
from farthing.errors import StudyFileError


def run(
    file: Annotated[Path, typer.Argument(metavar="STUDY.TOML", help="The study file.")] = DEFAULT,
    budget: Annotated[str | None, typer.Option(metavar="AMOUNT", help='In all: a number, or a time such as "8 h".')] = None,
    evaluations: Annotated[int | None, typer.Option(min=1, help="At most so many in this run.")] = None,
    target: Annotated[float | None, typer.Option(help="End when a full evaluation is at or below it.")] = None,
    regret: Annotated[float | None, typer.Option(help="End when the minimum is expected to be less than this below.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Evaluations at once.")] = None,
    timeout: Annotated[str | None, typer.Option(metavar="TIME", help="Kill an evaluation after this time.")] = None,
    as_json: AsJson = False,
) -> None:
    """Create the study, or go on with it. Options stand in for those of the file.

    Ctrl-C ends the run once what is running is finished and saved; a second one ends it at once.
    """
    from farthing.cli.summary import Snapshot, summary, summary_lines
    from farthing.loop import BY_KEYBOARD
    from farthing.study_file import read_study_file
    from farthing.trials import Recommendation

    described = read_study_file(file)
    given = {
        "budget": amount(budget),
        "evaluations": evaluations,
        "target": target,
        "regret": regret,
        "workers": workers,
        "timeout": amount(timeout),
    }
    limits = replace(described.limits, **{key: value for key, value in given.items() if value is not None})
    with stdout_for_results():
        objective = described.checked_objective()
        study = replace(described, limits=limits).study()
        if all(limit is None for limit in (study.budget, limits.evaluations, limits.target, limits.regret)):
            raise StudyFileError(
                f'{file} does not say when to end; add budget = "8 h" or evaluations = 50 to its [study], or --budget'
            )
        try:
            result = study.run(objective, **asdict(limits), progress=True, isolated=True)
        except KeyboardInterrupt:
            say(f"stopped by the keyboard, before anything was evaluated; to go on: {run_command(file)}")
            raise typer.Exit(INTERRUPTED) from None
    stopped = result.message.startswith(BY_KEYBOARD)
    message, go_on = BY_KEYBOARD if stopped else result.message, how_to_go_on(result.message, file)
    known = summary(Snapshot.of(study, Recommendation(result.x, result.fun, result.fun_std)))
    if as_json:
        print_json({**known, "message": message, "to_go_on": go_on})
    else:
        print_lines([*summary_lines(known), ("ended", message), ("to go on", go_on)])
    if stopped:
        raise typer.Exit(INTERRUPTED)


def amount(text: str | None) -> Any:
    """A number, if it is one; otherwise a time, which the study will understand or not."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def how_to_go_on(message: str, file: Path) -> str:
    """What to do after a run that ended so."""
    from farthing.run import EXHAUSTED, SPENT

    if message == EXHAUSTED:
        return "there is nothing left to evaluate"
    more = {SPENT: " --budget MORE", "target": " --target LOWER", "expected regret": " --regret SMALLER"}
    return run_command(file) + next((option for start, option in more.items() if message.startswith(start)), "")
