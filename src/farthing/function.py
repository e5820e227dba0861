"""An objective that is named: a function of a module."""

from __future__ import annotations

import difflib
import importlib
import inspect
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Collection
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, reduce
from typing import Any

from farthing.errors import SettingsError
from farthing.evaluation import ignore_interrupts, interrupts_wait


@dataclass(frozen=True)
class Function:
    """An objective that is a function of a module, imported only in the process that calls it.

    where: "module:function"; folder: where it runs, and where its module is looked for first.
    """

    where: str
    folder: str

    def __post_init__(self) -> None:
        module, colon, name = self.where.partition(":")
        if not colon or not all(part.isidentifier() for part in [*module.split("."), *name.split(".")]):
            raise SettingsError(f'the function is {self.where!r}; give its module and its name, such as "train:loss"')

    def __call__(self, /, **kwargs: Any) -> Any:
        return _loaded(self.where, self.folder)(**kwargs)

    def __reduce__(self) -> tuple[Callable[[str, str], Function], tuple[str, str]]:
        return _arrived, (self.where, self.folder)

    def check(self, names: Collection[str]) -> None:
        """A SettingsError unless it can be imported and called with these names. Tried in another process.

        Ctrl-C ends that process without a word from it.
        """
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), ignore_interrupts) as child:
            try:
                with interrupts_wait():
                    pid = child.submit(os.getpid)
                try:
                    child.submit(_check_function, self.where, self.folder, tuple(names)).result()
                except KeyboardInterrupt:
                    with suppress(OSError):  # it has died
                        # An import may take for ever, and leaving the executor would wait for it.
                        os.kill(pid.result(), signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)
                    raise
            except BrokenProcessPool as error:
                raise SettingsError(
                    f"the process that imported {self.where!r} died; see what its module does when imported"
                ) from error


def _arrived(where: str, folder: str) -> Function:
    """The function in another process. Imported at once: what that takes is no part of the first evaluation."""
    _loaded(where, folder)
    return Function(where, folder)


@cache
def _loaded(where: str, folder: str) -> Callable[..., Any]:
    """The function; its folder becomes the current one, and the first to import from, as if its module were run as a script."""
    module, _, name = where.partition(":")
    os.chdir(folder)
    sys.path.insert(0, folder)
    try:
        imported = importlib.import_module(module)
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and error.name is not None and f"{module}.".startswith(f"{error.name}."):
            raise SettingsError(
                f"there is no module {error.name!r} in {folder}, nor an installed one; check its name, or folder ="
            ) from None
        raise SettingsError(f"importing the module {module!r} failed: {type(error).__name__}: {error}; mend it") from error
    try:
        function = reduce(getattr, name.split("."), imported)
    except AttributeError:
        near = difflib.get_close_matches(name, [n for n, value in vars(imported).items() if callable(value)], 1)
        meant = f"did you mean {near[0]!r}?" if near else "check its name"
        raise SettingsError(
            f"the module {module!r} ({getattr(imported, '__file__', 'built in')}) has no {name!r}; {meant}"
        ) from None
    if not callable(function):
        raise SettingsError(f"{where!r} is {function!r}, which cannot be called; name a function")
    return function


def _check_function(where: str, folder: str, names: tuple[str, ...]) -> None:
    function = _loaded(where, folder)
    try:
        signature = inspect.signature(function)
    except ValueError:  # a function in C that does not tell
        return
    try:
        signature.bind(**dict.fromkeys(names))
    except TypeError as error:
        called = ", ".join(f"{name}=..." for name in names)
        raise SettingsError(f"{where!r} cannot be called with {called}: {error}; mend its arguments, or [space]") from None
