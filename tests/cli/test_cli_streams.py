"""Standard streams that are closed, full or at their end, and Ctrl-C before anything is ready."""

import json
import os
import shlex
import subprocess

import pytest
from study_folder import command, environment, write_study


@pytest.fixture
def redirected(folder):
    """`farthing ... REDIRECTION` in a shell."""

    def call(arguments, redirection, code=0):
        line = f"exec {shlex.join(command(arguments))} {redirection}"
        done = subprocess.run(["sh", "-c", line], cwd=folder, env=environment(), capture_output=True, text=True, timeout=90)
        assert done.returncode == code, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
        return done

    return call


@pytest.fixture
def told(folder, cli):
    write_study(folder)
    cli("ask")
    cli("tell", 0, 1.5)
    return folder


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_no_reason_to_fail(told, redirected, closed):
    done = redirected(["show"], closed)
    assert ("recommendation" in done.stdout) == (closed == "2>&-")
    assert done.stderr == ""
    redirected(["show", "nix.toml"], closed, code=4)


def test_a_run_without_streams_writes_into_no_database_but_its_own(folder, redirected, cli):
    write_study(folder)
    redirected(["run"], "<&- >&- 2>&-")
    assert [trial["state"] for trial in json.loads(cli("log", "--json").stdout)] == ["complete"] * 3
    assert json.loads(redirected(["run", "--evaluations", 1, "--json"], "2>&-").stdout)["trials"]["complete"] == 4


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
@pytest.mark.parametrize("arguments", [["show"], ["log", "--json"], ["export"], ["list", "digits.db"], ["plot"], ["--help"]])
def test_a_full_disk_behind_standard_output_is_named(told, redirected, arguments):
    error = redirected(arguments, "> /dev/full", code=1).stderr
    assert error == "farthing: standard output cannot be written (No space left on device); make room, or send it elsewhere\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_more_output_than_a_buffer_holds_fails_in_the_same_words(told, redirected, cli):
    for _ in range(20):
        cli("ask")
    assert len(cli("log", "--json").stdout) > 8192
    error = redirected(["log", "--json"], "> /dev/full", code=1).stderr
    assert error.startswith("farthing: standard output cannot be written (No space left on device)")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_messages_that_nobody_can_read_do_not_stop_a_command(told, redirected):
    redirected(["init", "--real", "x=0:1", "--output", "other.toml"], "2> /dev/full")
    redirected(["show", "nix.toml"], "2> /dev/full", code=4)


def test_control_c_while_modules_are_imported_ends_quietly(folder):
    (folder / "typer.py").write_text("raise KeyboardInterrupt\n")
    done = subprocess.run(
        command(["show"]), env=environment() | {"PYTHONPATH": str(folder)}, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
