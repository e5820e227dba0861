"""Evaluations in processes of their own, which may be killed."""

from __future__ import annotations

import atexit
import math
import multiprocessing
import os
import pickle
import pickletools
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from multiprocessing import connection as pipes
from typing import Any

from farthing.errors import SettingsError
from farthing.evaluation import Outcome, described, evaluate, ignore_interrupts, interrupts_wait
from farthing.workers.interface import PATROL_SECONDS, REMEDY, Objective, Workers, pickled
from farthing.workers.relay import NameThatRedirects, Relay, redirect

GRACE_SECONDS = 2.0
"""How long idle workers may take to exit on their own, so that what the objective registered with atexit is done."""

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


class Processes(Workers):
    """Worker processes of this one, started when first needed and used again.

    Each leads a process group, which is killed as a whole: after a timeout, when it ends, or when this process is gone. A result
    that is there before its timeout was noticed counts. Not killed: what an objective puts into a group of its own; on Windows,
    whatever it starts; and, if this process is killed, a worker for as long as its objective is in C code that never lets go of
    Python's lock.

    relay: what they and what they start print comes out through this process's sys.stdout and sys.stderr; not on Windows, where
    it goes straight to the terminal as without it.
    """

    def __init__(self, objective: Objective, count: int, timeout: float | None, relay: bool = False) -> None:
        self.slots = count
        _check_that_processes_may_start()
        self._pickled = pickled(objective)
        _check_that_a_child_finds(self._pickled)
        self._timeout = math.inf if timeout is None else timeout
        self._printing = threading.Lock() if relay and sys.platform != "win32" else None
        self._workers: list[_Worker] = []
        self._proven = False
        self._error: SettingsError | None = None
        self._pid = os.getpid()
        # Registered later than multiprocessing's own exit function, hence called earlier: that one waits for every child.
        atexit.register(self.stop)

    def start(self, number: int, kwargs: Mapping[str, Any]) -> None:
        if self._error is not None:
            raise self._error
        for worker in [w for w in self._workers if w.number is None and w.process.exitcode is not None]:
            self._bury(worker)
        worker = next((w for w in self._workers if w.number is None), None) or self._hire()
        worker.begin(number, kwargs)

    def wait(self, seconds: float | None = None) -> list[tuple[int, Outcome]]:
        until = math.inf if seconds is None else time.monotonic() + seconds
        while True:
            finished = [(number, outcome) for worker in self._busy() for number, outcome in self._look(worker)]
            if finished:
                return finished
            if self._error is not None:
                raise self._error
            busy, now = self._busy(), time.monotonic()
            if now >= until or (not busy and seconds is None):
                return []
            pause = min([until - now, PATROL_SECONDS, *(max(w.began + self._timeout - now, 0.0) for w in busy)])
            if busy:
                pipes.wait([w.pipe for w in busy], pause)
            else:
                time.sleep(pause)

    def stop(self) -> None:
        if os.getpid() != self._pid:  # a fork of this process, at its exit: the workers are not its own
            return
        try:
            for worker in self._busy():
                worker.kill()
            idle = [w for w in self._workers if w.number is None]
            for worker in idle:
                worker.pipe.close()
            until = time.monotonic() + GRACE_SECONDS
            for worker in idle:
                worker.process.join(max(until - time.monotonic(), 0.0))
        finally:
            for worker in list(self._workers):
                self._bury(worker)
            atexit.unregister(self.stop)

    def _busy(self) -> list[_Worker]:
        return [w for w in self._workers if w.number is not None]

    def _hire(self) -> _Worker:
        assert len(self._workers) < self.slots, "a trial was started without a free slot"
        worker = _Worker(self._pickled, self.slots == 1, self._printing)
        self._workers.append(worker)
        return worker

    def _bury(self, worker: _Worker) -> None:
        worker.kill()
        self._workers.remove(worker)

    def _look(self, worker: _Worker) -> list[tuple[int, Outcome]]:
        """What came of the evaluation of a busy worker; nothing while it goes on, or where the worker never came to it."""
        assert worker.number is not None
        number = worker.number
        dead = worker.process.exitcode is not None  # asked before the messages are read, the last of which may be the result
        try:
            while worker.pipe.poll():
                kind, about, content = worker.pipe.recv()
                if about not in (None, number):  # whoever sent that, it is not about this trial
                    continue
                if kind == "done":
                    worker.number, worker.used = None, True
                    return [(number, content)]
                if kind == "unusable":
                    self._error = SettingsError(f"a worker process could not load the objective ({content}); {REMEDY}")
                    self._bury(worker)
                    return []
                if kind == "accepted":
                    worker.accepted = True
                    continue
                worker.began, self._proven = max(worker.sent, content), True
        except (EOFError, OSError):
            dead = True
        seconds = max(time.monotonic() - worker.began, 0.0)
        if dead:
            return self._died(worker, number, seconds)
        if seconds < self._timeout:
            return []
        self._bury(worker)
        return [(number, Outcome(seconds, reason=f"timed out after {self._timeout:g} s and was killed"))]

    def _died(self, worker: _Worker, number: int, seconds: float) -> list[tuple[int, Outcome]]:
        """A death during an evaluation is that evaluation's failure; one before the first, an error, as the next would die too.

        A worker that had been idle, and died before it accepted what it was given, is replaced: it may have died before it was
        given anything, and nobody had noticed yet.
        """
        end, by_signal = worker.end()
        self._bury(worker)
        if worker.used and not worker.accepted:
            self._hire().begin(number, worker.kwargs)
            return []
        # Once a worker has started, the objective is known to load, and a signal (of the out-of-memory killer, say) is bad luck.
        if math.isfinite(worker.began) or (by_signal and self._proven):
            return [(number, Outcome(seconds, reason=f"the worker process {end}"))]
        self._error = SettingsError(
            f"a worker process {end} while it was starting, before it could call the objective; standard error has its message. "
            'Often the script lacks `if __name__ == "__main__":` around what starts the run (every worker imports the script), '
            f"or is no file that can be imported. Add that line; or {REMEDY}"
        )
        return []


class _Worker:
    """A worker process, and the trial it has if any: number, kwargs, and whether it has accepted it.

    sent, began: monotonic seconds; began is infinite until it has started. used: it has finished a trial. printing: the lock of
    those whose output is relayed; None: it is not.
    """

    def __init__(self, pickled: bytes, alone: bool, printing: threading.Lock | None) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.number: int | None = None
        self.kwargs: Mapping[str, Any] = {}
        self.accepted = self.used = False
        self.sent = self.began = math.inf
        pairs = [] if printing is None else [context.Pipe(duplex=False), context.Pipe(duplex=False)]
        outputs = [writing for _, writing in pairs]
        name = NameThatRedirects("farthing-worker", [output.fileno() for output in outputs]) if pairs else "farthing-worker"
        # Not daemonic: such processes may not have children, which objectives do.
        self.process = context.Process(target=_serve, args=(theirs, alone, outputs), name=name)
        self._relay: Relay | None = None
        try:
            with interrupts_wait(), ExitStack() as closing:
                for end in (theirs, *outputs):
                    closing.enter_context(end)
                self.process.start()
                if printing is not None:
                    self._relay = Relay([reading for reading, _ in pairs], printing)
            # Not an argument of the process: Process.start() writes those to a pipe that nobody reads if the child dies early.
            self._send(lambda: self.pipe.send_bytes(pickled))
        except BaseException:  # an interrupt, which has waited, or came while a large objective is on its way
            if self.process.pid is not None:
                self.kill()
            raise

    def begin(self, number: int, kwargs: Mapping[str, Any]) -> None:
        self.number, self.kwargs, self.accepted, self.sent = number, kwargs, False, time.monotonic()
        if math.isfinite(self.began):
            self.began = self.sent
        self._send(lambda: self.pipe.send((number, dict(kwargs))))

    def end(self) -> tuple[str, bool]:
        """How the process ended, and whether by a signal."""
        self.process.join(1.0)  # its pipe closes a moment before it is dead
        code = self.process.exitcode
        if code is None:
            return "ended in an unknown way", False
        if code >= 0:
            return f"exited with code {code}", False
        names = {s.value: f" ({s.name})" for s in signal.Signals}
        return f"was killed by signal {-code}{names.get(-code, '')}", True

    def kill(self) -> None:
        """Kill the process and what it started, and pass on the last that it printed. May be called again."""
        assert self.process.pid  # 0 would be the group of this very process
        if sys.platform != "win32":
            with suppress(OSError):  # there is no such group while it is starting, nor when all are dead
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.join(GRACE_SECONDS)  # not longer: one that hangs in the kernel dies when the kernel lets it
        self.pipe.close()
        if self._relay is not None:
            self._relay.finish()

    @staticmethod
    def _send(send: Callable[[], None]) -> None:
        with suppress(OSError):  # it has died, and `wait` will see that
            send()


def _check_that_processes_may_start() -> None:
    here = multiprocessing.current_process()
    if getattr(here, "_inheriting", False):
        raise SettingsError(
            "this script is being imported by one of its own worker processes, and would start workers again; "
            'put what starts the run under `if __name__ == "__main__":`'
        )
    if here.daemon:
        raise SettingsError(
            "this is a daemonic process, perhaps of a multiprocessing.Pool, and may not start worker processes; "
            "use workers=1 without a timeout, or concurrent.futures.ProcessPoolExecutor in place of the pool"
        )


def _check_that_a_child_finds(pickled: bytes) -> None:
    """A session without a script pickles its functions by name, but no other process can import them."""
    main = sys.modules["__main__"]
    if getattr(main, "__spec__", None) is not None or os.path.exists(getattr(main, "__file__", None) or ""):
        return
    if any(argument == "__main__" for _, argument, _ in pickletools.genops(pickled)):
        raise SettingsError(f"the objective is defined in an interactive session, where no other process finds it; {REMEDY}")


def _serve(pipe: pipes.Connection, alone: bool, outputs: Sequence[pipes.Connection]) -> None:
    """The life of a worker process: load the objective, then evaluate what comes until the other end is closed.

    It tells the kind of message, the trial that it is about if any, and the content.
    """
    _settle()
    redirect(outputs)
    pid = os.getpid()

    def tell(kind: str, number: int | None, content: Any) -> None:
        if os.getpid() != pid:  # a fork that the objective made, and that came back from it too: the pipe is not its own
            os._exit(0)
        pipe.send((kind, number, content))

    with suppress(EOFError, OSError), nullcontext() if alone else _one_thread():
        pickled = pipe.recv_bytes()
        try:
            objective = pickle.loads(pickled)
        except Exception as error:
            tell("unusable", None, described(error)[0])
            return
        tell("ready", None, time.monotonic())
        while True:
            number, kwargs = pipe.recv()
            tell("accepted", number, None)
            tell("done", number, _evaluated(objective, kwargs))


def _settle() -> None:
    """Leave the terminal's process group, so that its Ctrl-C does not end evaluations; and never outlive the parent."""
    ignore_interrupts()
    if sys.platform != "win32":
        os.setsid()
    threading.Thread(target=_follow_the_parent, daemon=True).start()


def _follow_the_parent() -> None:
    """Kill this process group once the parent is gone, seen at the end of a pipe whose other end the parent holds."""
    parent, parent_pid = multiprocessing.parent_process(), os.getppid()
    assert parent is not None
    while parent.is_alive() and os.getppid() == parent_pid:  # a fork of the parent would keep the pipe open, but not the pid
        parent.join(PATROL_SECONDS)
    if sys.platform != "win32":
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)


def _one_thread() -> AbstractContextManager[Any]:
    """One thread in each numerical library, loaded or still to come, as the other workers want the cores too.

    What the user has set stands, and OMP_NUM_THREADS speaks for all that are not set.
    """
    from threadpoolctl import threadpool_limits

    chosen = any(variable in os.environ for variable in THREAD_VARIABLES)
    for variable in THREAD_VARIABLES:
        os.environ.setdefault(variable, os.environ.get("OMP_NUM_THREADS", "1"))
    limits: AbstractContextManager[Any] = nullcontext() if chosen else threadpool_limits(limits=1)
    return limits


def _evaluated(objective: Objective, kwargs: Mapping[str, Any]) -> Outcome:
    start = time.perf_counter()
    try:
        return evaluate(objective, kwargs, time.perf_counter)
    except BaseException as error:  # even a KeyboardInterrupt of its own ends an evaluation, not its worker
        return Outcome(time.perf_counter() - start, None, *described(error))
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(AttributeError, ValueError, OSError):  # none, closed, or broken
                stream.flush()  # a worker may be killed at any time, and with it what was printed but not yet written
