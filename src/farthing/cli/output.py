"""Results on standard output, messages on standard error; plain where nobody looks."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

from farthing.cli.wording import in_cli_words

WIDE = 100_000
"""Columns of a line in a pipe: nothing is cut or wrapped."""

_CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|[\x00-\x08\x0b-\x1f\x7f-\x9f]")

_BARS = "▁▂▃▄▅▆▇█"


def say(message: str) -> None:
    """A message for whoever runs the command, in words of the command line."""
    try:
        print(f"farthing: {clean(in_cli_words(message))}", file=sys.stderr, flush=True)
    except OSError:  # a message that nobody can read is no reason to fail
        discard(sys.stderr)


def discard(stream: TextIO) -> None:
    """Give up on a stream that cannot be written: what is left in it goes nowhere, where Python would try once more at its exit."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)


def clean(text: str) -> str:
    """Without control characters: what an objective wrote must not steer the terminal."""
    return _CONTROL.sub("", text)


def print_json(data: Any) -> None:
    print(json.dumps(data, indent=2))


def print_lines(lines: Sequence[tuple[str, str]]) -> None:
    """Names, and in a second column what they stand for."""
    width = max(len(name) for name, _ in lines) + 2
    for name, text in lines:
        print(f"{clean(name):<{width}}{clean(text)}")


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[str] = (), wrapped: Sequence[str] = ()
) -> None:
    """A table. right: the columns of numbers; wrapped: those that may take several lines in a terminal. Nothing is ever cut."""
    from rich import box
    from rich.console import Console
    from rich.measure import Measurement
    from rich.table import Table

    seen = sys.stdout.isatty()
    console = Console(markup=False, emoji=False, highlight=False, width=None if seen else WIDE)
    table = Table(box=box.SIMPLE_HEAD if seen else None, pad_edge=False, collapse_padding=seen, header_style="bold")
    for name in columns:
        table.add_column(name, justify="right" if name in right else "left", no_wrap=name not in wrapped, overflow="fold")
    for row in rows:
        table.add_row(*(clean(cell) for cell in row))
    if Measurement.get(console, console.options.update(width=WIDE), table).minimum > console.width:
        console.width = WIDE  # the terminal breaks the lines
    with console.capture() as drawn:
        console.print(table)
    print("\n".join(line.rstrip() for line in drawn.get().splitlines()))


def cell(value: Any) -> str:
    """A value in a table, empty for None."""
    from farthing.report import value_in_words

    return "" if value is None else value_in_words(value)


def sparkline(values: Sequence[float], width: int = 40) -> str:
    """Small bars, at most `width` of them, first and last value included: the lowest value is the lowest bar."""
    shown = [values[i * (len(values) - 1) // (width - 1)] for i in range(width)] if len(values) > width else list(values)
    low, high = min(shown), max(shown)
    return "".join(_BARS[round((value - low) / (high - low) * (len(_BARS) - 1))] if high > low else _BARS[0] for value in shown)


@contextmanager
def stdout_for_results() -> Iterator[None]:
    """Inside, what this process and its children write to standard output goes to standard error."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)
