"""What an experiment is: its runs, and what is made of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.curves import Summary
from experiments.runs import Job, Record
from experiments.verdicts import Verdict


@dataclass(frozen=True)
class Size:
    """How much of an experiment is made: runs of every contender, those of slow ones, the scale, and of which tasks (None: all)."""

    runs: int
    slow_runs: int
    scale: float
    tasks: tuple[str, ...] | None = None


class Experiment(ABC):
    """One experiment. name: of its command and its files; claim: what the paper says, in words; full, quick: its sizes.

    definition: a number that is raised when the code of an experiment changes what a run means; of_paper: whether the paper has it.
    """

    name: str
    title: str
    claim: str
    full: Size
    quick: Size
    definition: int = 1
    of_paper: bool = True

    @abstractmethod
    def jobs(self, size: Size) -> list[Job]:
        """All runs of that size, seed after seed, so that an early end leaves something to compare."""

    @abstractmethod
    def run(self, job: Job, data: Path | None) -> dict[str, Any]:
        """Make one run; its result, ready for JSON."""

    @abstractmethod
    def collect(self, records: Sequence[Record]) -> Summary:
        """What is kept of the runs."""

    @abstractmethod
    def draw(self, summary: Summary, path: Path) -> None:
        """The figure, from what is kept alone."""

    @abstractmethod
    def verdicts(self, summary: Summary) -> list[Verdict]:
        """What is kept beside what the paper says."""

    @abstractmethod
    def tables(self, summary: Summary) -> str:
        """The numbers, as Markdown."""

    def check_data(self, data: Path | None, size: Size) -> None:
        """Raise DataMissingError where runs would lack their data; fetches it, so that runs at once do not."""
        return

    def remarks(self, summary: Summary) -> list[str]:
        """What else is to be told: what was left out, what a number means."""
        return []
