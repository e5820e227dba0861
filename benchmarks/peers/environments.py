"""The peers' environments: where they are, and how they are made.

    python -m benchmarks.peers.environments [--folder .peers] [NAME ...]

Each is a virtual environment made from requirements/NAME.txt. Where there is a requirements/NAME.build.txt, it is installed
first, and the rest without build isolation: Dragonfly's setup needs NumPy and an old setuptools before pip looks at it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from benchmarks.peers.interface import PEERS

ROOT = Path(__file__).parents[2]
REQUIREMENTS = Path(__file__).parent / "requirements"
FOLDER = ROOT / ".peers"
NAMES = tuple(dict.fromkeys(entry.environment for entry in PEERS.values()))


def interpreter(peer: str, folder: Path = FOLDER) -> Path:
    """The Python of a peer's environment, whether or not it is there."""
    return folder.absolute() / PEERS[peer].environment / "bin" / "python"


def make(name: str, folder: Path = FOLDER) -> None:
    """Make an environment, or bring it to what its requirements say."""
    python = folder.absolute() / name / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder / name)], check=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    before = REQUIREMENTS / f"{name}.build.txt"
    if before.exists():
        subprocess.run([*install, "-r", str(before)], check=True, cwd=ROOT)
        install.append("--no-build-isolation")
    subprocess.run([*install, "-r", str(REQUIREMENTS / f"{name}.txt")], check=True, cwd=ROOT)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"default: all of {', '.join(NAMES)}")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(NAMES)
    if unknown:
        parser.error(f"there is no environment {', '.join(sorted(unknown))}; choose from {', '.join(NAMES)}")
    failed = []
    for name in arguments.names or NAMES:
        print(f"{name} ...", flush=True)
        try:
            make(name, arguments.folder)
        except subprocess.CalledProcessError:
            failed.append(name)
    if failed:
        sys.exit(f"could not be made: {', '.join(failed)}; their peers will be left out")


if __name__ == "__main__":
    main()
