"""Every second proposal leaves polishing aside, so that hope elsewhere has its turn."""

from __future__ import annotations

import numpy as np
import pytest
from filled import filled

import farthing as ft
from farthing.method import propose
from farthing.method.beliefs import believe
from farthing.method.deliberation import KNOW, _indifference
from farthing.method.situation import Situation
from farthing.methods import PES, EnvPES


def valley(x):
    return float(1.5 - 2.5 * np.exp(-(((x - 0.3) / 0.12) ** 2)))


def polished(method, known_up_to=0.6, seed=0, **settings):
    """A study that knows the well at 0.3 to many digits, and nothing to the right of `known_up_to`."""
    fixed = {"confirm": False, "noise": 0.0, "thinking_share": 1.0, "initial": 1, "overhead_price": 0.0}
    study = ft.Study({"x": ft.Real(0.0, 1.0)}, method=method, seed=seed, settings=ft.Settings(**(fixed | settings)))
    near = np.array([1e-5, 1e-3, 0.004, 0.01, 0.02, 0.03, 0.05, 0.08])
    for x in [0.0, 0.1, 0.18, *(0.3 - near), *(0.3 + near), 0.42, 0.5, 0.6, 0.7, 0.85, 1.0]:
        if x <= known_up_to:
            study.add({"x": float(x)}, valley(x), cost=1.0)
    return study


@pytest.fixture
def turns(monkeypatch):
    """Whether polishing counted, deliberation by deliberation."""
    seen = []
    deliberate = propose.deliberate

    def watched(situation, beliefs, rng, aim=KNOW):
        seen.append(aim == KNOW)
        return deliberate(situation, beliefs, rng, aim)

    monkeypatch.setattr(propose, "deliberate", watched)
    return seen


def evaluate(study, count):
    for _ in range(count):
        asked = study.ask()
        study.tell(asked, valley(asked.params["x"]), cost=1.0)
    return study.trials[-count:]


def test_proposals_polish_and_seek_by_turns(turns):
    evaluate(polished(PES(doubt=False)), 6)
    assert turns == [True, False] * 3


def test_proposals_of_doubt_take_no_turn(turns, monkeypatch):
    """With the whole axis known there is hardly any hope: doubt comes in between, whose deliberations, if any, are light."""
    efforts, deliberate = [], propose.deliberate

    def noted(situation, *others):
        efforts.append(situation.effort)
        return deliberate(situation, *others)

    monkeypatch.setattr(propose, "deliberate", noted)
    made = evaluate(polished("pes", known_up_to=1.0), 8)
    usual = [trial for trial in made if trial.proposal.kind == "acquisition"]
    assert {trial.proposal.kind for trial in made} == {"acquisition", "doubt"}
    polishing = [told for told, effort in zip(turns, efforts, strict=True) if effort == "normal"]
    assert polishing == [i % 2 == 0 for i in range(len(usual))]


@pytest.mark.parametrize("method", [PES(seek=False, doubt=False), EnvPES(seek=False, doubt=False)], ids=["pes", "envpes"])
def test_the_papers_method_polishes_always(turns, method):
    evaluate(polished(method), 4)
    assert turns == [True] * 4


def test_there_is_no_seeking_where_there_is_no_time(turns):
    study = ft.Study({"x": ft.Real(0.0, 1.0), "y": ft.Real(0.0, 1.0)}, fidelity=ft.Fidelity("s", 1.0, 0.0), method="envpes")
    rng = np.random.default_rng(0)
    for x, y, s in rng.random((12, 3)):
        study.add({"x": x, "y": y}, valley(x) + y + s, fidelity=s, cost=0.01)
    for _ in range(4):
        asked = study.ask()
        study.tell(asked, valley(asked.params["x"]) + asked.params["y"] + asked.fidelity)
    chosen = [trial.proposal for trial in study.trials if trial.proposal.kind == "acquisition"]
    assert {proposal.effort for proposal in chosen} == {"light"}
    assert turns == [True] * len(chosen)


def test_seeking_goes_where_there_is_hope_and_polishing_to_the_well():
    """A gap of 0.4 may hold a lower minimum: who seeks looks there, who does not adds digits to the well."""
    second = {seek: [evaluate(polished(PES(seek=seek, doubt=False), seed=s), 2)[1] for s in range(12)] for seek in (True, False)}
    inside = {seek: sum(trial.params["x"] > 0.6 for trial in trials) for seek, trials in second.items()}
    assert inside[True] > inside[False] + 2


@pytest.mark.parametrize(("hoped", "indifferent"), [(1.01, True), (0.99, False)])
def test_a_best_place_that_is_not_known_as_well_as_what_is_hoped_for_comes_first(hoped, indifferent):
    study = polished("pes")
    situation = Situation(study.history, study.method, study.settings, 0, None, 0.0)
    beliefs = believe(situation)
    surrogate = beliefs.surrogate
    means, variances = surrogate.process.marginals(beliefs.minima.x[:1])
    sd = np.sqrt(surrogate.weights @ (variances + means**2)[:, 0] - (surrogate.weights @ means[:, 0]) ** 2)
    assert _indifference(beliefs, hoped * sd) == (hoped * sd if indifferent else 0.0)


def test_a_study_rebuilt_takes_the_same_turns():
    study = polished("pes")
    evaluate(study, 3)
    again = filled(ft.Study(study.space.axes, method="pes", seed=0, settings=study.settings), study.trials)
    assert study.ask().params == again.ask().params


def test_seek_is_a_switch():
    assert EnvPES().seek
    with pytest.raises(ft.SettingsError, match="seek is 1; give True or False"):
        PES(seek=1)
