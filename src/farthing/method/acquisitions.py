"""What a decision is judged by: information for its price, or improvement, with gradients, as logarithms."""

from __future__ import annotations

import numpy as np

from farthing.method import improvement
from farthing.method.acquisition_search import Acquisition, candidates, maximize
from farthing.method.domain import Domain
from farthing.method.entropy_search import EntropyReduction
from farthing.method.feasibility import Feasibility
from farthing.method.overhead import Price
from farthing.method.predictive_entropy import InformationGain
from farthing.method.surrogate import Surrogate
from farthing.methods import EI, LCB, PI, Method
from farthing.numerics.kernels import Array

Gain = InformationGain | EntropyReduction

NEGLIGIBLE = 1e-12
"""Information, in nats, that is as good as none; keeps its logarithm finite."""

HOPEFUL, HOPEFUL_CLIMBS = 4, 8
"""Places from which the largest expected improvement is searched, and evaluations of its gradient in each search."""


def information_of(gain: Gain) -> Acquisition:
    """log of the information gain."""

    def with_gradient(points: Array) -> tuple[Array, Array]:
        information, slope = gain.with_gradient(points)
        information = information + NEGLIGIBLE
        return np.log(information), slope / information[:, None]

    return Acquisition(lambda points: np.log(gain(points) + NEGLIGIBLE), with_gradient)


def for_its_price(acquisition: Acquisition, price: Price) -> Acquisition:
    """The acquisition, a logarithm, per unit of the price."""

    def with_gradient(points: Array) -> tuple[Array, Array]:
        value, gradient = acquisition.with_gradient(points)
        total, slope = price.with_gradient(points)
        return value - np.log(total), gradient - slope / total[:, None]

    return Acquisition(lambda points: acquisition.value(points) - np.log(price(points)), with_gradient)


def improvement_of(method: Method, pretended: Surrogate, best: float) -> Acquisition:
    """EI, PI or LCB against the lowest posterior mean, on a surrogate for which pending evaluations have come out as expected."""

    def evaluate(points: Array, gradient: bool) -> tuple[Array, Array]:
        if isinstance(method, EI):
            return improvement.log_expected_improvement(pretended, points, best, gradient)
        if isinstance(method, PI):
            return improvement.log_probability_of_improvement(pretended, points, best - method.margin, gradient)
        assert isinstance(method, LCB)
        return improvement.negative_confidence_bound(pretended, points, method.kappa, gradient)

    return Acquisition(lambda points: evaluate(points, False)[0], lambda points: evaluate(points, True))


def hope(
    pretended: Surrogate,
    best: float,
    feasibility: Feasibility | None,
    places: Array,
    sample: int,
    rng: np.random.Generator,
    enough: float = np.inf,
) -> float:
    """The largest improvement on `best` that is expected of any place at full fidelity, standardized.

    It is looked for near places (p, d) and among `sample` random ones, on a surrogate as for `improvement_of`; no further where one
    of these promises `enough`.
    """
    domain = Domain(pretended.space, with_fidelity=False)
    acquisition = improvement_of(EI(), pretended, best)
    if feasibility is not None:
        acquisition = if_it_succeeds(acquisition, feasibility)
    acquisition = at_full_fidelity(acquisition, pretended)
    points = candidates(pretended, places, domain, sample, rng, quasi=False)
    seen = float(np.exp(acquisition.value(points).max()))
    if seen >= enough:
        return seen
    _, values = maximize(acquisition, domain, points, HOPEFUL, HOPEFUL_CLIMBS)
    return float(np.exp(values[0]))


def if_it_succeeds(acquisition: Acquisition, feasibility: Feasibility) -> Acquisition:
    """The acquisition, a logarithm, less what is lost by the chance that the evaluation fails and tells nothing."""

    def with_gradient(points: Array) -> tuple[Array, Array]:
        value, gradient = acquisition.with_gradient(points)
        chance, slope = feasibility.log_chance(points)
        return value + chance, gradient + slope

    return Acquisition(lambda points: acquisition.value(points) + feasibility.log_chance(points)[0], with_gradient)


def at_full_fidelity(acquisition: Acquisition, surrogate: Surrogate) -> Acquisition:
    """The acquisition as a function of x alone, s being an axis that the method does not choose."""

    def with_gradient(x: Array) -> tuple[Array, Array]:
        value, gradient = acquisition.with_gradient(surrogate.at_full_fidelity(x))
        return value, gradient[:, : surrogate.dimensions]

    return Acquisition(lambda x: acquisition.value(surrogate.at_full_fidelity(x)), with_gradient)
