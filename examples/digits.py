"""Tune a support vector classifier on handwritten digits, paying for large training sets only where that tells something.

    python examples/digits.py [--budget "40 s"] [--seed 0] [--plot digits.png]

The error is measured on held-out digits; the fidelity is the number of digits the classifier is trained on; the cost is wall time.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
from sklearn.datasets import load_digits
from sklearn.svm import SVC

import farthing as ft
from farthing.report import ProgressLine, params_in_words, seconds_in_words, spend_by_fidelity

HELD_OUT = 500
REPEATS = 6
"""Each evaluation averages over this many random training sets: shipped data are small, and this makes them worth an optimizer."""

images, labels = load_digits(return_X_y=True)
images = images / 16.0
shuffle = np.random.default_rng(0).permutation(len(images))
test, train = shuffle[:HELD_OUT], shuffle[HELD_OUT:]


def error_rate(C: float, gamma: float, n_train: int) -> float:
    """Share of held-out digits that an RBF classifier trained on n_train digits gets wrong."""
    rng = np.random.default_rng(n_train)
    errors = []
    for _ in range(REPEATS):
        rows = rng.choice(train, n_train, replace=False)
        model = SVC(C=C, gamma=gamma).fit(images[rows], labels[rows])
        errors.append(np.mean(model.predict(images[test]) != labels[test]))
    return float(np.mean(errors))


def plot(study: ft.Study, best: ft.Result, path: str) -> None:
    """Where was evaluated, at which training size, and how the recommendation improved as cost was spent."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    trials = [t for t in study.trials if t.state == "complete"]
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), constrained_layout=True)
    points = left.scatter(
        [t.params["C"] for t in trials],
        [t.params["gamma"] for t in trials],
        c=[t.fidelity for t in trials],
        norm="log",
        cmap="viridis",
        s=28,
    )
    left.plot(best.x["C"], best.x["gamma"], "r*", markersize=16, label="recommendation")
    left.set(xscale="log", yscale="log", xlabel="C", ylabel="gamma", title="Where was evaluated, and at what price")
    left.legend(loc="upper right")
    figure.colorbar(points, ax=left, label="training digits")

    spent = np.cumsum([t.cost + t.overhead for t in trials])
    known = [(s, t.proposal.recommendation) for s, t in zip(spent, trials, strict=True) if t.proposal.recommendation]
    seconds, mean = [s for s, _ in known], np.array([r.mean for _, r in known])
    std = np.array([r.std for _, r in known])
    right.fill_between(seconds, np.maximum(mean - std, mean / 10), mean + std, alpha=0.25, linewidth=0)
    right.plot(seconds, mean)
    right.set(xlabel="seconds spent", ylabel="expected error at full size", title="The recommendation over time", yscale="log")
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", default="40 s")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plot", default="digits.png")
    arguments = parser.parse_args()

    study = ft.Study(
        {"C": ft.Real(1e-3, 1e3, log=True), "gamma": ft.Real(1e-4, 10.0, log=True)},
        fidelity=ft.Fidelity("n_train", cheap=50, full=len(train), log=True, integer=True),
        budget=arguments.budget,
        seed=arguments.seed,
    )
    print(f"Tuning C and gamma of a digit classifier for {arguments.budget}; training on 50 to {len(train)} digits.")
    line = ProgressLine(sys.stderr, study.budget, None, 1.0)
    result = study.run(error_rate, callback=lambda s, trial: line.show(s.history, trial))
    line.close()

    print(f"Recommendation: {params_in_words(result.x)}, expected error {result.fun:.4f} ± {result.fun_std:.4f}")
    print(f"{result.nfev} evaluations took {seconds_in_words(result.cost)}, thinking {seconds_in_words(result.overhead)}:")
    for name, count, cost in spend_by_fidelity(study.history):
        print(f"  {name:<28}{count:>4} evaluations {seconds_in_words(cost):>10}")
    plot(study, result, arguments.plot)
    print(f"Plot saved to {arguments.plot}")


if __name__ == "__main__":
    main()
