"""docs/cli.md says what is so."""

import dataclasses
import re
from pathlib import Path

import farthing as ft
from farthing.cli.failures import EXIT_CODES
from farthing.study_file import Limits, parse_study_file

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
FILES = re.findall(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL)


def test_every_study_file_of_the_documentation_can_be_read(tmp_path):
    assert len(FILES) == 2
    complete, small = (parse_study_file(text, tmp_path / "study.toml") for text in FILES)
    assert complete.fidelity == ft.Fidelity("rows", cheap=100, full=10_000, log=True, integer=True)
    assert small.objective.where == "train:loss"


def test_the_reference_has_every_key():
    for field in dataclasses.fields(Limits):
        assert f"\n{field.name} = " in FILES[0]


def test_every_command_and_option_of_the_documentation_exists(cli):
    for command in set(re.findall(r"farthing ([a-z]+)\b(?!\.)", PAGE)):
        text = cli(command, "--help").stdout
        row = next((line for line in PAGE.splitlines() if line.startswith(f"| `farthing {command}")), "")
        for option in re.findall(r"--[a-z]+", row):
            assert option in text, (command, option)


def test_the_exit_codes_are_those_of_the_program():
    table = dict(re.findall(r"^\| (\d+) \| (.*) \|$", PAGE, flags=re.MULTILINE))
    assert table == {str(code): meaning for code, meaning in EXIT_CODES.items()}
