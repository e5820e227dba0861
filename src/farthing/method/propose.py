"""The whole method: from what is known to the next evaluation and its price.

What it depends on is the situation (`situation.py`), what is concluded from that are beliefs (`beliefs.py`), and from these follows
what the next evaluation is chosen by (`deliberation.py`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from farthing.method import trust
from farthing.method.acquisition_search import maximize
from farthing.method.beliefs import Beliefs
from farthing.method.deliberation import IMPROVE, KNOW, SAMPLE, SEEK, Deliberation, deliberate, hope_anywhere
from farthing.method.design import SPARES, initial_point
from farthing.method.domain import Domain
from farthing.method.doubt import HARDLY, LATE, Wells, filled, find_wells, is_due, may_look
from farthing.method.effort import LIGHT, NORMAL
from farthing.method.local_minima import find_local_minima
from farthing.method.luck import is_neighbors_turn, neighbors
from farthing.method.recommend import best_by_mean, recommend, recommendation_of
from farthing.method.roughness import counts, is_noiseless, is_uneven
from farthing.method.situation import Situation
from farthing.method.streams import stream
from farthing.method.surrogate import Surrogate, fit_surrogate
from farthing.method.taken import Taken
from farthing.methods import PES, EnvPES, Random
from farthing.numerics.kernels import Array
from farthing.trials import ACQUISITION, CHECK, DOUBT, GREED, INITIAL, LUCK, NEIGHBOR, REPEAT, TRUTH, Proposal

REPEATED = 0.02
"""The cheapest evaluation is made twice if that costs at most this share of the budget."""

MANY = 4
"""Axes from which on every second proposal is greedy, if the one before it was worth full fidelity."""

CLIMBS = {NORMAL: 25, LIGHT: 12}
"""Evaluations of the acquisition's gradient in each local search."""


def propose(situation: Situation, beliefs: Beliefs | None) -> tuple[Array, Proposal] | None:
    """The next evaluation, as a unit point (x, s), and why; None where nothing costs so little as the limit allows.

    `beliefs` is None before the first observation. A SpaceExhausted where every decision has been evaluated without noise.
    """
    taken = Taken.of(situation.history, beliefs is not None and _noiseless(situation, beliefs.surrogate))
    initial = initial_point(situation, beliefs, taken)
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
        aim, kind = _aim(situation, surrogate)
        beside = None if kind != LUCK else _beside_best(situation, beliefs, rng, taken, known)
        if beside is not None:
            return beside
        thought = deliberate(situation, beliefs, rng, aim)
    climbs = CLIMBS[situation.effort]
    points, _ = maximize(thought.acquisition, thought.domain, thought.candidates, situation.settings.starts, climbs)
    points = taken.new(thought.outside_first(points), thought.domain)
    points = points[situation.allows(thought.cost(points))]
    if not len(points):
        return None
    chosen = _full_if_nearly(situation, thought, points[0], taken)
    point = np.append(chosen, 0.0) if len(chosen) == surrogate.dimensions else chosen
    return point, replace(known, kind=kind, **thought.reasons(chosen))


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


def _doubtful(situation: Situation, beliefs: Beliefs, rng: np.random.Generator) -> bool:
    """Whether to think of what is elsewhere: where there is time for it, and hardly any hope."""
    method = situation.method
    able = isinstance(method, PES) and method.doubt and situation.effort == NORMAL
    if not able or situation.budget_left <= LATE or not is_due(situation.history):
        return False
    nowhere = np.empty((0, beliefs.surrogate.dimensions))
    return hope_anywhere(situation, beliefs, nowhere, rng, 2 * SAMPLE[situation.effort], enough=HARDLY) < HARDLY


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


def _aim(situation: Situation, surrogate: Surrogate) -> tuple[str, str]:
    """What the next proposal is to do, and its kind: by turns to know and to seek; in the place of that to try its luck where the
    objective is uneven, or in many dimensions, once full fidelity is worth its price, to be greedy.

    The entropy of a place has no lowest value, so that digits of a minimum that is known well are always worth something; without
    turns they take the whole budget while there is hope elsewhere. Where the objective is uneven there are no digits: one setting
    is better than its neighbors by luck, and the more of them are tried where it is low, the more luck. Late in a budget there are
    no turns then: what was learned could hardly be made use of any more. In many dimensions there is always more to be known of the
    place of the minimum, about it more than in it, and lower values come late of that.
    """
    method = situation.method
    if not isinstance(method, PES) or not method.seek or situation.effort != NORMAL:
        return KNOW, ACQUISITION
    turns = [t for t in situation.history.trials if t.proposal.kind in (ACQUISITION, LUCK, NEIGHBOR, GREED)]
    second = len(turns) % 2 == 1
    turn = second or situation.budget_left <= LATE
    if turn and is_uneven(situation.history, surrogate, situation.settings):
        return IMPROVE, LUCK
    fidelity = surrogate.space.fidelity
    if second and len(surrogate.space.axes) >= MANY and (fidelity is None or turns[-1].fidelity == fidelity.full):
        return IMPROVE, GREED
    return (SEEK if second else KNOW), ACQUISITION


def _beside_best(
    situation: Situation, beliefs: Beliefs, rng: np.random.Generator, taken: Taken, known: Proposal
) -> tuple[Array, Proposal] | None:
    """Where the objective counts, in every second try of luck, a place beside the best that was tried, at full fidelity."""
    history, surrogate, settings = situation.history, beliefs.surrogate, situation.settings
    if not is_neighbors_turn(history) or not counts(history, surrogate, settings):
        return None
    places = neighbors(history, surrogate, settings, rng)
    free = taken.free(np.column_stack([places, np.zeros(len(places))]))
    return _within_limit(situation, beliefs, free[0], replace(known, kind=NEIGHBOR)) if len(free) else None


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


def _within_limit(situation: Situation, beliefs: Beliefs, point: Array, known: Proposal) -> tuple[Array, Proposal] | None:
    """A point that was not chosen for its price, unless it is predicted to cost more than the limit."""
    axes = beliefs.surrogate.process.probes.points.shape[1]
    cost = float(beliefs.cost(point[None, :axes])[0])
    return (point, replace(known, predicted_cost=cost)) if situation.allows(np.array([cost]))[0] else None


def _noiseless(situation: Situation, surrogate: Surrogate) -> bool:
    """Whether evaluating the same again would give the same: by what is stated, or else by the inferred noise."""
    if situation.settings.noise is not None:
        return situation.settings.noise == 0.0
    return not situation.history.noises.any() and is_noiseless(surrogate)
