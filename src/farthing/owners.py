"""Who evaluates a trial, and whether it is still there: known on this machine, and elsewhere judged by its pulse."""

from __future__ import annotations

import os
import re
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Self

from farthing.store.interface import Pulse

CLOSING_SECONDS = 5.0
"""How long to wait for a beat under way, in a database that may be hanging."""

_OWNER = re.compile(r"([^|]+)\|([^|]*)\|([^|]*)\|([0-9]{1,9})\|([0-9]{0,19})\|[0-9a-f]{16}")


@cache
def this_owner() -> str:
    """A name for this process that no other ever has: host|boot|namespace|pid|start|random.

    boot, namespace, start: empty where the system does not tell them (they come from Linux' /proc).
    """
    pid, place = os.getpid(), _place()
    start = "" if place is None else str(_state_and_start(pid)[1])
    return "|".join((_host(), *(place or ("", "")), str(pid), start, secrets.token_hex(8)))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=this_owner.cache_clear)  # a fork is another process


def describe(owner: str) -> str:
    """The owner in words; a string that names no owner, as it is."""
    named = _OWNER.fullmatch(owner)
    return owner if named is None else f"process {named[4]} on {named[1]}"


def liveness(owner: str) -> bool | None:
    """Whether the owner's process runs; None where that cannot be known from here."""
    named = _OWNER.fullmatch(owner)
    # The host name too, as copies of a running virtual machine share the rest.
    if named is None or named[1] != _host() or (named[2], named[3]) != _place():
        return None
    try:
        state, start = _state_and_start(int(named[4]))
    except OSError:
        return None if _exists(int(named[4])) else False
    return str(start) == named[5] and state not in ("Z", "X")  # a zombie or a dead process, not yet buried


def _host() -> str:
    return socket.gethostname().replace("|", "-") or "?"


def _place() -> tuple[str, str] | None:
    """Where a process number has a meaning: a boot of a kernel and a namespace in it; None where the system does not tell."""
    try:
        if os.readlink("/proc/self") != str(os.getpid()):  # a /proc that counts processes in another namespace
            return None
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip(), os.readlink("/proc/self/ns/pid")
    except OSError:
        return None


def _state_and_start(pid: int) -> tuple[str, int]:
    """The state of a process, and its start in clock ticks since boot: fields 3 and 22 of /proc/<pid>/stat."""
    fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()  # field 2, a name in parentheses, may hold any
    return fields[0].decode(), int(fields[19])


def _exists(pid: int) -> bool:
    """Whether there is such a process, also where /proc hides those of other users."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it belongs to another user
        pass
    return True


class Watch:
    """Tells which pending trials have lost their owner.

    An owner on this machine is lost when its process is gone. Any other is lost when its beat has stayed the same for `lease`
    seconds of the watcher's own clock, so that clocks of different machines are never compared.
    """

    def __init__(
        self,
        lease: float,
        clock: Callable[[], float] = time.monotonic,
        liveness: Callable[[str], bool | None] = liveness,
    ) -> None:
        self._lease = lease
        self._clock = clock
        self._liveness = liveness
        self._seen: dict[tuple[int, str], tuple[int, float]] = {}

    def lost(self, pulses: Iterable[Pulse]) -> list[Pulse]:
        """Those of the pulses of now whose owner is lost."""
        pulses, now = list(pulses), self._clock()
        lives = {owner: self._liveness(owner) for owner in {pulse.owner for pulse in pulses}}
        seen, self._seen = self._seen, {}
        lost = []
        for pulse in pulses:
            beat, since = seen.get((pulse.number, pulse.owner), (pulse.beat, now))
            if beat != pulse.beat:
                since = now
            self._seen[pulse.number, pulse.owner] = pulse.beat, since
            life = lives[pulse.owner]
            if life is False or (life is None and now - since >= self._lease):
                lost.append(pulse)
        return lost


class Heart:
    """Calls `beat` every `interval` seconds, in a thread of its own, until it is closed. A context manager."""

    def __init__(self, beat: Callable[[], object], interval: float) -> None:
        self._beat = beat
        self._interval = interval
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="farthing-heart", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._closed.wait(self._interval):
            with suppress(Exception):  # a database that is away for a moment; the next beat may reach it
                self._beat()

    def close(self) -> None:
        """No beat begins after this. May be called again."""
        self._closed.set()
        self._thread.join(CLOSING_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
