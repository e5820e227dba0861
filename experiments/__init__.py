"""The experiments of McLeod, Osborne and Roberts (2018), made again with farthing, and an ablation of its choices.

    python -m experiments fig4 --jobs 2             make the runs that are missing, then results, figure and page
    python -m experiments all --quick               the same in minutes, in .experiments/quick
    python -m experiments report                    figures and docs/results.md again, from experiments/results alone

One run is one process and one file in .experiments: what is finished is kept, whatever happens to the rest. `catalog.py` has the
experiments, each defined in a file of its own (`fig1.py` to `fig6.py`, `table1.py`, `ablation.py`); `study_run.py` makes one run,
`engine.py` many, `runs.py` keeps them, `curves.py` sums them up, `verdicts.py` sets them beside what the paper claims.
"""
