"""The picture of a study."""

import sys
import warnings

import numpy as np
import pytest
from matplotlib.colors import to_rgba

import farthing as ft
from farthing.plots import ACCENT, FAILURE, figure, save_plot

FAST = ft.Settings(draws=2, support_points=50, overhead_price=0.0)
ROWS = ft.Fidelity("rows", cheap=10, full=1000, log=True, integer=True)


def study_of(space, trials, fidelity=None):
    """A study of trials (params, fidelity, value): told one after the other, a value of None as a failure; each costs 2."""
    study = ft.Study(space, fidelity=fidelity, seed=1, settings=FAST, method="random")
    for params, level, value in trials:
        if value is None:
            trial = study.ask()
            study.fail(trial, "no luck", cost=2.0)
        elif params is None:
            study.tell(study.ask(), value, cost=2.0)
        else:
            study.add(params, value, fidelity=level)
    return study


def panels(picture):
    """Axes by the label of their x axis, or of their y axis where that has none."""
    return {axes.get_xlabel() or axes.get_ylabel(): axes for axes in picture.axes}


def dots(axes):
    """(n, 2) all that was scattered in data coordinates."""
    return np.concatenate([c.get_offsets() for c in axes.collections if c.get_offset_transform() == axes.transData])


def crosses(axes):
    return [c for c in axes.collections if len(c.get_edgecolor()) and tuple(c.get_edgecolor()[0]) == to_rgba(FAILURE)]


@pytest.fixture(scope="module")
def mixed():
    """Every kind of axis, a fidelity, failures, costs of its own, trials by the method itself."""
    space = {
        "rate": ft.Real(1e-4, 1.0, log=True),
        "layers": ft.Integer(1, 8),
        "optimizer": ft.Choice(["adam", "sgd"]),
        "bias": ft.Choice([True, None]),
        "pay$in$dollars": ft.Real(0.0, 1.0),
    }
    study = ft.Study(space, fidelity=ROWS, seed=1, settings=ft.Settings(draws=2, support_points=50, overhead_price=0.5))

    def objective(rows, **params):
        if params["optimizer"] == "sgd" and params["layers"] > 4:
            raise ValueError("diverged")
        return ft.Evaluation(abs(np.log10(params["rate"]) + 2) + params["layers"] / 10 + 10 / rows, cost=rows / 100)

    study.run(objective, evaluations=14, max_failures=14)
    assert any(t.state == "failed" for t in study.trials)
    return study


def test_every_value_is_a_dot_against_what_was_spent_by_then(mixed):
    axes = panels(figure(mixed))["cost spent, thinking included"]
    done = [t for t in mixed.trials if t.state == "complete"]
    spent = np.cumsum([0.5 * t.overhead + t.cost for t in mixed.trials])
    expected = {(round(spent[t.number], 9), t.value) for t in done if t.value <= axes.get_ylim()[1]}
    assert {(round(x, 9), y) for x, y in dots(axes)} == expected
    (line,) = axes.lines
    assert line.get_xdata()[-1] == pytest.approx(mixed.history.spent + 0.5 * mixed.history.overhead_seconds)
    assert line.get_ydata()[-1] == mixed.recommend().mean


def test_the_bars_of_the_spend_add_up_to_all_that_was_spent(mixed):
    axes = panels(figure(mixed))["cost"]
    assert sum(bar.get_width() for bar in axes.patches) == pytest.approx(mixed.history.spent + 0.5 * mixed.history.overhead_seconds)
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names[0] == "full\n(rows=1000)"
    assert names[-2:] == ["failed", "thinking"]


def test_fidelities_of_all_trials_are_shown_failed_ones_as_crosses(mixed):
    axes = panels(figure(mixed))["trial"]
    assert {tuple(dot) for dot in dots(axes)} == {(t.number, t.fidelity) for t in mixed.trials}
    (failed,) = crosses(axes)
    assert {int(x) for x, _ in failed.get_offsets()} == {t.number for t in mixed.trials if t.state == "failed"}
    assert axes.get_yscale() == "log"


def test_each_parameter_has_a_panel_on_its_own_scale_with_the_recommendation(mixed):
    shown = panels(figure(mixed))
    best = mixed.recommend().params
    assert shown["rate"].get_xscale() == "log"
    assert shown["layers"].get_xscale() == "linear"
    assert [label.get_text() for label in shown["optimizer"].get_xticklabels()] == ["adam", "sgd"]
    assert [label.get_text() for label in shown["bias"].get_xticklabels()] == ["True", "None"]
    for name, at in (("rate", best["rate"]), ("layers", best["layers"]), ("optimizer", ["adam", "sgd"].index(best["optimizer"]))):
        marked = [line.get_xdata()[0] for line in shown[name].lines if line.get_color() == ACCENT]
        assert marked
        assert set(marked) == {at}
    for name in ("rate", "layers", "optimizer", "bias"):
        assert sum(len(c.get_offsets()) for c in crosses(shown[name])) == len(mixed.history.failed)


def test_dollar_signs_in_names_are_not_mathematics(mixed):
    picture = figure(mixed)
    picture.canvas.draw()
    assert r"pay\$in\$dollars" in panels(picture)


def test_dots_lie_within_the_range_of_their_axis_whatever_the_option(mixed):
    axes = panels(figure(mixed))["optimizer"]
    options = ["adam", "sgd"]
    done = [t for t in mixed.trials if t.state == "complete" and t.value <= axes.get_ylim()[1]]
    assert sorted(np.round(dots(axes)[:, 0])) == sorted(options.index(t.params["optimizer"]) for t in done)


def test_no_more_than_six_parameters_and_no_fixed_one_get_a_panel():
    space = {"fixed": 3, **{f"x{i}": ft.Real(0.0, 1.0) for i in range(8)}}
    picture = figure(study_of(space, [(None, None, 1.0), (None, None, 2.0)]))
    assert [name for name in panels(picture) if name.startswith(("x", "fixed"))] == [f"x{i}" for i in range(6)]
    assert any("first 6 of 8" in text.get_text() for sub in picture.subfigs for text in sub.texts)


def test_one_disastrous_value_does_not_flatten_the_rest():
    values = [-1.0, -0.5, 0.0, 0.5, 1e6, 1.0, 0.2]
    study = study_of({"x": ft.Real(0.0, 1.0)}, [({"x": i / 7}, None, v) for i, v in enumerate(values)])
    axes = panels(figure(study))["x"]
    low, high = axes.get_ylim()
    assert high < 20.0
    assert low < -1.0
    assert len(dots(axes)) == 6
    beyond = [c for c in axes.collections if str(c.get_label()).startswith("above")]
    assert [len(c.get_offsets()) for c in beyond] == [1]


def test_positive_values_over_decades_are_drawn_on_a_logarithmic_scale():
    values = [10.0 ** (-i) for i in range(6)]
    study = study_of({"x": ft.Real(0.0, 1.0)}, [({"x": i / 7}, None, v) for i, v in enumerate(values)])
    axes = panels(figure(study))["x"]
    recommended_below_zero = study.recommend().mean <= 0.0
    assert axes.get_yscale() == ("linear" if recommended_below_zero else "log")
    assert not recommended_below_zero  # otherwise this shows nothing


def test_a_recommendation_that_was_expected_below_every_value_is_in_the_picture(monkeypatch):
    values = [10.0 ** (-i) for i in range(6)]
    study = study_of({"x": ft.Real(0.0, 1.0)}, [({"x": i / 7}, None, v) for i, v in enumerate(values)])
    means = [20.0, 3e-6, -1.0, 1e-12, *[0.5] * 5]
    monkeypatch.setattr("farthing.plots.convergence", lambda *_: [(float(i), mean, 0.1) for i, mean in enumerate(means)])
    axes = panels(figure(study))["cost spent, thinking included"]
    low, high = axes.get_ylim()
    assert axes.get_yscale() == "log"
    assert 1e-7 < low < 3e-6  # what is practically nothing must not stretch the scale
    assert high > 20.0
    drawn = axes.lines[0].get_ydata()
    assert list(drawn[[0, 1]]) == [20.0, 3e-6]
    assert np.isnan(drawn[[2, 3]]).all()


@pytest.mark.parametrize("value", [0.0, 3.0, -1e-9, 1e9])
def test_a_single_value_makes_a_picture(value):
    axes = panels(figure(study_of({"x": ft.Real(0.0, 1.0)}, [({"x": 0.5}, None, value)])))["x"]
    low, high = axes.get_ylim()
    assert low < value < high


def test_colors_go_by_the_fidelity_and_full_is_dark_whichever_end_it_is():
    for fidelity, levels in ((ROWS, [1000, 10]), (ft.Fidelity("tolerance", cheap=0.1, full=0.001, log=True), [0.001, 0.1])):
        study = study_of({"x": ft.Real(0.0, 1.0)}, [({"x": 0.5}, level, 1.0) for level in levels], fidelity)
        full, cheap = panels(figure(study))["x"].collections[0].get_facecolor()[:, :3].sum(axis=1)
        assert full < cheap


def test_nothing_is_drawn_by_pyplot(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)  # importing it is an error now
    figure(study_of({"x": ft.Real(0.0, 1.0)}, [({"x": 0.5}, None, 1.0)]))


# Files ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("suffix", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF"), ("PNG", b"\x89PNG")])
def test_the_suffix_decides_the_format(mixed, suffix, start, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # such as that of a layout that does not fit
        save_plot(mixed, tmp_path / f"study.{suffix}")
    assert (tmp_path / f"study.{suffix}").read_bytes().startswith(start)


def test_a_path_that_cannot_be_is_refused_with_a_remedy(mixed, tmp_path):
    for name in ("study", "study.bmp", "study.png.txt"):
        with pytest.raises(ft.SettingsError, match=r"let it end in \.png, \.svg or \.pdf"):
            save_plot(mixed, tmp_path / name)
    with pytest.raises(ft.SettingsError, match="there is no folder"):
        save_plot(mixed, tmp_path / "missing" / "study.png")
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(ft.SettingsError, match="give a path that may be written"):
        save_plot(mixed, tmp_path / "folder.png")


def test_a_study_without_results_has_nothing_to_plot():
    for trials in ([], [(None, None, None)]):
        with pytest.raises(ft.NothingToReport, match="nothing to plot"):
            figure(study_of({"x": ft.Real(0.0, 1.0)}, trials))


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    for module in [name for name in sys.modules if name.startswith("matplotlib")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ft.MissingExtra, match=r'pip install "farthing\[plots\]"'):
        figure(study_of({"x": ft.Real(0.0, 1.0)}, [({"x": 0.5}, None, 1.0)]))
