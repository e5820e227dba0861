"""What a worker process prints, passed on through this process, whose display may then make room for it."""

from __future__ import annotations

import codecs
import operator
import os
import select
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing import connection as pipes
from typing import Any

NAMES = ("stdout", "stderr")
"""The streams, in the order of their file descriptors: 1 and 2."""

LINGER_SECONDS = 0.1
"""How long to wait for the end of the output of a dead worker: what it left running may hold it open for ever."""

STUCK_SECONDS = 2.0
"""How long to wait while this process's own output takes nothing."""

PIPE_BYTES = 2**20
"""The most a pipe holds, so that one read of as much takes all that is in it. (Root may allow more.)"""


class Relay:
    """Writes what comes out of pipes to sys.stdout and sys.stderr as they are then, as soon as it comes; in a thread.

    outputs: the reading ends of the pipes of a worker's standard output and standard error. They are closed when whoever writes
    is gone. What cannot be written, as there is no sys.stdout or it is broken, is dropped: a worker never waits for that.
    lock: held while reading and writing; relays with the same one take turns.
    """

    def __init__(self, outputs: Sequence[pipes.Connection], lock: threading.Lock) -> None:
        self._streams = [_Stream(output, name) for output, name in zip(outputs, NAMES, strict=True)]
        self._lock = lock
        self._thread = threading.Thread(target=self._follow, name="farthing-relay", daemon=True)
        self._thread.start()

    def finish(self) -> None:
        """Once the worker is dead: return when all that it wrote is out. May be called again.

        Processes that it left behind may go on writing; that is read, so that they need not wait, and dropped: a thread that
        prints while Python shuts down would make it abort.
        """
        if all(stream.muted for stream in self._streams):
            return
        self._thread.join(LINGER_SECONDS)
        if not self._lock.acquire(timeout=STUCK_SECONDS):
            return
        try:
            for stream in self._streams:
                stream.pass_on(PIPE_BYTES)
                stream.muted = True
        finally:
            self._lock.release()

    def _follow(self) -> None:
        ready = select.poll()
        streams = {stream.output.fileno(): stream for stream in self._streams}
        for descriptor in streams:
            ready.register(descriptor, select.POLLIN)
        while streams:
            for descriptor, _ in ready.poll():
                with self._lock:
                    if streams[descriptor].pass_on():
                        continue
                    ready.unregister(descriptor)
                    streams.pop(descriptor).output.close()


class _Stream:
    """One of the two outputs of a worker. muted: what comes is dropped."""

    def __init__(self, output: pipes.Connection, name: str) -> None:
        os.set_blocking(output.fileno(), False)
        self.output = output
        self.muted = False
        self._name = name
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")  # a character may come in two pieces

    def pass_on(self, most: int = 65536) -> bool:
        """Write what there is, without waiting for more. False if no more will ever come."""
        if self.output.closed:
            return False
        try:
            read = os.read(self.output.fileno(), most)
        except BlockingIOError:
            return True
        text = self._decoder.decode(read, final=not read)
        if text and not self.muted:
            self._write(text)
        return bool(read)

    def _write(self, text: str) -> None:
        stream = getattr(sys, self._name)
        with suppress(Exception):  # none, closed, broken, or somebody's own that raises what it likes
            try:
                stream.write(text)
            except UnicodeEncodeError:
                stream.write(text.encode("ascii", "backslashreplace").decode("ascii"))
            stream.flush()


class NameThatRedirects(str):
    """The name of a process which, when unpickled there, makes file descriptors 1 and 2 copies of `descriptors`.

    multiprocessing unpickles it before it imports the script, hence before anything can be printed: no later moment catches what
    imports print. Only the standard library is called, as no other module may be found yet.
    """

    _descriptors: Sequence[int]

    def __new__(cls, name: str, descriptors: Sequence[int]) -> NameThatRedirects:
        """A name that is a string in every other respect."""
        self = super().__new__(cls, name)
        self._descriptors = descriptors
        return self

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        copies = [_Call(os.dup2, descriptor, copy) for copy, descriptor in enumerate(self._descriptors, start=1)]
        return operator.getitem, ((str(self), *copies), 0)


class _Call:
    """Unpickled as what a call returns."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self._call = function, arguments

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self._call


def redirect(outputs: Sequence[pipes.Connection]) -> None:
    """In the worker: print into these pipes, in UTF-8, whole lines at once."""
    for copy, output in enumerate(outputs, start=1):
        os.dup2(output.fileno(), copy)
        output.close()
        with suppress(AttributeError, ValueError, OSError):  # none, closed, or somebody's own
            stream = getattr(sys, NAMES[copy - 1])
            # PYTHONUNBUFFERED would send the end of each line on its own.
            stream.reconfigure(encoding="utf-8", errors=stream.errors, line_buffering=True, write_through=False)
