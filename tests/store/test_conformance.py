"""One suite for every store: what `Store` promises, in memory, in SQLite and in PostgreSQL alike."""

import copy
import json
import math
import threading
from dataclasses import fields, replace

import pytest
from example_trials import complete, elaborate, pending

from farthing.errors import StudyNotFound, TrialError
from farthing.store import Pulse, StudyRecord
from farthing.trials import ABANDONED, COMPLETE, PENDING, Trial

STRANGE_NAMES = [
    "",
    "a b",
    "o'hara",
    'say "hi"',
    "'; DROP TABLE studies; --",
    "🪙 naïve",
    "A\x00B",
    "\ud800",
    "%s %(x)s :x ?",
    "a" * 2000,
]


@pytest.fixture
def study(store):
    """The store, with an empty study `s` in it."""
    assert store.create("s", {}, None, 0.0)
    return store


def same(one, other):
    """Equal, and of equal types and signs all the way down: 1, 1.0 and True differ, and so do 0.0 and -0.0."""
    return repr(one) == repr(other)


# ------------------------------------------------------------------------------------------------------------------------ studies


def test_a_study_comes_back_as_it_was_created(store):
    definition = {"space": {"x": [0.1 + 0.2, 1, 1.0, True, None, "🪙\x00"]}, "seed": 2**70}
    assert store.create("s", definition, 0.1, 1.7e9 + 1e-6)
    assert same(store.studies(), [StudyRecord("s", definition, 0.1, 1.7e9 + 1e-6, 0)])


def test_a_second_creation_changes_nothing(store):
    assert store.create("s", {"is": "first"}, 1.0, 1.0)
    store.insert("s", pending(0))
    assert not store.create("s", {"is": "second"}, 2.0, 2.0)
    assert store.studies() == [StudyRecord("s", {"is": "first"}, 1.0, 1.0, 1)]


def test_studies_come_by_name_as_python_sorts_them(store):
    for name in ("b", "a", "B", "é", "_"):
        store.create(name, {}, None, 0.0)
    assert [study.name for study in store.studies()] == ["B", "_", "a", "b", "é"]


def test_one_study_is_found_by_its_exact_name(store):
    store.create("s", {}, None, 0.0)
    store.create("S", {}, None, 0.0)
    assert [study.name for study in store.studies("s")] == ["s"]
    assert store.studies("none") == []


def test_a_definition_handed_out_is_not_the_one_kept(store):
    store.create("s", {"axes": ["x"]}, None, 0.0)
    store.studies()[0].definition["axes"].append("y")
    assert store.studies()[0].definition == {"axes": ["x"]}


@pytest.mark.parametrize("name", STRANGE_NAMES, ids=range(len(STRANGE_NAMES)))
def test_any_text_is_a_name(store, name):
    store.create("bystander", {}, None, 0.0)
    assert store.create(name, {"name": "it"}, None, 0.0)
    assert store.insert(name, complete(0)) is not None
    assert [(study.name, study.trials) for study in store.studies(name)] == [(name, 1)]
    store.delete(name)
    assert [study.name for study in store.studies()] == ["bystander"]


@pytest.mark.parametrize("budget", [None, 0.1 + 0.2, math.inf])
def test_the_budget_can_be_changed(study, budget):
    study.create("other", {}, 3.0, 0.0)
    study.set_budget("s", 7.0)
    study.set_budget("s", budget)
    assert [(record.name, record.budget) for record in study.studies()] == [("other", 3.0), ("s", budget)]


def test_a_deleted_study_leaves_nothing_behind(study):
    study.create("other", {}, None, 0.0)
    study.insert("other", complete(0, value=8.0))
    study.insert("s", complete(0))
    study.turn("s", None, "me")
    study.delete("s")
    assert [record.name for record in study.studies()] == ["other"]
    assert [trial.value for trial in study.changes("other", 0)[0]] == [8.0]
    study.create("s", {}, None, 0.0)
    assert study.changes("s", 0) == ([], 0)
    assert study.insert("s", complete(0)).order == 0
    assert study.turn("s", None, "you") == "you"


@pytest.mark.parametrize(
    "call",
    [
        lambda store: store.set_budget("none", 1.0),
        lambda store: store.delete("none"),
        lambda store: store.changes("none", 0),
        lambda store: store.insert("none", pending(0)),
        lambda store: store.finish("none", complete(0)),
        lambda store: store.turn("none", None, "me"),
        lambda store: store.beat("none", "me"),
        lambda store: store.pulses("none"),
        lambda store: store.abandon("none", Pulse(0, "me", 0), "gone"),
    ],
    ids=["set_budget", "delete", "changes", "insert", "finish", "turn", "beat", "pulses", "abandon"],
)
def test_a_study_that_is_not_there_is_an_error_everywhere(study, call):
    with pytest.raises(StudyNotFound, match="no study 'none'"):
        call(study)


# ------------------------------------------------------------------------------------------------------------------------ trials


def test_the_elaborate_trial_sets_every_field():
    """Or the round trips below would not notice a field that a store forgets."""
    default = {field.name: field.default for field in fields(Trial)}
    trial = elaborate(0)
    assert [name for name in default if getattr(trial, name) == default[name]] == ["order"]


def test_every_field_comes_back_exactly(study):
    given = elaborate(0)
    returned = study.insert("s", given)
    (read,), _ = study.changes("s", 0)
    assert same(returned, replace(given, order=0))
    assert same(read, returned)


def test_every_field_of_a_result_comes_back_exactly(study):
    study.insert("s", replace(pending(0), fidelity=2.5))
    returned = study.finish("s", elaborate(0))
    (read,), _ = study.changes("s", 0)
    assert same(read, returned)
    assert same(read, replace(elaborate(0), order=0))


@pytest.mark.parametrize("fidelity", [None, 3, 3.0, 2**53 + 1, 0.1, 5e-324, -0.0])
def test_a_fidelity_keeps_its_type(study, fidelity):
    study.insert("s", replace(pending(0), fidelity=fidelity))
    assert same(study.changes("s", 0)[0][0].fidelity, fidelity)


@pytest.mark.parametrize(
    "value", [5e-324, 2.2250738585072014e-308, 1e308, -1.7976931348623157e308, 0.1 + 0.2, -0.0, 0.0, 1e15, 1 / 3]
)
def test_a_number_keeps_its_last_bit(study, value):
    study.insert("s", complete(0, value))
    assert same(study.changes("s", 0)[0][0].value, value)


def test_the_order_of_parameters_is_kept(study):
    params = dict.fromkeys(("z", "a", "m"), 0.0)
    study.insert("s", replace(pending(0), params=params))
    assert list(study.changes("s", 0)[0][0].params) == ["z", "a", "m"]


def test_only_the_next_number_is_taken(study):
    assert study.insert("s", pending(1)) is None
    assert study.insert("s", pending(-1)) is None
    assert study.changes("s", 0) == ([], 0)
    assert study.insert("s", pending(0)) is not None
    assert study.insert("s", complete(0)) is None
    assert study.insert("s", pending(1)) is not None
    trials, revision = study.changes("s", 0)
    assert [(trial.number, trial.state) for trial in trials] == [(0, PENDING), (1, PENDING)]
    assert revision == 2
    assert study.studies("s")[0].trials == 2


def test_orders_follow_the_results_and_not_the_numbers(study):
    for number in range(3):
        assert study.insert("s", pending(number, order=99)).order is None
    assert study.insert("s", complete(3)).order == 0
    assert study.finish("s", complete(2)).order == 1
    assert study.finish("s", pending(0).failed("broke", 1.0)).order == 2
    assert study.finish("s", complete(1)).order == 3
    assert [trial.order for trial in study.changes("s", 0)[0]] == [2, 3, 1, 0]


def test_a_refused_insertion_uses_up_no_order(study):
    assert study.insert("s", complete(5)) is None
    assert study.insert("s", complete(0)).order == 0


def test_studies_count_apart(study):
    study.create("other", {}, None, 0.0)
    study.insert("s", complete(0, 1.0))
    assert study.insert("other", complete(0, 2.0)).order == 0
    assert study.changes("other", 0)[1] == 1
    assert [trial.value for trial in study.changes("s", 0)[0]] == [1.0]


def test_changes_are_what_is_new_since_a_revision_by_number(study):
    assert study.changes("s", 0) == ([], 0)
    for number in range(4):
        study.insert("s", pending(number))
    assert study.changes("s", 0)[1] == 4
    study.finish("s", complete(2))
    study.insert("s", pending(4))
    study.finish("s", complete(0))
    trials, revision = study.changes("s", 4)
    assert [(trial.number, trial.state) for trial in trials] == [(0, COMPLETE), (2, COMPLETE), (4, PENDING)]
    assert revision == 7
    assert [trial.number for trial in study.changes("s", 6)[0]] == [0]
    assert study.changes("s", 7) == ([], 7)


@pytest.mark.parametrize("state", [PENDING, ABANDONED])
def test_a_trial_without_a_result_can_be_finished(study, state):
    study.insert("s", pending(0, owner="me"))
    if state == ABANDONED:
        assert study.abandon("s", Pulse(0, "me", 0), "gone")
    assert study.finish("s", complete(0, 2.5)).order == 0
    assert [(trial.state, trial.value) for trial in study.changes("s", 0)[0]] == [(COMPLETE, 2.5)]


@pytest.mark.parametrize("first", [complete(0, 1.0), pending(0).failed("broke", 1.0)], ids=["complete", "failed"])
def test_a_result_is_never_changed(study, first):
    study.insert("s", pending(0))
    study.finish("s", first)
    before = study.changes("s", 0)
    with pytest.raises(TrialError, match=f"trial 0 is {first.state} already"):
        study.finish("s", complete(0, 2.0))
    assert study.changes("s", 0) == before
    assert study.insert("s", complete(1)).order == 1


@pytest.mark.parametrize("number", [-1, 1, 2**40])
def test_an_unknown_trial_cannot_be_finished(study, number):
    study.insert("s", pending(0))
    with pytest.raises(TrialError, match=f"no trial {number} in this study, which has 1"):
        study.finish("s", complete(number))
    assert study.changes("s", 1) == ([], 1)


# ------------------------------------------------------------------------------------------------------------- turns and pulses


def test_a_turn_goes_only_from_whoever_has_it(study):
    assert study.turn("s", None, "a") == "a"
    assert study.turn("s", None, "b") == "a"
    assert study.turn("s", "b", None) == "a"
    assert study.turn("s", "a", "a") == "a"
    assert study.turn("s", "a", "b") == "b"
    assert study.turn("s", "b", None) is None
    assert study.turn("s", "b", "c") is None
    assert study.changes("s", 0) == ([], 0)


def test_only_one_of_many_threads_gets_the_turn(study):
    got = in_threads(lambda who: study.turn("s", None, str(who)), 8)
    assert len(set(got)) == 1
    assert study.turn("s", got[0], None) is None


def test_a_beat_reaches_the_pending_trials_of_its_owner_alone(study):
    study.create("other", {}, None, 0.0)
    study.insert("other", pending(0, owner="me"))
    for number, owner in enumerate(["me", "you", None, "me", "me"]):
        study.insert("s", pending(number, owner=owner))
    study.finish("s", complete(3, owner="me"))
    study.beat("s", "me")
    study.beat("s", "me")
    assert study.pulses("s") == [Pulse(0, "me", 2), Pulse(1, "you", 0), Pulse(4, "me", 2)]
    assert study.pulses("other") == [Pulse(0, "me", 0)]


def test_a_beat_is_not_a_change(study):
    study.insert("s", pending(0, owner="me"))
    study.beat("s", "me")
    study.beat("s", "nobody")
    assert study.changes("s", 1) == ([], 1)


def test_an_abandoned_trial_is_a_change_without_an_order(study):
    study.insert("s", pending(0, owner="me", started=3.5))
    assert study.abandon("s", Pulse(0, "me", 0), "its worker is gone \x00")
    (trial,), revision = study.changes("s", 1)
    assert same(trial, pending(0, owner="me", started=3.5, state=ABANDONED, reason="its worker is gone \x00"))
    assert revision == 2
    assert study.pulses("s") == []
    assert study.insert("s", complete(1)).order == 0


@pytest.mark.parametrize("pulse", [Pulse(0, "me", 0), Pulse(0, "you", 1), Pulse(1, "me", 1), Pulse(7, "me", 1), Pulse(2, "me", 1)])
def test_a_trial_whose_pulse_has_moved_on_is_not_abandoned(study, pulse):
    """Number 0 has beaten once since, 1 is another's, 2 has a result."""
    for number, owner in enumerate(["me", "you", "me"]):
        study.insert("s", pending(number, owner=owner))
    study.beat("s", "me")
    study.finish("s", complete(2, owner="me"))
    before = study.changes("s", 0)
    assert not study.abandon("s", pulse, "gone")
    assert study.changes("s", 0) == before


def test_a_trial_is_abandoned_once(study):
    study.insert("s", pending(0, owner="me"))
    assert sum(in_threads(lambda _: study.abandon("s", Pulse(0, "me", 0), "gone"), 8)) == 1
    assert study.changes("s", 0)[1] == 2


# --------------------------------------------------------------------------------------------------------------------- threads


def in_threads(function, count):
    """What the function returned in each of so many threads, called with the thread's number; the first exception is raised."""
    together = threading.Barrier(count)
    results, errors = [None] * count, []

    def body(i):
        together.wait()
        try:
            results[i] = function(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=body, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results


def test_threads_lose_no_trial_and_give_no_number_twice(study):
    def insert(_):
        numbers = []
        while len(numbers) < 10:
            stored = study.insert("s", complete(study.studies("s")[0].trials))
            if stored is not None:
                numbers.append((stored.number, stored.order))
        return numbers

    inserted = sorted(pair for pairs in in_threads(insert, 8) for pair in pairs)
    assert inserted == [(number, number) for number in range(80)]
    trials, revision = study.changes("s", 0)
    assert [trial.number for trial in trials] == list(range(80))
    assert revision == 80


def test_a_reader_misses_no_change_while_others_write(study):
    """A revision that became visible before the trials of an earlier one would hide these for good."""

    def read(store):
        seen, revision = {}, 0
        while revision < 80:
            trials, revision = store.changes("s", revision)
            seen.update((trial.number, trial.state) for trial in trials)
        return seen

    def write(store):
        for _ in range(10):
            stored = None
            while stored is None:
                stored = store.insert("s", pending(store.studies("s")[0].trials))
            store.finish("s", complete(stored.number))

    # A copy of a SqlStore has connections of its own.
    seen, *_ = in_threads(lambda i: write(copy.copy(study)) if i else read(copy.copy(study)), 5)
    assert seen == dict.fromkeys(range(40), COMPLETE)


def test_what_a_store_hands_out_is_json_and_no_more(study):
    """A trial read back can be written as JSON, as study files and reports do."""
    study.insert("s", elaborate(0))
    text = study.changes("s", 0)[0][0].to_json()
    assert same(Trial.from_json(text), replace(elaborate(0), order=0))
    assert json.loads(text)["number"] == 0
