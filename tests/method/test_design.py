"""The initial design: which places, at which fidelities, and its last evaluation at full fidelity."""

import numpy as np
import pytest

import farthing as ft

FIDELITY = ft.Fidelity("s", cheap=1.0, full=0.0)


def designed(method="envpes", fidelity=FIDELITY, initial=10, d=2, seed=3, dearer=1.0, **settings):
    """Places (n, d) and fidelities (n,) of the initial design of a study that falls along its first axis, at whose end an
    evaluation is so many times dearer than at its beginning.
    """
    study = ft.Study(
        {f"x{i}": ft.Real(0.0, 1.0) for i in range(d)},
        fidelity=fidelity,
        method=method,
        seed=seed,
        settings=ft.Settings(draws=2, support_points=40, initial=initial, overhead_price=0.0, **settings),
    )
    for _ in range(initial):
        trial = study.ask()
        assert trial.proposal.kind == "initial"
        study.tell(trial, -trial.params["x0"], cost=dearer ** trial.params["x0"])
    places = np.array([list(trial.params.values()) for trial in study.trials])
    return places, np.array([trial.fidelity for trial in study.trials])


def test_no_place_and_no_fidelity_comes_twice_before_the_last():
    places, fidelities = designed()
    assert len(np.unique(places[:9], axis=0)) == 9
    assert len(np.unique(fidelities[:9])) == 9
    assert fidelities[:9].min() >= 0.5


def test_fidelities_are_those_between_the_lowest_and_the_highest_of_the_setting():
    _, fidelities = designed(initial=17, initial_fidelities=(0.9, 0.3, 0.4))
    assert 0.3 <= fidelities[:16].min() < 0.34
    assert 0.86 < fidelities[:16].max() <= 0.9


@pytest.mark.parametrize("seed", range(4))
def test_the_cheaper_and_the_dearer_half_are_each_spread_over_the_box(seed):
    """Every second Sobol point lies in one half of some axis, so fidelities by the point's number would stand for that axis."""
    places, fidelities = designed(initial=17, d=3, seed=seed)
    dear = fidelities[:16] < 0.75
    assert dear.sum() == 8
    for half in (places[:16][dear], places[:16][~dear]):
        assert ((half > 0.5).sum(axis=0) == 4).all()


def test_with_repeats_every_place_is_evaluated_at_all_fidelities_as_in_the_paper():
    places, fidelities = designed(initial_fidelities=(0.5, 0.75, 0.875), initial_repeats=True)
    assert fidelities[:9].tolist() == [0.5, 0.75, 0.875] * 3
    first, again = places[0:9:3], np.stack([places[1:9:3], places[2:9:3]])
    assert len(np.unique(first, axis=0)) == 3
    assert (again == first).all()


@pytest.mark.parametrize("repeats", [True, False])
def test_the_last_is_the_best_place_so_far_at_full_fidelity(repeats):
    places, fidelities = designed(initial_repeats=repeats, noise=0.0)
    assert fidelities[-1] == 0.0
    assert places[-1].tolist() == places[np.argmax(places[:9, 0])].tolist()


@pytest.mark.parametrize("seed", range(4))
def test_the_last_is_at_the_best_place_that_is_not_dear(seed):
    places, fidelities = designed(seed=seed, noise=0.0, dearer=1000.0)
    x0 = places[:9, 0]
    costs = 1000.0**x0 / np.median(1000.0**x0)
    assert fidelities[-1] == 0.0
    # Twice the median by what is predicted from nine costs, not to the last digit.
    assert x0[costs <= 1.5].max() <= places[-1, 0] <= x0[costs <= 4.0].max() < x0.max()


@pytest.mark.parametrize("repeats", [True, False])
def test_levels_of_a_fidelity_are_kept_to(repeats):
    _, fidelities = designed(fidelity=ft.Fidelity("cells", levels=[8, 16, 32, 64]), initial_repeats=repeats)
    assert set(fidelities[:9]) <= {8, 16, 32, 64}
    assert len(set(fidelities[:9])) > 1


def test_a_method_that_chooses_no_fidelity_has_all_its_places_at_full():
    places, fidelities = designed(method="ei")
    assert (fidelities == 0.0).all()
    assert len(np.unique(places[:9], axis=0)) == 9


@pytest.mark.parametrize(
    ("method", "fidelity", "cost", "count"), [("envpes", FIDELITY, 2.0, 8), ("ei", FIDELITY, 4.0, 9), ("envpes", None, 4.0, 9)]
)
def test_the_design_ends_when_it_has_taken_its_share_of_the_budget(method, fidelity, cost, count):
    """15 of 100 where evaluations of it are meant to be cheap, a third where all are at full fidelity."""
    settings = ft.Settings(draws=2, support_points=40, overhead_price=0.0)
    study = ft.Study({"x": ft.Real(0.0, 1.0)}, fidelity=fidelity, budget=100.0, method=method, seed=1, settings=settings)
    kinds = []
    for _ in range(10):
        trial = study.ask()
        kinds.append(trial.proposal.kind)
        study.tell(trial, trial.params["x"], cost=cost)
    assert kinds == ["initial"] * count + kinds[count:]
    assert "initial" not in kinds[count:]
