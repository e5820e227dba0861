"""minimize: a study, run once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from os import PathLike
from typing import Any

from farthing.axes import Fidelity
from farthing.methods import Method
from farthing.settings import Settings
from farthing.store import Store
from farthing.study import MAX_FAILURES, Result, Study
from farthing.trials import Trial


def minimize(
    objective: Callable[..., Any],
    space: Mapping[str, Any],
    *,
    fidelity: Fidelity | None = None,
    budget: float | str | None = None,
    evaluations: int | None = None,
    target: float | None = None,
    regret: float | None = None,
    method: str | Method = "envpes",
    seed: int | None = None,
    store: str | PathLike[str] | Store | None = None,
    name: str | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    timeout: float | str | None = None,
    max_failures: int = MAX_FAILURES,
    settings: Settings | None = None,
    callback: Callable[[Study, Trial], Any] | None = None,
    progress: bool = True,
) -> Result:
    """Minimize an expensive objective, choosing at every step the point and the price.

    objective: called with one keyword argument for each axis, and one for the fidelity; returns a number, or an Evaluation with its
    own cost and noise. budget: cost units or a time ("30 min"); by default cost is wall time. store: a file in which the study is
    kept, so that calling this again goes on where it ended. For everything else see `Study`, whose `run` this is.
    """
    study = Study(space, fidelity=fidelity, budget=budget, method=method, seed=seed, store=store, name=name, settings=settings)
    return study.run(
        objective,
        evaluations=evaluations,
        target=target,
        regret=regret,
        workers=workers,
        executor=executor,
        timeout=timeout,
        max_failures=max_failures,
        callback=callback,
        progress=progress,
    )
