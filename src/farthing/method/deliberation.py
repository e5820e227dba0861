"""Deliberation: from beliefs to what the next evaluation is chosen by, information for its price or improvement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from farthing.method.acquisition_search import Acquisition, candidates, informed_places
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
from farthing.method.beliefs import Beliefs
from farthing.method.domain import Domain
from farthing.method.doubt import Wells
from farthing.method.effort import LIGHT, NORMAL
from farthing.method.entropy_search import EntropyReduction, draw_representers
from farthing.method.minimizers import choose_rivals, condition_on_minimizers, draw_minimizers
from farthing.method.overhead import Price
from farthing.method.path_minimizers import follow_paths
from farthing.method.predictive_entropy import InformationGain
from farthing.method.situation import Situation
from farthing.method.support import draw_support
from farthing.method.surrogate import Surrogate
from farthing.methods import EI, ES, FABOLAS, PES, EnvPES
from farthing.numerics.kernels import Array
from farthing.settings import Settings

SAMPLE = {NORMAL: 128, LIGHT: 64}
"""Candidates for the next evaluation that are anywhere."""

KNOW, SEEK, IMPROVE = "know", "seek", "improve"
"""What a proposal is to do: tell of the place of the minimum; the same, but knowing a minimum more exactly counts for nothing where
more is to be hoped for elsewhere; or find lower values at full fidelity for their price, whatever cheaper evaluations would tell.
"""

LIKELIEST = 16
"""Representers of entropy search near which the next evaluation is looked for."""


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

    def reasons(self, chosen: Array) -> dict[str, Any]:
        """What is recorded of a decision (D,): its cost, information and price, and how these compare with those at full."""
        both = self.lift(np.stack([chosen, chosen]))
        if self.domain.with_fidelity:
            both[1, -1] = 0.0
        cost, price = float(self.price.cost(both[:1])[0]), self.price(both)
        told: dict[str, Any] = {
            "predicted_cost": cost,
            "horizon": self.price.horizon(cost),
            "mean_overhead": float(self.price.mean_overhead(np.array([cost]))[0]),
        }
        if self.gain is None:
            return told
        gain = self.gain(both)
        told["information_gain"] = float(gain[0])
        told["information_rate"] = float(np.exp(self.acquisition.value(chosen[None])[0]))
        if self.domain.with_fidelity:
            told["information_share"] = float((gain[0] + NEGLIGIBLE) / (gain[1] + NEGLIGIBLE))
            told["price_share"] = float(price[0] / price[1])
        return told


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
        hoped = None if aim == KNOW else hope_anywhere(situation, beliefs, minimizers, rng, SAMPLE[situation.effort])
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


def _draw_minimizers(surrogate: Surrogate, support: Array, settings: Settings, method: PES, rng: np.random.Generator) -> Array:
    """Draws of the minimizer for each hyperparameter draw, (K, minimizers, d): some among the support points, some off them.

    A small space is its own support, and has no minimizers elsewhere.
    """
    count = settings.minimizers
    followed = int(method.paths * count) if surrogate.space.count > settings.support_points else 0
    drawn = draw_minimizers(surrogate, support, count - followed, rng)
    return np.concatenate([drawn, follow_paths(surrogate, support, followed, rng)], axis=1) if followed else drawn


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


def hope_anywhere(
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
