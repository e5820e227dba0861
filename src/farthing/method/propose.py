"""The whole method: from what is known to the next evaluation and its price."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from farthing.method import improvement
from farthing.method.acquisition_search import Acquisition, candidates, informed_places, maximize, sobol
from farthing.method.cost import CostModel, fit_cost
from farthing.method.local_minima import LocalMinima, find_local_minima
from farthing.method.minimizers import choose_rivals, condition_on_minimizers, draw_minimizers
from farthing.method.overhead import Price, fit_overhead
from farthing.method.predictive_entropy import InformationGain
from farthing.method.recommend import recommend
from farthing.method.streams import stream
from farthing.method.support import SAMPLERS
from farthing.method.surrogate import Surrogate, fit_surrogate
from farthing.methods import EI, LCB, PES, PI, Method, Random
from farthing.numerics.kernels import Array
from farthing.settings import Settings
from farthing.trials import History, Proposal

INITIAL_FIDELITIES = (0.5, 0.75, 0.875)
INITIAL_SHARE = 1.0 / 3.0
"""The initial design ends early when it has taken this share of the budget."""

SAMPLE = 192
"""Quasi-random candidates for the next evaluation."""

NEGLIGIBLE = 1e-12
"""Information, in nats, that is as good as none; keeps its logarithm finite."""


@dataclass(frozen=True)
class Beliefs:
    """What is believed at one history: surrogate, its minima, and the cost. Kept in memory to save work; carries no decision."""

    surrogate: Surrogate
    minima: LocalMinima
    cost: CostModel


@dataclass(frozen=True)
class Situation:
    """All that a proposal depends on. `remaining`: budget left, in units of cost; `overhead_rate`: cost of a second of thinking."""

    history: History
    method: Method
    settings: Settings
    seed: int
    remaining: float | None
    overhead_rate: float

    @property
    def number(self) -> int:
        return len(self.history.trials)


def believe(situation: Situation, previous: Beliefs | None = None) -> Beliefs:
    """Surrogate, local minima and cost for a history with at least one observation; `previous` saves work, and changes nothing."""
    history, settings = situation.history, situation.settings
    surrogate = fit_surrogate(history, settings, situation.seed, previous.surrogate if previous else None)
    cost = fit_cost(history, settings.growth, previous.cost if previous else None)
    if previous is not None and surrogate is previous.surrogate:
        return Beliefs(surrogate, previous.minima, cost)
    minima = find_local_minima(surrogate, stream(situation.seed, "recommendation", len(history)))
    return Beliefs(surrogate, minima, cost)


def propose(situation: Situation, beliefs: Beliefs | None) -> tuple[Array, Proposal]:
    """The next evaluation, as a unit point (x, s), and why. `beliefs` is None before the first observation."""
    history, settings = situation.history, situation.settings
    if beliefs is None:
        return _initial_point(situation), Proposal("initial")
    surrogate, minima = beliefs.surrogate, beliefs.minima
    known = Proposal("initial", recommendation=recommend(history, surrogate, minima), carried=surrogate.carried)
    if _designing(situation):
        return _initial_point(situation), known
    rng = stream(situation.seed, "proposal", situation.number)
    if isinstance(situation.method, Random):
        return np.append(rng.random(surrogate.dimensions), 0.0), _why(known)

    price = _price(situation, beliefs.cost)
    minimizers: Array | None = None
    if isinstance(situation.method, PES):
        support = SAMPLERS[situation.method.support](surrogate, minima, settings.support_points, rng)
        minimizers = draw_minimizers(surrogate, support, settings.minimizers, rng)
        process = surrogate.pretending(history.avoided).process
        rivals = choose_rivals(surrogate, minima.x, minimizers, situation.method.rivals)
        conditioned = condition_on_minimizers(surrogate, process, minimizers, rivals, situation.method)
        gain = InformationGain.of(surrogate, conditioned, settings.tolerance)
        acquisition = _information_rate(gain, price if situation.method.priced else None)
    else:
        acquisition = _improvement(situation, beliefs)

    chooses_fidelity = situation.method.chooses_fidelity and surrogate.with_fidelity
    informed = informed_places(minima, minimizers, _best_places(surrogate))
    points = candidates(surrogate, informed, chooses_fidelity, SAMPLE, rng)
    decided = _decided(acquisition, surrogate, chooses_fidelity)
    best, value = maximize(decided, points, settings.starts)
    if situation.remaining is not None and price.cost(_lifted(best[None], surrogate))[0] > situation.remaining:
        affordable = points[price.cost(_lifted(points, surrogate)) <= situation.remaining]
        if not len(affordable):
            return np.append(best, 0.0), Proposal("unaffordable")
        scores = decided.value(affordable)
        best, value = affordable[np.argmax(scores)], float(scores.max())

    point = _lifted(best[None], surrogate)[0]
    cost = float(price.cost(point[None])[0])
    return np.append(point[: surrogate.dimensions], point[surrogate.dimensions :] if surrogate.with_fidelity else 0.0), _why(
        known,
        predicted_cost=cost,
        information_gain=float(gain(point[None])[0]) if minimizers is not None else None,
        information_rate=float(np.exp(value)) if minimizers is not None else None,
        horizon=price.horizon(cost),
        mean_overhead=float(price.mean_overhead(np.array([cost]))[0]),
    )


def _lifted(decided: Array, surrogate: Surrogate) -> Array:
    """What was decided, (m, d) or (m, d + 1), as points of the surrogate (m, D)."""
    axes = surrogate.process.probes.points.shape[1]
    return decided if decided.shape[1] == axes else surrogate.at_full_fidelity(decided)


def _why(known: Proposal, **reasons: float | int | None) -> Proposal:
    return Proposal("acquisition", recommendation=known.recommendation, carried=known.carried, **reasons)  # type: ignore[arg-type]


def _designing(situation: Situation) -> bool:
    """Whether the initial design goes on: too few trials yet, and not too much spent on it."""
    history = situation.history
    spent = history.spent + situation.overhead_rate * history.overhead_seconds
    budget = None if situation.remaining is None else situation.remaining + spent
    return situation.number < situation.settings.initial and (budget is None or spent < INITIAL_SHARE * budget)


def _initial_point(situation: Situation) -> Array:
    """Paper §5: space-filling x, each evaluated at s = 0.5, 0.75, 0.875; at s = 0 by methods that do not choose the fidelity."""
    history, number = situation.history, situation.number
    levels = INITIAL_FIDELITIES if situation.method.chooses_fidelity and history.with_fidelity else (0.0,)
    place, level = divmod(number, len(levels))
    x = sobol(history.space.dimensions, place + 1, stream(situation.seed, "design", 0))[place]
    return np.append(x, levels[level])


def _price(situation: Situation, cost: CostModel) -> Price:
    """Evaluation cost plus the overhead to come."""
    return Price.of(
        cost, fit_overhead(*situation.history.overheads), situation.number, situation.remaining, situation.overhead_rate
    )


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
            return improvement.log_probability_of_improvement(pretended, points, best, gradient)
        assert isinstance(method, LCB)
        return improvement.negative_confidence_bound(pretended, points, method.kappa, gradient)

    return Acquisition(lambda points: evaluate(points, False)[0], lambda points: evaluate(points, True))


def _decided(acquisition: Acquisition, surrogate: Surrogate, chooses_fidelity: bool) -> Acquisition:
    """The acquisition as a function of what is to be decided: (x, s), or x alone."""
    if chooses_fidelity or not surrogate.with_fidelity:
        return acquisition
    d = surrogate.dimensions

    def with_gradient(x: Array) -> tuple[Array, Array]:
        value, gradient = acquisition.with_gradient(surrogate.at_full_fidelity(x))
        return value, gradient[:, :d]

    return Acquisition(lambda x: acquisition.value(surrogate.at_full_fidelity(x)), with_gradient)


def _best_places(surrogate: Surrogate) -> Array:
    """The three places evaluated, at any fidelity, where the mean at full fidelity is lowest."""
    places = np.unique(surrogate.process.probes.points[:, : surrogate.dimensions], axis=0)
    mean = surrogate.weights @ surrogate.process.mean_at(surrogate.at_full_fidelity(places))
    return places[np.argsort(mean, kind="stable")[:3]]
