"""In many dimensions every second proposal is greedy, if the one before it was worth full fidelity."""

from __future__ import annotations

import numpy as np
import pytest
from filled import filled

import farthing as ft
from farthing.methods import PES, EnvPES
from farthing.report import why

METHOD = EnvPES(check=False, doubt=False)


def bowl(params, s):
    return 4.0 * sum((x - 0.4) ** 2 for x in params.values()) + 0.1 * (s or 0.0)


def known(axes, cheapest, method=METHOD, only=24, fidelity=True):
    """A study that was given 24 evaluations, near the minimum and elsewhere; the cheapest costs so much of a full one."""
    settings = ft.Settings(overhead_price=0.0, repeatable=1.0, initial=1, confirm=False)
    space = {f"x{i}": ft.Real(0.0, 1.0) for i in range(axes)}
    levels = ft.Fidelity("s", cheap=1.0, full=0.0) if fidelity else None
    study = ft.Study(space, fidelity=levels, method=method, seed=0, settings=settings)
    rng = np.random.default_rng(1)
    for i, place in enumerate(np.concatenate([rng.random((12, axes)), 0.4 + 0.1 * rng.standard_normal((12, axes))])[:only]):
        params, s = dict(zip(space, place.tolist(), strict=True)), (0.5 * (i % 3) if fidelity else None)
        study.add(params, bowl(params, s), fidelity=s, cost=1.0 - (1.0 - cheapest) * (s or 0.0))
    return study


def evaluate(study, count, cheapest):
    for _ in range(count):
        asked = study.ask()
        s = asked.fidelity
        study.tell(asked, bowl(asked.params, s), cost=1.0 - (1.0 - cheapest) * (s or 0.0))
    return study.trials[-count:]


def kinds(trials):
    return [trial.proposal.kind for trial in trials]


def test_greed_takes_turns_with_learning_where_full_fidelity_costs_no_more():
    study = known(4, 1.0)
    made = evaluate(study, 6, 1.0)
    assert kinds(made) == ["acquisition", "greed"] * 3
    assert {trial.fidelity for trial in made} == {0.0}
    assert why(made[1]) == "greed: in turns with learning, the most to be gained at full fidelity"
    best = min(trial.value for trial in study.trials[:24])
    assert min(trial.value for trial in made if trial.proposal.kind == "greed") < best


def test_after_a_cheaper_evaluation_nothing_is_greedy():
    made = evaluate(known(4, 0.01), 8, 0.01)
    assert any(trial.fidelity > 0.0 for trial in made[::2])
    expected = []
    for first in made[::2]:
        expected += ["acquisition", "greed" if first.fidelity == 0.0 else "acquisition"]
    assert kinds(made) == expected


@pytest.mark.parametrize("method", [METHOD, PES(doubt=False)], ids=["EnvPES", "PES"])
def test_without_a_fidelity_every_evaluation_is_full(method):
    made = evaluate(known(4, 1.0, method, fidelity=False), 4, 1.0)
    assert kinds(made) == ["acquisition", "greed"] * 2


@pytest.mark.parametrize(
    ("axes", "method"),
    [(3, METHOD), (4, EnvPES(check=False, doubt=False, seek=False)), (4, "ei")],
    ids=["three axes", "the paper's method", "improvement"],
)
def test_nothing_is_greedy_otherwise(axes, method):
    assert kinds(evaluate(known(axes, 1.0, method), 4, 1.0)) == ["acquisition"] * 4


def test_a_study_rebuilt_takes_the_same_turns():
    study = known(4, 1.0)
    evaluate(study, 3, 1.0)
    again = filled(known(4, 1.0, only=0), study.trials)
    proposals = study.ask(), again.ask()
    assert kinds(proposals) == ["greed", "greed"]
    assert proposals[0].params == proposals[1].params
