"""What the library says to those who write Python, in the words of the command line."""

from __future__ import annotations

import re
from collections.abc import Callable

COMMAND_FAILED = "CommandFailed: "
"""How the reason begins why there is no result of a command."""


def in_cli_words(message: str) -> str:
    """The message with every remedy that is Python replaced by what to type, or to write into the study file."""
    for python, words in _PHRASES:
        message = python.sub(words, message)
    return message


def _tell(said: re.Match[str]) -> str:
    number, value, cost, noise = said.groups()
    return f"farthing tell {number} {value} --cost {cost}" + ("" if noise == "None" else f" --noise {noise}")


_PHRASES: list[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]] = [
    (re.compile(python), words)
    for python, words in (
        (
            r"Give yours another name, or go on with that one by Study\.open\(store, name\)",
            "Give yours another name in the study file, or change the file back to go on with that one",
        ),
        (r"set Settings\(overhead_price=\.\.\.\), ", "set overhead_price in the [settings] of a new study: "),
        (r"; a trial takes one result, use add\(\) for another", "; a trial takes one result"),
        (
            r"or report a failure with study\.fail\(trial, reason\)",
            "or report a failure, with farthing tell NUMBER --failed REASON or by an exception",
        ),
        (r"tell a trial that ask\(\) gave", "give the number of one that farthing ask printed"),
        (r"tell\(\) or add\(\) at least one result first", "evaluate with farthing run, or farthing ask and farthing tell, first"),
        (r"tell\(\) a result first", "farthing tell a result first"),
        (r"give a larger budget or add\(\) what is known", "give a larger budget"),
        (r"give cost=", "give --cost"),
        (r"(?<=; )say which\b", "say which with --name"),
        (r"or method='ei'", 'or method = "ei"'),
        (r"drop log=True", "drop log"),
        (r"such as farthing\.Real\(low, high\)", "such as x = { real = [0, 1] }"),
        (r", or None( for no limit)?$", ""),
        (r"study\.tell\((\d+), (\S+), cost=(\S+), noise=(\S+)\)", _tell),
        (rf"(^|(?<=[:,] )){COMMAND_FAILED}", ""),
    )
]
