"""Tune a support vector classifier on handwritten digits, paying for large training sets only where that tells something.

    python examples/digits.py [--budget "40 s"] [--seed 0] [--plot digits.png]

The error is measured on held-out digits; the fidelity is the number of digits the classifier is trained on; the cost is wall time.
"""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.datasets import load_digits
from sklearn.svm import SVC

import farthing as ft
from farthing.plots import save_plot
from farthing.report import ledger, params_in_words, seconds_in_words, spend_by_fidelity

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", default="40 s")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plot", default="digits.png")
    arguments = parser.parse_args()

    print(f"Tuning C and gamma of a digit classifier for {arguments.budget}; training on 50 to {len(train)} digits.")
    result = ft.minimize(
        error_rate,
        {"C": ft.Real(1e-3, 1e3, log=True), "gamma": ft.Real(1e-4, 10.0, log=True)},
        fidelity=ft.Fidelity("n_train", cheap=50, full=len(train), log=True, integer=True),
        budget=arguments.budget,
        seed=arguments.seed,
    )
    history = result.study.history

    print("\nThe last evaluations, and why each was worth its price:")
    for row in ledger(history)[-6:]:
        error = "failed" if row.value is None else f"{row.value:.4f}"
        print(f"  {row.number:>3}  error {error}  {seconds_in_words(row.cost or 0.0):>7}  {row.why}")
    print(f"\n{result.nfev} evaluations took {seconds_in_words(result.cost)}, thinking {seconds_in_words(result.overhead)}:")
    for name, count, cost in spend_by_fidelity(history):
        print(f"  {name:<28}{count:>4} evaluations {seconds_in_words(cost):>10}")
    print(f"\nRecommendation: {params_in_words(result.x)}, expected error {result.fun:.4f} ± {result.fun_std:.4f}")
    save_plot(result.study, arguments.plot)
    print(f"Plot saved to {arguments.plot}")


if __name__ == "__main__":
    main()
