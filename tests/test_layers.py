"""Imports point one way: the contract of [tool.importlinter] in pyproject.toml."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
LINT_IMPORTS = Path(sys.executable).parent / "lint-imports"


def lint_imports(*arguments, cwd=ROOT):
    command = [LINT_IMPORTS, "--no-cache", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120, check=False)


def test_imports_point_one_way():
    done = lint_imports()
    assert done.returncode == 0, f"\n{done.stdout}{done.stderr}"
    assert "1 kept, 0 broken" in done.stdout


def test_an_import_against_the_grain_would_be_found(tmp_path):
    """The contract upside down must break, or it checks nothing."""
    upside_down = tmp_path / "upside_down.toml"
    upside_down.write_text(
        """
[tool.importlinter]
root_package = "farthing"

[[tool.importlinter.contracts]]
name = "upside down"
type = "layers"
layers = ["farthing.errors", "farthing.numerics", "farthing.study"]
"""
    )
    done = lint_imports("--config", str(upside_down))
    assert done.returncode != 0
    assert "farthing.numerics" in done.stdout


def test_every_module_has_its_layer():
    """A new module outside the contract would be free to import anything."""
    import tomllib

    import farthing

    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    layered = {module.strip() for layer in contract["layers"] for module in layer.split("|")}
    package = Path(farthing.__file__).parent
    modules = {f"farthing.{p.stem}" for p in package.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()}
    assert modules - {"farthing.__init__"} == layered
