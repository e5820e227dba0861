"""What a person sees of a study."""

from dataclasses import replace

import pytest

import farthing as ft
from farthing.report import (
    Standing,
    convergence,
    cost_in_words,
    costs_are_seconds,
    failure_counts,
    first_line,
    ledger,
    params_in_words,
    seconds_in_words,
    spend_by_fidelity,
    why,
)
from farthing.space import Space
from farthing.trials import History, Proposal, Trial

ROWS = ft.Fidelity("rows", cheap=1, full=10_000, log=True, integer=True)
INITIAL = Proposal("initial")


def history_of(*trials, fidelity=None):
    """Trials by number; each is given by what differs from a pending one at x = 0.5."""
    name = None if fidelity is None else fidelity.name
    plain = Trial(0, {"x": 0.5}, None, INITIAL, name)
    made = [replace(plain, **{"number": i, "order": i, **changes}) for i, changes in enumerate(trials)]
    return History.of(Space({"x": ft.Real(0.0, 1.0)}, fidelity), made, fidelity is not None)


def done(fidelity=None, cost=1.0, **changes):
    return {"fidelity": fidelity, "state": "complete", "value": 1.0, "cost": cost, **changes}


def failed(reason, cost=1.0, **changes):
    return {"state": "failed", "reason": reason, "cost": cost, **changes}


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
    assert params_in_words({"layers": 1234567, "optimizer": "adam", "bias": None}) == "layers=1234567, optimizer=adam, bias=None"
    assert params_in_words({}) == ""


def test_costs_that_are_not_seconds_are_not_said_to_be():
    assert cost_in_words(90.0, in_seconds=True) == "90 s"
    assert [cost_in_words(c, in_seconds=False) for c in (0.0, 1.234, 1234567.8)] == ["0", "1.23", "1,234,568"]
    measured, stated = history_of(done(), failed("no luck")), history_of(done(stated_cost=True), done(stated_cost=True))
    assert costs_are_seconds(measured, 1.0)
    assert costs_are_seconds(measured, 0.5)
    assert not costs_are_seconds(stated, 0.0)
    assert costs_are_seconds(stated, 1.0)  # a second of overhead costs one unit
    assert not costs_are_seconds(history_of({}), 1.0)  # nobody knows yet


def test_a_reason_of_several_lines_or_with_escapes_becomes_one_plain_line():
    assert first_line("\n  ValueError: bad \x1b[31m\tvalue\nTraceback") == "ValueError: bad  [31m value"
    assert first_line(" \n") == "no reason given"


# Where the money went -------------------------------------------------------------------------------------------------------


def test_spend_by_fidelity_puts_every_evaluation_into_one_row():
    levels = [10_000, 10_000, 5000, 1001, 999, 101, 11, 1, 9]
    history = history_of(*(done(level, level / 100.0) for level in levels), {"fidelity": 50}, fidelity=ROWS)
    # On this scale a quarter is a factor of ten; the pending one is in no row.
    assert spend_by_fidelity(history) == [
        ("full (rows=10000)", 2, 200.0),
        ("1000 to 10000", 2, pytest.approx(60.01)),
        ("100 to 1000", 2, pytest.approx(11.0)),
        ("10 to 100", 1, pytest.approx(0.11)),
        ("1 to 10", 2, pytest.approx(0.1)),
    ]


def test_spend_by_fidelity_where_full_is_the_smaller_number():
    tolerance = ft.Fidelity("tolerance", cheap=0.1, full=1e-5, log=True)
    spend = spend_by_fidelity(history_of(done(1e-5, 9.0), done(1e-3, 4.0), done(0.1, 1.0), fidelity=tolerance), parts=2)
    assert spend == [("full (tolerance=1e-05)", 1, 9.0), ("0.001 to 1e-05", 1, 4.0), ("0.1 to 0.001", 1, 1.0)]


@pytest.mark.parametrize(
    ("fidelity", "names"),
    [
        (ft.Fidelity("cells", levels=[64, 128, 512], log=True), ["full (cells=512)", "128", "64"]),
        (ft.Fidelity("cells", levels=[64, 128, 512]), ["full (cells=512)", "128", "64"]),
        (ft.Fidelity("error", levels=[0.5, 0.1, 0.01]), ["full (error=0.01)", "0.1", "0.5"]),
        (ft.Fidelity("epochs", cheap=1, full=3, integer=True), ["full (epochs=3)", "2", "1"]),
    ],
)
def test_each_level_of_a_fidelity_has_its_own_row(fidelity, names):
    checked = fidelity.checked()
    full, cheap = checked.ends
    middle = 2 if checked.levels is None else checked.levels[1]
    history = history_of(done(full, 7.0), done(middle, 2.0), done(middle, 3.0), done(cheap, 1.0), fidelity=fidelity)
    rows = list(zip(names, [1, 2, 1], [7.0, 5.0, 1.0], strict=True))
    assert spend_by_fidelity(history) == rows


def test_rows_of_the_spend_add_up_to_what_was_spent_with_failures_and_without_what_was_added():
    added = done(100, 50.0, proposal=Proposal("added"))
    history = history_of(
        done(10_000, 6.0),
        failed("no luck", 2.5, fidelity=10_000),
        failed("no luck", fidelity=1),
        added,
        done(10, 0.5),
        fidelity=ROWS,
    )
    spend = spend_by_fidelity(history)
    assert spend[-2:] == [("failed", 2, 3.5), ("added", 1, 0.0)]
    assert sum(cost for _, _, cost in spend) == history.spent == 10.0
    assert sum(count for _, count, _ in spend) == 5


def test_spend_without_a_fidelity_is_one_row():
    assert spend_by_fidelity(history_of(done(cost=2.0), done(cost=3.0), {})) == [("all", 2, 5.0)]
    assert spend_by_fidelity(history_of(done(cost=2.0), failed("no luck"))) == [("all", 1, 2.0), ("failed", 1, 1.0)]
    assert spend_by_fidelity(history_of()) == [("all", 0, 0.0)]


def test_failures_are_counted_by_their_first_line():
    history = history_of(
        failed("ValueError: b\nline 3"),
        failed("MemoryError"),
        failed("ValueError: b\nline 4"),
        done(),
        {"state": "abandoned", "reason": "x"},
    )
    assert failure_counts(history) == [("ValueError: b", 2), ("MemoryError", 1)]


def test_convergence_charges_the_thinking_of_a_proposal_and_the_trials_before_it():
    def with_mean(mean):
        return Proposal("acquisition", recommendation=ft.Recommendation({"x": 0.1}, mean, mean / 10.0))

    history = history_of(
        done(cost=4.0, overhead=1.0),
        done(cost=100.0, proposal=Proposal("added")),
        failed("no luck", 2.0, overhead=0.5, proposal=with_mean(5.0)),
        {"overhead": 0.25, "proposal": with_mean(3.0)},
    )
    assert convergence(history, 2.0) == [(7.0, 5.0, 0.5), (9.5, 3.0, 0.3)]


# Why ------------------------------------------------------------------------------------------------------------------------


def chosen(information, price, fidelity=50, name="rows"):
    proposal = Proposal("acquisition", information_gain=0.1234, information_share=information, price_share=price)
    return Trial(0, {"x": 0.5}, fidelity, proposal, name)


@pytest.mark.parametrize(
    ("information", "price", "words"),
    [
        (0.3123, 0.0689, "rows=50: 0.31 of the information at 0.069 of the price"),
        (0.5, 0.0001, "rows=50: 0.5 of the information at less than 0.001 of the price"),
        (0.998, 0.994, "rows=50: all of the information at 0.99 of the price"),
        (1.234, 0.9, "rows=50: 1.2 times the information at 0.9 of the price"),
        (1e9, 1.0, "rows=50: many times the information at all of the price"),
        (0.99, 1.0, "rows=50: 0.99 of the information at all of the price"),
        (1.0, 1.0, "full: nothing cheaper tells as much for its price"),
    ],
)
def test_why_a_fidelity_was_chosen(information, price, words):
    assert why(chosen(information, price)) == words


def test_no_share_is_said_to_be_nothing():
    for share in (1e-12, 1e-4, 0.0009, 0.00101, 0.0049):
        assert " 0 of" not in why(chosen(share, share))
        assert "0.00 " not in why(chosen(share, share))


def test_why_where_no_fidelity_was_chosen():
    assert why(chosen(1.0, 1.0, None, None)) == "highest acquisition: 0.12 nats about the minimum"
    assert why(Trial(0, {}, 50, Proposal("acquisition", price_share=1.0), "rows")) == "highest acquisition"
    assert why(Trial(0, {}, 50, INITIAL, "rows")) == "initial design"
    assert why(Trial(0, {}, 50, Proposal("added"), "rows")) == "added by the user"
    assert why(Trial(0, {}, 50, Proposal("confirmation"), "rows")) == "confirms the recommendation at full fidelity"
    assert why(Trial(0, {}, None, Proposal("confirmation"))) == "confirms the recommendation"


def test_why_of_trials_that_the_method_itself_has_made():
    settings = ft.Settings(draws=2, support_points=50, initial=4, overhead_price=0.0)
    study = ft.Study({"x": ft.Real(0.0, 1.0)}, fidelity=ROWS, seed=1, settings=settings)
    study.run(lambda x, rows: ft.Evaluation((x - 0.3) ** 2 + 1 / rows, cost=rows / 100), evaluations=9)
    said = [(row.kind, row.fidelity, row.why) for row in ledger(study.history)]
    assert [why for _, _, why in said[:4]] == ["initial design"] * 4
    assert said[-1] == ("confirmation", 10_000, "confirms the recommendation at full fidelity")
    for kind, fidelity, words in said[4:-1]:
        assert kind == "acquisition"
        assert words.startswith("full: " if fidelity == 10_000 else f"rows={fidelity}: ")


def test_the_ledger_has_what_each_trial_was_expected_to_cost_and_what_it_did():
    best = ft.Recommendation({"x": 0.1}, 2.0, 0.5)
    proposal = Proposal("acquisition", predicted_cost=3.0, information_gain=0.2, recommendation=best)
    first, second = ledger(history_of(done(None, 4.0, overhead=0.5, proposal=proposal), failed("no\nluck")))
    assert (first.number, first.state, first.kind, first.params, first.fidelity) == (0, "complete", "acquisition", {"x": 0.5}, None)
    assert (first.value, first.predicted_cost, first.cost, first.overhead, first.information_gain) == (1.0, 3.0, 4.0, 0.5, 0.2)
    assert (first.recommendation, first.reason) == (best, None)
    assert (second.number, second.state, second.value, second.reason, second.recommendation) == (
        1,
        "failed",
        None,
        "no\nluck",
        None,
    )


# How a run stands -----------------------------------------------------------------------------------------------------------


def standing(history, **changes):
    return replace(Standing(history, (), None, None, 0, 1.0), **changes)


def test_a_standing_counts_thinking_at_its_price():
    now = standing(history_of(done(cost=6.0, overhead=1.0), done(cost=2.0, overhead=3.0)), overhead_rate=0.5)
    assert (now.thinking, now.spent, now.overhead_share) == (2.0, 10.0, 0.2)
    assert standing(history_of({})).overhead_share is None


def test_used_is_the_share_of_whatever_ends_first():
    history = history_of(done(cost=5.0))
    assert standing(history).used is None
    assert standing(history, budget=20.0).used == 0.25
    assert standing(history, budget=20.0, evaluations=4, done=2).used == 0.5
    assert standing(history, budget=2.0).used == 1.0


def test_time_left_goes_by_the_pace_and_is_unknown_before_there_is_one():
    first, later = standing(history_of(done(cost=2.0))), standing(history_of(done(cost=2.0), done(cost=3.0)), done=1)
    assert replace(later, budget=11.0).seconds_left(first, 6.0) == 12.0
    assert replace(later, budget=11.0, evaluations=2).seconds_left(first, 6.0) == 6.0
    assert replace(later, budget=4.0).seconds_left(first, 6.0) == 0.0
    assert later.seconds_left(first, 6.0) is None
    assert replace(later, budget=11.0).seconds_left(later, 6.0) is None
    assert replace(first, budget=11.0).seconds_left(first, 0.0) is None


def test_a_standing_has_the_latest_recommendation():
    best = ft.Recommendation({"x": 0.25}, mean=1.2, std=0.1)
    with_one = done(proposal=Proposal("acquisition", recommendation=best))
    assert standing(history_of(done(), with_one, {})).recommendation == best
    assert standing(history_of(done(), {})).recommendation is None
