"""Runs and the files they are kept in: one JSON file a run, complete or not there at all."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import farthing

ROOT = Path(__file__).resolve().parent.parent
WORK = Path(".experiments")
"""Where runs are kept unless --work says otherwise, in the folder of the project."""

FORMAT = 1
PACKAGES = ("numpy", "scipy", "scikit-learn")

Record = dict[str, Any]
"""A run as it is kept: format, job, versions, cores, seconds, result."""


@dataclass(frozen=True)
class Job:
    """One run to be made. fingerprint: of all that defines it, so that a run of another definition is not taken for it."""

    experiment: str
    task: str
    contender: str
    seed: int
    scale: float
    fingerprint: str

    @classmethod
    def of(cls, experiment: str, task: str, contender: str, seed: int, scale: float, definition: Mapping[str, Any]) -> Job:
        named = {"experiment": experiment, "task": task, "contender": contender, "seed": seed, "scale": scale}
        text = json.dumps({**named, "definition": definition}, sort_keys=True)
        return cls(experiment, task, contender, seed, scale, hashlib.sha256(text.encode()).hexdigest()[:12])

    def __str__(self) -> str:
        return f"{self.experiment} {self.task} {self.contender} {self.seed}"

    @property
    def kind(self) -> tuple[str, str, str]:
        """Runs of one kind take about as long as one another."""
        return self.experiment, self.task, self.contender

    def path(self, work: Path) -> Path:
        folder = work / self.experiment / f"scale-{self.scale:g}" / self.task / re.sub(r"[^\w.]+", "-", self.contender)
        return folder / f"{self.seed}-{self.fingerprint}.json"


def save(job: Job, result: Mapping[str, Any], seconds: float, work: Path) -> Path:
    """Write a run beside its file, down to the disk, and give it its name: a file of that name is a whole run."""
    record = {"format": FORMAT, "job": asdict(job), **this_machine(), "seconds": round(seconds, 3), "result": result}
    path = job.path(work)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with part.open("w", encoding="utf-8") as file:
            json.dump(record, file)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return path


def load(job: Job, work: Path, current: bool = False) -> Record | None:
    """The run, if it is there; a file that is damaged or of another job counts as none.

    current: nor does one that other sources of farthing have made.
    """
    try:
        record: Record = json.loads(job.path(work).read_text(encoding="utf-8"))
        same = record["format"] == FORMAT and record["job"] == asdict(job)
        same = same and (not current or record["versions"]["farthing"] == farthing_version())
        return record if same and isinstance(record["result"], dict) and record["seconds"] >= 0.0 else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


@cache
def farthing_version() -> str:
    """Its version and a few digits of a checksum of its sources, which may have changed since that version."""
    folder = Path(farthing.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return f"{metadata.version('farthing')}+{digest.hexdigest()[:8]}"


def this_machine() -> dict[str, Any]:
    """Versions and cores, which stand on every figure."""
    versions = {"Python": platform.python_version(), "farthing": farthing_version()}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return {"versions": versions, "cores": os.cpu_count() or 1}
