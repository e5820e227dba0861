"""One BLAS thread while farthing computes, in every BLAS that is loaded, and what was set before afterwards."""

from __future__ import annotations

import json
import os
import subprocess
import sys

CODE = """
import json, threadpoolctl
from farthing.threads import one_blas_thread
def threads():
    return [pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]
with one_blas_thread():
    import scipy.linalg
    inside = threads()
print(json.dumps([inside, threads()]))
"""


def test_every_blas_is_limited_also_scipys_own_which_loads_late():
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2"}
    ran = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True, env=environment)
    inside, after = json.loads(ran.stdout)
    assert set(inside) == {1}
    assert set(after) == {2}
