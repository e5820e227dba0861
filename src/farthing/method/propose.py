"""The whole method: from what is known to the next evaluation and its price."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from farthing.method import trust
from farthing.method.acquisition_search import Acquisition, candidates, informed_places, maximize
from farthing.method.acquisitions import (
    NEGLIGIBLE,
    Gain,
    at_full_fidelity,
    for_its_price,
    hope,
    if_it_succeeds,
    improvement_of,
    information_of,
)
from farthing.method.cost import CostModel, fit_cost
from farthing.method.design import SPARES, next_points
from farthing.method.domain import Domain
from farthing.method.doubt import HARDLY, LATE, Wells, filled, find_wells, is_due, may_look
from farthing.method.effort import LIGHT, LIGHT_KNOWN, NORMAL, at_level
from farthing.method.entropy_search import EntropyReduction, draw_representers
from farthing.method.feasibility import Feasibility, fit_feasibility
from farthing.method.local_minima import LocalMinima, find_local_minima
from farthing.method.minimizers import choose_rivals, condition_on_minimizers, draw_minimizers
from farthing.method.overhead import Overhead, Price, scheduled_overhead
from farthing.method.path_minimizers import follow_paths
from farthing.method.predictive_entropy import InformationGain
from farthing.method.recommend import best_by_mean, recommend, recommendation_of
from farthing.method.streams import stream
from farthing.method.support import draw_support
from farthing.method.surrogate import Surrogate, fit_surrogate
from farthing.method.taken import Taken
from farthing.methods import EI, ES, FABOLAS, PES, EnvPES, Method, Random
from farthing.numerics.kernels import Array
from farthing.settings import Settings
from farthing.trials import ACQUISITION, CHECK, DOUBT, INITIAL, REPEAT, TRUTH, History, Proposal, thinning

INITIAL_SHARE = 1.0 / 3.0
"""The initial design ends early when it has taken this share of the budget."""

REPEATED = 0.02
"""The cheapest evaluation is made twice if that costs at most this share of the budget."""

DEAR = 2.0
"""The initial design ends at no place that is dearer at full fidelity than so many times the median of its places."""

SAMPLE = {NORMAL: 128, LIGHT: 64}
"""Candidates for the next evaluation that are anywhere."""

CLIMBS = {NORMAL: 25, LIGHT: 12}
"""Evaluations of the acquisition's gradient in each local search."""

COSTS = {NORMAL: 256, LIGHT: 64}
"""Trials from which costs are learned at the most."""

NOISELESS = 1e-4
"""Where the noise is not stated, an inferred variance below this share of that of the values is taken for none."""

HARDLY_ABOVE = 1e-3
"""By how much a predicted cost may exceed what is left: costs are not foretold to the last digit, even where all are the same."""

KNOW, SEEK, IMPROVE = "know", "seek", "improve"
"""What a proposal is to do: tell of the place of the minimum; the same, but knowing a minimum more exactly counts for nothing where
more is to be hoped for elsewhere; or find lower values at full fidelity for their price, whatever cheaper evaluations would tell.
"""

LIKELIEST = 16
"""Representers of entropy search near which the next evaluation is looked for."""


@dataclass(frozen=True)
class Beliefs:
    """What is believed at one history: of the objective, where its minima may be, and what evaluations and thinking cost.

    thinning: one in so many trials is what the cost was learned from. Kept in memory to save work; a process without it comes to
    the same beliefs.
    """

    surrogate: Surrogate
    minima: LocalMinima
    cost: CostModel
    thinning: int
    overhead: Overhead
    feasibility: Feasibility | None


@dataclass(frozen=True)
class Situation:
    """All that a proposal depends on.

    remaining: budget left, in units of cost; overhead_rate: cost of a second of thinking; limit: the most an evaluation may cost;
    effort: at which level to think, with settings and a method to match.
    """

    history: History
    method: Method
    settings: Settings
    seed: int
    remaining: float | None
    overhead_rate: float
    limit: float | None = None
    effort: str = NORMAL

    @property
    def number(self) -> int:
        return len(self.history.trials)

    def allows(self, costs: Array) -> NDArray[np.bool_]:
        """Which of the predicted costs (m,) are within the limit, or hardly above it."""
        return np.full(len(costs), True) if self.limit is None else np.asarray(costs <= (1.0 + HARDLY_ABOVE) * self.limit)

    @property
    def budget(self) -> float | None:
        """All of it, spent or left."""
        if self.remaining is None:
            return None
        return max(self.remaining, 0.0) + self.history.spent + self.overhead_rate * self.history.overhead_seconds

    @property
    def budget_left(self) -> float:
        """The share of the budget that is left; 1 where there is none."""
        if self.remaining is None or self.budget is None:
            return 1.0
        return self.remaining / self.budget if self.remaining > 0.0 else 0.0

    def at(self, level: str) -> Situation:
        """The same, to be thought about at that level."""
        settings, method = at_level(level, self.settings, self.method, self.history.with_fidelity)
        return replace(self, settings=settings, method=method, effort=level)


def believe(situation: Situation, previous: Beliefs | None = None) -> Beliefs:
    """Surrogate, local minima and cost for a history with at least one observation.

    `previous`, beliefs at the same level of effort, saves work and changes nothing.
    """
    history, settings, effort = situation.history, situation.settings, situation.effort
    most = None if effort == NORMAL else LIGHT_KNOWN
    regression = isinstance(situation.method, FABOLAS) and situation.method.kernel == "original"
    known = previous.surrogate if previous else None
    surrogate = fit_surrogate(history, settings, situation.seed, known, effort, most, regression)
    stride = thinning(len(history.trials), COSTS[effort])
    if effort == NORMAL or history.with_fidelity:
        same = previous is not None and previous.thinning == stride
        learned = previous.cost if previous is not None and same else None
        cost = fit_cost(history.thinned(COSTS[effort]), settings.growth, learned, regression)
    else:
        cost = _level_cost(history)
    overhead = scheduled_overhead(history, situation.effort, previous.overhead if previous else None)
    if previous is not None and surrogate is previous.surrogate and len(history.failed) == _failures(previous):
        return replace(previous, cost=cost, thinning=stride, overhead=overhead)
    feasibility = fit_feasibility(history)
    rng = stream(situation.seed, "recommendation", len(history))
    minima = find_local_minima(surrogate, feasibility, rng, thorough=effort == NORMAL)
    return Beliefs(surrogate, minima, cost, stride, overhead, feasibility)


def _level_cost(history: History) -> CostModel:
    """Every evaluation costs what is usual: enough to know where no price is chosen, and no work."""
    _, costs = history.costs
    level = fit_cost(replace(history, trials=()), 2.0)
    usual = max(float(np.median(costs)), 1e-9) if len(costs) else 1.0
    return replace(level, location=float(np.log(usual / level(np.full((1, len(history.groups)), 0.5))[0])))


def _failures(beliefs: Beliefs) -> int:
    return 0 if beliefs.feasibility is None else beliefs.feasibility.failures


def propose(situation: Situation, beliefs: Beliefs | None) -> tuple[Array, Proposal] | None:
    """The next evaluation, as a unit point (x, s), and why; None where nothing costs so little as the limit allows.

    `beliefs` is None before the first observation. A SpaceExhausted where every decision has been evaluated without noise.
    """
    taken = Taken.of(situation.history, beliefs is not None and _noiseless(situation, beliefs.surrogate))
    initial = _initial_point(situation, beliefs, taken)
    if beliefs is None:
        assert initial is not None
        return initial, Proposal(INITIAL, effort=situation.effort)
    surrogate = beliefs.surrogate
    recommended = recommend(situation.history, surrogate, beliefs.minima, situation.settings)
    known = Proposal(INITIAL, recommendation=recommended, carried=surrogate.carried, effort=situation.effort)
    designed = None if initial is None else _within_limit(situation, beliefs, initial, known)
    if designed is not None:
        return designed
    again = _repeat(situation, beliefs)
    if again is not None:
        return again, replace(known, kind=REPEAT, predicted_cost=float(beliefs.cost(again[None])[0]))
    rng = stream(situation.seed, "proposal", situation.number)
    if isinstance(situation.method, Random):
        domain = Domain(surrogate.space, with_fidelity=False)
        anywhere = taken.new(domain.scatter(rng.random((SPARES, surrogate.dimensions))), domain)[0]
        return _within_limit(situation, beliefs, np.append(anywhere, 0.0), replace(known, kind=ACQUISITION))

    checked = _check(situation, beliefs, taken, known)
    if checked is not None:
        return checked
    thought, kind = None, ACQUISITION
    if _distrusts(situation, surrogate):
        thought, kind = deliberate(situation, beliefs, rng, IMPROVE), TRUTH
    elif _doubtful(situation, beliefs, rng):
        wells, unseen = find_wells(surrogate, beliefs.minima, situation.history)
        looked = None if unseen is None else _look(situation, beliefs, unseen, taken, known)
        if looked is not None:
            return looked
        thought, kind = _elsewhere(situation, beliefs, wells, rng), DOUBT
    if thought is None:
        thought, kind = deliberate(situation, beliefs, rng, SEEK if _seeking(situation) else KNOW), ACQUISITION
    climbs = CLIMBS[situation.effort]
    points, _ = maximize(thought.acquisition, thought.domain, thought.candidates, situation.settings.starts, climbs)
    points = taken.new(thought.outside_first(points), thought.domain)
    points = points[situation.allows(thought.cost(points))]
    if not len(points):
        return None
    chosen = _full_if_nearly(situation, thought, points[0], taken)
    point = np.append(chosen, 0.0) if len(chosen) == surrogate.dimensions else chosen
    return point, replace(known, kind=kind, **_reasons(thought, chosen))


def _repeat(situation: Situation, beliefs: Beliefs) -> Array | None:
    """The cheapest point (x, s) evaluated so far, if it is not known yet whether the objective gives the same value again."""
    history, settings, budget = situation.history, situation.settings, situation.budget
    unknown = settings.noise is None and not history.noises.any() and 0.0 < settings.repeatable < 1.0
    if not isinstance(situation.method, EnvPES) or not beliefs.surrogate.with_fidelity or budget is None or not unknown:
        return None
    points, costs = history.costs
    if not len(costs) or any(t.proposal.kind == REPEAT for t in history.trials):
        return None
    cheapest = int(np.argmin(costs))
    affordable = costs[cheapest] <= REPEATED * budget and situation.allows(costs[cheapest : cheapest + 1])[0]
    return np.asarray(points[cheapest]) if affordable else None


def _check(situation: Situation, beliefs: Beliefs, taken: Taken, known: Proposal) -> tuple[Array, Proposal] | None:
    """The place that is held for the best at full fidelity, and what is expected there, if it is time to look at the truth."""
    history, surrogate = situation.history, beliefs.surrogate
    if not _checks(situation, surrogate):
        return None
    best = best_by_mean(history, surrogate, beliefs.minima)
    at_full = np.append(best, 0.0)
    due = trust.wants_check(history, best, float(beliefs.cost(at_full[None])[0]))
    if not due or not len(taken.free(at_full[None])):
        return None
    promise = recommendation_of(history, surrogate, best)
    return _within_limit(situation, beliefs, at_full, replace(known, kind=CHECK, recommendation=promise))


def _checks(situation: Situation, surrogate: Surrogate) -> bool:
    return isinstance(situation.method, EnvPES) and situation.method.check and surrogate.with_fidelity


def _distrusts(situation: Situation, surrogate: Surrogate) -> bool:
    """Whether to do without cheap evaluations for a while."""
    return _checks(situation, surrogate) and trust.is_broken(situation.history)


def _full_if_nearly(situation: Situation, thought: Deliberation, chosen: Array, taken: Taken) -> Array:
    """The decision (D,), but at full fidelity where that has nearly the same price.

    A smooth surrogate takes what is close to full fidelity for the same, and saves a little on every evaluation; then nothing is
    ever seen at full fidelity, and where the two differ the last digits are wrong.
    """
    if not isinstance(situation.method, EnvPES) or not thought.domain.with_fidelity:
        return chosen
    full = np.append(chosen[:-1], 0.0)
    price, at_full = thought.price(np.stack([chosen, full]))
    allowed = situation.allows(thought.cost(full[None]))[0]
    return full if at_full < situation.method.nearly * price and allowed and len(taken.free(full[None])) else chosen


def _reasons(thought: Deliberation, chosen: Array) -> dict[str, Any]:
    """What is recorded of a decision (D,): its cost, information and price, and how they compare with those at full fidelity."""
    both = thought.lift(np.stack([chosen, chosen]))
    if thought.domain.with_fidelity:
        both[1, -1] = 0.0
    cost, price = float(thought.price.cost(both[:1])[0]), thought.price(both)
    reasons: dict[str, Any] = {
        "predicted_cost": cost,
        "horizon": thought.price.horizon(cost),
        "mean_overhead": float(thought.price.mean_overhead(np.array([cost]))[0]),
    }
    if thought.gain is None:
        return reasons
    gain = thought.gain(both)
    reasons["information_gain"] = float(gain[0])
    reasons["information_rate"] = float(np.exp(thought.acquisition.value(chosen[None])[0]))
    if thought.domain.with_fidelity:
        reasons["information_share"] = float((gain[0] + NEGLIGIBLE) / (gain[1] + NEGLIGIBLE))
        reasons["price_share"] = float(price[0] / price[1])
    return reasons


def _noiseless(situation: Situation, surrogate: Surrogate) -> bool:
    """Whether evaluating the same again would give the same: by what is stated, or else by the inferred noise."""
    if situation.settings.noise is not None:
        return situation.settings.noise == 0.0
    return not situation.history.noises.any() and float(np.exp(surrogate.weights @ np.log(surrogate.noise))) < NOISELESS


def _within_limit(situation: Situation, beliefs: Beliefs, point: Array, known: Proposal) -> tuple[Array, Proposal] | None:
    """A point that was not chosen for its price, unless it is predicted to cost more than the limit."""
    axes = beliefs.surrogate.process.probes.points.shape[1]
    cost = float(beliefs.cost(point[None, :axes])[0])
    return (point, replace(known, predicted_cost=cost)) if situation.allows(np.array([cost]))[0] else None


@dataclass(frozen=True)
class Deliberation:
    """What a decision is made from: the acquisition of what is to be decided, (x, s) or x alone, and candidates for it.

    lift: from what is decided to points of the surrogate; gain: information, for methods that go by it; wells: where nothing is to
    be decided for if it can be helped, in doubt.
    """

    acquisition: Acquisition
    domain: Domain
    candidates: Array
    price: Price
    gain: Gain | None
    lift: Callable[[Array], Array]
    wells: Wells | None = None

    def outside_first(self, decided: Array) -> Array:
        """The decisions in their order, but those in wells last."""
        if self.wells is None:
            return decided
        apart = self.wells.apart(decided[:, : self.wells.places.shape[1]])
        return np.concatenate([decided[apart], decided[~apart]])

    def cost(self, decided: Array) -> Array:
        """Predicted evaluation cost of each decision."""
        return self.price.cost(self.lift(decided))


def deliberate(situation: Situation, beliefs: Beliefs, rng: np.random.Generator, aim: str = KNOW) -> Deliberation:
    """Draw minimizers, condition on each, weigh information against price; or the entropy that representers would lose; or take the
    improvement, for methods that do, and where that is the aim.
    """
    history, method, settings = situation.history, situation.method, situation.settings
    surrogate, minima = beliefs.surrogate, beliefs.minima
    pretended = surrogate.pretending(history.pending, history.failed)
    price = _price(situation, beliefs)
    gain: Gain | None = None
    hoped: float | None = None
    minimizers = np.empty((0, surrogate.dimensions))
    if aim == IMPROVE:
        acquisition = for_its_price(improvement_of(EI(), pretended, float(minima.mean[0])), price)
    elif isinstance(method, PES):
        support = draw_support(method.support, surrogate, minima, beliefs.feasibility, settings.support_points, rng)
        minimizers = _draw_minimizers(surrogate, support, settings, method, rng)
        # Without a real axis there are no derivatives, and rivals are all that tells a minimizer.
        rivals = choose_rivals(surrogate, minima.x, minimizers, max(method.rivals, int(surrogate.space.reals == 0)))
        conditioned = condition_on_minimizers(surrogate, pretended.process, minimizers, rivals, method)
        hoped = None if aim == KNOW else _hope(situation, beliefs, minimizers, rng, SAMPLE[situation.effort])
        gain = InformationGain.of(surrogate, conditioned, settings.tolerance, _indifference(beliefs, hoped))
    elif isinstance(method, ES):
        representers = draw_representers(surrogate, minima, beliefs.feasibility, method, rng)
        gain = EntropyReduction.of(surrogate, pretended.process, representers, settings.tolerance)
        minimizers = gain.likeliest(LIKELIEST)[:, : surrogate.dimensions]
    else:
        acquisition = improvement_of(method, pretended, float(minima.mean[0]))
    if gain is not None:
        acquisition = for_its_price(information_of(gain), price) if method.priced else information_of(gain)
    if beliefs.feasibility is not None:
        acquisition = if_it_succeeds(acquisition, beliefs.feasibility)

    domain = Domain(surrogate.space, method.chooses_fidelity and surrogate.with_fidelity and aim != IMPROVE)
    places = informed_places(minima, minimizers)
    points = candidates(surrogate, places, domain, SAMPLE[situation.effort], rng, quasi=situation.effort == NORMAL)
    if domain.with_fidelity or not surrogate.with_fidelity:
        return Deliberation(acquisition, domain, points, price, gain, lambda decided: decided)
    at_full = at_full_fidelity(acquisition, surrogate)
    return Deliberation(at_full, domain, points, price, gain, surrogate.at_full_fidelity)


def _seeking(situation: Situation) -> bool:
    """Whether polishing is left aside: in every second proposal but those of doubt, where there is time to see what to hope for.

    The entropy of a place has no lowest value, so that digits of a minimum that is known well are always worth something; without
    turns they take the whole budget while there is hope elsewhere.
    """
    method = situation.method
    able = isinstance(method, PES) and method.seek and situation.effort == NORMAL
    return able and sum(t.proposal.kind == ACQUISITION for t in situation.history.trials) % 2 == 1


def _doubtful(situation: Situation, beliefs: Beliefs, rng: np.random.Generator) -> bool:
    """Whether to think of what is elsewhere: where there is time for it, and hardly any hope."""
    method = situation.method
    able = isinstance(method, PES) and method.doubt and situation.effort == NORMAL
    if not able or situation.budget_left <= LATE or not is_due(situation.history):
        return False
    nowhere = np.empty((0, beliefs.surrogate.dimensions))
    return _hope(situation, beliefs, nowhere, rng, 2 * SAMPLE[situation.effort], enough=HARDLY) < HARDLY


def _look(situation: Situation, beliefs: Beliefs, place: Array, taken: Taken, known: Proposal) -> tuple[Array, Proposal] | None:
    """The place (d,) of another minimum at full fidelity, unless doubt has spent enough there for now."""
    at_full = np.append(place, 0.0)
    if not may_look(situation.history) or not len(taken.free(at_full[None])):
        return None
    return _within_limit(situation, beliefs, at_full, replace(known, kind=DOUBT))


def _elsewhere(situation: Situation, beliefs: Beliefs, wells: Wells, rng: np.random.Generator) -> Deliberation | None:
    """What to decide as if the wells were not there; None where hardly anything was seen elsewhere."""
    history = filled(situation.history, beliefs.surrogate, wells)
    if history is None:
        return None
    light = situation.at(LIGHT)
    surrogate = fit_surrogate(history, light.settings, situation.seed, effort=LIGHT)
    minima = find_local_minima(surrogate, beliefs.feasibility, rng, thorough=False)
    return replace(deliberate(light, replace(beliefs, surrogate=surrogate, minima=minima), rng), wells=wells)


def _price(situation: Situation, beliefs: Beliefs) -> Price:
    """Cost and overhead to come; where the method goes by the last overhead, that."""
    method, rate = situation.method, situation.overhead_rate
    if isinstance(method, FABOLAS) and method.overhead == "last":
        thought = [t.overhead for t in situation.history.trials if t.proposal.kind != "added"]
        return Price.constant(beliefs.cost, rate * thought[-1] if thought else 0.0)
    price = Price.of(beliefs.cost, beliefs.overhead, situation.number, situation.remaining, rate)
    if not isinstance(method, EnvPES) or situation.budget is None or not beliefs.surrogate.with_fidelity:
        return price
    return replace(price, trifle=method.trifle * situation.budget)


def _hope(
    situation: Situation, beliefs: Beliefs, minimizers: Array, rng: np.random.Generator, sample: int, enough: float = np.inf
) -> float:
    """What is still to be hoped for anywhere, `enough` or more where it is that much."""
    pretended = beliefs.surrogate.pretending(situation.history.pending, situation.history.failed)
    places, best = informed_places(beliefs.minima, minimizers), float(beliefs.minima.mean[0])
    return hope(pretended, best, beliefs.feasibility, places, sample, rng, enough)


def _indifference(beliefs: Beliefs, hoped: float | None) -> float:
    """Differences not worth telling apart: those below what is to be hoped for, if that counts; none while the best place is not
    known as well.
    """
    if hoped is None:
        return 0.0
    _, variance = beliefs.surrogate.mixture(beliefs.minima.x[:1])
    return hoped if hoped**2 >= variance[0] else 0.0


def _draw_minimizers(surrogate: Surrogate, support: Array, settings: Settings, method: PES, rng: np.random.Generator) -> Array:
    """Draws of the minimizer for each hyperparameter draw, (K, minimizers, d): some among the support points, some off them.

    A small space is its own support, and has no minimizers elsewhere.
    """
    count = settings.minimizers
    followed = int(method.paths * count) if surrogate.space.count > settings.support_points else 0
    drawn = draw_minimizers(surrogate, support, count - followed, rng)
    return np.concatenate([drawn, follow_paths(surrogate, support, followed, rng)], axis=1) if followed else drawn


def _designing(situation: Situation) -> bool:
    """Whether the initial design goes on: too few trials yet, and not too much spent on it."""
    return situation.number < situation.settings.initial and situation.budget_left > 1.0 - INITIAL_SHARE


def _initial_point(situation: Situation, beliefs: Beliefs | None, taken: Taken) -> Array | None:
    """The next point (x, s) of the initial design; None after its end, and where it would only repeat what is there.

    The last is at full fidelity, because cheap evaluations may agree with one another and not with the truth: at the best place so
    far, but for those that are dear.
    """
    history, number = situation.history, situation.number
    if beliefs is not None and not _designing(situation):
        return None
    chooses = situation.method.chooses_fidelity and history.with_fidelity
    if beliefs is not None and beliefs.surrogate.with_fidelity and number == situation.settings.initial - 1:
        best = _best_of_design(history, beliefs)
        return best if len(taken.free(best[None])) else None
    domain = Domain(history.space, chooses)
    points = domain.scatter(next_points(history, situation.settings, situation.seed, chooses))
    if beliefs is None:  # there is nothing else to go by yet
        points = taken.new(points, domain)[:1]
    points = points if chooses else np.column_stack([points, np.zeros(len(points))])
    free = taken.free(points)
    return np.asarray(free[0]) if len(free) else None


def _best_of_design(history: History, beliefs: Beliefs) -> Array:
    """The place evaluated so far that is held for the best of those that are not dear, at full fidelity, (d + 1,)."""
    places = history.points[:, :-1]
    at_full = beliefs.surrogate.at_full_fidelity(places)
    mean, _ = beliefs.surrogate.mixture(places)
    costs = beliefs.cost(at_full)
    return np.asarray(at_full[np.where(costs <= DEAR * np.median(costs), mean, np.inf).argmin()])
