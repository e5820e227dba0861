"""Studies that hold given trials, as if these had happened in them."""

from dataclasses import replace

from farthing.trials import ABANDONED, COMPLETE, FAILED, PENDING


def filled(study, trials):
    """The study after the given trials: begun by number, ended in the order of their results."""
    for trial in trials:
        begun = replace(trial, state=PENDING, value=None, cost=None, noise=None, order=None, reason=None, stated_cost=False)
        assert study.store.insert(study.name, begun) is not None
    for trial in trials:
        if trial.state == ABANDONED:
            study.store.finish(study.name, trial)
    for trial in sorted((t for t in trials if t.state in (COMPLETE, FAILED)), key=lambda t: t.order):
        study.store.finish(study.name, trial)
    return study
