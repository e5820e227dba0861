"""Effort follows price: how much to think about the next evaluation, from what thinking and evaluating have taken so far.

    quick    no model, a fraction of a millisecond (method/quick.py)
    light    the most probable hyperparameters and a short search, some ten milliseconds
    normal   what the settings say, some hundreds of milliseconds

With T seconds of thinking and E of evaluating so far, c those that the next evaluation is expected to take, and e those of a level,
normal is allowed where

    T + e <= share / (1 - share) * (E + c)        share = Settings.thinking_share,

light where it is with its own e, quick always. So thinking stays near the share of the time, above it only where even quick steps
are (evaluations of a millisecond or less), and an evaluation that takes long is thought about from the first. All of it is
recorded, so that the same trials give the same level in any process. Where a second has no price (costs are stated,
`Settings.overhead_price` is not), all is normal.

Whoever asks trial by trial, or for a number of evaluations, has few of them rather than little time, however short they are: light
is then allowed for FREE seconds more. A toy is minimized well in forty evaluations, and nobody minds the half second.
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from statistics import median_high

from farthing.method.quick import QUICK, Search
from farthing.methods import EI, ES, PES, Method
from farthing.settings import Settings
from farthing.space import Space
from farthing.trials import ABANDONED, CHOSEN, COMPLETE, FAILED, PENDING, Trial

LIGHT, NORMAL = "light", "normal"

FREE = 5.0
"""Seconds of light thinking in all that are not counted where evaluations are what is scarce: some three hundred steps."""

GUESSES = {LIGHT: 0.02, NORMAL: 0.25}
"""Seconds a level is expected to take before it is known, at the beginning."""

RECENT = 5
"""Steps at a level, and evaluations, from which the next is foretold by their median. The guess counts as two more: a first step
imports what no later one has to."""

GROWING = 200
"""Trials after which a step is expected to take twice as long as the first."""

MANY = 400
"""Observations above which hyperparameters are drawn given so many representative ones, and fewer of them: what they leave open is
little."""

LIGHT_KNOWN = 100
"""Observations, the most representative ones, that a light surrogate knows."""

LIGHT_GROWTH = 1.3

LIGHT_REPRESENTERS = 20


@dataclass
class Tally:
    """Sums and latest figures of a study's trials, kept up to date in constant time for each trial that changes.

    trials, results: how many were begun, and ended with a value or a failure; thinking: seconds; spent: cost of evaluations;
    stated: cost and number of results whose cost was stated; unpriced: whether such costs are the study's own; lowest: the trial at
    full fidelity with the lowest value; taken: where no axis is real, the trials at each place but abandoned ones; costs and
    full_costs: the latest, and those at full fidelity; overheads: the latest by level, with the number of the trial.
    """

    space: Space
    trials: int = 0
    results: int = 0
    thinking: float = 0.0
    spent: float = 0.0
    stated: tuple[float, int] = (0.0, 0)
    unpriced: bool = False
    lowest: Trial | None = None
    pending: dict[int, Trial] = field(default_factory=dict)
    taken: dict[tuple[object, ...], set[int]] = field(default_factory=dict)
    costs: deque[float] = field(default_factory=lambda: deque(maxlen=RECENT))
    full_costs: deque[float] = field(default_factory=lambda: deque(maxlen=RECENT))
    overheads: dict[str, deque[tuple[int, float]]] = field(default_factory=lambda: defaultdict(lambda: deque(maxlen=RECENT)))

    def __post_init__(self) -> None:
        self.search = Search(self.space)
        self._full = self.space.fidelity_value(0.0)

    @classmethod
    def of(cls, space: Space, trials: Iterable[Trial]) -> Tally:
        tally = cls(space)
        tally.take(trials)
        return tally

    def take(self, changed: Iterable[Trial]) -> None:
        """Take in the trials, by number, that were begun or have changed since the last time."""
        ended = []
        for trial in changed:
            if trial.number >= self.trials:
                self._begun(trial)
            if trial.order is not None and trial.order >= self.results:
                ended.append((trial.order, trial))
            self._stands(trial)
        for order, trial in sorted(ended, key=lambda pair: pair[0]):
            self.results = order + 1
            self._ended(trial)

    def _begun(self, trial: Trial) -> None:
        self.trials = trial.number + 1
        self.thinking += trial.overhead
        if trial.proposal.kind in CHOSEN:
            self.overheads[trial.proposal.effort or NORMAL].append((trial.number, trial.overhead))

    def _stands(self, trial: Trial) -> None:
        if not self.space.reals:
            there = self.taken.setdefault(tuple(trial.params.values()), set())
            (there.discard if trial.state == ABANDONED else there.add)(trial.number)
        if trial.state == PENDING:
            self.pending[trial.number] = trial
        else:
            self.pending.pop(trial.number, None)

    def _ended(self, trial: Trial) -> None:
        own = trial.proposal.kind != "added"
        if own:
            self.spent += trial.cost or 0.0
        if trial.cost is not None:  # what was added tells what to expect
            self.costs.append(trial.cost)
            if trial.fidelity == self._full:
                self.full_costs.append(trial.cost)
        if trial.stated_cost and trial.cost is not None:
            self.stated = self.stated[0] + trial.cost, self.stated[1] + 1
            self.unpriced = self.unpriced or own
        if trial.state == FAILED or trial.fidelity == self._full:
            self.search.ended(trial)
        if trial.state == COMPLETE and trial.fidelity == self._full:
            before = self.lowest
            if before is None or (trial.value, trial.number) < (before.value, before.number):
                self.lowest = trial

    @property
    def cost(self) -> float:
        """What the next evaluation is expected to cost: as the latest ones, 0 before any."""
        return median_high(self.costs) if self.costs else 0.0

    @property
    def full_cost(self) -> float:
        """What it is expected to cost at full fidelity, 0 before any."""
        return median_high(self.full_costs) if self.full_costs else 0.0

    def rate(self, settings: Settings) -> float:
        """Cost of a second of thinking: 1 where costs are seconds of wall time, as stated otherwise, 0 until it is stated."""
        if settings.overhead_price is not None:
            return settings.overhead_price
        return 0.0 if self.unpriced else 1.0

    def seconds(self, level: str) -> float:
        """What the next step at that level is expected to take."""

        def work(number: int) -> int:
            return GROWING + (min(number, LIGHT_KNOWN) if level == LIGHT else number)

        guess = GUESSES[level] * work(self.trials) / GROWING
        made = [seconds * work(self.trials) / work(number) for number, seconds in self.overheads.get(level, ())]
        return max(median_high([guess, guess, *made]), 1e-6)


def affordable(tally: Tally, settings: Settings, scarce: bool) -> str:
    """The level at which the next step may be thought about; scarce: evaluations are, whatever they take."""
    rate, share = tally.rate(settings), settings.thinking_share
    if share == 1.0 or rate == 0.0:
        return NORMAL
    allowed = share / (1.0 - share) * (tally.spent + tally.cost) / rate
    if tally.thinking + tally.seconds(NORMAL) <= allowed:
        return NORMAL
    return LIGHT if tally.thinking + tally.seconds(LIGHT) <= allowed + FREE * scarce else QUICK


def next_level(tally: Tally, settings: Settings, method: Method, scarce: bool) -> str:
    """The level of the next proposal.

    A design needs no model, so that what is not normal is quick. But where a fidelity is chosen it is made of places at several of
    them, and nothing is quick, which means full fidelity, before that is known to be affordable.
    """
    level = affordable(tally, settings, scarce)
    if level == NORMAL:
        return level
    designing = tally.trials < settings.initial
    if method.chooses_fidelity and tally.space.fidelity is not None:
        return LIGHT if designing or not tally.full_costs else level
    return QUICK if designing else level


def at_level(level: str, settings: Settings, method: Method, with_fidelity: bool) -> tuple[Settings, Method]:
    """Settings and method for a step at that level.

    Light is the most probable hyperparameters; and, where no fidelity is an axis, expected improvement in the place of information,
    which takes a support, draws of the minimizer and expectation propagation. Where one is, no sample paths are followed, and
    entropy search has few representers.
    """
    if level == NORMAL:
        return settings, method
    lighter = replace(
        settings,
        draws=1,
        sampler="map",
        growth=max(settings.growth, LIGHT_GROWTH),
        support_points=min(settings.support_points, 100),
        minimizers=max(settings.minimizers, 3),
        starts=min(settings.starts, 2),
    )
    if not isinstance(method, PES | ES):
        return lighter, method
    if not with_fidelity:
        return lighter, EI()
    if isinstance(method, ES):
        return lighter, replace(method, representers=min(method.representers, LIGHT_REPRESENTERS))
    return lighter, replace(method, paths=0.0)


def draws_for(observations: int, settings: Settings) -> int:
    """How many hyperparameter draws: those of the settings, above MANY observations fewer in proportion, but two."""
    return max(min(settings.draws, 2), math.ceil(settings.draws * min(1.0, MANY / max(observations, 1))))
