"""Evaluations in this process, in workers that are really killed, and in executors: each has its outcome, none outlives us."""

from __future__ import annotations

import gc
import io
import math
import multiprocessing
import os
import select
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest

from farthing.errors import SettingsError
from farthing.evaluation import Outcome
from farthing.trials import Evaluation
from farthing.workers import InExecutor, Inline, Processes, relay, workers_for
from farthing.workers.processes import THREAD_VARIABLES

posix = pytest.mark.skipif(os.name != "posix", reason="needs process groups")
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")

HANG_SECONDS = 60.0
"""What takes longer than this hangs."""


# Objectives, here at the top level so that workers find them ----------------------------------------------------------------


def act(do="return", path=None, value=1.0, other=None):
    """An objective that does as it is told."""
    return globals()[f"do_{do}"](path, value, other)


def do_return(path, value, other):
    return value


def do_pid(path, value, other):
    return float(os.getpid())


def do_raise(path, value, other):
    raise ValueError("no such thing")


def do_function(path, value, other):
    return lambda: None


def do_sleep(path, value, other):
    """Start a program that sleeps, write down both process numbers, and sleep too."""
    program = subprocess.Popen(["sleep", "600"])
    write(path, f"{os.getpid()} {program.pid}")
    time.sleep(600)


def do_signal(path, value, other):
    os.kill(os.getpid(), int(value))
    time.sleep(600)


def do_exit_at_once(path, value, other):
    os._exit(int(value))


def do_sys_exit(path, value, other):
    sys.exit(int(value))


def do_die_leaving_a_fork(path, value, other):
    """The fork inherits every pipe, so that none of them closes."""
    pid = os.fork()
    if pid == 0:
        time.sleep(600)
    write(path, str(pid))
    os._exit(3)


def do_die_leaving_a_program(path, value, other):
    os.system(f"sleep 600 & echo $! > '{path}.part'; mv '{path}.part' '{path}'")
    os._exit(3)


def do_fork(path, value, other):
    """The fork comes back from the objective as well, and sooner."""
    pid = os.fork()
    if pid == 0:
        return {"return": do_return, "raise": do_raise, "sys_exit": do_sys_exit}[other](path, -1.0, None)
    os.waitpid(pid, 0)
    return value


def do_answer_for_another(path, value, other):
    """As whatever has got hold of the worker's end of the pipe might."""
    from multiprocessing.connection import Connection

    duplex = [c for c in gc.get_objects() if isinstance(c, Connection) and not c.closed and c.readable and c.writable]
    for connection in duplex:
        connection.send(("done", int(value) - 1, Outcome(1.0, Evaluation(-1.0))))
    assert duplex
    return value


def do_say(path, value, other):
    """From Python, from C, from a program, and to standard error."""
    print("one")
    os.write(1, b"two\n")
    os.system("echo three")
    print("four", file=sys.stderr)
    os.system("echo five >&2")
    return value


def do_say_and_die(path, value, other):
    """More than a pipe holds, the end of it no whole line, and no chance to flush anything."""
    print("x" * int(value))
    os.write(1, b"last words")
    os.kill(os.getpid(), signal.SIGKILL)


def do_say_in_pieces(path, value, other):
    whole = "né".encode()
    os.write(1, whole[:-1])
    time.sleep(0.3)
    os.write(1, whole[-1:] + b" \xff\n")
    return value


def do_say_and_wait(path, value, other):
    print("waiting")
    read(path)
    return value


def do_leave_a_program(path, value, other):
    """In a session of its own, so that it is not killed, and with this worker's output."""
    program = subprocess.Popen(["sleep", "600"], start_new_session=True)
    write(path, str(program.pid))
    print("left it")
    return value


def do_descriptors(path, value, other):
    """Which pipe is this worker's output, and which files it has open at all."""
    opened = []
    for name in os.listdir("/proc/self/fd"):
        try:
            opened.append(os.readlink(f"/proc/self/fd/{name}"))
        except OSError:  # the listing itself
            continue
    write(path, repr(([os.readlink("/proc/self/fd/1"), os.readlink("/proc/self/fd/2")], opened)))
    read(other)
    return value


def do_meet(path, value, other):
    """Ends only if another evaluation runs at the same time."""
    write(path, "here")
    read(other)
    return value


def do_threads(path, value, other):
    import numpy as np
    from threadpoolctl import threadpool_info

    np.linalg.inv(np.eye(3))
    write(path, repr(([pool["num_threads"] for pool in threadpool_info()], {v: os.environ.get(v) for v in THREAD_VARIABLES})))
    return value


def do_register(path, value, other):
    import atexit

    def slowly():
        time.sleep(0.3)
        write(path, "exited")

    atexit.register(slowly)
    return value


def do_daemonic(path, value, other):
    return float(multiprocessing.current_process().daemon)


def write(path, text):
    """All of the text at once, so that whoever sees the file sees it whole."""
    part = Path(f"{path}.part")
    part.write_text(text)
    part.rename(path)


def read(path):
    """The text of a file that somebody is about to write."""
    until = time.monotonic() + HANG_SECONDS
    while not Path(path).exists():
        assert time.monotonic() < until, f"{path} was never written"
        time.sleep(0.02)
    return Path(path).read_text()


class Unpickles:
    """An objective whose unpickling calls something."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call

    def __call__(self, **kwargs):
        raise AssertionError("never called")


def refuse(text):
    raise ValueError(text)


def loaded_slowly():
    time.sleep(1.5)
    return act


# Helpers --------------------------------------------------------------------------------------------------------------------


def only(workers):
    """The one outcome there is, within reason."""
    ((number, outcome),) = workers.wait(HANG_SECONDS)
    return number, outcome


def evaluated(workers, number=0, /, **kwargs):
    workers.start(number, kwargs)
    found, outcome = only(workers)
    assert found == number
    return outcome


def running(pid):
    """Whether there is such a process; a zombie is none."""
    found = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout.strip()
    return found != "" and not found.startswith("Z")


def assert_gone(pids):
    until = time.monotonic() + HANG_SECONDS
    for pid in pids:
        while running(pid):
            assert time.monotonic() < until, f"process {pid} lives on"
            time.sleep(0.05)


@pytest.fixture
def pair():
    with Processes(act, 2, None) as workers:
        yield workers


@pytest.fixture
def one():
    with Processes(act, 1, None) as workers:
        yield workers


def script(tmp_path, code):
    path = tmp_path / "script.py"
    path.write_text(textwrap.dedent(code))
    return path


def run(*arguments, **options):
    return subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, text=True, timeout=HANG_SECONDS, check=False, **options
    )


# In this process ------------------------------------------------------------------------------------------------------------


def test_inline_evaluates_with_the_clock_it_was_given():
    ticks = iter([10.0, 13.0])
    workers = Inline(lambda x: x + 1, lambda: next(ticks))
    workers.start(4, {"x": 1})
    ((number, outcome),) = workers.wait()
    assert (number, outcome.seconds, outcome.evaluation) == (4, 3.0, Evaluation(2.0))


def test_inline_lets_an_interrupt_through_and_is_free_again():
    def objective(interrupt):
        if interrupt:
            raise KeyboardInterrupt
        return 1.0

    with Inline(objective, time.perf_counter) as workers:
        workers.start(0, {"interrupt": True})
        with pytest.raises(KeyboardInterrupt):
            workers.wait()
        assert workers.wait() == []
        assert evaluated(workers, interrupt=False).evaluation == Evaluation(1.0)


def test_inline_takes_sys_exit_for_a_failure_and_not_for_the_end_of_the_program():
    with Inline(act, time.perf_counter) as workers:
        failed = evaluated(workers, do="sys_exit", value=3)
        assert failed.reason == "SystemExit: 3"
        assert "do_sys_exit" in failed.traceback
        assert evaluated(workers).evaluation == Evaluation(1.0)


# Worker processes: results --------------------------------------------------------------------------------------------------


def test_a_worker_is_used_again_and_reports_failures_with_their_traceback(one):
    first = evaluated(one, 7, do="pid").evaluation
    failed = evaluated(one, 8, do="raise")
    assert failed.reason == "ValueError: no such thing"
    assert "do_raise" in failed.traceback
    assert "type function" in evaluated(one, 9, do="function").reason
    assert "nan" in evaluated(one, 10, value=math.nan).reason
    assert evaluated(one, 11, do="sys_exit", value=3).reason == "SystemExit: 3"
    assert evaluated(one, 12, do="daemonic").evaluation == Evaluation(0.0), "such an objective could not have children"
    assert evaluated(one, 13, do="pid").evaluation == first
    assert first != Evaluation(float(os.getpid()))


@posix
@pytest.mark.parametrize("end", ["return", "raise", "sys_exit"])
def test_a_fork_that_comes_back_from_the_objective_answers_for_nobody(one, end):
    assert evaluated(one, 0, do="fork", other=end, value=2.0).evaluation == Evaluation(2.0)
    assert evaluated(one, 1, value=3.0).evaluation == Evaluation(3.0)
    assert one.wait(0.5) == []


@posix
def test_an_answer_for_another_trial_is_dropped(one):
    assert evaluated(one, 7, do="answer_for_another", value=7.0).evaluation == Evaluation(7.0)


def test_as_many_evaluations_run_at_once_as_there_are_slots(pair, tmp_path):
    a, b = str(tmp_path / "a"), str(tmp_path / "b")
    pair.start(0, {"do": "meet", "path": a, "other": b})
    pair.start(1, {"do": "meet", "path": b, "other": a})
    found = only(pair), only(pair)
    assert {number for number, outcome in found if outcome.evaluation is not None} == {0, 1}


def test_waiting_has_an_end_while_an_evaluation_runs_and_where_none_does(one, tmp_path):
    assert one.wait() == []
    assert one.wait(0.01) == []
    one.start(0, {"do": "sleep", "path": str(tmp_path / "pids")})
    assert one.wait(0.0) == []
    assert one.wait(0.1) == []


def test_starting_a_worker_counts_neither_as_seconds_nor_towards_the_timeout():
    with Processes(Unpickles(loaded_slowly), 1, timeout=1.0) as workers:
        outcome = evaluated(workers)
    assert outcome.evaluation == Evaluation(1.0)
    assert outcome.seconds < 1.0


def test_numerical_libraries_get_one_thread_where_there_are_other_workers(tmp_path, monkeypatch):
    for variable in THREAD_VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    with Processes(act, 2, None) as workers:
        evaluated(workers, do="threads", path=str(tmp_path / "seen"))
    threads, variables = eval(read(tmp_path / "seen"))
    assert set(threads) == {1}
    assert set(variables.values()) == {"1"}


def test_numbers_of_threads_that_the_user_has_set_stand(tmp_path, monkeypatch):
    for variable in THREAD_VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.setenv("MKL_NUM_THREADS", "3")
    with Processes(act, 2, None) as workers:
        evaluated(workers, do="threads", path=str(tmp_path / "seen"))
    threads, variables = eval(read(tmp_path / "seen"))
    assert 1 not in threads or os.cpu_count() == 1
    assert variables == {**dict.fromkeys(THREAD_VARIABLES, "2"), "MKL_NUM_THREADS": "3"}


def test_a_single_worker_may_use_every_core(tmp_path, monkeypatch, one):
    for variable in THREAD_VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    evaluated(one, do="threads", path=str(tmp_path / "seen"))
    assert set(eval(read(tmp_path / "seen"))[1].values()) == {None}


# Worker processes: deaths ---------------------------------------------------------------------------------------------------


@posix
def test_a_timeout_kills_the_evaluation_with_what_it_started_and_the_next_one_gets_a_new_worker(tmp_path):
    with Processes(act, 1, timeout=1.0) as workers:
        outcome = evaluated(workers, do="sleep", path=str(tmp_path / "pids"))
        assert outcome.reason.startswith("timed out after 1 s")
        assert 1.0 <= outcome.seconds < HANG_SECONDS
        assert_gone(read(tmp_path / "pids").split())
        assert evaluated(workers, 1).evaluation == Evaluation(1.0)


@posix
def test_deaths_are_failures_that_say_how_and_leave_the_other_worker_alone(pair, tmp_path):
    a, b = str(tmp_path / "a"), str(tmp_path / "b")
    pair.start(0, {"do": "meet", "path": a, "other": b})
    read(a)
    for number, (do, value, reason) in enumerate(
        [
            ("signal", signal.SIGKILL, "the worker process was killed by signal 9 (SIGKILL)"),
            ("signal", signal.SIGSEGV, f"the worker process was killed by signal {int(signal.SIGSEGV)} (SIGSEGV)"),
            ("exit_at_once", 3, "the worker process exited with code 3"),
            ("exit_at_once", 0, "the worker process exited with code 0"),
        ],
        start=1,
    ):
        outcome = evaluated(pair, number, do=do, value=float(value))
        assert outcome.reason == reason
        assert 0.0 <= outcome.seconds < HANG_SECONDS
    write(b, "go on")
    assert only(pair)[1].evaluation == Evaluation(1.0)


@posix
@pytest.mark.parametrize("leaving", ["die_leaving_a_fork", "die_leaving_a_program"])
def test_a_death_is_seen_though_a_child_holds_the_pipes_open_and_the_child_is_killed(one, leaving, tmp_path):
    assert evaluated(one, do=leaving, path=str(tmp_path / "pid")).reason == "the worker process exited with code 3"
    assert_gone([int(read(tmp_path / "pid"))])


@posix
def test_a_worker_that_died_while_idle_is_replaced_and_no_trial_fails_for_it(one):
    pid = int(evaluated(one, do="pid").evaluation.value)
    os.kill(pid, signal.SIGKILL)
    assert_gone([pid])
    again = evaluated(one, 1, do="pid").evaluation
    assert again is not None
    assert again != Evaluation(float(pid))


@posix
def test_a_worker_that_dies_before_it_begins_what_it_was_given_is_replaced_and_the_trial_made_by_another(one):
    """It may have died while idle, only nobody had noticed yet. Here it is stopped, so that it cannot begin."""
    pid = int(evaluated(one, do="pid").evaluation.value)
    os.kill(pid, signal.SIGSTOP)
    one.start(1, {"do": "pid"})
    assert one.wait(0.1) == []
    os.kill(pid, signal.SIGKILL)
    number, outcome = only(one)
    assert number == 1
    assert outcome.evaluation is not None
    assert outcome.evaluation != Evaluation(float(pid))


@posix
def test_stopping_kills_what_runs_with_what_it_started_and_may_be_done_again(tmp_path):
    workers = Processes(act, 2, None)
    workers.start(0, {"do": "sleep", "path": str(tmp_path / "pids")})
    pids = read(tmp_path / "pids").split()
    workers.stop()
    assert_gone(pids)
    workers.stop()
    assert workers.wait() == []


def test_an_idle_worker_exits_on_its_own_so_that_what_the_objective_registered_is_done(tmp_path):
    with Processes(act, 1, None) as workers:
        evaluated(workers, do="register", path=str(tmp_path / "exit"))
    assert (tmp_path / "exit").exists()


@linux
@pytest.mark.parametrize("relay", [False, True])
def test_no_file_descriptor_is_left_open(relay):
    def opened():
        gc.collect()
        return len(os.listdir("/proc/self/fd"))

    def use():
        with Processes(act, 1, None, relay) as workers:
            evaluated(workers)
            evaluated(workers, do="exit_at_once", value=1.0)

    use()  # multiprocessing opens a pipe to its resource tracker, once
    before = opened()
    use()
    assert opened() == before


PARENT = """
    import os, subprocess, sys, time
    from farthing.workers import Processes

    def objective(path):
        program = subprocess.Popen(["sleep", "600"])
        with open(path + ".part", "w") as file:
            file.write(f"{os.getpid()} {program.pid}")
        os.rename(path + ".part", path)
        time.sleep(600)

    if __name__ == "__main__":
        workers = Processes(objective, 3, None)
        for number, path in enumerate(sys.argv[2:]):
            workers.start(number, {"path": path})
        if sys.argv[1] == "fork" and os.fork() == 0:
            time.sleep(600)
        workers.wait()
"""


@posix
@pytest.mark.parametrize("also", ["no fork", "fork"])
def test_no_worker_and_nothing_it_started_outlives_a_parent_that_was_killed(also, tmp_path):
    """Also where a fork of the parent inherited its ends of all pipes, which then stay open."""
    paths = [tmp_path / str(i) for i in range(3 if also == "no fork" else 1)]
    command = [sys.executable, str(script(tmp_path, PARENT)), also, *map(str, paths)]
    with subprocess.Popen(command, start_new_session=True) as parent:
        pids = [pid for path in paths for pid in read(path).split()]
        assert all(map(running, pids))
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait(HANG_SECONDS)
        assert_gone(pids)
        if also == "fork":
            os.killpg(parent.pid, signal.SIGKILL)


@posix
def test_ctrl_c_in_the_terminal_reaches_the_parent_only(tmp_path):
    code = """
        import sys, time
        from pathlib import Path
        from farthing.workers import Processes

        def objective(folder):
            Path(folder, "running").touch()
            while not Path(folder, "go on").exists():
                time.sleep(0.02)
            return 0.5

        if __name__ == "__main__":
            with Processes(objective, 1, None) as workers:
                workers.start(0, {"folder": sys.argv[1]})
                try:
                    workers.wait()
                except KeyboardInterrupt:
                    Path(sys.argv[1], "go on").touch()
                    print(workers.wait()[0][1].evaluation.value)
    """
    command = [sys.executable, str(script(tmp_path, code)), str(tmp_path)]
    with subprocess.Popen(command, start_new_session=True, stdout=subprocess.PIPE, text=True) as parent:
        read(tmp_path / "running")
        time.sleep(0.5)  # until the parent is surely in wait()
        os.killpg(parent.pid, signal.SIGINT)
        assert parent.communicate(timeout=HANG_SECONDS)[0] == "0.5\n"


STARTING = """
    import sys, time
    from pathlib import Path
    from farthing.workers import Processes

    def objective(number):
        return number + 0.5

    if __name__ == "__main__":
        with Processes(objective, 2, None) as workers:
            for number in range(2):
                workers.start(number, {"number": number})
            results = []
            while len(results) < 2:
                try:
                    results += workers.wait()
                except KeyboardInterrupt:
                    print("interrupted", flush=True)
            print(sorted((number, outcome.evaluation.value) for number, outcome in results))
    else:
        Path(sys.argv[1], "starting").touch()
        while not Path(sys.argv[1], "go on").exists():
            time.sleep(0.02)
"""


@posix
def test_ctrl_c_does_not_reach_workers_that_are_still_starting(tmp_path):
    """The first of them is started with multiprocessing's resource tracker, which unblocks signals."""
    command = [sys.executable, str(script(tmp_path, STARTING)), str(tmp_path)]
    with subprocess.Popen(command, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as parent:
        read(tmp_path / "starting")
        time.sleep(0.5)  # until the other worker has got as far, and the parent is surely in wait()
        os.killpg(parent.pid, signal.SIGINT)
        assert parent.stdout.readline() == "interrupted\n"
        (tmp_path / "go on").touch()
        assert parent.communicate(timeout=HANG_SECONDS) == ("[(0, 0.5), (1, 1.5)]\n", "")


@posix
def test_an_interrupt_while_a_worker_is_being_started_comes_right_after_and_leaves_no_worker(monkeypatch):
    start, started = multiprocessing.context.SpawnProcess.start, []

    def interrupted(process):
        signal.raise_signal(signal.SIGINT)
        start(process)
        started.append(process.pid)

    monkeypatch.setattr(multiprocessing.context.SpawnProcess, "start", interrupted)
    with Processes(act, 1, None) as workers, pytest.raises(KeyboardInterrupt):
        workers.start(0, {})
    assert len(started) == 1
    assert_gone(started)
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_a_program_that_forgets_to_stop_its_workers_ends_and_loses_nothing_that_they_printed(tmp_path):
    code = """
        import time
        from farthing.workers import Processes

        def objective(seconds):
            print("evaluating")
            time.sleep(seconds)
            return 0.5

        if __name__ == "__main__":
            workers = Processes(objective, 2, None)
            workers.start(0, {"seconds": 0.0})
            print(workers.wait()[0][1].evaluation.value)
            workers.start(1, {"seconds": 600.0})
    """
    buffered = {variable: value for variable, value in os.environ.items() if variable != "PYTHONUNBUFFERED"}
    ran = run(script(tmp_path, code), env=buffered)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert set(ran.stdout.split()) == {"0.5", "evaluating"}


# Worker processes: what they print ------------------------------------------------------------------------------------------


@posix
def test_whatever_a_worker_prints_comes_through_this_process_and_in_order(capsys):
    with Processes(act, 2, None, relay=True) as workers:
        evaluated(workers, do="say")
    assert capsys.readouterr() == ("one\ntwo\nthree\n", "four\nfive\n")


@posix
def test_output_comes_while_the_evaluation_runs_and_goes_to_what_is_standard_output_then(capsys, tmp_path, monkeypatch):
    with Processes(act, 1, None, relay=True) as workers:
        evaluated(workers)
        later = io.StringIO()
        monkeypatch.setattr(sys, "stdout", later)
        workers.start(1, {"do": "say_and_wait", "path": str(tmp_path / "go on")})
        until = time.monotonic() + HANG_SECONDS
        while later.getvalue() != "waiting\n":
            assert time.monotonic() < until
            time.sleep(0.02)
        write(tmp_path / "go on", "")
        only(workers)


@posix
@pytest.mark.parametrize("size", [1, 3_000_000])
def test_nothing_is_lost_of_what_a_killed_worker_printed(capsys, size):
    with Processes(act, 1, None, relay=True) as workers:
        assert "SIGKILL" in evaluated(workers, do="say_and_die", value=size).reason
        assert capsys.readouterr().out == "x" * size + "\nlast words"


@posix
def test_a_character_in_two_pieces_is_put_together_and_a_wrong_one_replaced(capsys):
    with Processes(act, 1, None, relay=True) as workers:
        evaluated(workers, do="say_in_pieces")
    assert capsys.readouterr().out == "né \ufffd\n"


@posix
def test_output_that_standard_output_cannot_encode_is_escaped(monkeypatch):
    narrow = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", narrow)
    with Processes(act, 1, None, relay=True) as workers:
        evaluated(workers, do="say_in_pieces")
    assert narrow.buffer.getvalue() == rb"n\xe9 \ufffd" + b"\n"


@posix
def test_a_worker_does_not_wait_where_there_is_no_standard_output(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    with Processes(act, 1, None, relay=True) as workers:
        assert "SIGKILL" in evaluated(workers, do="say_and_die", value=3_000_000).reason


@posix
def test_a_program_left_behind_with_the_output_does_not_hold_up_the_end_and_lives_on(capsys, tmp_path):
    workers = Processes(act, 1, None, relay=True)
    evaluated(workers, do="leave_a_program", path=str(tmp_path / "pid"))
    before = time.monotonic()
    workers.stop()
    took = time.monotonic() - before
    pid = int(read(tmp_path / "pid"))
    assert running(pid)
    os.kill(pid, signal.SIGKILL)
    assert took < 3.0  # two of them for the worker to exit on its own, at most
    assert capsys.readouterr().out == "left it\n"


@posix
def test_all_is_out_when_stopping_returns_though_the_relay_got_no_time_to_read(capsys, tmp_path, monkeypatch):
    """As on a machine under load; and a program left behind holds the output open, so that its end does not come."""
    poll, go_on = select.poll, threading.Event()

    class Late:
        def __init__(self):
            self.poll_now = poll()
            self.register, self.unregister = self.poll_now.register, self.poll_now.unregister

        def poll(self):
            go_on.wait(HANG_SECONDS)
            return self.poll_now.poll()

    monkeypatch.setattr(relay.select, "poll", Late)
    workers = Processes(act, 1, None, relay=True)
    workers.start(0, {"do": "leave_a_program", "path": str(tmp_path / "pid")})
    try:
        read(tmp_path / "pid")
        time.sleep(0.5)
        workers.stop()
        assert capsys.readouterr().out == "left it\n"
    finally:
        go_on.set()
        os.kill(int(read(tmp_path / "pid")), signal.SIGKILL)


@linux
def test_no_worker_holds_the_output_of_another(tmp_path):
    with Processes(act, 3, None, relay=True) as workers:
        for number in range(3):
            path = str(tmp_path / str(number))
            workers.start(number, {"do": "descriptors", "path": path, "other": str(tmp_path / "go on")})
        found = [eval(read(tmp_path / str(number))) for number in range(3)]
        write(tmp_path / "go on", "")
        own = [pipe for outputs, _ in found for pipe in outputs]
        assert len(set(own)) == 6
        for outputs, opened in found:
            assert sorted(name for name in opened if name in own) == sorted(outputs)


LOUD = """
    import sys
    from farthing.workers import Processes

    class Marked:
        def __init__(self, stream, mark):
            self.stream, self.mark = stream, mark

        def write(self, text):
            self.stream.write("".join(f"{self.mark} {line}" for line in text.splitlines(keepends=True)))

        def flush(self):
            self.stream.flush()

    def objective():
        return 0.5

    if __name__ == "__main__":
        sys.stdout, sys.stderr = Marked(sys.stdout, "out"), Marked(sys.stderr, "err")
        with Processes(objective, 1, None, relay=True) as workers:
            workers.start(0, {})
            assert workers.wait()[0][1].evaluation.value == 0.5
    else:
        print("importing")
        print("warning", file=sys.stderr)
"""


@posix
def test_what_the_script_prints_when_a_worker_imports_it_is_relayed_too(tmp_path):
    buffered = {variable: value for variable, value in os.environ.items() if variable != "PYTHONUNBUFFERED"}
    ran = run(script(tmp_path, LOUD), env=buffered)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "out importing\n", "err warning\n")


# Worker processes: objectives that cannot be sent ---------------------------------------------------------------------------


def assert_says_what_to_do(message):
    assert "top level of a module" in message
    assert "workers=1 without a timeout" in message
    assert "executor=ThreadPoolExecutor(...)" in message


@pytest.mark.parametrize("objective", [lambda x: x, threading.Lock().acquire])
def test_an_objective_that_cannot_be_pickled_is_refused_at_once(objective):
    with pytest.raises(SettingsError, match="cannot be sent to another process") as caught:
        Processes(objective, 2, None)
    assert_says_what_to_do(str(caught.value))


def test_an_objective_that_cannot_be_loaded_in_a_worker_is_an_error_that_says_why():
    with Processes(Unpickles(refuse, "the data set is gone"), 2, None) as workers:
        workers.start(0, {})
        workers.start(1, {})
        with pytest.raises(SettingsError, match="ValueError: the data set is gone") as caught:
            workers.wait(HANG_SECONDS)
        assert_says_what_to_do(str(caught.value))
        with pytest.raises(SettingsError):
            workers.start(2, {})


def test_a_worker_that_dies_while_starting_is_an_error_and_not_started_for_ever():
    with Processes(Unpickles(os._exit, 5), 1, None) as workers:
        workers.start(0, {})
        with pytest.raises(SettingsError, match="exited with code 5 while it was starting"):
            workers.wait(HANG_SECONDS)
        with pytest.raises(SettingsError):
            workers.start(1, {})


NO_GUARD = """
    from functools import partial
    from farthing.workers import Processes

    def objective(data, x):
        return x

    with Processes(partial(objective, b"x" * SIZE), 2, None) as workers:
        workers.start(0, {"x": 1.0})
        workers.start(1, {"x": 1.0})
        workers.wait()
"""


@pytest.mark.parametrize("size", [1, 3_000_000])
def test_a_script_without_its_guard_is_an_error_that_names_it_and_never_hangs(size, tmp_path):
    """The large objective does not fit into the pipe to a child that has died."""
    ran = run(script(tmp_path, NO_GUARD.replace("SIZE", str(size))))
    assert ran.returncode == 1
    last = ran.stderr.strip().splitlines()[-1]
    assert "SettingsError" in last
    assert 'if __name__ == "__main__":' in last
    assert_says_what_to_do(last)


INTERACTIVE = """
from farthing.workers import Processes
def objective(x):
    return x
Processes(objective, 2, None)
"""


@pytest.mark.parametrize("how", ["-c", "stdin"])
def test_a_function_of_an_interactive_session_is_refused_at_once(how):
    ran = run("-c", INTERACTIVE) if how == "-c" else run("-", input=INTERACTIVE)
    assert ran.returncode == 1
    assert "interactive session" in ran.stderr
    assert_says_what_to_do(ran.stderr)


def test_an_importable_objective_can_be_used_from_an_interactive_session():
    code = """
from farthing.command import Command
from farthing.workers import Processes
import sys
with Processes(Command((sys.executable, "-c", "print({x})")), 1, None) as workers:
    workers.start(0, {"x": 0.25})
    print(workers.wait()[0][1].evaluation.value)
"""
    ran = run("-c", code)
    assert (ran.stdout, ran.stderr) == ("0.25\n", "")


def test_a_daemonic_process_is_told_that_it_may_not_have_workers(monkeypatch):
    monkeypatch.setitem(multiprocessing.current_process()._config, "daemon", True)
    with pytest.raises(SettingsError, match="daemonic"):
        Processes(act, 2, None)


# Executors ------------------------------------------------------------------------------------------------------------------


def test_an_executor_of_threads_takes_any_objective_and_as_many_at_once_as_it_has():
    together = threading.Barrier(3)

    def objective(x):
        together.wait(HANG_SECONDS)
        return x

    with ThreadPoolExecutor(3) as executor, InExecutor(objective, executor, None, None) as workers:
        assert workers.slots == 3
        for number in range(3):
            workers.start(number, {"x": float(number)})
        found = {}
        while len(found) < 3:
            found.update(workers.wait(HANG_SECONDS))
        assert workers.wait() == []
        assert workers.wait(0.01) == []
    assert {number: outcome.evaluation.value for number, outcome in found.items()} == {0: 0.0, 1: 1.0, 2: 2.0}


class Elsewhere(Executor):
    """An executor that hides how many it runs, and fails to run them."""

    def __init__(self, error=None):
        self.error = error
        self.futures = []

    def submit(self, *call):
        self.futures.append(Future())
        if self.error is not None:
            self.futures[-1].set_exception(self.error)
        return self.futures[-1]


def test_an_executor_of_unknown_size_needs_workers():
    with pytest.raises(SettingsError, match="workers="):
        InExecutor(act, Elsewhere(), None, None)
    assert InExecutor(act, Elsewhere(), 5, None).slots == 5


def test_the_seconds_are_those_of_the_call_and_not_of_the_wait_for_it():
    with ThreadPoolExecutor(1) as executor, InExecutor(act, executor, None, None) as workers:
        workers.start(0, {})
        time.sleep(0.5)
        assert only(workers)[1].seconds < 0.5


@pytest.mark.parametrize("error", [OSError("connection lost"), SystemExit(3)])
def test_an_evaluation_that_the_executor_lost_is_a_failure(error):
    with InExecutor(act, Elsewhere(error), 1, None) as workers:
        assert str(error) in evaluated(workers).reason


def test_an_evaluation_that_somebody_canceled_is_void():
    executor = Elsewhere()
    with InExecutor(act, executor, 1, None) as workers:
        workers.start(0, {})
        executor.futures[0].cancel()
        executor.futures[0].set_running_or_notify_cancel()
        outcome = only(workers)[1]
    assert "canceled" in outcome.reason
    assert outcome.void


def test_a_broken_executor_fails_what_ran_and_refuses_what_comes_next():
    executor = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))
    with executor, InExecutor(act, executor, None, None) as workers:
        assert "the executor broke" in evaluated(workers, do="exit_at_once").reason
        with pytest.raises(SettingsError, match="the executor broke"):
            workers.start(1, {})


def test_an_executor_that_was_shut_down_is_an_error_that_says_so():
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    with pytest.raises(SettingsError, match="shut down"):
        InExecutor(act, executor, None, None).start(0, {})


def test_an_executor_of_processes_refuses_what_cannot_be_pickled():
    with ProcessPoolExecutor(1) as executor, pytest.raises(SettingsError, match="cannot be sent"):
        InExecutor(lambda x: x, executor, None, None)


def test_what_outlives_its_timeout_in_an_executor_fails_and_its_late_result_is_dropped():
    go_on = threading.Event()

    def objective(hang):
        if hang:
            go_on.wait(HANG_SECONDS)
        return 1.0

    with ThreadPoolExecutor(2) as executor, InExecutor(objective, executor, None, 1.0) as workers:
        outcome = evaluated(workers, hang=True)
        assert outcome.reason == "timed out after 1 s; it may still be running in the executor"
        assert outcome.seconds >= 1.0
        assert evaluated(workers, 1, hang=False).evaluation == Evaluation(1.0)
        go_on.set()
        assert workers.wait(0.2) == []


def test_what_never_began_is_canceled_and_not_blamed_for_taking_long():
    go_on, called = threading.Event(), []

    def objective(number):
        called.append(number)
        go_on.wait(HANG_SECONDS)
        return 1.0

    with ThreadPoolExecutor(1) as executor, InExecutor(objective, executor, 2, 1.0) as workers:
        late = evaluated(workers, 0, number=0)
        outcome = evaluated(workers, 1, number=1)
        go_on.set()
    assert "timed out" in late.reason
    assert not late.void
    assert "did not begin within 1 s" in outcome.reason
    assert outcome.void
    assert outcome.seconds == 0.0
    assert called == [0]


def test_stopping_cancels_what_has_not_begun_and_leaves_the_executor_to_its_owner():
    go_on, called = threading.Event(), []

    def objective(number):
        called.append(number)
        go_on.wait(HANG_SECONDS)
        return 1.0

    with ThreadPoolExecutor(1) as executor:
        with InExecutor(objective, executor, 2, None) as workers:
            workers.start(0, {"number": 0})
            workers.start(1, {"number": 1})
        go_on.set()
        assert executor.submit(int).result(HANG_SECONDS) == 0
    assert called == [0]


# The choice among them ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "kind", "slots"),
    [
        ({}, Inline, 1),
        ({"workers": 1}, Inline, 1),
        ({"workers": 3}, Processes, 3),
        ({"timeout": 5}, Processes, 1),
        ({"isolated": True}, Processes, 1),
    ],
)
def test_the_plainest_workers_that_will_do_are_chosen(options, kind, slots):
    with workers_for(act, **{"workers": None, "executor": None, "timeout": None, "clock": time.perf_counter, **options}) as workers:
        assert type(workers) is kind
        assert workers.slots == slots


@posix
@pytest.mark.parametrize("relay", [False, True])
def test_workers_print_through_this_process_where_that_is_asked(relay, capsys):
    with workers_for(act, 2, None, None, time.perf_counter, relay=relay) as workers:
        evaluated(workers, do="say")
    assert ("one" in capsys.readouterr().out) == relay


@pytest.mark.parametrize(("count", "slots"), [(None, 2), (1, 1)])
def test_an_executor_is_used_where_it_is_given(count, slots):
    with ThreadPoolExecutor(2) as executor:
        workers = workers_for(act, count, executor, None, time.perf_counter)
    assert type(workers) is InExecutor
    assert workers.slots == slots


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        *(({"workers": bad}, "workers is") for bad in (0, -1, 1.5, True, "2")),
        *(({"timeout": bad}, "timeout is") for bad in (0, -1.0, math.inf, math.nan, True, "30")),
        ({"executor": object()}, "executor is"),
        ({"executor": ThreadPoolExecutor}, "executor is"),
    ],
)
def test_settings_that_cannot_be_are_refused(options, complaint):
    with pytest.raises(SettingsError, match=complaint):
        workers_for(act, **{"workers": None, "executor": None, "timeout": None, "clock": time.perf_counter, **options})
