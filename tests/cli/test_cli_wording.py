"""Remedies are given in words of the command line, not of Python."""

import json
import re

import pytest
from study_folder import write_study

from farthing.cli.output import say
from farthing.cli.wording import in_cli_words
from farthing.journal import _how_to_keep
from farthing.trials import Proposal, Trial

PYTHON = re.compile(r"\w\(|Study|Settings|=True|None|CommandFailed|cost=")
COSTLY = '[study]\nname = "digits"\nseed = 1\nmethod = "random"\n[space]\nx = { real = [0, 1] }\n'


def error_of(done):
    """What it says, which must not be Python."""
    assert not PYTHON.search(done.stderr), done.stderr
    return done.stderr


def test_another_study_under_the_same_name(folder, cli):
    text = write_study(folder)
    cli("ask")
    (folder / "study.toml").write_text(text.replace("real = [0, 1]", "real = [0, 2]"))
    for command in ("run", "ask"):
        remedy = "Give yours another name in the study file, or change the file back to go on with that one\n"
        assert error_of(cli(command, code=1)).endswith(remedy)


def test_trials_that_take_no_result(folder, cli):
    write_study(folder)
    cli("ask")
    assert "evaluate with farthing run, or farthing ask and farthing tell, first" in error_of(cli("plot", code=1))
    assert error_of(cli("tell", 0, "nan", code=1)).endswith(
        "give a finite number, or report a failure, with farthing tell NUMBER --failed REASON or by an exception\n"
    )
    assert error_of(cli("tell", 99, 1, code=1)).endswith("; give the number of one that farthing ask printed\n")
    cli("tell", 0, 1)
    assert error_of(cli("tell", 0, 1, code=1)).endswith("trial 0 is complete already; a trial takes one result\n")


def test_one_of_several_studies_is_chosen_by_name(folder, cli):
    for name in ("a", "b"):
        write_study(folder, name=name, more='store = "both.db"\n')
        cli("ask")
    assert error_of(cli("show", "--store", "both.db", code=1)).endswith("; say which with --name\n")


@pytest.mark.parametrize(
    ("old", "new", "remedy"),
    [
        ("x = { real = [0, 1] }", "x = { real = [0, 1], log = true }", "drop log"),
        ("x = { real = [0, 1] }", "x = 1", "such as x = { real = [0, 1] }"),
        ('"random"\n', '"envpes"\n[settings]\nkernel = "matern32"\n', 'or method = "ei"'),
    ],
)
def test_mistakes_in_a_study_file(folder, cli, old, new, remedy):
    (folder / "study.toml").write_text(COSTLY.replace(old, new))
    assert error_of(cli("ask", code=1)).endswith(f"{remedy}\n")


def test_a_limit_that_is_no_number(folder, cli):
    write_study(folder)
    assert error_of(cli("run", "--target", "nan", code=1)).endswith("target is nan; give a finite number\n")


def test_a_value_that_could_not_be_saved_can_be_told_later():
    trial = Trial(3, {"x": 0.5}, None, Proposal("initial"), value=-0.25, cost=2.0, noise=None)
    assert in_cli_words(_how_to_keep(trial)).endswith("keep it with farthing tell 3 -0.25 --cost 2.0")
    noisy = Trial(3, {"x": 0.5}, None, Proposal("initial"), value=-0.25, cost=2.0, noise=0.1)
    assert in_cli_words(_how_to_keep(noisy)).endswith("keep it with farthing tell 3 -0.25 --cost 2.0 --noise 0.1")


def test_that_thinking_has_no_price_is_said_once_and_names_the_setting(folder, cli, shell):
    (folder / "study.toml").write_text(COSTLY + "[settings]\ndraws = 2\nsupport_points = 30\nstarts = 2\n")
    said = []
    for number in range(2):
        cli("ask")
        said.append(error_of(shell("tell", number, 1.5, "--cost", 2)))
    assert "set overhead_price in the [settings] of a new study: 1.0 if costs are seconds, 0.0 to leave it out" in said[0]
    assert said[1] == ""


def test_messages_of_others_stay_as_they_are(capsys):
    say("ValueError: None is not add() to f(x)")
    assert capsys.readouterr().err == "farthing: ValueError: None is not add() to f(x)\n"


# Failures -----------------------------------------------------------------------------------------------------------------------


def test_a_failing_command_is_told_in_its_own_words(folder, shell, cli):
    write_study(folder, command=["sh", "-c", "echo one >&2; echo two >&2; exit 3", "{x}{rows}"], more="max_failures = 1\n")
    error = shell("run", code=3).stderr
    advice = "farthing: the objective failed 1 times in a row; mend it and run again, what is known is kept. The last failure, at {"
    assert error.startswith(advice)
    assert "}: the command exited with code 3: sh -c" in error
    assert error.endswith("\none\ntwo\n")  # and no traceback is offered: it would be farthing's own
    for known in (cli("log").stdout, cli("show").stdout, cli("log", "--json").stdout, cli("show", "--json").stdout):
        assert "CommandFailed" not in known
        assert "the command exited with code 3" in known
    assert json.loads(cli("show", "--json").stdout)["failures"][0]["reason"].startswith("the command exited")
