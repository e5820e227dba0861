"""Where an objective is uneven, every second proposal tries its luck at full fidelity in the place of seeking."""

from __future__ import annotations

import numpy as np
import pytest
from filled import filled
from method.problems import history_of, known_surrogate

import farthing as ft
from farthing.method import propose
from farthing.method.luck import LONGEST, SHORTEST, neighbors
from farthing.methods import EnvPES
from farthing.report import why

CERTAIN = ft.Settings(repeatable=1.0)
METHOD = EnvPES(check=False, doubt=False)


def bowl(x, y, s, unevenness):
    """Its waves are far too short to be seen, and the same whenever it is evaluated; or it has none, and counts."""
    value = 4.0 * ((x - 0.4) ** 2 + (y - 0.4) ** 2) + 0.1 * s
    return round(20.0 * value) / 20.0 if unevenness == "counts" else value + unevenness * np.sin(1e4 * x + 3e4 * y)


def evaluate(study, count, unevenness):
    for _ in range(count):
        asked = study.ask()
        value = bowl(asked.params["x"], asked.params["y"], asked.fidelity, unevenness)
        study.tell(asked, value, cost=1.0 - 0.8 * asked.fidelity)
    return study.trials[-count:]


def known(unevenness, method=METHOD, only=26, budget=None, **settings):
    """A study that was given 26 evaluations near the minimum and elsewhere, most of them at full fidelity; or only the first."""
    fixed = {"overhead_price": 0.0, "repeatable": 1.0, "initial": 1, "confirm": False}
    study = ft.Study(
        {"x": ft.Real(0.0, 1.0), "y": ft.Real(0.0, 1.0)},
        fidelity=ft.Fidelity("s", cheap=1.0, full=0.0),
        budget=budget,
        method=method,
        seed=0,
        settings=ft.Settings(**(fixed | settings)),
    )
    rng = np.random.default_rng(1)
    places = np.concatenate([rng.random((10, 2)), 0.4 + 0.1 * rng.standard_normal((16, 2))])
    for i, (x, y) in enumerate(places[:only]):
        s = 0.5 * float(i % 5 == 0)
        study.add({"x": float(x), "y": float(y)}, bowl(x, y, s, unevenness), fidelity=s, cost=1.0 - 0.8 * s)
    return study


def kinds(trials):
    return [trial.proposal.kind for trial in trials]


def test_proposals_that_try_their_luck_take_turns_with_those_that_learn():
    made = evaluate(known(0.03), 6, 0.03)
    assert kinds(made) == ["acquisition", "luck"] * 3
    lucky = made[1::2]
    assert {trial.fidelity for trial in lucky} == {0.0}
    assert all(abs(trial.params[axis] - 0.4) < 0.35 for trial in lucky for axis in "xy")
    assert why(lucky[0]) == "luck: the objective is uneven; the most to be gained at full fidelity"


def test_where_the_objective_counts_every_second_try_is_a_neighbor():
    made = evaluate(known("counts"), 8, "counts")
    assert kinds(made) == ["acquisition", "luck", "acquisition", "neighbor"] * 2
    assert {trial.fidelity for trial in made[1::2]} == {0.0}
    assert why(made[3]) == "neighbor: the objective counts; beside the best place tried, at full fidelity"


def test_neighbors_lie_beside_all_places_that_share_the_lowest_value():
    rng = np.random.default_rng(0)
    points, values = rng.random((24, 3)), np.arange(1.0, 25.0)
    points[:, 2], values[3], values[7] = 0.0, 0.5, 0.5
    points[5, 2], values[5] = 1.0, 0.1  # cheap, and lower
    surrogate = known_surrogate(points, values, 2, [[0.05, 8.0, 1.0]], noise=1e-2)
    places = neighbors(history_of(points, values, fidelity=True), surrogate, CERTAIN, np.random.default_rng(1))
    apart = (places[:, None] - points[[3, 7], :2][None]) / [0.05, 1.0]
    away = np.sqrt((apart**2).mean(axis=2)).min(axis=1)
    assert ((places >= 0.0) & (places <= 1.0)).all()
    assert away.max() < 4.0 * LONGEST
    assert 0.5 * SHORTEST < np.median(away) < LONGEST
    assert {*np.argmin((apart**2).sum(axis=2), axis=1).tolist()} == {0, 1}


def test_steps_are_as_long_as_they_are_meant_to_be():
    """Lengths are log-uniform, and directions normal, of whose size the mean logarithm is -(gamma + log 2) / 2."""
    points, values = np.random.default_rng(0).random((24, 3)), np.arange(1.0, 25.0)
    points[:, 2], points[3, :2], values[3] = 0.0, 0.5, 0.5
    surrogate = known_surrogate(points, values, 2, [[0.2, 8.0, 1.0]], noise=1e-2)
    history = history_of(points, values, fidelity=True)
    places = np.concatenate([neighbors(history, surrogate, CERTAIN, np.random.default_rng(seed)) for seed in range(20)])
    found = np.log(np.abs(places - 0.5) / [0.2, 1.0]).mean(axis=0)
    expected = 0.5 * (np.log(SHORTEST) + np.log(LONGEST)) - 0.5 * (np.euler_gamma + np.log(2.0))
    assert found == pytest.approx([expected, expected], abs=0.15)


def test_neighbors_are_what_the_space_has_and_none_is_evaluated_again():
    def count(n, m):
        return float(abs(n - 4) + abs(m - 4))

    study = ft.Study(
        {"n": ft.Integer(0, 8), "m": ft.Integer(0, 8)},
        method=METHOD,
        seed=0,
        settings=ft.Settings(overhead_price=0.0, repeatable=1.0, initial=1, confirm=False),
    )
    for n in (0, 3, 4, 5, 8):
        for m in (0, 4, 8):
            study.add({"n": n, "m": m}, count(n, m), cost=1.0)
    for _ in range(24):
        asked = study.ask()
        study.tell(asked, count(**asked.params), cost=1.0)
    made = [t for t in study.trials if t.proposal.kind == "neighbor"]
    assert len(made) > 1
    assert {type(t.params["n"]) for t in made} == {int}
    places = [(t.params["n"], t.params["m"]) for t in study.trials]
    assert len({*places}) == len(places)


def test_late_in_a_budget_there_are_no_turns():
    study = known(0.03, budget=12.0)
    while study.remaining > 1.0:
        evaluate(study, 1, 0.03)
    made = [trial for trial in study.trials if trial.proposal.kind != "added"]
    late = 12.0 - np.cumsum([0.0, *(trial.cost for trial in made[:-1])]) <= 3.0
    assert late.sum() > 0
    assert not late.all()
    assert kinds(made) == ["luck" if last or i % 2 == 1 else "acquisition" for i, last in enumerate(late)]


@pytest.mark.parametrize(
    ("unevenness", "method", "settings"),
    [
        (0.0, METHOD, {}),
        (0.03, METHOD, {"repeatable": 0.0}),
        (0.03, METHOD, {"noise": 0.1}),
        (0.03, EnvPES(check=False, doubt=False, seek=False), {}),
    ],
    ids=["even", "not repeatable", "noise that is stated", "the paper's method"],
)
def test_there_is_no_luck_to_be_had_otherwise(unevenness, method, settings):
    assert kinds(evaluate(known(unevenness, method, **settings), 4, unevenness)) == ["acquisition"] * 4


def test_there_is_none_where_there_is_no_time(monkeypatch):
    """Improvement is what light thinking goes by without a fidelity; with one it has no turns."""
    study = known(0.03, thinking_share=0.01, overhead_price=1.0)
    monkeypatch.setattr(propose, "is_uneven", lambda *seen: True)
    made = evaluate(study, 4, 0.03)
    assert {trial.proposal.effort for trial in made} == {"light"}
    assert "luck" not in kinds(made)


def test_whether_an_objective_is_uneven_is_asked_anew_each_time(monkeypatch):
    """For a moment hyperparameters may be drawn that have noise; that is not to cost a smooth objective half of its budget."""
    study = known(0.03)
    told = iter([True])
    monkeypatch.setattr(propose, "is_uneven", lambda *seen: next(told, False))
    assert kinds(evaluate(study, 6, 0.03)) == ["acquisition", "luck", *["acquisition"] * 4]


@pytest.mark.parametrize(("unevenness", "kind"), [(0.03, "luck"), ("counts", "neighbor")])
def test_a_study_rebuilt_takes_the_same_turns(unevenness, kind):
    study = known(unevenness)
    evaluate(study, 3, unevenness)
    again = filled(known(unevenness, only=0), study.trials)
    proposals = study.ask(), again.ask()
    assert kinds(proposals) == [kind, kind]
    assert proposals[0].params == proposals[1].params
