"""Trials as a table, for other programs: CSV, JSON or Parquet, a row a trial and nothing nested.

Columns are those of FIELDS, one for each parameter and for the fidelity under their own names, and what was recommended when the
trial was made: `recommended_<parameter>`, `recommendation_mean`, `recommendation_std`. Where a name is taken, as for a parameter
called "value", the parameter's column is `param_value`, the fidelity's `fidelity_value`.
"""

from __future__ import annotations

import csv
import importlib
import io
import json
import math
import sys
from collections.abc import Callable, Iterable
from os import PathLike
from pathlib import Path
from typing import Any

from farthing.errors import MissingExtra, SettingsError
from farthing.report import why
from farthing.trials import Trial

FIELDS: dict[str, tuple[type, Callable[[Trial], Any]]] = {
    "number": (int, lambda t: t.number),
    "state": (str, lambda t: t.state),
    "kind": (str, lambda t: t.proposal.kind),
    "value": (float, lambda t: t.value),
    "cost": (float, lambda t: t.cost),
    "noise": (float, lambda t: t.noise),
    "overhead": (float, lambda t: t.overhead),
    "predicted_cost": (float, lambda t: t.proposal.predicted_cost),
    "information_gain": (float, lambda t: t.proposal.information_gain),
    "information_rate": (float, lambda t: t.proposal.information_rate),
    "information_share": (float, lambda t: t.proposal.information_share),
    "price_share": (float, lambda t: t.proposal.price_share),
    "recommendation_mean": (float, lambda t: t.proposal.recommendation and t.proposal.recommendation.mean),
    "recommendation_std": (float, lambda t: t.proposal.recommendation and t.proposal.recommendation.std),
    "why": (str, why),
    "reason": (str, lambda t: t.reason and t.reason.encode(errors="backslashreplace").decode()),  # file names may be no Unicode
    "started": (float, lambda t: t.started),
}
"""Type and content of the columns that every table has. overhead: seconds; started: seconds since 1970."""

Columns = dict[str, list[Any]]


def write_trials(trials: Iterable[Trial], format: str, output: str | PathLike[str] | None = None) -> None:
    """Write trials as "csv", "json" (a list of objects) or "parquet" to a file, or to standard output.

    Numbers come back exactly as they were from all three. What is missing is empty in CSV, null in the others.
    """
    if format not in FORMATS:
        raise SettingsError(f"there is no export format {format!r}; choose one of {', '.join(FORMATS)}")
    content = FORMATS[format](columns_of(list(trials)))
    if output is not None:
        try:
            Path(output).write_bytes(content)
        except OSError as error:
            raise SettingsError(
                f"the trials could not be written to {str(output)!r} ({error.strerror}); give a path that may be written"
            ) from error
    elif format != "parquet":
        sys.stdout.write(content.decode())
    elif sys.stdout.isatty():
        raise SettingsError("Parquet is not for a terminal; give a path to write it to, or choose csv or json")
    else:
        sys.stdout.buffer.write(content)


def columns_of(trials: list[Trial]) -> Columns:
    """The table: the values of each column, a trial after the other."""
    names = list(dict.fromkeys(name for t in trials for name in t.params))
    fidelities = list(dict.fromkeys(t.fidelity_name for t in trials if t.fidelity_name is not None))
    own = {name: [get(t) for t in trials] for name, (_, get) in FIELDS.items()}
    theirs: Columns = {}

    def put(name: str, prefix: str, values: list[Any]) -> None:
        while name in own or name in theirs:
            name = prefix + name
        theirs[name] = values

    for name in names:
        put(name, "param_", [t.params.get(name) for t in trials])
    for name in fidelities:
        put(name, "fidelity_", [t.fidelity if t.fidelity_name == name else None for t in trials])
    for name in names:
        made = (t.proposal.recommendation for t in trials)
        put(f"recommended_{name}", "recommended_", [r and r.params.get(name) for r in made])
    # What a trial is, where it is, then all else that is known of it.
    first = {name: own.pop(name) for name in ("number", "state", "kind")}
    return {**first, **theirs, **own}


def _csv(columns: Columns) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    columns = {**columns, "reason": [_harmless(reason) for reason in columns["reason"]]}
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue().encode()


def _harmless(reason: str | None) -> str | None:
    """Text from anywhere, which a spreadsheet might take for a formula; parameters and numbers stay as they are."""
    return f"'{reason}" if reason and reason[0] in "=+-@\t\r" else reason


def _json(columns: Columns) -> bytes:
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    finite = [{name: None if isinstance(v, float) and not math.isfinite(v) else v for name, v in row.items()} for row in rows]
    return (json.dumps(finite, indent=1, allow_nan=False) + "\n").encode()


def _parquet(columns: Columns) -> bytes:
    try:
        arrow, parquet = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise MissingExtra("Parquet needs pyarrow, which is not installed; pip install pyarrow, or choose csv or json") from error
    types = {int: arrow.int64(), float: arrow.float64(), str: arrow.string(), bool: arrow.bool_()}
    arrays = {}
    for name, values in columns.items():
        kind = FIELDS[name][0] if name in FIELDS else _common_type(values)
        if kind is None:
            values, kind = [None if v is None else json.dumps(v) for v in values], str
        arrays[name] = arrow.array(values, types[kind])
    sink = io.BytesIO()
    parquet.write_table(arrow.table(arrays), sink)
    return sink.getvalue()


def _common_type(values: list[Any]) -> type | None:
    """What all the values are, None aside; None for a mixture, as of the options of a Choice, which is written as JSON."""
    types = {type(v) for v in values if v is not None}
    largest = max((abs(v) for v in values if isinstance(v, int)), default=0)
    if types == {int, float} and largest <= 2**53:
        return float
    if len(types) > 1 or largest >= 2**63:
        return None
    return types.pop() if types else str


FORMATS: dict[str, Callable[[Columns], bytes]] = {"csv": _csv, "json": _json, "parquet": _parquet}
