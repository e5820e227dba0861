"""`farthing show`, `farthing log` and `farthing list`."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import datetime
from typing import Annotated

import typer

from farthing.cli.chosen import AsJson, File, Name, Store, existing, open_study
from farthing.cli.output import cell, print_json, print_lines, print_table
from farthing.cli.wording import in_cli_words


def show(file: File = None, store: Store = None, name: Name = None, as_json: AsJson = False) -> None:
    """Print the recommendation, what was spent on it, and what went wrong."""
    from farthing.cli.summary import Snapshot, prospects, prospects_lines, summary, summary_lines

    seen = Snapshot.of(open_study(file, store, name))
    known = {**summary(seen), **prospects(seen)}
    if as_json:
        print_json(known)
    else:
        print_lines([*summary_lines(known), *prospects_lines(known)])


def log(
    file: File = None,
    last: Annotated[int | None, typer.Option("-n", "--last", min=1, help="Only the last so many.")] = None,
    store: Store = None,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Print every trial, the newest last: what was chosen and why, what it was expected to cost, what it cost and gave."""
    from farthing.report import first_line, ledger, params_in_words

    rows = ledger(open_study(file, store, name).history)[-(last or 0) :]  # all, from -0
    rows = [replace(row, reason=row.reason and in_cli_words(row.reason)) for row in rows]
    if as_json:
        print_json([asdict(row) for row in rows])
        return
    numbers = ("number", "fidelity", "value", "predicted", "cost", "thinking", "gain")
    print_table(
        ("number", "state", "kind", *numbers[1:], "parameters", "why"),
        [
            (
                str(row.number),
                row.state,
                row.kind,
                *map(cell, (row.fidelity, row.value, row.predicted_cost, row.cost, row.overhead, row.information_gain)),
                params_in_words(row.params),
                row.why if row.reason is None else first_line(row.reason),
            )
            for row in rows
        ],
        right=numbers,
        wrapped=("parameters", "why"),
    )


def list_studies(
    store: Annotated[str, typer.Argument(metavar="STORE", help="A SQLite file, or postgresql://...")], as_json: AsJson = False
) -> None:
    """Print the studies in a store."""
    from farthing.store import open_store

    records = open_store(existing(store)).studies()
    if as_json:
        print_json([{"name": r.name, "trials": r.trials, "budget": r.budget, "created": r.created} for r in records])
        return
    created = (datetime.fromtimestamp(record.created).isoformat(" ", "minutes") for record in records)
    rows = [(r.name, str(r.trials), cell(r.budget), when) for r, when in zip(records, created, strict=True)]
    print_table(("name", "trials", "budget", "created"), rows, right=("trials", "budget"))
