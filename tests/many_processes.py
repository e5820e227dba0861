"""What each process of `test_many_processes` does: open the study that others have open too, and run it."""

import sys
import warnings

import farthing as ft

AXES = {"x": ft.Real(0.0, 1.0), "y": ft.Real(0.0, 1.0)}
SETTINGS = ft.Settings(draws=1, sampler="map", support_points=10, starts=1, initial=5, confirm=False)


def objective(x, y):
    return (x - 0.3) ** 2 + (y - 0.6) ** 2


def study_in(store):
    return ft.Study(AXES, store=store, name="shared", method="random", seed=1, settings=SETTINGS)


if __name__ == "__main__":
    warnings.simplefilter("error")
    result = study_in(sys.argv[1]).run(objective, evaluations=int(sys.argv[2]))
    print(result.message)
