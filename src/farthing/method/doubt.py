"""Doubt: what if the objective is rougher than it seems, and cheap evaluations tell less of it?

A surrogate that knows one minimum well is sure that there is no lower one: it has learned how smooth the objective is from what it
saw, most of it near that minimum. Nothing it expects can show that it is wrong. So once there is hardly anything left to hope for,
as much is spent on doubt as on knowing the minimum better: on proposals that the same method makes with shorter lengthscales, that
of the fidelity above all. They are mostly cheap ones. To know a minimum more exactly than what is to be hoped for elsewhere counts
for nothing then.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from farthing.method.effort import MANY
from farthing.method.surrogate import Surrogate
from farthing.numerics.gaussian_process import condition
from farthing.numerics.kernels import Probes
from farthing.trials import DOUBT, History

HARDLY = 1e-2
"""The largest expected improvement, in standardized values, below which there is hardly anything left to hope for."""

ROUGHER = 3.0
"""By how much lengthscales might be shorter than they seem."""

FIDELITY_ROUGHER = 4.0
"""The same for that of the fidelity."""


def is_due(history: History) -> bool:
    """Whether, if there is hardly any hope, the next proposal is one of doubt: while less has been spent on doubt than on the rest
    since it began.
    """
    began = next((i for i, t in enumerate(history.trials) if t.proposal.kind == DOUBT), None)
    if began is None:
        return True
    spent = {True: 0.0, False: 0.0}
    for trial in history.trials[began:]:
        spent[trial.proposal.kind == DOUBT] += trial.charge
    return spent[True] < spent[False]


def roughened(surrogate: Surrogate, history: History) -> Surrogate:
    """What would be believed after the history (of many observations, a representative part) if the objective were rougher."""
    known = history.representative(MANY)
    values = surrogate.standardization.apply(known.values)
    stated = surrogate.standardization.apply_noise(known.noises, known.values)
    shorter = np.full(surrogate.process.kernel.lengthscales.shape[1], ROUGHER)
    shorter[surrogate.dimensions :] = FIDELITY_ROUGHER
    kernel = replace(surrogate.process.kernel, lengthscales=surrogate.process.kernel.lengthscales / shorter)
    process = condition(kernel, Probes.values(known.points), values, surrogate.noise[:, None] + stated[None])
    return replace(surrogate, process=process, values=values)
