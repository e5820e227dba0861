"""What a run leaves behind that was stopped, gently or not."""

import json
import os
import signal

from study_folder import marks, wait_for, write_study


def logged(cli):
    return json.loads(cli("log", "--json").stdout)


def test_nothing_that_was_told_is_lost_when_a_run_is_killed(folder, begin, cli, shell):
    write_study(folder, sleep=0.15)
    run = begin("run", "--evaluations", 500)
    wait_for(lambda: marks(folder) >= 3)
    run.kill()
    run.wait()
    before = [trial for trial in logged(cli) if trial["state"] == "complete"]
    assert len(before) >= 2  # one may have been running, all that were begun earlier are told
    done = json.loads(shell("run", "--evaluations", 1, "--json").stdout)
    after = logged(cli)
    assert [trial for trial in after if trial["number"] <= before[-1]["number"]] == before
    assert done["trials"]["complete"] == len(before) + 1
    assert done["trials"]["pending"] == 0
    assert [trial["number"] for trial in after] == list(range(len(after)))
    assert all("ended without a result" in trial["reason"] for trial in after if trial["state"] == "abandoned")


def test_control_c_once_finishes_what_is_running_and_says_how_to_go_on(folder, begin, cli):
    write_study(folder, sleep=1.0)
    run = begin("run")
    wait_for(lambda: marks(folder) == 1)
    run.send_signal(signal.SIGINT)
    out, error = run.communicate(timeout=60)
    assert run.returncode == 130
    assert "finishing what is running, then stopping; press Ctrl-C again to stop now" in error
    assert "ended" in out
    assert "stopped by the keyboard\n" in out
    assert "to go on" in out
    assert out.endswith("farthing run study.toml\n")
    assert "Traceback" not in error
    assert [trial["state"] for trial in logged(cli)] == ["complete"]
    assert marks(folder) == 1


def test_control_c_twice_stops_at_once_and_leaves_nothing_running(folder, begin, cli):
    write_study(folder, command=["sh", "-c", "echo $$ >> marks; exec sleep 300", "{x}{rows}"])
    run = begin("run")
    wait_for(lambda: marks(folder) == 1)
    run.send_signal(signal.SIGINT)
    assert run.stderr.readline() == "\n"
    assert "press Ctrl-C again" in run.stderr.readline()
    run.send_signal(signal.SIGINT)
    out, error = run.communicate(timeout=30)
    assert run.returncode == 130
    assert out == ""
    assert error == "farthing: stopped by the keyboard, before anything was evaluated; to go on: farthing run study.toml\n"
    assert [trial["state"] for trial in logged(cli)] == ["abandoned"]
    objective = int((folder / "marks").read_text())
    wait_for(lambda: not os.path.exists(f"/proc/{objective}"))
