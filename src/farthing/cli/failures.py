"""What the user sees when something goes wrong: one message, and an exit code."""

from __future__ import annotations

import errno
import traceback
from typing import Any

import typer
from typer.core import TyperGroup

from farthing.cli.output import say
from farthing.errors import FarthingError, ObjectiveFailed, StudyFileError, StudyNotFound

FAILED, OBJECTIVE_FAILED, NOT_FOUND, INTERRUPTED = 1, 3, 4, 130

EXIT_CODES = {
    0: "done",
    FAILED: "an error, with a message on standard error",
    2: "wrong usage",
    OBJECTIVE_FAILED: "the objective failed again and again",
    NOT_FOUND: "no such study or file",
    INTERRUPTED: "stopped by Ctrl-C",
}


class Commands(TyperGroup):
    """All commands; an error of any of them becomes a message and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, typer.Abort):  # Abort: Ctrl-C, or the end of input, at a prompt
            say("stopped by the keyboard")
            raise typer.Exit(INTERRUPTED) from None
        except (FarthingError, OSError) as error:
            if isinstance(error, OSError) and error.errno == errno.EPIPE:
                raise  # whoever read the output has seen enough
            if ctx.params["debug"]:
                say(f"{error}\n{traceback.format_exc()}")
            else:
                # The traceback of an objective is for --debug too.
                message, cut, _ = str(error).partition("\nThe last traceback:")
                say(f"{message}\n(farthing --debug ... shows its traceback)" if cut else message)
            raise typer.Exit(exit_code(error)) from None


def exit_code(error: Exception) -> int:
    """What the program exits with for an error."""
    if isinstance(error, ObjectiveFailed):
        return OBJECTIVE_FAILED
    no_file = isinstance(error, StudyFileError) and isinstance(error.__cause__, FileNotFoundError)
    return NOT_FOUND if no_file or isinstance(error, StudyNotFound) else FAILED
