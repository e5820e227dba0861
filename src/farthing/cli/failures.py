"""What the user sees when something goes wrong: one message, and an exit code."""

from __future__ import annotations

import errno
import sys
import traceback
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from farthing.cli.output import discard, say
from farthing.cli.wording import COMMAND_FAILED
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

NOT_WRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


class Commands(TyperGroup):
    """All commands; an error of any of them becomes a message and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        try:
            returned = super().invoke(ctx)
            sys.stdout.flush()  # whether it can be written is known only now
            return returned
        except (KeyboardInterrupt, typer.Abort):  # Abort: Ctrl-C, or the end of input, at a prompt
            say("stopped by the keyboard")
            raise typer.Exit(INTERRUPTED) from None
        except (FarthingError, OSError) as error:
            if isinstance(error, OSError) and (error.errno == errno.EPIPE or standard_output_failed(error)):
                raise  # EPIPE: whoever read the output has seen enough, and click knows what to do; for the rest see farthing.cli
            say(f"{error}\n{traceback.format_exc()}" if ctx.params["debug"] else in_short(error))
            raise typer.Exit(exit_code(error)) from None


def in_short(error: Exception) -> str:
    """The message of an error. A traceback is for --debug, that of a function too; that of a command would show farthing itself."""
    message, cut, _ = str(error).partition("\nThe last traceback:")
    return f"{message}\n(farthing --debug ... shows its traceback)" if cut and COMMAND_FAILED not in message else message


def standard_output_failed(error: OSError) -> bool:
    """Whether it is an error of no file: those have the name with them, or have become FarthingErrors."""
    return error.filename is None and error.errno in NOT_WRITTEN


def give_up_output(error: OSError) -> NoReturn:
    """Ends the program, as nothing can be printed."""
    say(f"standard output cannot be written ({error.strerror}); make room, or send it elsewhere")
    discard(sys.stdout)
    sys.exit(FAILED)


def exit_code(error: Exception) -> int:
    """What the program exits with for an error."""
    if isinstance(error, ObjectiveFailed):
        return OBJECTIVE_FAILED
    no_file = isinstance(error, StudyFileError) and isinstance(error.__cause__, FileNotFoundError)
    return NOT_FOUND if no_file or isinstance(error, StudyNotFound) else FAILED
