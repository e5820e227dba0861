"""The live display of a run: on real pseudo-terminals, read back through a small model of a terminal's screen."""

import builtins
import fcntl
import logging
import os
import re
import struct
import subprocess
import sys
import termios
import threading
import time
import types
import warnings
from dataclasses import replace

import pexpect
import pytest
from rich.console import Console

import farthing as ft
from farthing.progress import Notebook, Progress, Terminal, live_progress
from farthing.report import Standing
from farthing.space import Space
from farthing.trials import History, Proposal, Trial

ROWS = ft.Fidelity("rows", cheap=1, full=10_000, log=True, integer=True)
SPACE = Space({"x": ft.Real(0.0, 1.0)}, ROWS)


class Screen:
    """What a terminal of that size shows, and all lines that have left it at the top. Knows the controls that are used here."""

    TOKEN = re.compile(r"\x1b\[(\d*)([A-Za-z])|\x1b\[(\d+(?:;\d+)*)m|\x1b([78D])|(\r)|(\n)|([^\x1b\r\n])")

    def __init__(self, columns=80, rows=24):
        self.columns, self.height = columns, rows
        self.gone, self.rows = [], [""] * rows
        self.row = self.column = 0
        self.saved = (0, 0)

    def feed(self, text):
        end = 0
        for found in self.TOKEN.finditer(text):
            assert found.start() == end, f"an unknown control: {text[end : end + 9]!r}"
            end = found.end()
            count, command, _, escape, start, line, character = found.groups()
            if command:
                self.control(command, int(count or 1))
            elif escape == "7":
                self.saved = self.row, self.column
            elif escape == "8":
                self.row, self.column = self.saved
            elif escape == "D" or line:
                self.down()
            elif start:
                self.column = 0
            elif character:
                self.put(character)
        assert end == len(text)
        return self

    def control(self, command, count):
        if command == "A":
            self.row = max(self.row - count, 0)
        elif command == "B":
            self.row = min(self.row + count, self.height - 1)
        elif command in "KJ":
            self.rows[self.row] = self.rows[self.row][: self.column]
            if command == "J":
                self.rows[self.row + 1 :] = [""] * (self.height - self.row - 1)
        else:
            assert command == "m", command

    def down(self):
        if self.row < self.height - 1:
            self.row += 1
        else:
            self.gone.append(self.rows.pop(0))
            self.rows.append("")

    def put(self, character):
        if self.column == self.columns:
            self.down()
            self.column = 0
        row = self.rows[self.row].ljust(self.column)
        self.rows[self.row] = row[: self.column] + character + row[self.column + 1 :]
        self.column += 1

    @property
    def lines(self):
        """All lines with text, those that have left the screen included."""
        return [line.rstrip() for line in (*self.gone, *self.rows) if line.strip()]

    @property
    def text(self):
        return "\n".join(self.lines)


class Tty:
    """A pseudo-terminal of this process: `stream` writes to it, `output` is what has arrived."""

    def __init__(self, columns=80, rows=24):
        self.master, slave = os.openpty()
        self.stream = os.fdopen(slave, "w", encoding="utf-8")
        self.resize(columns, rows)
        self._read = b""
        self._reader = threading.Thread(target=self._drain, daemon=True)
        self._reader.start()

    def resize(self, columns, rows):
        fcntl.ioctl(self.stream.fileno(), termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def _drain(self):
        while True:
            try:
                chunk = os.read(self.master, 65536)
            except OSError:  # the other end was closed
                return
            self._read += chunk

    def output(self):
        before = None
        while before != self._read:
            before = self._read
            time.sleep(0.05)
        return before.decode()

    def close(self):
        self.stream.close()
        self._reader.join(5.0)
        os.close(self.master)


@pytest.fixture(autouse=True)
def _capable(monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")


@pytest.fixture
def tty():
    made = Tty()
    yield made
    made.close()


def terminal_on(tty):
    return Terminal(tty.stream, Console(file=tty.stream, force_terminal=True))


def trial(number, level=100, **changes):
    return replace(Trial(number, {"x": 0.5}, level, Proposal("initial"), "rows", started=1000.0), **changes)


def standing(*trials, running=(), space=SPACE, **changes):
    history = History.of(space, trials, True)
    return replace(Standing(history, tuple(running), 50.0, None, sum(t.cost is not None for t in trials), 1.0), **changes)


def busy_standing():
    """Two results, a failure, a recommendation, and one running."""
    best = ft.Recommendation({"x": 0.25}, mean=1.23456, std=0.0123456)
    done = [
        trial(i, level, state="complete", value=1.0, cost=cost, overhead=1.0)
        for i, (level, cost) in enumerate([(10_000, 5.0), (50, 1.0)])
    ]
    failed = trial(2, state="failed", reason="ValueError: \x1b[31mno luck\nat line 3", cost=1.0)
    running = trial(3, 200, proposal=Proposal("acquisition", recommendation=best))
    return standing(*done, failed, running, running=[running])


def shown(state, columns=80, rows=24, clock=lambda: 1012.4):
    """The lines of a display of this state, while it is live."""
    tty = Tty(columns, rows)
    try:
        progress = Progress(terminal_on(tty), clock)
        progress.show(state)
        return Screen(columns, rows).feed(tty.output()).lines
    finally:
        progress.close()
        tty.close()


# What is shown --------------------------------------------------------------------------------------------------------------


def test_the_display_says_all_that_a_person_wants_to_know():
    spent, evaluations, failures, best, now = shown(busy_standing())
    assert re.fullmatch(r"spent        [━╸╺]{24}  9 s of 50 s · 22% thinking", spent)
    assert evaluations == "evaluations  2 · full ×1 · 10–100 ×1"
    assert failures == "failures     1, the last: ValueError:  [31mno luck"
    assert best == "best so far  1.235 ± 0.012 at x=0.25"
    assert now == "now          12 s at rows=200, x=0.5"


def test_a_first_trial_has_nothing_to_divide_by():
    first = trial(0)
    spent, evaluations, now = shown(standing(first, running=[first], budget=None, evaluations=9))
    assert re.fullmatch(r"spent        ━{24}  0 ms", spent)
    assert evaluations == "evaluations  0 (0 of 9 in this run)"
    assert now.startswith("now          12 s at rows=100")


def test_spend_is_in_seconds_from_the_first_thought_on():
    first = trial(0, overhead=0.808)
    assert "0.808 s of 50 s · 100% thinking" in shown(standing(first, running=[first]))[0]
    assert "0 of 50" in shown(standing(first, running=[first], overhead_rate=0.0))[0]  # costs may be anything


def test_the_last_picture_has_the_final_recommendation_of_the_same_history(tty):
    progress = Progress(terminal_on(tty), lambda: 1012.4)
    state = busy_standing()
    progress.show(state)
    progress.show(replace(state, running=(), final=ft.Recommendation({"x": 0.75}, mean=0.5, std=0.25)))
    progress.close()
    lines = Screen().feed(tty.output()).lines
    assert lines[-1] == "best so far  0.5 ± 0.25 at x=0.75"
    assert not any(line.startswith("now") for line in lines)


def test_the_failure_of_a_command_is_told_without_the_name_of_an_exception():
    failed = trial(0, state="failed", reason="CommandFailed: the command exited with code 1", cost=1.0)
    assert shown(standing(failed))[2] == "failures     1, the last: the command exited with code 1"


def test_costs_that_are_stated_are_not_shown_as_seconds():
    done = trial(0, state="complete", value=1.0, cost=1234.0, stated_cost=True)
    assert shown(standing(done, budget=5000.0, overhead_rate=0.0))[0].endswith("1,234 of 5,000 · 0% thinking")


def test_between_evaluations_it_is_thinking():
    assert shown(standing(trial(0, state="complete", value=1.0, cost=1.0)))[-1] == "now          thinking"


def test_of_many_running_trials_some_are_shown_and_the_rest_counted():
    running = [trial(i, started=1000.0 + i) for i in range(8)]
    assert [line.split()[:2] for line in shown(standing(*running, running=running))[-4:]] == [
        ["now", "12"],
        ["11", "s"],
        ["10", "s"],
        ["and", "5"],
    ]


def test_time_left_goes_down_while_an_evaluation_runs(tty):
    now = [1000.0]
    progress = Progress(terminal_on(tty), lambda: now[0])
    first, second = trial(0), trial(1)
    progress.show(standing(first, running=[first]))
    now[0] = 1010.0
    done = replace(first, state="complete", value=1.0, cost=10.0)
    progress.show(standing(done, second, running=[second]))
    time.sleep(0.4)
    assert "40 s left" in Screen().feed(tty.output()).text
    now[0] = 1025.0
    time.sleep(0.4)
    assert "25 s left" in Screen().feed(tty.output()).text
    progress.close()


@pytest.mark.parametrize("columns", [16, 30, 79, 80, 200])
def test_no_line_is_wider_than_the_terminal_and_long_parameters_are_cut(columns):
    space = Space({f"parameter_{i}": ft.Real(0.0, 1.0) for i in range(30)} | {"名前": ft.Choice(["漢字漢字漢字", "b"])}, ROWS)
    params = dict.fromkeys(space.axes, 0.123456) | {"名前": "漢字漢字漢字"}
    best = Proposal("acquisition", recommendation=ft.Recommendation(params, 1.0, 0.1))
    running = trial(0, params=params, proposal=best)
    lines = shown(standing(running, running=[running], space=space), columns)
    assert max(map(len, lines)) < columns
    assert sum("…" in line for line in lines) >= 2
    if columns >= 79:
        assert len(lines) == 4


def test_a_display_that_is_higher_than_the_terminal_is_cut():
    assert len(shown(busy_standing(), rows=4)) == 3


# Among other output ---------------------------------------------------------------------------------------------------------


def test_what_is_printed_comes_out_whole_above_a_single_display(tty, monkeypatch):
    monkeypatch.setattr(sys, "stdout", tty.stream)
    monkeypatch.setattr(sys, "stderr", tty.stream)
    monkeypatch.setattr(logging.root, "handlers", [logging.StreamHandler(tty.stream)])  # as after basicConfig
    progress = live_progress()
    progress.show(busy_standing())
    for i in range(40):
        print(f"line {i}")
        if i % 10 == 0:
            time.sleep(0.1)
    print("one\ntwo", file=sys.stderr)
    print("half a line, ", end="", flush=True)
    time.sleep(0.3)
    print("the other half")
    logging.warning("logged\nin two lines")
    sys.stdout.writelines(["three\n", "four\n"])
    progress.close()
    print("after")
    expected = [
        *(f"line {i}" for i in range(40)),
        "one",
        "two",
        "half a line, the other half",
        "logged",
        "in two lines",
        "three",
        "four",
    ]
    lines = Screen().feed(tty.output()).lines
    assert lines[: len(expected)] == expected
    assert [line.split()[0] for line in lines[len(expected) :]] == ["spent", "evaluations", "failures", "best", "after"]
    assert sys.stdout is tty.stream
    assert logging.root.handlers[0].stream is tty.stream


def test_what_other_processes_print_is_not_swallowed(tty):
    progress = Progress(terminal_on(tty))
    progress.show(busy_standing())
    for i in range(30):
        os.write(tty.stream.fileno(), f"from elsewhere {i};\n".encode())
        time.sleep(0.02)
    progress.close()
    found = re.findall(r"^from elsewhere (\d+);", Screen().feed(tty.output()).text, flags=re.MULTILINE)
    assert [int(i) for i in found] == list(range(30))


def test_a_progress_line_of_the_objective_itself_stays_visible(tty, monkeypatch):
    monkeypatch.setattr(sys, "stdout", tty.stream)
    monkeypatch.setattr(sys, "stderr", tty.stream)
    progress = live_progress()
    progress.show(busy_standing())
    for percent in (10, 50, 99):
        print(f"epoch at {percent}%", end="\r", flush=True)
        time.sleep(0.3)
        lines = Screen().feed(tty.output()).lines
        assert lines[0] == f"epoch at {percent}%"
        assert len(lines) == 6
    progress.close()


def test_a_terminal_that_is_resized_shows_one_display_of_the_new_width(tty):
    progress = Progress(terminal_on(tty))
    progress.show(busy_standing())
    before = tty.output()
    tty.resize(40, 10)
    time.sleep(0.4)
    narrow = Screen(40, 10).feed(tty.output()[len(before) :]).lines
    assert [line.split()[0] for line in narrow] == ["spent", "evaluations", "failures", "best", "now"]
    assert max(map(len, narrow)) < 40
    tty.resize(120, 30)
    progress.close()
    assert len(Screen(120, 30).feed(tty.output()).lines) == 4


def test_the_cursor_is_never_hidden_so_nothing_can_leave_it_so(tty):
    progress = Progress(terminal_on(tty))
    progress.show(busy_standing())
    progress.close()
    assert "\x1b[?" not in tty.output()


def test_a_fork_prints_even_if_the_display_was_being_drawn(tty, monkeypatch):
    monkeypatch.setattr(sys, "stdout", tty.stream)
    monkeypatch.setattr(sys, "stderr", tty.stream)
    progress = live_progress()
    progress.show(busy_standing())
    held, release = threading.Event(), threading.Event()

    def draw_for_ever():
        with progress._surface._lock:
            held.set()
            release.wait(20.0)

    drawing = threading.Thread(target=draw_for_ever)
    drawing.start()
    held.wait()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking with threads, which is the point
        child = os.fork()
    if child == 0:
        print("from the fork", flush=True)
        os._exit(0)
    deadline = time.monotonic() + 10.0
    ended = 0
    while not ended and time.monotonic() < deadline:
        ended, _ = os.waitpid(child, os.WNOHANG)
        time.sleep(0.01)
    if not ended:
        os.kill(child, 9)
        os.waitpid(child, 0)
    release.set()
    drawing.join()
    progress.close()
    assert ended == child
    assert "from the fork" in tty.output()


def test_a_run_inside_a_run_has_no_display_of_its_own(tty, monkeypatch):
    monkeypatch.setattr(sys, "stderr", tty.stream)
    progress = live_progress()
    assert live_progress() is None
    progress.close()
    again = live_progress()
    assert again is not None
    again.close()
    assert tty.output() == ""


def test_a_terminal_that_goes_away_does_not_end_the_run():
    tty = Tty()
    progress = Progress(terminal_on(tty))
    progress.show(busy_standing())
    tty.close()
    time.sleep(0.3)
    progress.show(busy_standing())
    progress.close()


def test_without_a_terminal_there_is_no_display(monkeypatch, tmp_path):
    with (tmp_path / "errors").open("w") as file:
        for stream in (None, file, types.SimpleNamespace(write=len)):
            monkeypatch.setattr(sys, "stderr", stream)
            assert live_progress() is None
    assert file.closed
    monkeypatch.setattr(sys, "stderr", file)
    assert live_progress() is None


def test_a_terminal_that_cannot_move_its_cursor_gets_no_display(tty, monkeypatch):
    monkeypatch.setattr(sys, "stderr", tty.stream)
    monkeypatch.setenv("TERM", "dumb")
    assert live_progress() is None


class Stuck:
    """A surface on which every drawing but the first waits until it is let go on."""

    def __init__(self):
        self.drawn, self.held, self.go_on = 0, threading.Event(), threading.Event()

    def draw(self, picture):
        self.drawn += 1
        if self.drawn > 1:
            self.held.set()
            assert self.go_on.wait(60.0)

    def close(self):
        pass


def test_a_drawing_that_takes_long_does_not_hold_up_what_is_shown():
    surface = Stuck()
    progress = Progress(surface)
    progress.show(standing(trial(0)))
    assert surface.held.wait(60.0)
    for number in range(1, 4):
        progress.show(standing(*(trial(i, state="complete", value=1.0, cost=1.0) for i in range(number)), trial(number)))
    assert (surface.drawn, surface.go_on.is_set()) == (2, False)
    surface.go_on.set()
    progress.close()
    assert surface.drawn > 2


# Notebooks ------------------------------------------------------------------------------------------------------------------


class Cell:
    """A notebook cell: `display` puts out something and returns a handle by which it is replaced."""

    def __init__(self):
        self.outputs, self.updates = [], 0

    def display(self, shown, display_id):
        assert display_id is True
        self.outputs.append(shown._repr_mimebundle_([], []))
        return self

    def update(self, shown):
        self.outputs[-1] = shown._repr_mimebundle_([], [])
        self.updates += 1


def test_a_notebook_has_one_output_that_is_updated_in_place():
    cell = Cell()
    progress = Progress(Notebook(cell.display))
    running = trial(0, started=time.time())
    progress.show(standing(running, running=[running]))
    assert "rows=100" in cell.outputs[0]["text/html"]
    time.sleep(0.6)
    progress.show(busy_standing())
    progress.close()
    assert len(cell.outputs) == 1
    assert cell.updates >= 2
    assert "9 s of 50 s" in cell.outputs[0]["text/html"]
    assert "1.235 ± 0.012 at x=0.25" in cell.outputs[0]["text/plain"]


def test_a_notebook_is_recognized(monkeypatch):
    """Though standard error is no terminal there."""
    cell = Cell()
    shell = type("ZMQInteractiveShell", (), {})()
    monkeypatch.setattr(builtins, "get_ipython", lambda: shell, raising=False)
    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", types.SimpleNamespace(display=cell.display))
    settings = ft.Settings(initial=2)
    ft.minimize(lambda x: x, {"x": ft.Real(0.0, 1.0)}, evaluations=3, method="random", seed=1, settings=settings)
    assert len(cell.outputs) == 1
    assert "evaluations" in cell.outputs[0]["text/plain"]


# Whole programs -------------------------------------------------------------------------------------------------------------

PROGRAM = """
import sys, time
import farthing as ft

def objective(x, rows):
    print("evaluating", rows)
    time.sleep(float(sys.argv[1]))
    return (x - 0.3) ** 2 + 1 / rows

if __name__ == "__main__":
    result = ft.minimize(
        objective, {"x": ft.Real(0.0, 1.0)}, fidelity=ft.Fidelity("rows", cheap=10, full=1000, log=True, integer=True),
        evaluations=int(sys.argv[2]), seed=1, settings=ft.Settings(draws=2, support_points=50, initial=2), progress=True,
    )
    print("ended:", result.message)
"""


def program(tmp_path, seconds, evaluations):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return [str(path), str(seconds), str(evaluations)]


def test_a_program_in_a_terminal_shows_its_progress_and_ticks(tmp_path):
    child = pexpect.spawn(sys.executable, program(tmp_path, 1.6, 3), encoding="utf-8", dimensions=(24, 80), timeout=50)
    live = []
    child.expect("1 s at rows=")
    live.append(child.before + child.after)
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    screen = Screen().feed("".join(live) + child.before)
    assert [line.split()[0] for line in screen.lines] == ["evaluating"] * 3 + ["spent", "evaluations", "best", "ended:"]


def test_a_program_in_a_pipe_says_nothing_of_its_own(tmp_path):
    done = subprocess.run([sys.executable, *program(tmp_path, 0, 3)], capture_output=True, text=True, timeout=50, check=True)
    assert done.stderr == ""
    assert re.fullmatch(r"(evaluating \d+\n){3}ended: .*\n", done.stdout)


def test_what_a_program_prints_goes_to_the_pipe_while_its_progress_goes_to_the_terminal(tmp_path):
    tty = Tty()
    command = [sys.executable, *program(tmp_path, 0.3, 3)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=tty.stream, text=True, timeout=50, check=True)
    display = Screen().feed(tty.output()).lines
    tty.close()
    assert re.fullmatch(r"(evaluating \d+\n){3}ended: .*\n", done.stdout)
    assert [line.split()[0] for line in display] == ["spent", "evaluations", "best"]


def test_ctrl_c_ends_the_display_and_leaves_the_cursor_below_it(tmp_path):
    child = pexpect.spawn(sys.executable, program(tmp_path, 1.0, 50), encoding="utf-8", dimensions=(24, 80), timeout=50)
    child.expect("best so far")
    before = child.before + child.after
    child.sendintr()
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    screen = Screen().feed(before + child.before)
    assert "\x1b[?25l" not in before + child.before
    assert "press Ctrl-C again" in screen.text
    assert screen.text.count("spent  ") == 1
    assert re.search(r"\nbest so far .*\nended: stopped by the keyboard", screen.text)
