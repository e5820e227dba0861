"""What a peer is, which there are, and what they share: the initial design that is given to those that bring none.

A peer proposes an evaluation, is told its result, and says at any time which parameters it would recommend at full fidelity. What
it does in `propose` and `observe` is charged as overhead; `recommend` is not, so nothing done there may save work later.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from importlib import metadata

import numpy as np

from benchmarks.peers.problem import Params, Task

DESIGN = 10
"""Evaluations of a given design, as many as farthing and Optuna begin with."""

DESIGN_SHARE = 1.0 / 3.0
"""A given design ends early when it has taken this share of the budget; farthing's own does the same at full fidelity."""


class Peer(ABC):
    """An optimizer at work on one task."""

    def __init__(self, task: Task, seed: int) -> None:
        self.task = task
        self.seed = seed

    @abstractmethod
    def propose(self) -> tuple[Params, float]:
        """The next evaluation: parameters and fidelity, in the task's units."""

    @abstractmethod
    def observe(self, params: Params, fidelity: float, value: float, cost: float) -> None:
        """Take the result of the last proposal; before the first proposal, of any evaluation made elsewhere."""

    @abstractmethod
    def recommend(self) -> Params:
        """The parameters this optimizer holds for the best at full fidelity."""

    @property
    def kind(self) -> str | None:
        """What kind of proposal the last one was, if this optimizer has kinds."""
        return None


@dataclass(frozen=True)
class Entry:
    """What a peer is and where it is found: environment, module, class; the packages whose versions matter.

    pace: "fast", "medium" or "slow", by how long it thinks; the slower, the fewer seeds.
    """

    title: str
    environment: str
    module: str
    name: str
    packages: tuple[str, ...]
    chooses_fidelity: bool = False
    pace: str = "fast"

    def make(self, task: Task, seed: int) -> Peer:
        """The peer, ready to propose; imports its library."""
        return getattr(importlib.import_module(f"benchmarks.peers.{self.module}"), self.name)(task, seed)

    def versions(self) -> dict[str, str]:
        """Versions of the packages it runs on; of farthing, whose sources change between versions, also their checksum."""
        found = {package: metadata.version(package) for package in (*self.packages, "numpy", "scipy")}
        if "farthing" in found:
            from experiments.runs import farthing_version  # only where farthing is installed

            found["farthing"] = farthing_version()
        return found


_BOTORCH = ("botorch", "gpytorch", "torch")

PEERS = {
    "farthing": Entry("farthing, EnvPES", "farthing", "farthing_peers", "EnvPES", ("farthing",), True),
    "farthing-ei": Entry("farthing, expected improvement", "farthing", "farthing_peers", "EI", ("farthing",)),
    "random": Entry("uniformly random points", "farthing", "random_peer", "Random", ()),
    "optuna-gp": Entry("Optuna, GPSampler", "optuna", "optuna_peers", "GP", ("optuna", "torch")),
    "optuna-tpe": Entry("Optuna, TPESampler", "optuna", "optuna_peers", "TPE", ("optuna",)),
    "botorch-logei": Entry("BoTorch, LogEI", "botorch", "botorch_peers", "LogEI", _BOTORCH, pace="medium"),
    "botorch-mfkg": Entry(
        "BoTorch, multi-fidelity knowledge gradient", "botorch", "botorch_peers", "MultiFidelityKG", _BOTORCH, True, "slow"
    ),
    "botorch-mfmes": Entry(
        "BoTorch, multi-fidelity max-value entropy search", "botorch", "botorch_peers", "MultiFidelityMES", _BOTORCH, True, "slow"
    ),
    "smac-mf": Entry("SMAC, MultiFidelityFacade", "smac", "smac_peers", "MultiFidelity", ("smac", "ConfigSpace"), True, "medium"),
    "fabolas": Entry("Emukit, FABOLAS", "emukit", "emukit_peers", "Fabolas", ("emukit", "gpy"), True, "slow"),
    "boca": Entry("Dragonfly, BOCA", "dragonfly", "dragonfly_peers", "BOCA", ("dragonfly-opt",), True, "slow"),
}


def sobol_design(columns: int, seed: int, count: int = DESIGN) -> np.ndarray:
    """The design that is given where a peer needs one: (count, columns) scrambled Sobol points of the unit cube."""
    from scipy.stats import qmc

    return qmc.Sobol(columns, scramble=True, seed=np.random.default_rng([seed, 2])).random(32)[:count]


class Best:
    """The lowest value seen at full fidelity; before there is one, the lowest seen."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._key: tuple[bool, float] | None = None
        self.params: Params = task.params(np.full(task.dimensions, 0.5))

    def take(self, params: Params, fidelity: float, value: float) -> None:
        key = (self._task.fidelity.share(fidelity) < 1.0 - 1e-9, value)
        if self._key is None or key < self._key:
            self._key, self.params = key, params
