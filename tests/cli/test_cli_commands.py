"""Commands beside run: ask, tell, show, log, list, export, plot, delete."""

import csv
import io
import json
import re

import pytest
from study_folder import write_study

import farthing as ft

LOG = ["number", "state", "kind", "fidelity", "value", "predicted", "cost", "thinking", "gain", "parameters", "why"]
FREE = "[settings]\noverhead_price = 0.0\ndraws = 2\nsupport_points = 30\nstarts = 2\ninitial = 2\n"


@pytest.fixture
def asked(folder, cli):
    """A study file without an objective, and three evaluations made elsewhere: one of them failed, one pending."""
    (folder / "study.toml").write_text(
        f'[study]\nname = "digits"\nbudget = 100\nseed = 1\n[space]\nx = {{ real = [0, 1] }}\n{FREE}'
        '[fidelity]\nname = "rows"\ncheap = 10\nfull = 1000\nlog = true\ninteger = true\n'
    )
    for arguments in (
        ["0", "-1.5", "--cost", "2.5", "--noise", "0.1"],
        ["1", "--failed", "node \x1b[31mlost\nfor good", "--cost", "4"],
    ):
        cli("ask")
        cli("tell", *arguments)
    cli("ask", "study.toml")
    return folder


# Ask and tell -----------------------------------------------------------------------------------------------------------------


def test_ask_and_tell_work_across_processes(folder, cli, shell):
    write_study(folder, more='store = "shared.db"\n')
    first, second = json.loads(shell("ask", "study.toml", "--json").stdout), json.loads(cli("ask", "study.toml", "--json").stdout)
    assert (first["number"], second["number"]) == (0, 1)
    assert first["params"] != second["params"]
    assert first["fidelity_name"] == "rows"
    assert "why" in first
    told = json.loads(shell("tell", "study.toml", 1, "-2.5", "--json").stdout)
    assert (told["state"], told["value"]) == ("complete", -2.5)
    assert told["cost"] > 0.0  # the seconds since it was asked for
    cli("tell", "--store", "shared.db", "--name", "digits", 0, 1e-3)
    assert [trial["value"] for trial in json.loads(cli("log", "--json", "--store", "shared.db").stdout)] == [1e-3, -2.5]


@pytest.mark.parametrize("name", ['it\'s "quoted"', "'; DROP TABLE studies; --", "[bold]🐟[/bold] :smile:"])
def test_a_strange_name_is_only_a_name(folder, cli, name):
    write_study(folder, name=name.replace('"', '\\"'), more='store = "odd.db"\n')
    cli("ask")
    cli("tell", 0, 1.5)
    assert json.loads(cli("show", "--json").stdout)["study"] == name
    assert [study["name"] for study in json.loads(cli("list", "odd.db", "--json").stdout)] == [name]
    assert name in cli("list", "odd.db").stdout
    assert name in cli("show", "--store", "odd.db", "--name", name).stdout
    cli("delete", "--store", "odd.db", "--name", name, "--yes")
    assert json.loads(cli("list", "odd.db", "--json").stdout) == []


def test_asked_parameters_are_printed_so_that_they_read_back_the_same(asked, cli):
    printed = dict(line.split(maxsplit=1) for line in cli("ask").stdout.splitlines())
    trial = json.loads(cli("log", "--json", "-n", 1).stdout)[0]
    assert float(printed["x"]) == trial["params"]["x"]
    assert int(printed["rows"]) == trial["fidelity"]
    assert int(printed["number"]) == trial["number"]


def test_what_was_told_is_in_the_log(asked, cli):
    done, failed, pending = json.loads(cli("log", "--json").stdout)
    assert (done["state"], done["value"], done["cost"]) == ("complete", -1.5, 2.5)
    assert (failed["state"], failed["value"], failed["cost"]) == ("failed", None, 4.0)
    assert pending["state"] == "pending"
    lines = cli("log").stdout.splitlines()
    assert lines[0].split() == LOG
    assert [line.split()[:2] for line in lines[1:]] == [["0", "complete"], ["1", "failed"], ["2", "pending"]]
    assert "node" in lines[2]
    assert "\x1b" not in lines[2]
    assert [line.split()[0] for line in cli("log", "-n", 2).stdout.splitlines()[1:]] == ["1", "2"]


REFUSED = [
    (["0", "1"], 1, "trial 0 is complete already"),
    (["99", "1"], 1, "there is no trial 99 in this study, which has 3"),
    (["2", "nan"], 1, "the value is nan; give a finite number"),
    (["2", "1", "--cost", "-1"], 1, "the cost is -1.0; give a number from zero up"),
    (["2", "five"], 2, "VALUE is 'five'; give a number"),
    (["2"], 2, "give NUMBER VALUE"),
    (["study.toml"], 2, "give NUMBER VALUE"),
    (["2", "1", "2"], 2, "give NUMBER VALUE"),
    (["2", "1", "--cots", "3"], 2, "give NUMBER VALUE"),
    (["2", "1", "--failed", "why"], 2, "give NUMBER"),
    (["2", "--failed", "why", "--noise", "1"], 2, "--noise was given for a trial that failed"),
    (["2", "--failed", "why", "--abandon"], 2, "both --abandon and --failed were given"),
    (["2", "1.5", "--abandon"], 2, "give NUMBER"),
    (["2", "--abandon", "--cost", "1"], 2, "--cost was given for a trial that was abandoned"),
    (["2", "--abandon", "--noise", "1"], 2, "--noise was given for a trial that was abandoned"),
    (["0", "--abandon"], 1, "trial 0 is complete already"),
    ([], 2, "Missing argument"),
]


def test_a_result_that_cannot_be_is_refused(asked, cli):
    for arguments, code, message in REFUSED:
        assert message in " ".join(cli("tell", *arguments, code=code).stderr.split())
    assert json.loads(cli("log", "--json").stdout)[2]["state"] == "pending"


def test_a_trial_that_nobody_will_evaluate_is_given_up(asked, cli):
    assert cli("tell", 2, "--abandon").stdout == "trial 2  abandoned: given up\n"
    assert json.loads(cli("show", "--json").stdout)["trials"] == {"complete": 1, "failed": 1, "pending": 0, "abandoned": 1}
    told = json.loads(cli("tell", "study.toml", 2, "--abandon", "--json").stdout)
    assert (told["state"], told["value"], told["cost"]) == ("abandoned", None, None)


# Show -------------------------------------------------------------------------------------------------------------------------


def test_show_has_the_recommendation_the_spend_and_what_went_wrong(asked, cli):
    known = json.loads(cli("show", "--json").stdout)
    assert known["recommendation"]["params"].keys() == {"x"}
    assert known["trials"] == {"complete": 1, "failed": 1, "pending": 1, "abandoned": 0}
    assert (known["spent"], known["budget"]) == (6.5, 100.0)
    assert known["expected_regret"] >= 0.0
    assert [failure["count"] for failure in known["failures"]] == [1]
    assert {"spent", "mean", "std"} == set().union(*known["convergence"])
    text = cli("show").stdout
    assert "6.5 of 100: evaluations 6.5, thinking 0\n" in text
    for name in ("recommendation", "expected there", "expected regret", "convergence", "trials"):
        assert f"\n{name} " in text
    assert (
        cli("show", "--store", "digits.db").stdout
        == text
        == cli("show", "--store", "sqlite:///digits.db", "--name", "digits").stdout
    )


def test_show_is_one_moment_of_a_study_that_others_go_on_with(asked, cli, monkeypatch):
    before = json.loads(cli("show", "--json").stdout)
    look = ft.Study.history.fget

    def looked_at(study):
        history = look(study)
        ft.Study.open("digits.db").add({"x": 0.5}, -9.0)
        return history

    monkeypatch.setattr(ft.Study, "history", property(looked_at))
    assert json.loads(cli("show", "--json").stdout) == before
    after = json.loads(cli("show", "--json").stdout)
    assert after["trials"]["complete"] == 2


def test_convergence_ends_with_the_recommendation_of_now(asked, cli):
    known = json.loads(cli("show", "--json").stdout)
    last, best = known["convergence"][-1], known["recommendation"]
    assert (last["spent"], last["mean"], last["std"]) == (known["spent"], best["mean"], best["std"])
    assert cli("show").stdout.splitlines()[-1].endswith(f" to {best['mean']:.4g}")


def test_spend_is_in_seconds_before_the_first_result_too(folder, cli):
    write_study(folder)
    cli("ask")
    assert re.search(r"\nspent +[\d.]+ m?s: evaluations 0 ms, thinking", cli("show").stdout)


def test_a_store_in_the_home_folder_is_found(asked, cli, monkeypatch):
    monkeypatch.setenv("HOME", str(asked))
    assert len(json.loads(cli("log", "--store", "~/digits.db", "--json").stdout)) == 3
    assert json.loads(cli("list", "~/digits.db", "--json").stdout)[0]["name"] == "digits"
    assert "~" not in cli("list", "~/nix.db", code=4).stderr


def test_looking_at_a_study_that_is_not_there_creates_nothing(folder, cli):
    write_study(folder)
    for arguments in (["show"], ["log"], ["export"], ["delete", "--yes"], ["show", "--store", "digits.db"], ["list", "digits.db"]):
        assert "there is no store" in cli(*arguments, code=4).stderr
    assert not (folder / "digits.db").exists()


def test_list_tells_all_studies_of_a_store(asked, cli):
    write_study(asked, name="other", more='store = "digits.db"\n')
    cli("ask")
    studies = json.loads(cli("list", "digits.db", "--json").stdout)
    assert [(study["name"], study["trials"], study["budget"]) for study in studies] == [("digits", 3, 100.0), ("other", 1, None)]
    assert cli("list", "digits.db").stdout.splitlines()[1].split()[:3] == ["digits", "3", "100"]
    assert "there are several studies" in cli("show", "--store", "digits.db", code=1).stderr
    assert "there is no study 'third'" in cli("show", "--store", "digits.db", "--name", "third", code=4).stderr


# Export, plot, delete ---------------------------------------------------------------------------------------------------------


def test_export_writes_every_trial_to_standard_output_or_to_a_file(asked, cli):
    rows = list(csv.reader(io.StringIO(cli("export").stdout, newline="")))
    assert len(rows) == 1 + 3
    assert len(json.loads(cli("export", "--format", "json").stdout)) == 3
    assert cli("export", "--output", "trials.csv").stdout == ""
    with (asked / "trials.csv").open(newline="") as file:
        assert list(csv.reader(file)) == rows
    cli("export", "--format", "parquet", "--output", "trials.parquet")
    assert (asked / "trials.parquet").read_bytes()[:4] == b"PAR1"
    assert "xml" in cli("export", "--format", "xml", code=2).stderr


def test_a_file_that_cannot_be_written_is_an_error_and_no_traceback(asked, cli):
    assert "farthing: " in cli("export", "--output", "no/such/folder.csv", code=1).stderr


def test_plot_saves_a_picture_and_prints_where(asked, cli):
    assert cli("plot").stdout == "digits.png\n"
    assert cli("plot", "--output", "other.png").stdout == "other.png\n"
    for name in ("digits.png", "other.png"):
        assert (asked / name).read_bytes()[:4] == b"\x89PNG"


def test_delete_wants_the_name_typed(asked, cli):
    assert "nothing was deleted" in cli("delete", input="digit\n", code=1).stderr
    assert "the input ended without an answer, and nothing was deleted; give --yes to delete" in cli("delete", code=1).stderr
    assert len(json.loads(cli("log", "--json").stdout)) == 3
    done = cli("delete", input="digits\n")
    assert done.stdout.endswith("deleted digits with 3 trials\n")
    assert "there is no study 'digits'" in cli("show", code=4).stderr
