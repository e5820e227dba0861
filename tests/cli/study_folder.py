"""A study file and its objective, and the command line as a process of its own."""

import json
import os
import sys
import time

TRAIN = """\
import sys, time
x, rows, marks = float(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
with open(marks, "a") as file:
    file.write(f"{x} {rows}\\n")
time.sleep(SLEEP)
print("training...")
print((x - 0.3) ** 2 + 1 / rows)
"""

# Fast to propose: what is tested here is the command line.
STUDY = """\
[study]
name = "NAME"
evaluations = 3
seed = 1
method = "METHOD"

[objective]
command = ["PYTHON", "-S", "train.py", "{x}", "{rows}", "marks"]

[space]
x = { real = [0, 1] }

[fidelity]
name = "rows"
cheap = 10
full = 1000
log = true
integer = true

[settings]
draws = 2
support_points = 30
starts = 2
initial = 2
"""


def write_study(folder, *, sleep=0.0, method="random", name="digits", command=None, more=""):
    (folder / "train.py").write_text(TRAIN.replace("SLEEP", str(sleep)))
    text = STUDY.replace("NAME", name).replace("METHOD", method).replace("PYTHON", sys.executable)
    if command is not None:
        lines = [f"command = {json.dumps(command)}" if line.startswith("command") else line for line in text.splitlines()]
        text = "\n".join(lines) + "\n"
    text = text.replace("seed = 1\n", f"seed = 1\n{more}")
    (folder / "study.toml").write_text(text)
    return text


def command(arguments):
    return [sys.executable, "-m", "farthing", *map(str, arguments)]


def environment():
    return {key: value for key, value in os.environ.items() if key not in ("FORCE_COLOR", "FARTHING_DEBUG", "COLUMNS")}


def wait_for(condition, seconds=30.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.02)


def marks(folder):
    """How often the objective was begun."""
    path = folder / "marks"
    return len(path.read_text().splitlines()) if path.exists() else 0
