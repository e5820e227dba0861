"""All experiments, by name."""

from __future__ import annotations

from experiments.ablation import Ablation
from experiments.experiment import Experiment
from experiments.fig1 import Fig1
from experiments.fig2 import Fig2
from experiments.fig3 import Fig3
from experiments.fig4 import Fig4
from experiments.fig5 import Fig5
from experiments.fig6 import Fig6
from experiments.table1 import Table1

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment for experiment in (Fig1(), Fig2(), Table1(), Fig3(), Fig4(), Fig5(), Fig6(), Ablation())
}
