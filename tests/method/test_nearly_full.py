"""Where full fidelity has nearly the price of the fidelity chosen, it is chosen instead."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import farthing as ft
from farthing.method.beliefs import believe
from farthing.method.propose import propose
from farthing.method.situation import Situation
from farthing.methods import EnvPES


def asked(method, saved, seed, evaluations=8):
    """Proposals after the initial design, of a study in which the cheapest evaluation saves a share of the cost of a full one."""
    settings = ft.Settings(confirm=False, overhead_price=0.0, thinking_share=1.0, initial=4)
    fidelity = ft.Fidelity("s", cheap=1.0, full=0.0)
    study = ft.Study({"x": ft.Real(0.0, 1.0)}, fidelity=fidelity, method=method, seed=seed, settings=settings)

    def objective(x, s):
        return ft.Evaluation(float(np.sin(6.0 * x) + 0.1 * s * np.cos(9.0 * x)), cost=1.0 - saved * s)

    study.run(objective, evaluations=4 + evaluations)
    return [trial for trial in study.trials if trial.proposal.kind != "initial"]


def test_what_saves_little_is_full():
    """The paper's rule saves 3% by never evaluating at full fidelity."""
    ours, papers = (np.array([t.fidelity for seed in range(2) for t in asked(EnvPES(nearly=n), 0.03, seed)]) for n in (1.1, 1.0))
    assert (ours == 0.0).all()
    assert (papers > 0.0).mean() > 0.5


def test_what_saves_much_is_not():
    assert (np.array([t.fidelity for seed in range(2) for t in asked("envpes", 0.9, seed)]) > 0.0).mean() > 0.3


def test_what_is_told_of_a_full_evaluation_is_of_that():
    for trial in asked("envpes", 0.03, seed=0):
        assert trial.proposal.price_share == 1.0
        assert trial.proposal.information_share == pytest.approx(1.0)
        assert trial.proposal.predicted_cost == pytest.approx(1.0, rel=0.03)


def test_what_may_not_be_paid_for_is_not_chosen():
    """Full fidelity costs 1, and as much as 0.98 may be spent."""
    settings = ft.Settings(confirm=False, thinking_share=1.0, initial=1)
    study = ft.Study({"x": ft.Real(0.0, 1.0)}, fidelity=ft.Fidelity("s", cheap=1.0, full=0.0), seed=0, settings=settings)
    for x, s in [(0.1, 0.0), (0.4, 0.5), (0.6, 1.0), (0.9, 0.0), (0.8, 0.7)]:
        study.add({"x": x}, float(np.sin(6.0 * x)), fidelity=s, cost=1.0 - 0.05 * s)
    situation = Situation(study.history, study.method, settings, 0, None, 0.0)
    for limit, full in ((None, True), (0.98, False)):
        point, proposal = propose(replace(situation, limit=limit), believe(situation))
        assert (point[-1] == 0.0) == full
        assert (proposal.predicted_cost <= 0.98) == (not full)


def test_nothing_is_evaluated_twice_without_noise():
    settings = ft.Settings(confirm=False, noise=0.0, overhead_price=0.0, thinking_share=1.0, initial=2)
    fidelity = ft.Fidelity("s", cheap=1.0, full=0.0)
    study = ft.Study({"x": ft.Integer(0, 1)}, fidelity=fidelity, seed=0, settings=settings)
    for x in (0, 1):
        study.add({"x": x}, float(x), fidelity=0.0, cost=1.0)
        study.add({"x": x}, x - 0.3, fidelity=0.5, cost=0.98)
    trial = study.ask()
    assert trial.fidelity > 0.0
    assert (trial.params["x"], trial.fidelity) not in {(0, 0.5), (1, 0.5)}


@pytest.mark.parametrize("nearly", [0.9, "1.1", float("nan"), None])
def test_nearly_is_a_ratio_of_prices(nearly):
    with pytest.raises(ft.SettingsError, match=r"nearly is .*; give a ratio of prices from 1 up"):
        EnvPES(nearly=nearly)
