"""The command line in a folder of its own: in this process, or as a process of its own."""

import subprocess

import pytest
from study_folder import command, environment
from typer.testing import CliRunner


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def shell(folder):
    """`farthing ...` as a process of its own, which must exit with `code` and show no traceback."""

    def call(*arguments, code=0, input=None):
        done = subprocess.run(
            command(arguments), cwd=folder, env=environment(), input=input, capture_output=True, text=True, timeout=90
        )
        assert done.returncode == code, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
        return done

    return call


@pytest.fixture
def begin(folder):
    """Starts `farthing ...` and leaves it running; killed at the end of the test."""
    started = []

    def call(*arguments):
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        started.append(subprocess.Popen(command(arguments), cwd=folder, env=environment(), **pipes))
        return started[-1]

    yield call
    for process in started:
        with process:
            process.kill()


@pytest.fixture
def cli(folder):
    """`farthing ...` in this process."""

    def call(*arguments, code=0, input=None):
        from farthing.cli.commands import app

        done = CliRunner().invoke(app, [str(argument) for argument in arguments], input=input, prog_name="farthing")
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert done.exit_code == code, f"exit code {done.exit_code}\n{done.output}"
        return done

    return call
