"""The examples of the documentation run as they stand, and what its tables and names refer to exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import farthing as ft
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


@pytest.mark.parametrize("page", ["docs/method.md", "docs/studies.md", "README.md"])
def test_files_named_in_the_documentation_exist(page):
    text = (ROOT / page).read_text()
    for name in re.findall(r"`(method/\w+\.py|farthing/method/\w+\.py|tests/[\w/]+\.py)`", text):
        base = ROOT if name.startswith("tests/") else ROOT / "src" if name.startswith("farthing/") else ROOT / "src" / "farthing"
        assert (base / name).exists(), name
    for target in re.findall(r"\]\(([\w./]+\.md)\)", text):
        assert (ROOT / page).parent.joinpath(target).exists(), target


def test_every_setting_is_described():
    described = ft.Settings.describe()
    for name in vars(ft.Settings()):
        assert re.search(rf"^{name} ", described, flags=re.MULTILINE)
