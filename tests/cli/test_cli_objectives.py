"""Commands that do not do what they should: `farthing run` says what happened, and its exit code tells."""

import json
import sys

from study_folder import write_study

USED = "{x}{rows}"

FAILURES = [
    (":", "the command printed nothing"),
    ("echo 1 2", "the last line that the command printed is '1 2', which is not a number"),
    ("kill -9 $$", "the command was killed by signal 9 (SIGKILL)"),
    ("echo nan", "nan"),
    ("printf '\\\\033[31moh dear' >&2; exit 1", "the command exited with code 1"),
]


def test_a_command_that_fails_again_and_again_ends_the_run_and_every_reason_is_kept(folder, shell, cli):
    (folder / "failures").write_text("".join(f"{line}\n" for line, _ in FAILURES))
    (folder / "fail.sh").write_text('echo >> marks\nexec sh -c "$(sed -n $(wc -l < marks)p failures)"\n')
    write_study(folder, command=["sh", "fail.sh", USED])
    done = shell("run", "--evaluations", 9, code=3)
    assert done.stdout == ""
    assert done.stderr.startswith("farthing: the objective failed 5 times in a row; mend it and run again, what is known is kept. ")
    assert "oh dear" in done.stderr
    assert "The last failure, at {'x': " in done.stderr
    assert "\x1b" not in done.stderr
    reasons = [trial["reason"] for trial in json.loads(cli("log", "--json").stdout)]
    for reason, (_, expected) in zip(reasons, FAILURES, strict=True):
        assert expected in reason
    known = json.loads(cli("show", "--json").stdout)
    assert known["recommendation"] is known["expected_regret"] is None
    assert known["trials"]["failed"] == sum(failure["count"] for failure in known["failures"]) == 5
    shown = cli("show").stdout
    assert "none yet: nothing was evaluated" in shown
    assert "5 failed" in shown
    for output in (shown, cli("log").stdout):
        assert "killed by signal 9" in output


def test_a_command_that_takes_too_long_is_killed(folder, shell, cli):
    write_study(folder, command=["sh", "-c", "sleep 60", USED], more="max_failures = 1\n")
    assert "timed out after 0.3 s and was killed" in shell("run", "--timeout", "300 ms", code=3).stderr
    assert json.loads(cli("log", "--json").stdout)[0]["cost"] < 30.0


def test_a_program_that_is_missing_is_refused_before_a_trial_is_wasted(folder, shell):
    write_study(folder, command=["no-such-program", "{x}", "{rows}"])
    error = shell("run", code=1).stderr
    assert error.startswith("farthing: study.toml, line 8, [objective] command: there is no program 'no-such-program'")
    assert not (folder / "digits.db").exists()


def test_a_stated_cost_warns_in_one_line_that_thinking_has_no_price(folder, shell):
    printed = 'print(\'{"value": 1.5, "cost": 3}\')'.replace("{", "{{").replace("}", "}}")
    write_study(folder, command=[sys.executable, "-S", "-c", printed, "{x}", "{rows}"])
    done = shell("run", "--evaluations", 1, "--json")
    assert json.loads(done.stdout)["spent"] == 3.0
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("farthing: costs are stated, so farthing cannot tell what a second of its own thinking is worth")
