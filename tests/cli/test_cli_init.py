"""`farthing init`: what it writes is what was meant, and can be read."""

import sys

import pexpect
import pytest
from study_folder import command, environment

import farthing as ft
from farthing.function import Function
from farthing.study_file import read_study_file

TRAIN = "python train.py --lr {lr} --layers={layers} '{optimizer}' --rows {rows}"
FLAGS = [
    "--real",
    "lr=1e-5:1e-1:log",
    "--integer",
    "layers=1:8",
    "--choice",
    "optimizer=adam,sgd",
    "--fidelity",
    "rows=100:10000:log:integer",
]
SPACE = {"lr": ft.Real(1e-5, 1e-1, log=True), "layers": ft.Integer(1, 8), "optimizer": ft.Choice(["adam", "sgd"])}
ROWS = ft.Fidelity("rows", cheap=100, full=10_000, log=True, integer=True)


def test_what_the_options_say_is_in_the_file(folder, cli):
    done = cli("init", "--name", 'di"gits', "--command", TRAIN, *FLAGS, "--budget", "8 h", "--output", "my study.toml")
    assert done.stdout == "my study.toml\n"
    assert "farthing run 'my study.toml'" in done.stderr
    file = read_study_file(folder / "my study.toml")
    assert (file.name, file.axes, file.fidelity, file.limits.budget) == ('di"gits', SPACE, ROWS, "8 h")
    assert file.objective.arguments == (
        "python",
        "train.py",
        "--lr",
        "{lr}",
        "--layers={layers}",
        "{optimizer}",
        "--rows",
        "{rows}",
    )


def test_a_function_levels_and_typed_options_are_understood(folder, cli):
    cli("init", "--python", "train:loss", "--choice", "a b=2,2.5,true,x", "--fidelity", "cells=64,128", "--budget", "100")
    file = read_study_file(folder / "study.toml")
    assert file.name == "study"
    assert file.axes == {"a b": ft.Choice([2, 2.5, True, "x"])}
    assert file.fidelity.levels == (64, 128)
    assert file.limits.budget == 100
    assert file.objective == Function("train:loss", str(folder))


@pytest.mark.parametrize(
    ("arguments", "next_step"),
    [
        (["--budget", "9", "--python", "a:b"], "look at it, then: farthing run study.toml"),
        (
            ["--python", "a:b"],
            'it does not say when to end: add budget = "8 h" or evaluations = 50 to its [study], then: farthing run',
        ),
        (
            ["--budget", "9"],
            "it has no [objective]: farthing ask study.toml, evaluate, and farthing tell; or add one, then: farthing run",
        ),
        ([], 'farthing tell; or add one, and budget = "8 h" or evaluations = 50, then: farthing run'),
    ],
)
def test_what_a_run_would_still_want_is_said(folder, cli, arguments, next_step):
    assert next_step in cli("init", "--real", "x=0:1", *arguments).stderr


def test_a_file_that_cannot_be_written_is_named(folder, cli):
    assert "no/study.toml could not be written" in cli("init", "--real", "x=0:1", "--output", "no/study.toml", code=1).stderr


def test_a_file_without_objective_or_fidelity_is_for_ask_and_tell(folder, cli):
    cli("init", "--real", "x=-1:1.5")
    assert read_study_file("study.toml").axes == {"x": ft.Real(-1, 1.5)}
    cli("ask")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--real", "lr"], 2, "'lr' has no name; give NAME=..."),
        (["--real", "=1:2"], 2, "has no name"),
        (["--real", "lr=1"], 2, "'1' is no range; give two numbers, LOW:HIGH"),
        (["--real", "lr=1:b"], 2, "'1:b' is no range"),
        (["--real", "lr=1:2:lug"], 2, "'1:2:lug' is no range; give two numbers, LOW:HIGH, and after them perhaps :log"),
        (["--fidelity", "rows=1:2:3"], 2, "perhaps :integer or :log"),
        (["--real", "lr=2:1"], 1, "nothing was written, as the file would not be right: study.toml, line"),
        (["--real", "lr=0:1", "--budget", "8 parsecs"], 1, "nothing was written"),
        (["--real", "lr=0:1", "--command", "train {lrr}"], 1, "the command has {lrr}, which is no parameter"),
        (["--real", "lr=0:1", "--command", "it's"], 2, "cannot be split into arguments: No closing quotation"),
        (["--real", "lr=0:1", "--command", "a", "--python", "b:c"], 2, "both --command and --python were given"),
        (["--name", "x"], 1, "there is no axis in [space]"),
        ([], 2, "there is no terminal to ask questions on; give options such as --command and --real"),
    ],
)
def test_what_makes_no_study_is_refused_and_nothing_is_written(folder, cli, arguments, code, message):
    assert message in " ".join(cli("init", *arguments, code=code).stderr.split())
    assert not (folder / "study.toml").exists()


def test_a_file_that_is_there_is_kept_unless_forced(folder, cli):
    (folder / "study.toml").write_text("precious")
    assert "give --force to write over it" in cli("init", "--real", "x=0:1", code=1).stderr
    assert (folder / "study.toml").read_text() == "precious"
    cli("init", "--real", "x=1:0", "--force", code=1)
    assert (folder / "study.toml").read_text() == "precious"
    cli("init", "--real", "x=0:1", "--force")
    assert read_study_file("study.toml").axes == {"x": ft.Real(0, 1)}


# By asking --------------------------------------------------------------------------------------------------------------------


def interview(folder, answers):
    asking = pexpect.spawn(sys.executable, command(["init"])[1:], cwd=str(folder), env=environment(), timeout=30, encoding="utf-8")
    for question, answer in answers:
        asking.expect_exact(question)
        asking.sendline(answer)
    asking.expect(pexpect.EOF)
    asking.close()
    return asking


def test_on_a_terminal_it_asks_and_asks_again_until_it_understands(folder):
    done = interview(
        folder,
        [
            ("Name of the study [study]:", "a/b"),
            ("no file can be called a/b.db", "x" * 201),
            ("at most 200 printable characters", "digits"),
            ("Objective:", "python train.py"),
            ("the command has no {name}", "python train.py {lr} }"),
            ("has a brace without its other half", "train:2nd"),
            ("give its module and its name", TRAIN),
            ("Which of these decides what an evaluation costs?", "row"),
            ("there is no 'row'; give one of lr, layers, optimizer, rows", "rows"),
            ("lr (low:high", "1e-1:1e-5:log"),
            ("give a lower bound below the upper one", "1e-5:1e-1:log"),
            ("layers (", "1:8:integer"),
            ("optimizer (", "adam"),
            ("give a list of at least two", "adam, sgd"),
            ("rows (cheap:full", "100:10000:log:integer"),
            ("Budget", "8 parsecs"),
            ("is not understood", "8 h"),
        ],
    )
    assert done.exitstatus == 0
    file = read_study_file(folder / "study.toml")
    assert (file.name, file.axes, file.fidelity, file.limits.budget) == ("digits", SPACE, ROWS, "8 h")


def test_on_a_terminal_a_function_and_no_fidelity(folder):
    done = interview(
        folder,
        [
            ("Name of the study", ""),
            ("Objective:", "train:loss"),
            ("Its parameters, separated by commas:", "x , y"),
            ("Which of these", ""),
            ("x (", "0:1:log"),
            ("give a lower bound above zero or drop log\r", "0:1"),
            ("y (", "a,b"),
            ("Budget", ""),
        ],
    )
    assert done.exitstatus == 0
    file = read_study_file(folder / "study.toml")
    assert (file.name, file.axes, file.fidelity) == ("study", {"x": ft.Real(0, 1), "y": ft.Choice(["a", "b"])}, None)
    assert (file.objective, file.limits.budget) == (Function("train:loss", str(folder)), None)


def test_control_c_at_a_question_writes_nothing(folder):
    asking = pexpect.spawn(sys.executable, command(["init"])[1:], cwd=str(folder), env=environment(), timeout=30)
    asking.expect_exact("Name of the study")
    asking.sendintr()
    asking.expect(pexpect.EOF)
    asking.close()
    assert asking.exitstatus == 130
    assert not (folder / "study.toml").exists()
