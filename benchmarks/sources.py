"""Which sources of farthing a benchmark has measured, told as the experiments tell it."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))  # experiments is a package beside this folder

from experiments.runs import farthing_version

__all__ = ["farthing_version"]
