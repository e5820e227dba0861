"""The examples of the documentation run as they stand, and what its tables and names refer to exists."""

from __future__ import annotations

import dataclasses
import inspect
import re
from fractions import Fraction
from pathlib import Path

import pytest

import farthing as ft
from farthing.methods import METHODS
from farthing.study_file import read_study_file

ROOT = Path(__file__).parent.parent


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)


def run_examples(page):
    """Execute the page's Python, block after block; the names it leaves behind."""
    names: dict = {}
    for example in blocks(page, "python"):
        exec(compile(example, page, "exec"), names)
    return names


def test_readme_examples_run_in_order(capsys):
    names = run_examples("README.md")
    assert len(blocks("README.md", "python")) == 2
    assert abs(names["result"].x["momentum"] - 0.8) < 0.1
    assert "Recommendation(" in capsys.readouterr().out


def test_the_readmes_study_file_is_understood(tmp_path):
    (example,) = blocks("README.md", "toml")
    (tmp_path / "study.toml").write_text(example)
    read_study_file(tmp_path / "study.toml")


def test_examples_of_lasting_studies_run_in_order(capsys):
    names = run_examples("docs/studies.md")
    assert len(names["study"].trials) > 15
    assert names["result"].message in capsys.readouterr().out


@pytest.mark.parametrize("page", ["docs/method.md", "docs/studies.md", "docs/cli.md", "docs/reference.md", "README.md"])
def test_files_named_in_the_documentation_exist(page):
    text = (ROOT / page).read_text()
    for name in re.findall(r"`(method/\w+\.py|farthing/method/\w+\.py|tests/[\w/]+\.py)`", text):
        base = ROOT if name.startswith("tests/") else ROOT / "src" if name.startswith("farthing/") else ROOT / "src" / "farthing"
        assert (base / name).exists(), name
    for target in re.findall(r"\]\(([\w./]+\.md)\)", text):
        assert (ROOT / page).parent.joinpath(target).exists(), target


def rows(page, heading):
    """The cells of the first table below a heading."""
    section = (ROOT / page).read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    table = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


def test_the_reference_has_every_setting_with_its_default_and_meaning():
    expected = [[f"`{f.name}`", str(f.default), f.metadata["help"]] for f in dataclasses.fields(ft.Settings)]
    assert rows("docs/reference.md", "Settings") == expected


def _written(default):
    """A default as one would write it: text in double quotes, and a number such as 1/60 as that."""
    if isinstance(default, float) and len(repr(default)) > 6:
        return str(Fraction(default).limit_denominator(1000))
    return f'"{default}"' if isinstance(default, str) else str(default)


def test_the_reference_has_every_method_with_its_options_and_their_defaults():
    listed = {name.strip('`"'): (made, options) for name, made, options in rows("docs/reference.md", "Methods")}
    assert list(listed) == list(METHODS)
    for name, kind in METHODS.items():
        made, options = listed[name]
        assert made == f"`ft.methods.{kind.__name__}()`"
        own = [f for f in dataclasses.fields(kind) if f.name in kind.__annotations__]
        defaults = [f"`{f.name}={_written(f.default)}`" for f in own]
        inherited = "those of PES; " if name == "envpes" else "those of ES; " if name == "fabolas" else ""
        assert options == inherited + ", ".join(defaults)


@pytest.mark.parametrize("name", ft.__all__)
def test_the_reference_names_all_that_is_public(name):
    assert re.search(rf"\b{name}\b", (ROOT / "docs/reference.md").read_text())


@pytest.mark.parametrize(
    "name",
    [
        *(n for n in dir(ft.Study) if not n.startswith("_")),
        *(f.name for f in dataclasses.fields(ft.Result)),
        *(f.name for f in dataclasses.fields(ft.Recommendation)),
        *inspect.signature(ft.minimize).parameters,
        *inspect.signature(ft.Study.run).parameters,
    ],
)
def test_the_reference_names_every_member_and_argument(name):
    assert name == "self" or re.search(rf"\b{name}\b", (ROOT / "docs/reference.md").read_text())


def test_every_setting_is_described():
    described = ft.Settings.describe()
    for name in vars(ft.Settings()):
        assert re.search(rf"^{name} ", described, flags=re.MULTILINE)
