"""minimize: a study, run once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from farthing.methods import Method
from farthing.settings import Settings
from farthing.space import Fidelity, Real
from farthing.store import Store
from farthing.study import Result, Study
from farthing.trials import Trial


def minimize(
    objective: Callable[..., Any],
    space: Mapping[str, Real],
    *,
    fidelity: Fidelity | None = None,
    budget: float | str | None = None,
    evaluations: int | None = None,
    method: str | Method = "envpes",
    seed: int | None = None,
    store: Store | None = None,
    name: str | None = None,
    workers: int = 1,
    settings: Settings | None = None,
    callback: Callable[[Study, Trial], Any] | None = None,
    progress: bool = True,
) -> Result:
    """Minimize an expensive objective, choosing at every step the point and the price.

    objective: called with one keyword argument for each axis, and one for the fidelity; returns a number, or an Evaluation with its
    own cost and noise. budget: cost units or a time ("30 min"); by default cost is wall time. For everything else see `Study`,
    whose `run` this is.
    """
    study = Study(space, fidelity=fidelity, budget=budget, method=method, seed=seed, store=store, name=name, settings=settings)
    return study.run(objective, evaluations=evaluations, workers=workers, callback=callback, progress=progress)
