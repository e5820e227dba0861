"""Same seed and same recorded history, same proposals to the bit: in one process, in another, with or without cached work."""

import math
import subprocess
import sys
from pathlib import Path

import pytest
from filled import filled

import farthing as ft
from farthing.trials import Trial

STEPS = 12
TIMED = 6
"""Steps with an overhead, for the later ones to reckon with. Overheads are measured, so a resumed study cannot repeat them."""

PROBLEMS = {
    "envpes": ("envpes", True),
    "pes": ("pes", False),
    "fabolas": (ft.methods.FABOLAS(representers=15, kernel="original"), True),
    "es": (ft.methods.ES(representers=15), False),
}


class StepClock:
    """Seconds that depend on nothing but how often they were asked for. With tick = 0 thinking leaves no trace in the record."""

    def __init__(self, tick):
        self.now, self.tick = 0.0, tick

    def __call__(self):
        self.now += self.tick
        return self.now


def new_study(method, with_fidelity, *, seed=7, trials=(), tick=0.0, **settings):
    study = ft.Study(
        {"x": ft.Real(-1.0, 2.0), "y": ft.Real(1e-3, 10.0, log=True)},
        fidelity=ft.Fidelity("rows", cheap=10, full=1000, log=True, integer=True) if with_fidelity else None,
        budget=200.0,
        method=method,
        seed=seed,
        settings=ft.Settings(draws=3, growth=1.6, support_points=60, starts=3, initial=4, overhead_price=1.0, **settings),
        clock=StepClock(tick),
        wall_clock=lambda: 0.0,
    )
    return filled(study, trials)


def outcome(trial):
    """A deterministic objective, and its cost."""
    rows = 1000 if trial.fidelity is None else trial.fidelity
    x, y = trial.params["x"], math.log(trial.params["y"])
    return (x - 0.4) ** 2 + math.sin(1.5 * y) + 0.1 * math.log(1000 / rows), 0.2 + rows / 1000


def tell(study, trial):
    value, cost = outcome(trial)
    return study.tell(trial, value, cost=cost)


def continue_study(study, steps):
    """`steps` more trials, each asked for while another is pending."""
    waiting = [t for t in study.trials if t.state == "pending"]
    for _ in range(steps):
        if len(waiting) > 1:
            tell(study, waiting.pop(0))
        waiting.append(study.ask())


def whole_study(method, with_fidelity, seed=7):
    """A study of STEPS trials, the first TIMED of which took time to think of."""
    study = new_study(method, with_fidelity, seed=seed, tick=0.01)
    continue_study(study, TIMED)
    study._clock.tick = 0.0
    continue_study(study, STEPS - TIMED)
    return study


@pytest.fixture(scope="module", params=PROBLEMS)
def uninterrupted(request):
    """A problem's name and its study, run without a break."""
    return request.param, whole_study(*PROBLEMS[request.param])


def test_the_test_problem_gets_beyond_the_initial_design_and_carries_draws(uninterrupted):
    name, study = uninterrupted
    late = study.trials[4:]
    assert all(t.proposal.kind in ("repeat", "acquisition", "check") for t in late)
    assert all(any(t.proposal.kind == kind for t in late) == (name == "envpes") for kind in ("repeat", "check"))
    assert all(t.proposal.information_gain > 0.0 for t in late if t.proposal.kind == "acquisition")
    assert sum(t.overhead > 0.0 for t in late) == 3
    # Draws are moved at some steps and carried on unchanged at others; both must be covered.
    carried = [t.proposal.carried for t in study.trials if t.proposal.carried is not None]
    assert 1 < len(set(carried)) < len(carried)
    assert name in ("pes", "es") or len({t.fidelity for t in late}) > 1


def test_two_studies_of_one_seed_agree_to_the_bit(uninterrupted):
    name, study = uninterrupted
    again = whole_study(*PROBLEMS[name])
    assert again.trials == study.trials
    assert again.recommend() == study.recommend()


def test_another_seed_proposes_otherwise(uninterrupted):
    name, study = uninterrupted
    other = whole_study(*PROBLEMS[name], seed=8)
    assert all(a.params != b.params for a, b in zip(study.trials, other.trials, strict=True))
    # Given the same results, it is the seed alone that makes the difference.
    resumed = new_study(*PROBLEMS[name], seed=8, trials=study.trials)
    same = new_study(*PROBLEMS[name], trials=study.trials)
    assert resumed.ask().params != same.ask().params


def interrupted(study, cut):
    """The trials as they stood when number `cut - 1` had just been asked for: the last two are pending, the others told."""
    pending = [
        Trial(t.number, t.params, t.fidelity, t.proposal, t.fidelity_name, overhead=t.overhead, started=t.started)
        for t in study.trials[cut - 2 : cut]
    ]
    return [*study.trials[: cut - 2], *pending]


@pytest.mark.parametrize("cut", [TIMED + 1, TIMED + 2, STEPS - 1])
def test_a_study_rebuilt_from_json_goes_on_as_if_never_interrupted(uninterrupted, cut):
    name, study = uninterrupted
    resumed = new_study(*PROBLEMS[name], trials=[Trial.from_json(t.to_json()) for t in interrupted(study, cut)])
    continue_study(resumed, STEPS - cut)
    assert resumed.trials == study.trials


CONTINUE = """
import sys
sys.path.insert(0, sys.argv[1])
import test_determinism as td
trials = [td.Trial.from_json(line) for line in sys.stdin]
study = td.new_study(*td.PROBLEMS[sys.argv[2]], trials=trials)
td.continue_study(study, td.STEPS - len(trials))
for trial in study.trials:
    print(trial.to_json())
"""


def test_a_new_process_goes_on_as_if_never_interrupted(uninterrupted):
    name, study = uninterrupted
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", CONTINUE, str(Path(__file__).parent), name],
        input="\n".join(t.to_json() for t in interrupted(study, TIMED + 1)),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    # As text, so that a difference in the last bit of any number shows.
    assert done.stdout.splitlines() == [t.to_json() for t in study.trials]


@pytest.mark.parametrize("problem", PROBLEMS)
def test_recommendations_in_between_change_nothing(problem):
    quiet = new_study(*PROBLEMS[problem])
    curious = new_study(*PROBLEMS[problem])
    continue_study(quiet, STEPS)
    for _ in range(STEPS):
        if len(curious.history):
            assert curious.recommend() == curious.recommend()
        continue_study(curious, 1)
    assert curious.trials == quiet.trials
    assert curious.recommend() == quiet.recommend()


@pytest.mark.parametrize("sampler", ["hmc", "whitened_slice", "slice", "map"])
@pytest.mark.parametrize("method", ["envpes", "lcb"])
def test_cached_work_changes_no_proposal(method, sampler):
    """At every step a study without the cache, built from the trials, proposes the same as the one that has it."""
    study = new_study(method, True, sampler=sampler)
    waiting = []
    for step in range(8):
        rebuilt = new_study(method, True, sampler=sampler, trials=study.trials)
        waiting.append(study.ask())
        assert rebuilt.ask() == waiting[-1]
        if step == 4:
            study.fail(waiting.pop(0), "no luck", cost=0.1)
        elif step == 5:
            study.add({"x": 0.5, "y": 0.1}, 100.0, fidelity=50)  # an outlier: draws that did not foresee it lose their weight
        elif len(waiting) > 1:
            tell(study, waiting.pop())  # the latest first
