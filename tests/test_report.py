"""What a person sees of a run."""

from io import StringIO

import pytest

import farthing as ft
from farthing.report import ProgressLine, params_in_words, seconds_in_words, spend_by_fidelity
from farthing.store import MemoryStore
from farthing.trials import Proposal, Trial

SMALL = ft.Settings(draws=2, support_points=40, starts=2, initial=2, overhead_price=1.0)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0, "0 ms"),
        (0.0004, "0.4 ms"),
        (0.034, "34 ms"),
        (0.0999, "99.9 ms"),
        (0.1, "0.1 s"),
        (1.0, "1 s"),
        (75.0, "75 s"),
        (99.94, "99.9 s"),
        (100.0, "1.67 min"),
        (5400.0, "90 min"),
        (6000.0, "1.67 h"),
        (36000.0, "10 h"),
    ],
)
def test_seconds_in_words(seconds, words):
    assert seconds_in_words(seconds) == words


@pytest.mark.parametrize("seconds", [99.96, 99.999, 5999.0, 5999.9, 3.6e6, 1e7])
def test_no_time_is_said_in_powers_of_ten(seconds):
    assert "e+" not in seconds_in_words(seconds)


def test_params_in_words():
    assert params_in_words({"C": 3.14159, "gamma": 0.001}) == "C=3.142, gamma=0.001"
    assert params_in_words({"x": -1234567.0}) == "x=-1.235e+06"
    assert params_in_words({}) == ""


def study_of(results, fidelity):
    """A study with trials of these (fidelity, cost, overhead); a cost of None is a trial still pending."""
    trials = []
    for number, (level, cost, overhead) in enumerate(results):
        trial = Trial(number, {"x": 0.1 * number}, level, Proposal("initial"), fidelity and fidelity.name, overhead=overhead)
        trials.append(trial if cost is None else trial.completed(1.0, cost, None, number, True))
    return ft.Study({"x": ft.Real(0.0, 1.0)}, fidelity=fidelity, seed=1, store=MemoryStore(trials), settings=SMALL)


def test_spend_by_fidelity_puts_every_evaluation_into_one_row():
    rows = ft.Fidelity("rows", cheap=1, full=10_000, log=True, integer=True)
    levels = [10_000, 10_000, 5000, 1001, 999, 101, 11, 1, 9, 50]
    results = [(level, level / 100.0, 0.0) for level in levels[:-1]] + [(50, None, 0.0)]
    spend = spend_by_fidelity(study_of(results, rows).history)
    # On this scale a quarter is a factor of ten.
    assert spend == [
        ("full (rows=10000)", 2, 200.0),
        ("1000 to 10000", 2, pytest.approx(60.01)),
        ("100 to 1000", 2, pytest.approx(11.0)),
        ("10 to 100", 1, pytest.approx(0.11)),
        ("1 to 10", 2, pytest.approx(0.1)),
    ]
    assert sum(count for _, count, _ in spend) == len(levels) - 1  # but not the pending one


def test_spend_by_fidelity_where_full_is_the_smaller_number():
    tolerance = ft.Fidelity("tolerance", cheap=0.1, full=1e-5, log=True)
    spend = spend_by_fidelity(study_of([(1e-5, 9.0, 0.0), (1e-3, 4.0, 0.0), (0.1, 1.0, 0.0)], tolerance).history, levels=2)
    assert spend == [("full (tolerance=1e-05)", 1, 9.0), ("0.001 to 1e-05", 1, 4.0), ("0.1 to 0.001", 1, 1.0)]


def test_spend_without_a_fidelity_is_one_row():
    assert spend_by_fidelity(study_of([(None, 2.0, 0.0), (None, 3.0, 0.0), (None, None, 0.0)], None).history) == [("all", 2, 5.0)]
    assert spend_by_fidelity(study_of([], None).history) == [("all", 0, 0.0)]


def shown(study, trial, *, budget=None, evaluations=None, overhead_rate=1.0):
    stream = StringIO()
    ProgressLine(stream, budget, evaluations, overhead_rate).show(study.history, trial)
    return stream.getvalue()


@pytest.fixture
def _wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")


@pytest.mark.usefixtures("_wide_terminal")
def test_the_progress_line_says_what_was_spent_and_what_thinking_took():
    rows = ft.Fidelity("rows", cheap=1, full=10_000, log=True, integer=True)
    study = study_of([(10_000, 6.0, 1.0), (100, 2.0, 1.0), (50, None, 0.0)], rows)
    text = shown(study, study.trials[2], budget=50.0, evaluations=9)
    assert text.startswith("\rfarthing: 10/50 spent · 2/9 evaluations · 20% thinking · now rows=50 ")
    text = shown(study, study.trials[2], overhead_rate=0.0)
    assert text.startswith("\rfarthing: 8 spent · 2 evaluations · 0% thinking · now rows=50 ")


@pytest.mark.usefixtures("_wide_terminal")
def test_the_progress_line_of_a_first_trial_has_nothing_to_divide_by():
    study = study_of([(None, None, 0.0)], None)
    assert shown(study, study.trials[0]).strip() == "farthing: 0 spent · 0 evaluations"


@pytest.mark.usefixtures("_wide_terminal")
def test_the_progress_line_gives_the_recommendation_of_its_trial():
    proposal = Proposal("acquisition", recommendation=ft.Recommendation({"x": 0.25}, mean=1.23456, std=0.0123456))
    study = ft.Study({"x": ft.Real(0.0, 1.0)}, store=MemoryStore([Trial(0, {"x": 0.5}, None, proposal)]), seed=1, settings=SMALL)
    assert "best 1.235 ± 0.012 at x=0.25" in shown(study, study.trials[0])


@pytest.mark.parametrize("columns", [20, 80])
def test_the_progress_line_fills_the_terminal_but_never_breaks(columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    study = study_of([(None, 1.0, 0.5), (None, None, 0.0)], None)
    stream = StringIO()
    line = ProgressLine(stream, 50.0, 9, 1.0)
    for trial in study.trials:
        line.show(study.history, trial)
    line.close()
    first, second, third = stream.getvalue().split("\r")
    assert first == ""
    assert len(second) == columns - 1  # the next line overwrites all of the one before
    assert third.endswith("\n")
    assert len(third.rstrip("\n")) == columns - 1


class Terminal(StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("stream", [Terminal, StringIO])
@pytest.mark.parametrize("progress", [True, False])
def test_a_run_shows_its_progress_on_a_terminal_and_only_there(stream, progress, monkeypatch):
    error = stream()
    monkeypatch.setattr("sys.stderr", error)
    ft.minimize(lambda x: x, {"x": ft.Real(0.0, 1.0)}, evaluations=3, method="random", seed=1, settings=SMALL, progress=progress)
    written = error.getvalue()
    if stream is Terminal and progress:
        assert written.count("\rfarthing: ") == 3
        assert written.endswith("\n")
    else:
        assert written == ""


def test_the_progress_line_is_closed_when_a_run_fails(monkeypatch):
    error = Terminal()
    monkeypatch.setattr("sys.stderr", error)

    def objective(x):
        raise OSError("no luck")

    with pytest.raises(ft.ObjectiveFailed):
        ft.minimize(objective, {"x": ft.Real(0.0, 1.0)}, evaluations=9, seed=1, settings=SMALL)
    assert error.getvalue().endswith("\n")
