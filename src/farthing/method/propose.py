"""The whole method: from what is known to the next evaluation and its price."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from farthing.method import improvement
from farthing.method.acquisition_search import Acquisition, candidates, informed_places, maximize, sobol
from farthing.method.cost import CostModel, fit_cost
from farthing.method.local_minima import LocalMinima, find_local_minima
from farthing.method.minimizers import choose_rivals, condition_on_minimizers, draw_minimizers
from farthing.method.overhead import Overhead, Price, scheduled_overhead
from farthing.method.predictive_entropy import InformationGain
from farthing.method.recommend import recommend
from farthing.method.streams import stream
from farthing.method.support import SAMPLERS
from farthing.method.surrogate import Surrogate, fit_surrogate
from farthing.methods import EI, LCB, PES, PI, Method, Random
from farthing.numerics.kernels import Array
from farthing.settings import Settings
from farthing.trials import History, Proposal

INITIAL_SHARE = 1.0 / 3.0
"""The initial design ends early when it has taken this share of the budget."""

SAMPLE = 128
"""Quasi-random candidates for the next evaluation."""

NEGLIGIBLE = 1e-12
"""Information, in nats, that is as good as none; keeps its logarithm finite."""


@dataclass(frozen=True)
class Beliefs:
    """What is believed at one history: of the objective, where its minima may be, and what evaluations and thinking cost.

    Kept in memory to save work; a process without it comes to the same beliefs.
    """

    surrogate: Surrogate
    minima: LocalMinima
    cost: CostModel
    overhead: Overhead


@dataclass(frozen=True)
class Situation:
    """All that a proposal depends on.

    remaining: budget left, in units of cost; overhead_rate: cost of a second of thinking; limit: the most an evaluation may cost.
    """

    history: History
    method: Method
    settings: Settings
    seed: int
    remaining: float | None
    overhead_rate: float
    limit: float | None = None

    @property
    def number(self) -> int:
        return len(self.history.trials)


def believe(situation: Situation, previous: Beliefs | None = None) -> Beliefs:
    """Surrogate, local minima and cost for a history with at least one observation; `previous` saves work, and changes nothing."""
    history, settings = situation.history, situation.settings
    surrogate = fit_surrogate(history, settings, situation.seed, previous.surrogate if previous else None)
    cost = fit_cost(history, settings.growth, previous.cost if previous else None)
    overhead = scheduled_overhead(history, settings.growth, previous.overhead if previous else None)
    if previous is not None and surrogate is previous.surrogate:
        return Beliefs(surrogate, previous.minima, cost, overhead)
    minima = find_local_minima(surrogate, stream(situation.seed, "recommendation", len(history)))
    return Beliefs(surrogate, minima, cost, overhead)


def propose(situation: Situation, beliefs: Beliefs | None) -> tuple[Array, Proposal] | None:
    """The next evaluation, as a unit point (x, s), and why; None where nothing costs so little as the limit allows.

    `beliefs` is None before the first observation.
    """
    if beliefs is None:
        return _initial_point(situation), Proposal("initial")
    surrogate = beliefs.surrogate
    known = Proposal("initial", recommendation=recommend(situation.history, surrogate, beliefs.minima), carried=surrogate.carried)
    if _designing(situation):
        last = situation.number == situation.settings.initial - 1
        point = _first_full_point(beliefs) if last and surrogate.with_fidelity else _initial_point(situation)
        return _within_limit(situation, beliefs, point, known)
    rng = stream(situation.seed, "proposal", situation.number)
    if isinstance(situation.method, Random):
        anywhere = np.append(rng.random(surrogate.dimensions), 0.0)
        return _within_limit(situation, beliefs, anywhere, replace(known, kind="acquisition"))

    thought = deliberate(situation, beliefs, rng)
    chosen, value = maximize(thought.acquisition, thought.candidates, situation.settings.starts)
    if situation.limit is not None and thought.cost(chosen[None])[0] > situation.limit:
        affordable = thought.candidates[thought.cost(thought.candidates) <= situation.limit]
        if not len(affordable):
            return None
        scores = thought.acquisition.value(affordable)
        chosen, value = affordable[np.argmax(scores)], float(scores.max())

    cost = float(thought.cost(chosen[None])[0])
    point = np.append(chosen, 0.0) if len(chosen) == surrogate.dimensions else chosen
    return point, replace(
        known,
        kind="acquisition",
        predicted_cost=cost,
        information_gain=None if thought.gain is None else float(thought.gain(thought.lift(chosen[None]))[0]),
        information_rate=None if thought.gain is None else float(np.exp(value)),
        horizon=thought.price.horizon(cost),
        mean_overhead=float(thought.price.mean_overhead(np.array([cost]))[0]),
    )


def _within_limit(situation: Situation, beliefs: Beliefs, point: Array, known: Proposal) -> tuple[Array, Proposal] | None:
    """A point that was not chosen for its price, unless it is predicted to cost more than the limit."""
    axes = beliefs.surrogate.process.probes.points.shape[1]
    cost = float(beliefs.cost(point[None, :axes])[0])
    return None if situation.limit is not None and cost > situation.limit else (point, replace(known, predicted_cost=cost))


@dataclass(frozen=True)
class Deliberation:
    """What a decision is made from: the acquisition of what is to be decided, (x, s) or x alone, and candidates for it.

    lift: from what is decided to points of the surrogate; gain: information, for methods that go by it.
    """

    acquisition: Acquisition
    candidates: Array
    price: Price
    gain: InformationGain | None
    lift: Callable[[Array], Array]

    def cost(self, decided: Array) -> Array:
        """Predicted evaluation cost of each decision."""
        return self.price.cost(self.lift(decided))


def deliberate(situation: Situation, beliefs: Beliefs, rng: np.random.Generator) -> Deliberation:
    """Draw minimizers, condition on each, weigh information against price; or take the improvement, for methods that do."""
    history, method, settings = situation.history, situation.method, situation.settings
    surrogate, minima = beliefs.surrogate, beliefs.minima
    price = Price.of(beliefs.cost, beliefs.overhead, situation.number, situation.remaining, situation.overhead_rate)
    gain, minimizers = None, np.empty((0, surrogate.dimensions))
    if isinstance(method, PES):
        support = SAMPLERS[method.support](surrogate, minima, settings.support_points, rng)
        minimizers = draw_minimizers(surrogate, support, settings.minimizers, rng)
        rivals = choose_rivals(surrogate, minima.x, minimizers, method.rivals)
        process = surrogate.pretending(history.avoided).process
        conditioned = condition_on_minimizers(surrogate, process, minimizers, rivals, method)
        gain = InformationGain.of(surrogate, conditioned, settings.tolerance)
        acquisition = _information_rate(gain, price if method.priced else None)
    else:
        acquisition = _improvement(situation, beliefs)

    chooses_fidelity = method.chooses_fidelity and surrogate.with_fidelity
    places = informed_places(minima, minimizers)
    points = candidates(surrogate, places, chooses_fidelity, SAMPLE, rng)
    if chooses_fidelity or not surrogate.with_fidelity:
        return Deliberation(acquisition, points, price, gain, lambda decided: decided)
    at_full = _at_full_fidelity(acquisition, surrogate)
    return Deliberation(at_full, points, price, gain, surrogate.at_full_fidelity)


def _designing(situation: Situation) -> bool:
    """Whether the initial design goes on: too few trials yet, and not too much spent on it."""
    history = situation.history
    spent = history.spent + situation.overhead_rate * history.overhead_seconds
    budget = None if situation.remaining is None else situation.remaining + spent
    return situation.number < situation.settings.initial and (budget is None or spent < INITIAL_SHARE * budget)


def _first_full_point(beliefs: Beliefs) -> Array:
    """The best place evaluated so far, at full fidelity: cheap evaluations may agree with one another and not with the truth."""
    return np.append(beliefs.minima.evaluated[0], 0.0)


def _initial_point(situation: Situation) -> Array:
    """Space-filling x, each evaluated at a few fidelities; at full fidelity by methods that do not choose it."""
    history, number = situation.history, situation.number
    levels = situation.settings.initial_fidelities if situation.method.chooses_fidelity and history.with_fidelity else (0.0,)
    place, level = divmod(number, len(levels))
    x = sobol(history.space.dimensions, place + 1, stream(situation.seed, "design", 0))[place]
    return np.append(x, levels[level])


def _information_rate(gain: InformationGain, price: Price | None) -> Acquisition:
    """log(information gain / price), or log of the gain alone."""

    def value(points: Array) -> Array:
        log_gain = np.log(gain(points) + NEGLIGIBLE)
        return log_gain if price is None else log_gain - np.log(price(points))

    def with_gradient(points: Array) -> tuple[Array, Array]:
        information, slope = gain.with_gradient(points)
        information = information + NEGLIGIBLE
        log_gain, log_slope = np.log(information), slope / information[:, None]
        if price is None:
            return log_gain, log_slope
        total, total_slope = price.with_gradient(points)
        return log_gain - np.log(total), log_slope - total_slope / total[:, None]

    return Acquisition(value, with_gradient)


def _improvement(situation: Situation, beliefs: Beliefs) -> Acquisition:
    """EI, PI or LCB against the lowest posterior mean, on a process for which pending evaluations have come out as expected."""
    method = situation.method
    pretended = beliefs.surrogate.pretending(situation.history.avoided)
    best = float(beliefs.minima.mean[0])

    def evaluate(points: Array, gradient: bool) -> tuple[Array, Array]:
        if isinstance(method, EI):
            return improvement.log_expected_improvement(pretended, points, best, gradient)
        if isinstance(method, PI):
            return improvement.log_probability_of_improvement(pretended, points, best - method.margin, gradient)
        assert isinstance(method, LCB)
        return improvement.negative_confidence_bound(pretended, points, method.kappa, gradient)

    return Acquisition(lambda points: evaluate(points, False)[0], lambda points: evaluate(points, True))


def _at_full_fidelity(acquisition: Acquisition, surrogate: Surrogate) -> Acquisition:
    """The acquisition as a function of x alone, s being an axis that the method does not choose."""

    def with_gradient(x: Array) -> tuple[Array, Array]:
        value, gradient = acquisition.with_gradient(surrogate.at_full_fidelity(x))
        return value, gradient[:, : surrogate.dimensions]

    return Acquisition(lambda x: acquisition.value(surrogate.at_full_fidelity(x)), with_gradient)
