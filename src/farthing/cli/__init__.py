"""The command line: each command parses, calls one method of a study, and prints.

Results go to standard output; progress, messages and errors to standard error. What is slow to import is imported in the commands,
the commands in `main`: Ctrl-C is met there.
"""

from __future__ import annotations

import os
import sys
import warnings


def main() -> None:
    """The console script."""
    try:
        open_closed_streams()
        for stream in (sys.stdout, sys.stderr):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]  # a terminal without ± is no reason to fail
        from farthing.cli.commands import app
        from farthing.cli.failures import give_up_output, standard_output_failed
        from farthing.cli.output import say

        warnings.showwarning = lambda message, *_, **__: say(str(message))
        try:
            app(prog_name="farthing")
        except OSError as error:
            if not standard_output_failed(error):
                raise
            give_up_output(error)
    except KeyboardInterrupt:  # before a command has begun
        sys.exit(130)


def open_closed_streams() -> None:
    """The null device in place of standard streams that are closed, before a database is opened under the number of one."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)  # under the lowest number that is free, which is this one
            os.set_inheritable(opened, True)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115
