"""Trials as a table for other programs."""

import csv
import io
import json
import math
import sys

import pyarrow.parquet
import pytest

import farthing as ft
from farthing.export import columns_of, write_trials
from farthing.trials import Proposal, Trial

AWKWARD = [0.1 + 0.2, 1e-300, -1.7976931348623157e308, 5e-324, 1 / 3, -0.0, 1e22]
"""Floats that come back changed if written to fewer than 17 digits."""


def trial(number=0, params=None, fidelity=None, name=None, proposal=None, **rest):
    return Trial(number, {"x": 0.5} if params is None else params, fidelity, proposal or Proposal("initial"), name, **rest)


def complete(number, value, **rest):
    return trial(number, state="complete", value=value, **rest)


def read(format, path):
    """The table as a list of dicts; from CSV all is text."""
    if format == "json":
        return json.loads(path.read_text())
    if format == "parquet":
        return pyarrow.parquet.read_table(path).to_pylist()
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def written(trials, format, tmp_path):
    path = tmp_path / f"trials.{format}"
    write_trials(trials, format, path)
    return read(format, path)


@pytest.mark.parametrize("format", ["csv", "json", "parquet"])
def test_floats_come_back_to_the_last_digit(format, tmp_path):
    trials = [complete(i, v, params={"x": v}, cost=abs(v), noise=None) for i, v in enumerate(AWKWARD)]
    rows = written(trials, format, tmp_path)
    for name in ("value", "x"):
        back = [float(row[name]) for row in rows]
        assert back == AWKWARD
        assert math.copysign(1.0, back[5]) == -1.0
    assert [row["noise"] for row in rows] == ["" if format == "csv" else None] * len(AWKWARD)


@pytest.mark.parametrize("format", ["csv", "json", "parquet"])
def test_text_with_separators_quotes_and_line_ends_comes_back(format, tmp_path):
    odd = 'a "quoted", comma;\nsecond line\twith ünïcode 数'
    rows = written([trial(params={"name, or so": odd}, state="failed", reason=odd, cost=1.5)], format, tmp_path)
    assert rows[0]["name, or so"] == odd
    assert rows[0]["reason"] == odd
    assert rows[0]["state"] == "failed"


@pytest.mark.parametrize("format", ["csv", "json", "parquet"])
def test_a_reason_that_is_no_unicode_can_be_written(format, tmp_path):
    rows = written([trial(state="failed", reason="no file 'caf\udce9'")], format, tmp_path)
    assert rows[0]["reason"] == "no file 'caf\\udce9'"


def test_a_row_tells_all_that_is_known_of_a_trial(tmp_path):
    best = ft.Recommendation({"x": 0.25, "layers": 3}, 1.5, 0.125)
    proposal = Proposal("acquisition", 2.0, 0.5, 0.25, 3, 0.1, information_share=0.31, price_share=0.07, recommendation=best)
    made = trial(
        4,
        {"x": 0.5, "layers": 2},
        50,
        "rows",
        proposal,
        state="complete",
        value=1.0,
        cost=2.5,
        noise=0.1,
        overhead=0.75,
        started=1e9,
    )
    assert written([made], "json", tmp_path) == [
        {
            "number": 4,
            "state": "complete",
            "kind": "acquisition",
            "x": 0.5,
            "layers": 2,
            "rows": 50,
            "recommended_x": 0.25,
            "recommended_layers": 3,
            "value": 1.0,
            "cost": 2.5,
            "noise": 0.1,
            "overhead": 0.75,
            "predicted_cost": 2.0,
            "information_gain": 0.5,
            "information_rate": 0.25,
            "information_share": 0.31,
            "price_share": 0.07,
            "recommendation_mean": 1.5,
            "recommendation_std": 0.125,
            "why": "rows=50: 0.31 of the information at 0.07 of the price",
            "reason": None,
            "started": 1e9,
        }
    ]


def test_a_parameter_named_like_a_column_is_not_lost():
    params = {"value": 1.0, "param_value": 2.0, "mean": 3.0, "recommended_mean": 4.0, "recommendation_mean": 5.0, "cost": 6.0}
    best = ft.Recommendation({name: 10.0 * value for name, value in params.items()}, -1.0, 0.5)
    made = trial(0, params, 7, "number", Proposal("acquisition", recommendation=best), state="complete", value=-2.0, cost=-3.0)
    columns = columns_of([made])
    assert {name: columns[name] for name in ("number", "value", "cost", "recommendation_mean")} == {
        "number": [0],
        "value": [-2.0],
        "cost": [-3.0],
        "recommendation_mean": [-1.0],
    }
    assert columns["param_cost"] == [6.0]
    assert columns["fidelity_number"] == [7]
    everything = [value for (value,) in columns.values()]
    for value in (*params.values(), *best.params.values()):
        assert everything.count(value) == 1, value


def test_trials_without_a_recommendation_or_of_other_parameters_leave_gaps():
    best = ft.Recommendation({"x": 0.25}, 1.5, 0.125)
    columns = columns_of([trial(0), trial(1, {"y": 2}, proposal=Proposal("acquisition", recommendation=best))])
    assert columns["x"] == [0.5, None]
    assert columns["y"] == [None, 2]
    assert columns["recommended_x"] == [None, 0.25]
    assert columns["recommendation_std"] == [None, 0.125]


def test_no_trials_make_a_table_without_rows(tmp_path):
    assert written([], "json", tmp_path) == []
    write_trials([], "csv", tmp_path / "none.csv")
    assert (tmp_path / "none.csv").read_text().startswith("number,state,kind,value,")
    write_trials([], "parquet", tmp_path / "none.parquet")
    table = pyarrow.parquet.read_table(tmp_path / "none.parquet")
    assert (table.num_rows, str(table.schema.field("value").type), str(table.schema.field("number").type)) == (0, "double", "int64")


@pytest.mark.parametrize(
    ("options", "back"),
    [
        ([True, False, None], [True, False, None]),
        ([1, 0.5, None], [1.0, 0.5, None]),
        ([1, "one", True], ["1", '"one"', "true"]),
        ([1, True, None], ["1", "true", None]),
        ([2**70, 1, 2], [str(2**70), "1", "2"]),
        ([2**60 + 1, 0.5, 1], [str(2**60 + 1), "0.5", "1"]),
        ([None, None, None], [None, None, None]),
    ],
)
def test_options_of_any_types_fit_into_a_parquet_column(options, back, tmp_path):
    rows = written([trial(i, {"option": option}) for i, option in enumerate(options)], "parquet", tmp_path)
    assert [row["option"] for row in rows] == back
    assert [type(row["option"]) for row in rows] == [type(value) for value in back]


def test_options_of_any_types_come_back_from_json(tmp_path):
    options = [True, 1.5, 2, None, "text", 2**70]
    rows = written([trial(i, {"option": option}) for i, option in enumerate(options)], "json", tmp_path)
    assert [(row["option"], type(row["option"])) for row in rows] == [(option, type(option)) for option in options]


def test_json_has_no_numbers_that_json_has_not(tmp_path):
    rows = written([trial(proposal=Proposal("acquisition", information_rate=math.inf, price_share=math.nan))], "json", tmp_path)
    assert (rows[0]["information_rate"], rows[0]["price_share"]) == (None, None)


def test_a_reason_in_csv_is_no_formula_for_a_spreadsheet(tmp_path):
    rows = written([trial(i, {"x": -1.0}, state="failed", reason=r) for i, r in enumerate(["=1+1", "-2", "fine"])], "csv", tmp_path)
    assert [row["reason"] for row in rows] == ["'=1+1", "'-2", "fine"]
    assert rows[0]["x"] == "-1.0"


@pytest.mark.parametrize("format", ["csv", "json"])
def test_without_a_path_the_table_goes_to_standard_output(format, capsys, tmp_path):
    write_trials([complete(0, 1.5)], format)
    write_trials([complete(0, 1.5)], format, tmp_path / "same")
    assert capsys.readouterr().out == (tmp_path / "same").read_text()


def test_parquet_goes_to_standard_output_but_not_to_a_terminal(capsysbinary, monkeypatch):
    write_trials([complete(0, 1.5)], "parquet")
    table = pyarrow.parquet.read_table(io.BytesIO(capsysbinary.readouterr().out))
    assert table.column("value").to_pylist() == [1.5]
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    with pytest.raises(ft.FarthingError, match="give a path"):
        write_trials([complete(0, 1.5)], "parquet")


def test_a_path_that_cannot_be_written_is_an_error_with_a_remedy(tmp_path):
    for path in (tmp_path, tmp_path / "missing" / "trials.csv"):
        with pytest.raises(ft.FarthingError, match=r"could not be written to .* give a path that may be written"):
            write_trials([trial()], "csv", path)


def test_an_unknown_format_is_refused_and_leaves_the_file_alone(tmp_path):
    path = tmp_path / "trials.xlsx"
    path.write_text("precious")
    with pytest.raises(ft.SettingsError, match="no export format 'xlsx'; choose one of csv, json, parquet"):
        write_trials([trial()], "xlsx", path)
    assert path.read_text() == "precious"


def test_without_pyarrow_the_error_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ft.MissingExtra, match="pip install pyarrow"):
        write_trials([trial()], "parquet", tmp_path / "trials.parquet")
    assert not (tmp_path / "trials.parquet").exists()


def test_a_study_that_was_run_can_be_exported_and_read_back(tmp_path):
    settings = ft.Settings(draws=2, support_points=50, initial=3)
    space = {"x": ft.Real(0.0, 1.0), "kind": ft.Choice(["a", "b"]), "fixed": 3}
    study = ft.Study(space, fidelity=ft.Fidelity("n", cheap=1, full=9, integer=True), seed=1, settings=settings)

    def objective(x, kind, fixed, n):
        if kind == "b":
            raise ValueError("not b")
        return x + 1 / n

    study.run(objective, evaluations=6)
    rows = {format: written(study.trials, format, tmp_path) for format in ("csv", "json", "parquet")}
    assert rows["json"] == rows["parquet"]
    for row, text, made in zip(rows["json"], rows["csv"], study.trials, strict=True):
        assert (row["x"], row["param_kind"], row["fixed"], row["n"]) == (made.params["x"], made.params["kind"], 3, made.fidelity)
        assert (row["value"], row["cost"], row["reason"]) == (made.value, made.cost, made.reason)
        assert text == {name: "" if value is None else str(value) for name, value in row.items()}
