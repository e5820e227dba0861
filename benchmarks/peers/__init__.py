"""farthing beside what one would use instead: the same tasks, the same clocks, each peer in an environment of its own.

    python -m benchmarks.peers.environments    make the environments, in .peers
    python -m benchmarks.peers                 make the runs, or those that are missing, in .peers/runs
    python -m benchmarks.peers.overhead        how long each peer thinks
    python -m benchmarks.peers.summary         what came of it, in benchmarks/results/peers.json
    python -m benchmarks.report                tables, ranks and a plot of that, in docs

`problem.py` says what a task is, `tasks.py` which there are, `interface.py` what a peer is and which there are; how each is set up
is told at the top of its adapter, `*_peers.py`. `run.py` is one run, with the rules that hold for all.
"""
