"""Tasks that train real models with scikit-learn: what an evaluation costs is the wall time it takes, on one thread.

The data and the models' seeds are fixed, so a value depends on the parameters alone. Minima are the best that a longer search
found (references.json); with another version of scikit-learn they may be off in the last digits.
"""

from __future__ import annotations

import json
import warnings
from functools import cache

import numpy as np

from benchmarks.peers.lcbench import REFERENCES
from benchmarks.peers.problem import Axis, Fidelity, Params, Task

FOLDS = 5


def missing() -> str | None:
    """Why there are none of these tasks, if there are none."""
    try:
        import sklearn  # noqa: F401
    except ImportError:
        return "scikit-learn is not installed"
    return None


@cache
def _digits() -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return x[order] / 16.0, y[order]


@cache
def _classes() -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import make_classification

    return make_classification(
        20_000, 20, n_informative=8, n_redundant=4, n_clusters_per_class=6, flip_y=0.05, class_sep=0.8, random_state=0
    )


def svc_error(params: Params, rows: float) -> float:
    """Error of an RBF support vector classifier on the digits, in percent: 5-fold, trained on `rows` of each fold's 1,437."""
    from sklearn.svm import SVC

    x, y = _digits()
    wrong = 0
    for fold in range(FOLDS):
        held_out = np.arange(len(y)) % FOLDS == fold
        train = np.flatnonzero(~held_out)[: int(rows)]
        model = SVC(C=params["C"], gamma=params["gamma"]).fit(x[train], y[train])
        wrong += int((model.predict(x[held_out]) != y[held_out]).sum())
    return 100.0 * wrong / len(y)


def boosting_loss(params: Params, trees: float) -> float:
    """Log loss on 6,000 rows of gradient boosting trained on 14,000."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(max_iter=int(trees), early_stopping=False, random_state=0, **params)
    return _held_out_loss(model, 14_000)


def mlp_loss(params: Params, epochs: float) -> float:
    """Log loss on 6,000 rows of a network with one hidden layer trained on 4,000."""
    from sklearn.neural_network import MLPClassifier

    model = MLPClassifier(
        (params["units"],),
        learning_rate_init=params["learning_rate"],
        alpha=params["alpha"],
        batch_size=params["batch_size"],
        max_iter=int(epochs),
        n_iter_no_change=10_000,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it has not converged: the fidelity says how far it is trained
        return _held_out_loss(model, 4_000)


def _held_out_loss(model, rows: int) -> float:
    from sklearn.metrics import log_loss

    x, y = _classes()
    model.fit(x[:rows], y[:rows])
    return float(log_loss(y[14_000:], model.predict_proba(x[14_000:])))


def build(name: str) -> Task:
    """The task of that name. Typical costs are guesses as a user would make them; peers use their ratios alone."""
    axes, fidelity, objective, typical_cost, budget, load = DEFINITIONS[name]
    load()  # reading or making the data is nobody's cost
    known = json.loads(REFERENCES.read_text())[name]
    return Task(
        name,
        axes,
        fidelity,
        objective=objective,
        cost=None,
        typical_cost=typical_cost,
        minimum=known["minimum"],
        budget=budget,
        minimizer=known["minimizer"],
    )


DEFINITIONS = {
    "svc": (
        (Axis("C", 1e-3, 1e5, log=True), Axis("gamma", 1e-5, 1e1, log=True)),
        Fidelity("rows", cheap=50, full=1437, log=True, integer=True),
        svc_error,
        lambda rows: 0.02 + 0.4 * (rows / 1437) ** 1.5,
        60.0,
        _digits,
    ),
    "boosting": (
        (
            Axis("learning_rate", 5e-3, 1.0, log=True),
            Axis("max_leaf_nodes", 4, 128, "integer", log=True),
            Axis("min_samples_leaf", 1, 200, "integer", log=True),
            Axis("l2_regularization", 1e-6, 1e2, log=True),
        ),
        Fidelity("trees", cheap=5, full=200, log=True, integer=True),
        boosting_loss,
        lambda trees: 0.1 + 2.0 * trees / 200,
        120.0,
        _classes,
    ),
    "mlp": (
        (
            Axis("learning_rate", 1e-4, 1e-1, log=True),
            Axis("alpha", 1e-6, 1e1, log=True),
            Axis("units", 8, 256, "integer", log=True),
            Axis("batch_size", 16, 512, "integer", log=True),
        ),
        Fidelity("epochs", cheap=1, full=50, log=True, integer=True),
        mlp_loss,
        lambda epochs: 0.02 + 1.5 * epochs / 50,
        90.0,
        _classes,
    ),
}
