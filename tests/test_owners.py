"""Owners are told apart for all time, the dead from the living where that can be known, and pulses judge the rest."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from farthing import owners
from farthing.owners import Heart, Watch, describe, liveness, this_owner
from farthing.store.interface import Pulse

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells which processes live")
posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

OWNER_AND_SLEEP = "import time; from farthing.owners import this_owner; print(this_owner(), flush=True); time.sleep(600)"
OWNER_UNTIL_TOLD = "from farthing.owners import this_owner; print(this_owner(), flush=True); input()"


def changed(owner, **fields):
    """The owner with some of its parts replaced."""
    names = ("host", "boot", "namespace", "pid", "start", "random")
    parts = dict(zip(names, owner.split("|"), strict=True))
    return "|".join({**parts, **fields}.values())


@pytest.fixture
def other():
    """Another living process, and its owner."""
    with subprocess.Popen([sys.executable, "-c", OWNER_AND_SLEEP], stdout=subprocess.PIPE, text=True) as process:
        yield process, process.stdout.readline().strip()
        process.kill()


def test_the_owner_of_a_process_stays_the_same():
    assert this_owner() == this_owner()


def test_the_owner_is_described_by_process_and_host():
    assert describe("box|b|n|1234|99|0123456789abcdef") == "process 1234 on box"
    assert describe(this_owner()).startswith(f"process {os.getpid()} on ")


def test_a_string_that_is_no_owner_is_described_as_it_is():
    assert describe("somebody") == "somebody"


@posix
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_is_not_taken_for_its_parent():
    mine = this_owner()
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(write, this_owner().encode())
        os._exit(0)
    os.waitpid(pid, 0)
    forked = os.read(read, 4096).decode()
    os.close(read)
    os.close(write)
    assert forked.split("|")[-1] != mine.split("|")[-1]
    assert f"|{pid}|" in forked
    assert this_owner() == mine


@linux
def test_this_process_is_alive():
    assert liveness(this_owner()) is True


@linux
def test_another_living_process_is_alive(other):
    assert liveness(other[1]) is True


@linux
def test_a_stopped_process_is_still_alive(other):
    process, owner = other
    process.send_signal(signal.SIGSTOP)
    assert liveness(owner) is True


@linux
def test_a_zombie_is_dead_though_its_number_is_taken(other):
    process, owner = other
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # it has died, but stays a zombie until Popen asks
    assert Path(f"/proc/{process.pid}/stat").exists()
    assert liveness(owner) is False


@linux
def test_a_process_that_is_gone_is_dead(other):
    process, owner = other
    process.kill()
    process.wait()
    assert liveness(owner) is False


@linux
def test_a_later_process_of_the_same_number_is_not_taken_for_the_owner():
    start = int(this_owner().split("|")[4])
    assert liveness(changed(this_owner(), start=str(start - 1))) is False


@linux
@pytest.mark.parametrize("name", ["a b", ") R 1 (", "((", "x) Z 0 0"])
def test_a_process_name_with_spaces_and_parentheses_does_not_shift_the_fields(name, tmp_path):
    program = tmp_path / name
    program.symlink_to("/bin/sleep")
    with subprocess.Popen([str(program), "600"], executable=str(program)) as process:
        state, start = owners._state_and_start(process.pid)
        process.kill()
    assert state in "RSD"
    assert start >= int(this_owner().split("|")[4])


@linux
@pytest.mark.parametrize("part", ["host", "boot", "namespace"])
def test_a_process_elsewhere_is_not_judged_by_a_number_that_means_another_process_here(part):
    assert liveness(changed(this_owner(), **{part: "elsewhere"})) is None


@pytest.mark.parametrize(
    "owner",
    [
        "",
        "garbage",
        "|||||",
        "a|b|c|d|e|f",
        "h|b|n|-1|5|0123456789abcdef",
        f"h|b|n|{'9' * 5000}|5|0123456789abcdef",
        "h|||12||0123456789abcdef",
    ],
)
def test_garbage_is_unknown_and_no_error(owner):
    assert liveness(owner) is None


def test_where_the_system_tells_nothing_an_owner_still_has_a_name_but_no_liveness(monkeypatch):
    monkeypatch.setattr(owners, "_place", lambda: None)
    owner = this_owner.__wrapped__()  # not the name that this process has already
    assert owner.split("|")[1:3] == ["", ""]
    assert describe(owner).startswith(f"process {os.getpid()} on ")
    assert liveness(owner) is None


@linux
def test_a_process_hidden_by_proc_is_unknown_and_not_dead(monkeypatch):
    """Mounted with hidepid, /proc shows only one's own processes."""
    owner = this_owner()

    def hidden(pid):
        raise FileNotFoundError

    monkeypatch.setattr(owners, "_state_and_start", hidden)
    assert liveness(owner) is None


@linux
def test_a_process_of_another_pid_namespace_is_unknown():
    unshare = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]
    if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no namespaces may be made here")
    with subprocess.Popen(
        [*unshare, sys.executable, "-c", OWNER_UNTIL_TOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        owner = process.stdout.readline().strip()
        assert liveness(owner) is None
        process.stdin.write("\n")
        process.stdin.close()
        assert process.wait(timeout=30) == 0


class Time:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def watch(life=None, lease=10.0):
    clock = Time()
    return Watch(lease, clock, lambda owner: life), clock


def test_a_dead_owner_is_lost_at_once():
    watching, _ = watch(life=False)
    pulse = Pulse(3, "o", 0)
    assert watching.lost([pulse]) == [pulse]


def test_a_living_owner_is_never_lost_however_still_its_pulse():
    watching, clock = watch(life=True)
    for clock.now in (0.0, 100.0, 1e6):
        assert watching.lost([Pulse(3, "o", 0)]) == []


def test_an_unknown_owner_is_lost_when_its_beat_has_stood_still_for_the_lease():
    watching, clock = watch()
    pulse = Pulse(3, "o", 7)
    assert watching.lost([pulse]) == []
    clock.now = 9.9
    assert watching.lost([pulse]) == []
    clock.now = 10.0
    assert watching.lost([pulse]) == [pulse]


def test_a_pulse_first_seen_late_is_not_lost_on_sight():
    watching, clock = watch()
    clock.now = 1e6
    assert watching.lost([Pulse(3, "o", 0)]) == []


def test_a_beat_renews_the_lease():
    watching, clock = watch()
    for beat in range(5):
        clock.now = 9.0 * beat
        assert watching.lost([Pulse(3, "o", beat)]) == []
    clock.now += 9.0
    assert watching.lost([Pulse(3, "o", 4)]) == []


def test_a_beat_that_falls_back_counts_as_a_change():
    """A database restored from a copy."""
    watching, clock = watch()
    watching.lost([Pulse(3, "o", 50)])
    clock.now = 11.0
    assert watching.lost([Pulse(3, "o", 40)]) == []


def test_only_the_pulses_that_stand_still_are_lost():
    watching, clock = watch()
    watching.lost([Pulse(1, "a", 0), Pulse(2, "b", 0)])
    clock.now = 20.0
    assert watching.lost([Pulse(1, "a", 1), Pulse(2, "b", 0)]) == [Pulse(2, "b", 0)]


def test_a_trial_taken_over_gets_a_lease_of_its_own():
    watching, clock = watch()
    watching.lost([Pulse(3, "old", 0)])
    clock.now = 20.0
    assert watching.lost([Pulse(3, "new", 0)]) == []


def test_a_pulse_that_vanished_is_forgotten():
    watching, clock = watch()
    watching.lost([Pulse(3, "o", 0)])
    clock.now = 5.0
    watching.lost([])
    clock.now = 20.0
    assert watching.lost([Pulse(3, "o", 0)]) == []


def test_the_heart_beats_on_after_a_beat_that_failed():
    beats, third = [], threading.Event()

    def beat():
        beats.append(1)
        if len(beats) >= 3:
            third.set()
        raise OSError("the database is away")

    with Heart(beat, 0.001):
        assert third.wait(30)


def test_a_closed_heart_is_still_and_closes_again():
    beats = []
    heart = Heart(lambda: beats.append(1), 0.001)
    heart.close()
    after = len(beats)
    heart.close()
    assert not heart._thread.is_alive()
    assert len(beats) == after


def test_closing_does_not_sit_out_a_long_interval():
    with Heart(lambda: None, 3600.0) as heart:
        pass
    assert not heart._thread.is_alive()


def test_a_heart_does_not_keep_a_program_from_ending():
    code = "from farthing.owners import Heart; heart = Heart(lambda: None, 3600.0)"
    subprocess.run([sys.executable, "-c", code], timeout=60, check=True)
