"""The README's examples run as they stand, and what its tables and names refer to exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import farthing as ft

ROOT = Path(__file__).parent.parent
EXAMPLES = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)


def test_readme_examples_run_in_order(capsys):
    names: dict = {}
    for example in EXAMPLES:
        exec(compile(example, "README.md", "exec"), names)
    assert len(EXAMPLES) == 2
    assert abs(names["result"].x["momentum"] - 0.8) < 0.1
    assert "Recommendation(" in capsys.readouterr().out


@pytest.mark.parametrize("page", ["docs/method.md", "README.md"])
def test_files_named_in_the_documentation_exist(page):
    text = (ROOT / page).read_text()
    for name in re.findall(r"`(method/\w+\.py|farthing/method/\w+\.py|tests/[\w/]+\.py)`", text):
        base = ROOT if name.startswith("tests/") else ROOT / "src" if name.startswith("farthing/") else ROOT / "src" / "farthing"
        assert (base / name).exists(), name
    for target in re.findall(r"\]\((docs/[\w.]+)\)", text):
        assert (ROOT / target).exists(), target


def test_every_setting_is_described():
    described = ft.Settings.describe()
    for name in vars(ft.Settings()):
        assert re.search(rf"^{name} ", described, flags=re.MULTILINE)
