"""A study's definition as JSON: given back to the bit, compared in words, and refused where it is not understood."""

from __future__ import annotations

import json
import math

import pytest

import farthing as ft
from farthing.definition import (
    Definition,
    axis_of_json,
    differences,
    fidelity_of_json,
    method_of_json,
    settings_of_json,
)
from farthing.methods import EI, ES, FABOLAS, LCB, METHODS, PES, PI, EnvPES, Random
from farthing.space import Space

AWKWARD = math.nextafter(0.1, 1.0)  # a float whose shortest text has 17 digits
SPACES = {
    "real": {"x": ft.Real(-AWKWARD, 2)},
    "log": {"lr": ft.Real(AWKWARD * 1e-300, 1e300, log=True)},
    "integers": {"k": ft.Integer(-3, 10**13), "n": ft.Integer(1, 64, log=True)},
    "choices": {"c": ft.Choice(["a", "ä\n\"'", "", None]), "d": ft.Choice([True, 2, AWKWARD, -1e-300])},
    "fixed": {"x": ft.Real(0.0, 1.0), "a": None, "b": False, "c": 3, "d": AWKWARD, "e": "text", "f": 10**30},
    "order": {"z": ft.Choice([1, 2]), "b": 5, "a": ft.Real(0.0, 1.0), "y": ft.Integer(0, 1)},
}
FIDELITIES = {
    "none": None,
    "real": ft.Fidelity("s", cheap=AWKWARD, full=-7),
    "log": ft.Fidelity("s", cheap=1e-1, full=1e-7 * (1.0 + AWKWARD), log=True),
    "whole": ft.Fidelity("rows", cheap=100, full=60_000, log=True, integer=True),
    "levels": ft.Fidelity("cells", levels=[64, 128, 512]),
    "real levels": ft.Fidelity("tolerance", levels=(0.1, AWKWARD / 7.0, 1e-9), log=True),
    "whole levels as floats": ft.Fidelity("cells", levels=[1.0, 2.0, 4.0]),
}
METHOD_OBJECTS = {
    "envpes": EnvPES(),
    "configured pes": PES(support="ei_slice", off_diagonal=True, below_best=False, rivals=3),
    "configured es": ES(representers=20, support="uniform"),
    "configured fabolas": FABOLAS(kernel="original", overhead="horizon"),
    "ei": EI(),
    "pi": PI(margin=AWKWARD),
    "lcb": LCB(kappa=0.0),
    "random": Random(),
}
SETTINGS = {
    "defaults": ft.Settings(),
    "all others": ft.Settings(
        kernel="squared_exponential",
        sampler="slice",
        draws=3,
        growth=1.0 + AWKWARD,
        support_points=11,
        minimizers=5,
        starts=1,
        initial=4,
        initial_fidelities=(0.0, AWKWARD, 1.0),
        initial_repeats=True,
        noise=0.0,
        tolerance=AWKWARD,
        overhead_price=1e-300,
        confirm=False,
    ),
}
PLAIN = Definition(Space({"x": ft.Real(0.0, 1.0)}), EnvPES(), 7, ft.Settings())


def definition(space="real", fidelity="none", method="envpes", settings="defaults", seed=3):
    return Definition(Space(SPACES[space], FIDELITIES[fidelity]), METHOD_OBJECTS[method], seed, SETTINGS[settings])


def typed(value):
    """A value with its type at every depth: 1, 1.0 and True are three different things, and so are two floats one bit apart."""
    if isinstance(value, dict):
        return [(key, typed(v)) for key, v in value.items()]
    if isinstance(value, list | tuple):
        return [typed(v) for v in value]
    return type(value).__name__, value.hex() if isinstance(value, float) else value


def parts(d):
    space = d.space
    return typed(
        [
            space.names,
            [(n, type(a).__name__, vars(a)) for n, a in space.axes.items()],
            space.fixed,
            None if space.fidelity is None else vars(space.fidelity),
            [type(d.method).__name__, vars(d.method)],
            d.seed,
            vars(d.settings),
        ]
    )


# There and back ------------------------------------------------------------------------------------------------------------------

EVERY = (
    [definition(space=name) for name in SPACES]
    + [definition(fidelity=name) for name in FIDELITIES]
    + [definition(method=name) for name in METHOD_OBJECTS]
    + [definition(settings=name) for name in SETTINGS]
    + [definition(seed=2**63)]
)


@pytest.mark.parametrize("given", EVERY, ids=[*SPACES, *(f"fidelity {n}" for n in FIDELITIES), *METHOD_OBJECTS, *SETTINGS, "seed"])
def test_a_definition_comes_back_from_text_with_every_bit_and_type(given):
    described = given.to_json()
    text = json.dumps(described, allow_nan=False)
    back = Definition.of_json(json.loads(text))
    assert parts(back) == parts(given)
    assert typed(back.to_json()) == typed(described)
    assert json.dumps(back.to_json()) == text
    assert differences(described, json.loads(text)) == []


def test_the_words_are_those_of_a_study_file():
    described = Definition(
        Space(
            {"x": ft.Real(0, 1), "lr": ft.Real(1e-3, 1, log=True), "k": ft.Integer(1, 5), "c": ft.Choice([None, "a"]), "held": 3},
            ft.Fidelity("cells", levels=[8, 16]),
        ),
        EI(),
        1,
        ft.Settings(),
    ).to_json()
    assert described["space"] == {
        "x": {"real": [0.0, 1.0]},
        "lr": {"real": [1e-3, 1.0], "log": True},
        "k": {"integer": [1, 5]},
        "c": {"choice": [None, "a"]},
        "held": {"fixed": 3},
    }
    assert typed(described["fidelity"]) == typed({"name": "cells", "levels": [8, 16], "integer": True})
    assert described["method"] == {"name": "ei"}
    assert axis_of_json("held", 3) == 3  # a bare value is a fixed one, in a file as in Python
    assert axis_of_json("held", None) is None


def test_a_study_in_a_database_gives_back_its_options_and_parameters_with_their_types(tmp_path):
    space = {"c": ft.Choice([True, None, "a", 2, 0.5]), "k": ft.Integer(1, 9), "x": ft.Real(0.0, 1.0), "flag": False, "held": None}
    settings = ft.Settings(draws=2, support_points=20, starts=2, initial=6, overhead_price=0.0)
    file = tmp_path / "study.db"
    first, uninterrupted = (
        ft.Study(space, fidelity=ft.Fidelity("cells", levels=[8, 16]), seed=1, store=store, settings=settings)
        for store in (file, None)
    )
    for study in (first, uninterrupted):
        for i in range(7):
            study.tell(study.ask(), float(i), cost=1.0)
    again = ft.Study.open(file)
    assert parts(again._thinking.definition) == parts(first._thinking.definition)
    assert [typed(t.kwargs) for t in again.trials] == [typed(t.kwargs) for t in first.trials]
    assert {type(t.params["c"]) for t in again.trials} <= {bool, type(None), str, int, float}
    assert typed(again.ask().kwargs) == typed(uninterrupted.ask().kwargs)


# In words ------------------------------------------------------------------------------------------------------------------------


def changed(**other):
    described = json.loads(json.dumps(PLAIN.to_json()))
    described.update(other)
    return described


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"space": {"x": {"real": [0.0, 2.0]}}}, ["space: 'x' is {'real': [0.0, 1.0]} there and {'real': [0.0, 2.0]} here"]),
        ({"space": {"x": {"real": [0.0, 1.0], "log": True}}}, ["space: 'x' is"]),
        ({"space": {"x": {"integer": [0, 1]}}}, ["space: 'x' is"]),
        ({"space": {"x": {"real": [0.0, 1.0]}, "k": {"integer": [1, 5]}}}, ["'k' is not there there and {'integer': [1, 5]} here"]),
        ({"space": {"y": {"real": [0.0, 1.0]}}}, ["'x' is {'real': [0.0, 1.0]} there and not here", "'y' is not there there"]),
        ({"fidelity": {"name": "s", "cheap": 1.0, "full": 0.0}}, ["fidelity is None there and {'name': 's'"]),
        ({"method": {"name": "ei"}}, ["method: 'name' is envpes there and ei here"]),
        ({"settings": {**PLAIN.to_json()["settings"], "draws": 9}}, ["settings: 'draws' is 8 there and 9 here"]),
    ],
    ids=["bounds", "scale", "kind", "axis more", "axis renamed", "fidelity", "method", "setting"],
)
def test_what_differs_is_named_with_both_sides(other, said):
    found = differences(changed(**other), PLAIN.to_json())
    for words in said:
        assert any(words in difference for difference in found), found


def test_nothing_differs_between_equals_and_the_seed_is_not_compared():
    assert differences(changed(), PLAIN.to_json()) == []
    assert differences(changed(seed=8), PLAIN.to_json()) == []


def test_another_order_of_the_axes_is_another_definition():
    """The order decides which column is which: the same seed would propose other points."""
    there = Definition(Space({"x": ft.Real(0.0, 1.0), "y": ft.Real(0.0, 1.0)}), EI(), 0, ft.Settings()).to_json()
    here = Definition(Space({"y": ft.Real(0.0, 1.0), "x": ft.Real(0.0, 1.0)}), EI(), 0, ft.Settings()).to_json()
    assert differences(here, there) == ["space: another order"]


@pytest.mark.parametrize(
    ("here", "culprit"),
    [
        ({"c": ft.Choice(["b", "a"])}, "'c' is {'choice': ['a', 'b']} there and {'choice': ['b', 'a']} here"),
        ({"c": ft.Choice(["a", "b", "c"])}, "'c' is {'choice': ['a', 'b']} there"),
        ({"k": ft.Integer(1, 6)}, "'k' is {'integer': [1, 5]} there and {'integer': [1, 6]} here"),
        ({"k": ft.Integer(1, 5, log=True)}, "'k' is {'integer': [1, 5]} there and {'integer': [1, 5], 'log': True} here"),
        ({"held": 4}, "'held' is {'fixed': 3} there and {'fixed': 4} here"),
        ({"held": ft.Integer(3, 4)}, "'held' is {'fixed': 3} there and {'integer': [3, 4]} here"),
    ],
    ids=str,
)
def test_a_study_of_the_same_name_with_another_space_is_refused_and_the_axis_named(tmp_path, here, culprit):
    space = {"k": ft.Integer(1, 5), "c": ft.Choice(["a", "b"]), "held": 3}
    ft.Study(space, store=tmp_path / "study.db", name="s")
    with pytest.raises(ft.StoreError) as refused:
        ft.Study({**space, **here}, store=tmp_path / "study.db", name="s")
    assert culprit in str(refused.value)
    ft.Study(space, store=tmp_path / "study.db", name="s")


@pytest.mark.parametrize(
    ("there", "here"),
    [(ft.Choice([True, False]), ft.Choice([1, 0])), (True, 1), (ft.Choice([1, 2]), ft.Choice([1.0, 2.0]))],
    ids=str,
)
def test_options_of_another_type_are_another_definition(there, here):
    described = [Definition(Space({"x": ft.Real(0.0, 1.0), "c": c}), EI(), 0, ft.Settings()).to_json() for c in (there, here)]
    assert differences(described[1], described[0]) != []


# Not understood ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("described", "complaint"),
    [
        ({"reel": [0, 1]}, "give it one of real, integer, choice, fixed, such as { real = [0.0, 1.0] }"),
        ({"real": [0, 1], "integer": [0, 1]}, "give it one of real, integer, choice, fixed"),
        ({}, "give it one of real, integer, choice, fixed"),
        ([0, 1], "axis 'a' is [0, 1]; give it one of"),
        ({"real": [0, 1], "logarithmic": True}, "axis 'a' has the unknown key 'logarithmic'; it may have log, real"),
        ({"choice": ["a", "b"], "log": True}, "axis 'a' has the unknown key 'log'; it may have choice"),
        ({"fixed": 3, "log": True}, "axis 'a' has the unknown key 'log'; it may have fixed"),
        ({"choice": "ab"}, "axis 'a' has the options 'ab'; give a list of at least two"),
        ({"choice": {"a": 1}}, "give a list of at least two"),
        ({"real": 1.0}, "axis 'a' has the bounds 1.0; give a list [low, high]"),
        ({"integer": [1, 2, 3]}, "axis 'a' has the bounds [1, 2, 3]; give a list [low, high]"),
        ({"real": "01"}, "axis 'a' has the bounds '01'; give a list [low, high]"),
        ({"real": [1, 2], "log": "yes"}, "axis 'a' has log = 'yes'; give true or false"),
        ({"integer": [1, 2], "log": 1}, "axis 'a' has log = 1; give true or false"),
    ],
    ids=str,
)
def test_an_axis_that_is_not_understood_is_refused(described, complaint):
    with pytest.raises(ft.SpaceError) as refused:
        axis_of_json("a", described)
    assert complaint in str(refused.value)
    with pytest.raises(ft.SpaceError):
        Definition.of_json(changed(space={"x": {"real": [0.0, 1.0]}, "a": described}))


def test_a_fixed_list_is_refused_by_the_space():
    with pytest.raises(ft.SpaceError, match=r"axis 'a' is \[1, 2\]; give"):
        Definition.of_json(changed(space={"x": {"real": [0.0, 1.0]}, "a": {"fixed": [1, 2]}}))


@pytest.mark.parametrize(
    ("described", "complaint"),
    [
        ({"name": "s", "cheap": 1, "ful": 2}, "the fidelity has the unknown key 'ful'; it may have name, cheap, full"),
        ({"cheap": 1, "full": 2}, "the fidelity has no name; give the name of the objective's argument"),
        ("rows", "the fidelity is 'rows'; give it name, cheap and full"),
        (["rows", 1, 2], "give it name, cheap and full"),
        ({"name": "s", "cheap": 1, "full": 2, "log": "true"}, "the fidelity has log = 'true'; give true or false"),
        ({"name": "s", "cheap": 1, "full": 2, "integer": 1}, "the fidelity has integer = 1; give true or false"),
    ],
    ids=str,
)
def test_a_fidelity_that_is_not_understood_is_refused(described, complaint):
    with pytest.raises(ft.SpaceError) as refused:
        fidelity_of_json(described)
    assert complaint in str(refused.value)


@pytest.mark.parametrize(
    ("described", "complaint"),
    [
        ("bayes", f"there is no method 'bayes'; choose one of {', '.join(METHODS)}"),
        ({"name": "bayes"}, "there is no method 'bayes'"),
        ({"kappa": 2.0}, "there is no method None"),
        ({"name": "ei", "kappa": 2.0}, "method 'ei' has no option 'kappa'; it has none"),
        ({"name": "lcb", "margin": 2.0}, "method 'lcb' has no option 'margin'; it has kappa"),
        ({"name": "lcb", "kappa": "two"}, "kappa is 'two'; give a finite number from 0 up"),
        ({"name": "pes", "support": "grid"}, "there is no support sampler 'grid'"),
    ],
    ids=str,
)
def test_a_method_that_is_not_understood_is_refused(described, complaint):
    with pytest.raises(ft.SettingsError) as refused:
        method_of_json(described)
    assert complaint in str(refused.value)


def test_a_method_may_be_given_by_its_name_alone():
    assert method_of_json("pi") == PI()
    assert method_of_json({"name": "pi", "margin": 0.5}) == PI(margin=0.5)


def test_settings_left_out_have_their_defaults_and_unknown_ones_are_refused():
    assert settings_of_json({}) == ft.Settings()
    assert settings_of_json({"initial_fidelities": [0.0, 1.0]}) == ft.Settings(initial_fidelities=(0.0, 1.0))
    with pytest.raises(ft.SettingsError, match="there is no setting 'drawz'; there are kernel, trend, sampler, draws"):
        settings_of_json({"drawz": 3})
    with pytest.raises(ft.SettingsError, match="setting draws is 'many'"):
        settings_of_json({"draws": "many"})
