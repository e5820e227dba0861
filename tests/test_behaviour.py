"""What users rely on: cheap evaluations where they tell something, dear ones where they do not."""

from __future__ import annotations

import numpy as np
import pytest

import farthing as ft

SPACE = {"x": ft.Real(0.0, 1.0), "y": ft.Real(0.0, 1.0)}
FIDELITY = ft.Fidelity("s", cheap=1.0, full=0.0)


def truth(x: float, y: float) -> float:
    """A curved bowl with its minimum 0 at (0.3, 0.6), and a second basin."""
    bowl = 4.0 * (x - 0.3) ** 2 + 6.0 * (y - 0.6 + 0.4 * (x - 0.3)) ** 2
    return bowl + 0.25 * (1.0 - np.cos(4.0 * np.pi * (x - 0.3)))


def cost(s: float) -> float:
    return 1.0 + 9.0 * (1.0 - s)


def unrelated(x: float, y: float, s: float) -> ft.Evaluation:
    """The truth near s = 0 only; beyond, another function altogether, on which all cheap fidelities agree with one another."""
    other = np.sin(5.0 * x + 1.0) + np.cos(4.0 * y)
    share = np.exp(-40.0 * s)
    return ft.Evaluation(share * truth(x, y) + (1.0 - share) * other, cost=cost(s))


def cost_to_reach(objective, method: str, seed: int, regret: float, budget: float) -> float:
    """Evaluation cost spent when the recommendation has come within `regret` and stays there; the budget if it never does."""
    settings = ft.Settings(overhead_price=0.0, confirm=False)
    study = ft.Study(SPACE, fidelity=FIDELITY, method=method, seed=seed, settings=settings)
    study.run(objective, budget=budget)
    spent, reached = 0.0, budget
    for trial in study.trials:
        best = trial.proposal.recommendation
        if best is not None:
            good = truth(**best.params) <= regret
            reached = min(reached, spent) if good else budget
        spent += trial.cost
    return reached


def test_cheap_values_unrelated_to_the_truth_cost_at_most_twice_what_pes_needs():
    """Never stuck at the cheapest fidelity: medians over six seeds, to a regret of 0.01."""
    ours = [cost_to_reach(unrelated, "envpes", seed, 0.01, 400.0) for seed in range(6)]
    plain = [cost_to_reach(unrelated, "pes", seed, 0.01, 400.0) for seed in range(6)]
    assert np.median(plain) < 400.0
    assert np.median(ours) <= 2.0 * np.median(plain)


@pytest.mark.parametrize("seed", range(3))
def test_an_objective_that_is_the_same_at_every_fidelity_is_evaluated_cheaply(seed):
    settings = ft.Settings(overhead_price=0.0)
    study = ft.Study(SPACE, fidelity=FIDELITY, seed=seed, settings=settings)
    result = study.run(lambda x, y, s: ft.Evaluation(truth(x, y), cost=cost(s)), budget=120.0)
    chosen = [t for t in study.trials if t.proposal.kind == "acquisition"]
    assert np.median([t.fidelity for t in chosen]) > 0.9
    assert np.mean([t.fidelity > 0.8 for t in chosen]) > 0.7
    assert study.trials[-1].proposal.kind == "confirmation"
    assert study.trials[-1].fidelity == 0.0
    assert truth(**result.x) < 1e-3


def test_information_per_cost_beats_paying_full_price_on_a_shifted_objective():
    def shifted(x, y, s):
        return ft.Evaluation(truth(min(x + 0.05 * s, 1.0), y) + 0.2 * s, cost=cost(s))

    ours = [cost_to_reach(shifted, "envpes", seed, 0.003, 300.0) for seed in range(3)]
    plain = [cost_to_reach(shifted, "pes", seed, 0.003, 300.0) for seed in range(3)]
    assert np.median(ours) < np.median(plain)
