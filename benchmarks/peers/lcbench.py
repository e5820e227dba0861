"""LCBench: neural networks trained on OpenML tasks, by YAHPO Gym's surrogate (slds-lmu/yahpo_data, Apache-2.0).

The surrogate is a network fitted to real training runs; it tells accuracy and seconds after any number of epochs. Its files
(model.onnx, encoding.json) are looked for in `yahpo_lcbench` in the data folder.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.peers.problem import Axis, Fidelity, Params, Task

OPENML_TASKS = ("3945", "7593", "34539", "126025", "167149", "167201", "189354", "189865")
FOLDER = "yahpo_lcbench"
REFERENCES = Path(__file__).parent / "references.json"

AXES = (
    Axis("batch_size", 16, 512, "integer", log=True),
    Axis("learning_rate", 1e-4, 1e-1, log=True),
    Axis("momentum", 0.1, 0.99),
    Axis("weight_decay", 1e-5, 1e-1),
    Axis("num_layers", 1, 5, "integer"),
    Axis("max_units", 64, 1024, "integer", log=True),
    Axis("max_dropout", 0.0, 1.0),
)
"""In the order of the network's inputs, after the epoch."""

EPOCHS = Fidelity("epoch", cheap=2, full=52, log=True, integer=True)
"""Epoch 1 is an untrained network. Logarithmic for every peer that is told of a scale: what matters of epochs is their ratio."""

FULL_EVALUATIONS = 30
"""The budget, in median costs of a full evaluation."""

Surrogate = Callable[[np.ndarray], np.ndarray]


def missing(data: Path | None) -> str | None:
    """Why there are no LCBench tasks, if there are none."""
    if data is None:
        return "no data folder: give --data or set FARTHING_DATA"
    absent = [name for name in ("model.onnx", "encoding.json") if not (data / FOLDER / name).exists()]
    return f"{FOLDER}/{absent[0]} is not in {data}" if absent else None


def surrogate(data: Path, openml_task: str) -> Surrogate:
    """Rows (n, 8) of epoch and parameters -> (n, 2): error in percent, and seconds."""
    session = _session(str(data / FOLDER / "model.onnx"))
    code = json.loads((data / FOLDER / "encoding.json").read_text())["OpenML_task_id"][openml_task]

    def predict(rows: np.ndarray) -> np.ndarray:
        tasks = np.full((len(rows), 1), code, dtype=np.int32)
        out = session.run(None, {"x_cat": tasks, "x_cont": rows.astype(np.float32)})[0].astype(float)
        return np.column_stack([100.0 - out[:, 1], np.maximum(out[:, 0], 1e-3)])

    return predict


@cache
def _session(path: str):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def build(name: str, data: Path) -> Task:
    """The task `lcbench-<OpenML task>`, with the reference minimum and median costs of references.json."""
    predict = surrogate(data, name.removeprefix("lcbench-"))
    known = json.loads(REFERENCES.read_text())[name]
    cheap_cost, full_cost = known["median_cost_cheap"], known["median_cost_full"]

    def row(params: Params, epoch: float) -> np.ndarray:
        return np.array([[epoch, *(params[axis.name] for axis in AXES)]])

    def typical_cost(epoch: float) -> float:
        return cheap_cost + (full_cost - cheap_cost) * (epoch - EPOCHS.cheap) / (EPOCHS.full - EPOCHS.cheap)

    return Task(
        name,
        AXES,
        EPOCHS,
        objective=lambda params, epoch: float(predict(row(params, epoch))[0, 0]),
        cost=lambda params, epoch: float(predict(row(params, epoch))[0, 1]),
        typical_cost=typical_cost,
        minimum=known["minimum"],
        budget=FULL_EVALUATIONS * full_cost,
        minimizer=known["minimizer"],
    )
