"""`farthing run`, as a process of its own with an objective that is a command."""

import json
import re
import shlex
import subprocess
import sys

import pexpect
import pytest
from study_folder import command, environment, marks, write_study

ESCAPE = "\x1b"


def test_a_run_ends_with_a_recommendation_and_goes_on_where_it_was(folder, shell):
    write_study(folder, method="envpes")
    done = shell("run")
    assert re.search(r"recommendation +x=0\.\d+\n", done.stdout)
    assert re.search(r"expected there +\S+ ± \S+ at full fidelity\n", done.stdout)
    assert re.search(r"  full \(rows=1000\) +\S+ m?s for \d\n", done.stdout)
    assert re.search(r"trials +3 complete\n", done.stdout)
    assert re.search(r"ended +all evaluations done\n", done.stdout)
    assert re.search(r"to go on +farthing run study.toml\n", done.stdout)
    assert "training..." not in done.stdout + done.stderr
    assert marks(folder) == 3

    went_on = json.loads(shell("run", "study.toml", "--evaluations", 2, "--json").stdout)
    assert went_on["trials"] == {"complete": 5, "failed": 0, "pending": 0, "abandoned": 0}
    assert set(went_on["recommendation"]) == {"params", "mean", "std"}
    assert went_on["message"] == "all evaluations done"
    assert sum(spend["evaluations"] for spend in went_on["spend_by_fidelity"]) == 5
    assert went_on["spent"] == pytest.approx(went_on["spent_on_evaluations"] + went_on["spent_on_thinking"])
    assert marks(folder) == 5


def test_every_limit_of_the_file_can_be_overridden(folder, shell):
    write_study(folder, more="workers = 1\nbudget = 1000\n")
    done = json.loads(shell("run", "--json", "--budget", "50 min", "--target", "5", "--workers", 2, "--timeout", 30).stdout)
    assert done["budget"] == 3000.0
    assert done["message"].startswith("target reached by trial ")
    assert done["to_go_on"] == "farthing run study.toml --target LOWER"
    spent = json.loads(shell("run", "--json", "--budget", 0.001).stdout)
    assert (spent["budget"], spent["message"]) == (0.001, "budget spent")
    assert spent["to_go_on"] == "farthing run study.toml --budget MORE"


def test_a_study_file_that_does_not_say_when_to_end_is_refused_with_the_remedy(folder, cli):
    text = write_study(folder)
    (folder / "study.toml").write_text(text.replace("evaluations = 3\n", ""))
    error = cli("run", code=1).stderr
    assert (
        error
        == 'farthing: study.toml does not say when to end; add budget = "8 h" or evaluations = 50 to its [study], or --budget\n'
    )


def test_a_study_that_is_there_with_another_space_is_not_mixed_up(folder, cli):
    text = write_study(folder)
    cli("ask")
    (folder / "study.toml").write_text(text.replace("real = [0, 1]", "real = [0, 2]"))
    error = cli("run", code=1).stderr
    assert "there is a study 'digits' already, and it is another one: space: 'x' is {'real': [0.0, 1.0]} there" in error
    assert marks(folder) == 0


def test_a_name_of_two_lines_is_refused(folder, cli):
    write_study(folder, name="two\\nlines")
    assert "study.toml, line 2, [study] name: the name is 'two\\nlines'; give one line" in cli("run", code=1).stderr


# Python functions -------------------------------------------------------------------------------------------------------------

MODULE = """
import sys
print("imported")

def loss(x, rows):
    print("called")
    sys.stdout.flush()
    return (x - 0.3) ** 2 + 1 / rows

def broken(x, rows):
    raise ArithmeticError("no luck \\x1b[31min red")
"""


def with_function(folder, where):
    text = write_study(folder, more="max_failures = 1\n")
    (folder / "mine.py").write_text(MODULE)
    (folder / "study.toml").write_text(re.sub(r"command = .*", f'python = "{where}"', text))


def test_a_function_runs_beside_its_file_and_what_it_prints_does_not_spoil_the_json(folder, shell):
    inner = folder / "in ner"
    inner.mkdir()
    with_function(inner, "mine:loss")
    done = shell("run", "in ner/study.toml", "--json")
    known = json.loads(done.stdout)
    assert known["trials"]["complete"] == 3
    assert known["to_go_on"] == "farthing run 'in ner/study.toml'"
    assert done.stderr.count("called") == 3
    assert (inner / "digits.db").exists()


def test_a_function_that_is_not_there_is_refused_before_the_study_is_created(folder, shell):
    with_function(folder, "mine:lost")
    assert "study.toml, line 9, [objective] python: the module 'mine'" in (error := shell("run", code=1).stderr)
    assert "did you mean 'loss'?" in error
    assert not (folder / "digits.db").exists()


def test_the_traceback_of_a_function_is_shown_only_to_those_who_ask(folder, shell):
    with_function(folder, "mine:broken")
    error = shell("run", code=3).stderr
    assert error.endswith("ArithmeticError: no luck in red\n(farthing --debug ... shows its traceback)\n")
    assert ESCAPE not in error
    more = environment() | {"FARTHING_DEBUG": "1"}
    done = subprocess.run(command(["run"]), env=more, capture_output=True, text=True, timeout=90, check=False)
    assert done.returncode == 3
    assert 'mine.py", line' in done.stderr
    assert "Traceback (most recent call last)" in done.stderr


# Terminals and pipes ----------------------------------------------------------------------------------------------------------


def test_a_pipe_gets_no_escape_codes_and_nothing_is_cut(folder, shell, cli):
    long_name = "x" * 150
    text = write_study(folder, command=[sys.executable, "-S", "train.py", f"{{{long_name}}}", "{rows}", "marks"])
    (folder / "study.toml").write_text(text.replace("x = {", f"{long_name} = {{"))
    outputs = [shell("run"), shell("log"), cli("show"), cli("list", "digits.db"), cli("--help")]
    for done in outputs:
        assert ESCAPE not in done.stdout + done.stderr
        assert not set("│┃─━┏╭") & set(done.stdout)
    assert outputs[1].stdout.count(f"{long_name}=0.") == 3
    assert len(outputs[1].stdout.splitlines()) == 4


def test_a_terminal_gets_progress_and_the_result(folder):
    write_study(folder, sleep=0.3)
    run = pexpect.spawn(sys.executable, command(["run"])[1:], cwd=str(folder), env=environment(), timeout=60, dimensions=(40, 120))
    run.expect("spent")
    run.expect("3 complete")
    run.expect("farthing run study.toml")
    run.expect(pexpect.EOF)
    run.close()
    assert run.exitstatus == 0
    # However narrow, no number is cut.
    log = shlex.join(command(["log", "-n", "1"]))
    text = pexpect.run(log, cwd=str(folder), env=environment() | {"COLUMNS": "60"}).decode()
    assert "…" not in text
    assert "1000" in text
