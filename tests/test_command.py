"""A command gets its parameters exactly, its result is read strictly, and whatever goes wrong says what and why."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from farthing import command
from farthing.command import TAIL_BYTES, Command, CommandFailed
from farthing.errors import FarthingError, SettingsError
from farthing.evaluation import evaluate
from farthing.trials import Evaluation

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX")


def python(code, *arguments):
    """A command that runs this Python code, in which braces are literal."""
    code = textwrap.dedent(code).replace("{", "{{").replace("}", "}}")
    return Command((sys.executable, "-c", code, *arguments))


def printing(text):
    return python(f"print({text!r})")


def failure(objective, **kwargs):
    with pytest.raises(CommandFailed) as caught:
        objective(**kwargs)
    return str(caught.value)


# Arguments ------------------------------------------------------------------------------------------------------------------

ECHO = "import sys, json, pathlib; pathlib.Path(sys.argv[1]).write_text(json.dumps(sys.argv[2:])); print(0)"


def arguments_seen(tmp_path, *arguments, **kwargs):
    import json

    seen = tmp_path / "seen.json"
    python(ECHO, str(seen), *arguments)(**kwargs)
    return json.loads(seen.read_text())


@pytest.mark.parametrize("value", [0.1, 1e-300, 1 / 3, -0.0, 1e22, 5e-324, np.float64(0.1), np.float32(0.1)])
def test_a_float_reads_back_as_the_same_number(value, tmp_path):
    (seen,) = arguments_seen(tmp_path, "{x}", x=value)
    assert float(seen).hex() == float(value).hex()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        (np.int64(3), "3"),
        (True, "true"),
        (np.False_, "false"),
        (None, "none"),
        ("adam w", "adam w"),
        ("", ""),
        (10**20, "1" + "0" * 20),
    ],
)
def test_values_that_are_no_floats(value, text, tmp_path):
    assert arguments_seen(tmp_path, "{x}", x=value) == [text]


def test_placeholders_anywhere_in_an_argument_and_as_often_as_wanted(tmp_path):
    assert arguments_seen(tmp_path, "--at={a}:{b}/{a}", "{b}", a=1, b=2) == ["--at=1:2/1", "2"]


def test_doubled_braces_are_braces(tmp_path):
    assert arguments_seen(tmp_path, '{{"lr": {lr}}}', "{{lr}}", "{{{lr}}}", lr=2) == ['{"lr": 2}', "{lr}", "{2}"]


def test_a_value_is_not_searched_for_placeholders(tmp_path):
    assert arguments_seen(tmp_path, "{a}", "{b}", a="{b}", b="}}") == ["{b}", "}}"]


def test_no_shell_reads_the_arguments(tmp_path):
    nasty = f"$HOME; touch {tmp_path}/pwned `id` * | & \"'"
    assert arguments_seen(tmp_path, "{x}", x=nasty) == [nasty]
    assert not (tmp_path / "pwned").exists()


def test_a_parameter_may_be_called_self(tmp_path):
    assert arguments_seen(tmp_path, "{self}", self=1) == ["1"]


def test_an_unknown_placeholder_is_named_with_what_there_is():
    with pytest.raises(SettingsError, match=r"\{learning_rate\}.*use \{lr\}, \{epochs\}"):
        Command(("train", "{learning_rate}", "{epochs}")).check(["lr", "epochs"])


def test_a_parameter_that_the_command_ignores_is_named():
    with pytest.raises(SettingsError, match=r"\{epochs\}.*drop 'epochs'"):
        Command(("train", "{lr}")).check(["lr", "epochs"])


def test_a_command_that_fits_is_accepted():
    Command(("train", "--lr={lr}", "{{x}}", "{epochs}")).check(["lr", "epochs"])


def test_a_call_with_other_parameters_is_refused_before_anything_runs():
    with pytest.raises(SettingsError, match="lr"):
        python("print(0)", "{lr}")(momentum=1)


@pytest.mark.parametrize("argument", ["{lr", "lr}", "{{lr}", "{a{b}}"])
def test_half_a_pair_of_braces_is_refused(argument):
    with pytest.raises(SettingsError, match="brace"):
        Command(("train", argument))


@pytest.mark.parametrize("arguments", ["train --lr={lr}", (), ("",), ("train", 3)])
def test_what_is_no_command_is_refused(arguments):
    with pytest.raises(SettingsError, match=r'"--lr=\{lr\}"'):
        Command(arguments)


def test_a_list_of_arguments_is_as_good_as_a_tuple():
    assert Command(["train", "{lr}"]) == Command(("train", "{lr}"))


def test_a_command_travels_to_other_processes():
    objective = Command(("train", "{lr}"), folder="runs")
    assert pickle.loads(pickle.dumps(objective)) == objective


def test_the_command_runs_in_its_folder(tmp_path):
    code = "import pathlib; pathlib.Path('here').touch(); print(1)"
    assert Command((sys.executable, "-c", code), folder=str(tmp_path))() == Evaluation(1.0)
    assert (tmp_path / "here").exists()


# Results --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "evaluation"),
    [
        ("0.25", Evaluation(0.25)),
        ("-1e-3", Evaluation(-1e-3)),
        ("7", Evaluation(7.0)),
        ("epoch 1\nepoch 2\n  0.5  \n\n \n", Evaluation(0.5)),
        ("10%\r100%\r\n0.5\r\n", Evaluation(0.5)),
        ('{"value": 1}', Evaluation(1.0)),
        ('{"value": 0.5, "cost": 2, "noise": 0.1}', Evaluation(0.5, 2.0, 0.1)),
        ('{"value": 0.5, "cost": null}', Evaluation(0.5)),
    ],
)
def test_the_last_line_is_the_result(text, evaluation):
    assert printing(text)() == evaluation


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("0.1 0.2", "'0.1 0.2', which is not a number"),
        ("loss: 0.1", "'loss: 0.1'"),
        ("0.5\ndone", "'done'"),
        ("nan", "not a finite number"),
        ("-inf", "not a finite number"),
        ("1e999", "not a finite number"),
        ("[1]", "not a number"),
        ("true", "not a number"),
        ('{"value": 0.5', "not JSON"),
        ('{"value": NaN}', "not a finite number"),
        ('{"value": "0.5"}', "'0.5' for \"value\""),
        ('{"value": true}', "True"),
        ('{"value": [1]}', "[1]"),
        ('{"cost": 1}', 'without "value"'),
        ('{"value": 1, "cost": -1}', '"cost", which is below zero'),
        ('{"value": 1, "noise": "x"}', '"noise"'),
        ('{"value": 1, "loss": 2, "epoch": 3}', "'epoch', 'loss'"),
        ('{"value": ' * 700, "not JSON"),
    ],
)
def test_a_last_line_that_is_no_result_is_quoted_and_the_form_shown(text, complaint):
    message = failure(printing(text))
    assert complaint in message
    assert 'print a number, or a JSON object such as {"value"' in message


@pytest.mark.parametrize("code", ["pass", "print(' \\n\\n')"])
def test_a_command_that_prints_nothing_is_told_so(code):
    assert "printed nothing" in failure(python(code))


def test_a_last_line_too_long_to_be_kept_is_not_read_from_its_middle():
    assert "printed nothing, or" in failure(python(f"print('1' * {3 * TAIL_BYTES})"))


def test_output_that_is_no_text_is_no_crash():
    assert "not a number" in failure(python("import os; os.write(1, bytes(range(128, 256)))"))


def test_a_command_that_reads_standard_input_does_not_wait_for_the_terminal():
    assert python("import sys; print(len(sys.stdin.read()))")() == Evaluation(0.0)


# Failures -------------------------------------------------------------------------------------------------------------------


def test_a_failure_is_one_of_farthings_errors():
    assert issubclass(CommandFailed, FarthingError)


def test_an_exit_code_is_a_failure_though_a_number_was_printed_and_shows_the_end_of_standard_error():
    message = failure(python("import sys; print(0.5); [print('line', i, file=sys.stderr) for i in range(50)]; sys.exit(3)"))
    assert "exited with code 3" in message
    assert message.endswith("line 49")
    assert "line 3\n" not in message


def test_a_failure_that_complained_on_standard_output_shows_that():
    assert failure(python("import sys; print('no such dataset'); sys.exit(1)")).endswith("standard output:\nno such dataset")


def test_a_failure_shows_the_command_with_its_values():
    assert "--lr=0.5" in failure(python("import sys; sys.exit(1)", "--lr={lr}"), lr=0.5)


def test_a_wrong_result_shows_standard_error_too():
    assert failure(python("import sys; print('done'); print('why', file=sys.stderr)")).endswith("standard error:\nwhy")


@posix
def test_a_command_killed_by_a_signal_names_it():
    assert "killed by signal 9 (SIGKILL)" in failure(python("import os, signal; os.kill(os.getpid(), signal.SIGKILL)"))


def test_a_program_that_does_not_exist_is_named():
    message = failure(Command(("no-such-program-anywhere", "{x}")), x=1)
    assert "'no-such-program-anywhere'" in message
    assert "PATH" in message


@posix
def test_a_file_that_may_not_be_executed_is_named(tmp_path):
    script = tmp_path / "train.sh"
    script.write_text("#!/bin/sh\necho 1\n")
    message = failure(Command((str(script),)))
    assert "train.sh" in message
    assert "chmod +x" in message


@posix
def test_a_script_without_a_first_line_that_names_its_interpreter(tmp_path):
    script = tmp_path / "train"
    script.write_text("echo 1\n")
    script.chmod(0o755)
    assert "could not be started" in failure(Command((str(script),)))


@posix
def test_a_null_character_in_an_argument():
    assert "could not be started" in failure(python("print(1)", "{x}"), x="a\0b")


def test_a_folder_that_does_not_exist_is_not_taken_for_a_missing_program(tmp_path):
    message = failure(Command((sys.executable, "-c", "print(1)"), folder=str(tmp_path / "gone")))
    assert "no folder" in message
    assert "gone" in message


def test_a_failure_becomes_the_reason_of_the_outcome():
    outcome = evaluate(python("import sys; sys.exit(2)"), {}, time.perf_counter)
    assert outcome.reason.startswith("CommandFailed: the command exited with code 2")


# Output in bulk, and what is left behind ------------------------------------------------------------------------------------


def test_a_flood_on_both_outputs_neither_blocks_nor_fills_memory():
    flood = """
        import sys
        line = "x" * 1023 + "\\n"
        for _ in range(50):
            sys.stderr.write(line * 1024)
            sys.stdout.write(line * 1024)
        print(0.5)
    """
    tracemalloc.start()
    try:
        assert python(flood)() == Evaluation(0.5)
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


@posix
@pytest.mark.parametrize("background", ["sleep 600", "yes >&2"])
def test_a_background_process_that_holds_the_output_open_does_not_hold_up_the_result(background, tmp_path):
    pid = tmp_path / "pid"
    try:
        outcome = evaluate(Command(("sh", "-c", f"{background} & echo $! > '{pid}'; echo 0.5")), {}, time.perf_counter)
    finally:
        os.kill(int(pid.read_text()), signal.SIGKILL)
    assert outcome.evaluation == Evaluation(0.5)
    assert outcome.seconds < 2.0


@posix
def test_nothing_that_the_command_wrote_is_lost_though_its_reader_gets_no_time_to_read(tmp_path, monkeypatch):
    """As on a machine under load; and a background process holds the output open, so that its end does not come."""
    poll = command.select.poll
    go_on = threading.Event()

    class Late:
        def __init__(self):
            self.poll_now = poll()
            self.register = self.poll_now.register

        def poll(self):
            go_on.wait(60)
            return self.poll_now.poll()

    pid = tmp_path / "pid"
    try:
        with monkeypatch.context() as late:
            late.setattr(command.select, "poll", Late)
            result = Command(("sh", "-c", f"sleep 600 & echo $! > '{pid}'; seq 1 5000; echo 0.5"))()
    finally:
        go_on.set()
        os.kill(int(pid.read_text()), signal.SIGKILL)
    assert result == Evaluation(0.5)


@posix
def test_an_interrupt_kills_the_command(tmp_path):
    """SIGINT to the caller alone, as a notebook sends it."""
    pid = tmp_path / "pid"
    sleeper = f"import os, time, pathlib; pathlib.Path({str(pid)!r}).write_text(str(os.getpid())); time.sleep(600)"
    code = f"import sys; from farthing.command import Command; Command((sys.executable, '-c', {sleeper!r}))()"
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE) as caller:
        until = time.monotonic() + 60
        while not (pid.exists() and pid.read_text()):
            assert time.monotonic() < until
            time.sleep(0.05)
        caller.send_signal(signal.SIGINT)
        caller.communicate(timeout=60)
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
    assert not Path(f"/proc/{pid.read_text()}").exists()
