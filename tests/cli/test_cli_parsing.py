"""Usage, help, exit codes, and what the command line costs before it does anything."""

import os
import subprocess
import sys

import pytest
from study_folder import environment, write_study

from farthing import FarthingError, ObjectiveFailed, SettingsError, StoreError, StudyFileError, StudyNotFound
from farthing.cli.failures import EXIT_CODES, exit_code
from farthing.cli.output import clean, sparkline

COMMANDS = ("init", "run", "ask", "tell", "show", "log", "list", "export", "plot", "delete")
SLOW = (
    "sqlalchemy",
    "alembic",
    "matplotlib",
    "pyarrow",
    "scipy.stats",
    "scipy.optimize",
    "farthing.study_file",
    "farthing.progress",
)


def test_help_names_every_command_and_exit_code(cli):
    text = cli("--help").stdout
    for command in COMMANDS:
        assert f"\n  {command} " in text
    for code, meaning in EXIT_CODES.items():
        assert f"{code:<4} {meaning}" in text


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(cli, command):
    assert f"Usage: farthing {command} " in cli(command, "--help").stdout


def test_help_imports_nothing_slow():
    code = "import sys; from farthing.cli.commands import app; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    loaded = set(done.stdout.split())
    assert "farthing.cli.running" in loaded
    assert not {name for name in loaded if name.startswith(SLOW)}


def test_the_version_is_printed(shell):
    import farthing

    assert shell("--version").stdout == f"farthing {farthing.__version__}\n"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (FarthingError("x"), 1),
        (SettingsError("x"), 1),
        (StudyFileError("x"), 1),
        (StoreError("x"), 1),
        (PermissionError("x"), 1),
        (ObjectiveFailed("x"), 3),
        (StudyNotFound("x"), 4),
    ],
)
def test_every_kind_of_error_has_its_exit_code(error, code):
    assert exit_code(error) == code


@pytest.mark.parametrize(
    "arguments",
    [
        ["fly"],
        ["run", "--workers", "0"],
        ["run", "--evaluations", "many"],
        ["run", "--nonsense"],
        ["show", "study.toml", "--store", "digits.db"],
        ["ask", "study.toml", "--store", "digits.db"],
        ["show", "--name", "digits"],
        ["ask", "--name", "digits"],
        ["log", "-n", "0"],
        ["list"],
    ],
)
def test_wrong_usage_exits_with_2(folder, cli, arguments):
    write_study(folder)
    cli(*arguments, code=2)


@pytest.mark.parametrize("command", ["run", "ask", "show", "log", "export", "plot", "delete"])
def test_a_study_file_that_is_not_there_exits_with_4(cli, command):
    error = cli(command, "nix.toml", code=4).stderr
    assert error == "farthing: there is no study file nix.toml; check the path, or write one with farthing init\n"


def test_without_a_file_it_is_study_toml(cli):
    assert "there is no study file study.toml" in cli("run", code=4).stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[study]\nbudgte = 1\n", "study.toml, line 2, [study] budgte: there is no such key here; did you mean 'budget'?"),
        ("[studio]\n", "study.toml, line 1, studio: a study file has no such table; did you mean [study]?"),
        ("[study]\nbudget =\n", "study.toml, line 2: this is not TOML: Invalid value"),
        ("[study]\nbudget = true\n[space]\nx = { real = [0, 1] }\n", "study.toml, line 2, [study] budget: this is True"),
        ("[study]\nbudget = 1\n", "study.toml: there is no axis in [space]"),
        ("", "study.toml is empty"),
    ],
)
def test_a_wrong_study_file_is_one_line_and_exits_with_1(folder, cli, text, message):
    (folder / "study.toml").write_text(text)
    for command in ("run", "ask", "show"):
        error = cli(command, code=1).stderr
        assert error.startswith(f"farthing: {message}")
        assert error.count("\n") == 1


def test_with_debug_the_traceback_is_shown(cli):
    assert "Traceback (most recent call last)" in cli("--debug", "run", code=4).stderr
    assert "Traceback" not in cli("run", code=4).stderr


def test_a_store_that_is_no_database_exits_with_1(folder, cli):
    (folder / "notes.txt").write_text("milk, eggs and the meaning of it all\n" * 100)
    assert "not a SQLite database" in cli("list", "notes.txt", code=1).stderr
    assert "it is a folder" in cli("list", folder, code=1).stderr


def test_a_reader_that_has_seen_enough_causes_no_traceback(folder, cli):
    write_study(folder)
    cli("ask")
    program = f"{sys.executable} -m farthing log --json | true"
    done = subprocess.run(
        ["sh", "-c", program], cwd=folder, env=environment(), capture_output=True, text=True, timeout=60, check=True
    )
    assert "Traceback" not in done.stderr


def test_an_output_that_knows_no_unicode_is_no_reason_to_fail(folder, cli):
    write_study(folder, name="🐟")
    cli("ask")
    cli("tell", 0, 1.5)
    arguments = [sys.executable, "-m", "farthing", "show"]
    plain = environment() | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run(arguments, cwd=folder, env=plain, capture_output=True, text=True, timeout=60, check=True)
    assert "recommendation" in done.stdout


def test_names_of_studies_are_completed_from_the_store(folder, cli):
    write_study(folder, name="unmistakable")
    cli("ask")
    words = "farthing show --store unmistakable.db --name un"
    wanted = {"_FARTHING_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": "5"}
    done = subprocess.run(
        [sys.executable, "-m", "farthing"], env=environment() | wanted, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.split() == ["unmistakable"]
    wanted["COMP_WORDS"] = words.replace("unmistakable.db", "nix.db")
    done = subprocess.run(
        [sys.executable, "-m", "farthing"], env=environment() | wanted, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.split() == []
    assert not os.path.exists("nix.db")


def test_control_characters_of_others_do_not_steer_the_terminal():
    assert clean("a\x1b[31mred\x1b[0m\x1b]0;title\x07\rb\x9bc\tü\n") == "aredbc\tü\n"


def test_a_sparkline_is_as_low_as_its_values():
    assert sparkline([3.0, 2.0, 1.0]) == "█▅▁"
    assert sparkline([5.0]) == sparkline([5.0, 5.0])[:1] == "▁"
    assert len(sparkline(list(range(1000)))) == 40
