"""An objective that is any command: its arguments hold the parameters, its last line of output is the result."""

from __future__ import annotations

import json
import os
import re
import select
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from farthing.checks import as_finite
from farthing.errors import FarthingError, SettingsError
from farthing.trials import Evaluation

TAIL_BYTES = 8192
"""How much of the end of each output is kept."""

TAIL_LINES = 20
"""How much of that a failure shows."""

LINGER_SECONDS = 5.0 if sys.platform == "win32" else 0.1
"""How long to wait for the end of the output once the command has ended: what it left running may hold it open for ever.

What the command itself wrote is then in the pipe and is read however long that takes, but on Windows, where a pipe does not tell.
"""

PIPE_BYTES = 2**20
"""The most a pipe holds, so that one read of as much takes all that is in it. (Root may allow more.)"""

EXPECTED = 'print a number, or a JSON object such as {"value": 0.1, "cost": 2.5, "noise": 0.01}, as the last line'

_PIECE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


class CommandFailed(FarthingError):  # noqa: N818
    """The command could not be started, failed, or printed no result."""


@dataclass(frozen=True)
class Command:
    """Runs a command, without a shell, and reads its result.

    arguments: the program and its arguments. `{lr}` stands for the parameter or fidelity of that name, `{{` and `}}` for braces.
    Floats are written so that they read back as the same number, true and false in lower case, None as `none`.
    folder: where to run; here if None.
    """

    arguments: tuple[str, ...]
    folder: str | None = None

    def __post_init__(self) -> None:
        example = '("python", "train.py", "--lr={lr}")'
        if isinstance(self.arguments, str) or not all(isinstance(argument, str) for argument in self.arguments):
            raise SettingsError(f"the command is {self.arguments!r}; give its program and arguments one by one: {example}")
        object.__setattr__(self, "arguments", tuple(self.arguments))
        if not self.arguments or not self.arguments[0]:
            raise SettingsError(f"the command {self.arguments!r} has no program; give one: {example}")
        for argument in self.arguments:
            if any(piece[0] in ("{", "}") for piece in _PIECE.finditer(argument)):
                raise SettingsError(f"argument {argument!r} has a brace without its other half; write {{{{ or }}}} for a brace")

    def check(self, names: Iterable[str]) -> None:
        """A SettingsError unless the placeholders are exactly these names: of parameters, and of the fidelity if there is one."""
        names = list(names)
        used = {piece[1] for argument in self.arguments for piece in _PIECE.finditer(argument) if piece[1] is not None}
        known = ", ".join(f"{{{name}}}" for name in names)
        for name in sorted(used.difference(names)):
            raise SettingsError(f"the command has {{{name}}}, which is no parameter; use {known}, or {{{{ and }}}} for braces")
        for name in names:
            if name not in used:
                raise SettingsError(
                    f"no argument of the command has {{{name}}}, so that no evaluation would depend on it; add it, or drop {name!r}"
                )

    def __call__(self, /, **kwargs: Any) -> Evaluation:
        """Run the command once, to its end. Whatever goes wrong with it is a CommandFailed."""
        self.check(kwargs)
        arguments = [_filled(argument, kwargs) for argument in self.arguments]
        line = shlex.join(arguments)
        process = self._started(arguments, line)
        assert process.stdout is not None
        assert process.stderr is not None
        output, errors = _Tail(process.stdout), _Tail(process.stderr)
        try:
            code = process.wait()
        except BaseException:  # an interrupt: nobody waits for the command any more
            process.kill()
            process.wait()
            raise
        until = time.monotonic() + LINGER_SECONDS
        printed, complained = output.lines(until), errors.lines(until)
        if code:
            raise CommandFailed(f"the command {_end(code)}: {line}{_excerpt(printed, complained)}")
        try:
            return _evaluation(printed)
        except CommandFailed as failure:
            raise CommandFailed(f"{failure}; {EXPECTED}: {line}{_excerpt([], complained)}") from None

    def _started(self, arguments: list[str], line: str) -> subprocess.Popen[bytes]:
        """The running command. Not in a session of its own: it must die with the worker process that runs it."""
        program = arguments[0]
        if self.folder is not None and not os.path.isdir(self.folder):
            raise CommandFailed(f"there is no folder {self.folder!r} to run the command in; create it, or name another")
        try:
            return subprocess.Popen(
                arguments,
                bufsize=0,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=self.folder,
            )
        except FileNotFoundError:
            raise CommandFailed(
                f"the program {program!r}, or the interpreter that its first line names, was not found; "
                f"check the path, or whether it is on PATH: {line}"
            ) from None
        except PermissionError:
            raise CommandFailed(
                f"the program {program!r} may not be executed; give permission (chmod +x), or put its interpreter first: {line}"
            ) from None
        except (OSError, ValueError) as error:  # such as a file that is no program, or a null character in an argument
            raise CommandFailed(
                f"the command could not be started ({error}); check that {program!r} is a program: {line}"
            ) from None


class _Tail:
    """The end of a stream that a thread reads, so that its writer never has to wait and memory never fills."""

    def __init__(self, stream: IO[bytes]) -> None:
        if sys.platform != "win32":
            os.set_blocking(stream.fileno(), False)
        self._stream = stream
        self._kept = b"", False  # the end, and whether it has lost its beginning
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def lines(self, until: float) -> list[str]:
        """Once its writer has ended: the last lines that are not blank, whole ones only.

        Of all that the writer wrote, and of what others write until then, in monotonic seconds.
        """
        self._thread.join(max(until - time.monotonic(), 0.0))
        if sys.platform != "win32":
            self._take(PIPE_BYTES)
        end, cut = self._kept
        return [line.decode(errors="replace").strip() for line in end.splitlines()[1 if cut else 0 :] if line.strip()]

    def _follow(self) -> None:
        """Read until nobody holds the other end."""
        going_on = True
        while going_on:
            if sys.platform != "win32":
                ready = select.poll()
                ready.register(self._stream, select.POLLIN)
                ready.poll()
            going_on = self._take(65536)
        with self._lock:
            self._stream.close()

    def _take(self, most: int) -> bool:
        """Read what is there; on Windows, wait for it too. False if no more will ever come."""
        with self._lock:
            chunk = b"" if self._stream.closed else self._stream.read(most)
            if chunk:
                end, cut = self._kept
                end += chunk
                self._kept = end[-TAIL_BYTES:], cut or len(end) > TAIL_BYTES
            return chunk != b""  # None: nothing is there now


def _filled(argument: str, kwargs: Mapping[str, Any]) -> str:
    """The argument with its placeholders replaced."""
    return _PIECE.sub(lambda piece: piece[0][0] if piece[1] is None else _text(kwargs[piece[1]]), argument)


def _text(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, float | np.floating):
        return repr(float(value))
    return "none" if value is None else str(value)


def _end(code: int) -> str:
    if code > 0:
        return f"exited with code {code}"
    names = {s.value: f" ({s.name})" for s in signal.Signals}
    return f"was killed by signal {-code}{names.get(-code, '')}"


def _excerpt(printed: list[str], complained: list[str]) -> str:
    """The end of what the command said about its failure; many programs complain on standard output."""
    name, lines = ("error", complained) if complained else ("output", printed)
    return "\n".join([f"\nThe end of its standard {name}:", *lines[-TAIL_LINES:]]) if lines else ""


def _evaluation(printed: list[str]) -> Evaluation:
    """The last line as an evaluation, or a CommandFailed that says what is wrong with it."""
    if not printed:
        raise CommandFailed(f"the command printed nothing, or nothing but blanks in its last {TAIL_BYTES} bytes of output")
    last = printed[-1]
    shown = last if len(last) <= 200 else f"{last[:200]}..."
    if last.startswith("{"):
        return _from_json(last, shown)
    try:
        value = float(last)
    except ValueError:
        raise CommandFailed(f"the last line that the command printed is {shown!r}, which is not a number") from None
    return Evaluation(_number(value, "the value"))


def _from_json(line: str, shown: str) -> Evaluation:
    try:
        result = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise CommandFailed(f"the last line that the command printed is {shown!r}, which is not JSON ({error})") from None
    unknown = sorted(set(result) - {"value", "cost", "noise"})
    if unknown:
        raise CommandFailed(f"the command printed a JSON object with unknown keys: {', '.join(map(repr, unknown))}")
    if "value" not in result:
        raise CommandFailed('the command printed a JSON object without "value"')
    stated = {key: _number(result[key], f'"{key}"') for key in ("cost", "noise") if result.get(key) is not None}
    for key, number in stated.items():
        if number < 0.0:
            raise CommandFailed(f'the command printed {number!r} for "{key}", which is below zero')
    return Evaluation(_number(result["value"], '"value"'), **stated)


def _number(value: Any, what: str) -> float:
    number = as_finite(value)
    if number is None:
        raise CommandFailed(f"the command printed {value!r} for {what}, which is not a finite number")
    return number
