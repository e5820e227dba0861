"""A function is tried in a process of its own, which an interrupt ends without a word from it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from farthing.errors import SettingsError
from farthing.function import Function

posix = pytest.mark.skipif(os.name != "posix", reason="needs process groups")

HANG_SECONDS = 60.0
"""What takes longer than this hangs."""

SCRIPT = """
    import sys, time
    from pathlib import Path
    from farthing.function import Function

    if __name__ == "__main__":
        try:
            Function("mine_to_wait_for:loss", sys.argv[1]).check(["x"])
        except KeyboardInterrupt:
            print("interrupted")
    elif sys.argv[2] == "starting":
        Path(sys.argv[1], "at it").touch()
        time.sleep(1.5)
"""

MODULE = """
    import time
    from pathlib import Path

    Path("at it").touch()
    time.sleep(600)
"""


@posix
@pytest.mark.parametrize("when", ["starting", "importing"])
@pytest.mark.parametrize("to", ["everybody", "the parent"])
def test_ctrl_c_ends_the_check_at_once_and_its_process_says_nothing(when, to, tmp_path):
    """A terminal sends SIGINT to all processes, a notebook to its own alone."""
    (tmp_path / "script.py").write_text(textwrap.dedent(SCRIPT))
    (tmp_path / "mine_to_wait_for.py").write_text(textwrap.dedent(MODULE))
    command = [sys.executable, str(tmp_path / "script.py"), str(tmp_path), when]
    with subprocess.Popen(command, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as parent:
        until = time.monotonic() + HANG_SECONDS
        while not (tmp_path / "at it").exists():
            assert time.monotonic() < until
            time.sleep(0.02)
        time.sleep(0.3)  # until the parent surely waits
        os.killpg(parent.pid, signal.SIGINT) if to == "everybody" else parent.send_signal(signal.SIGINT)
        try:
            assert parent.communicate(timeout=HANG_SECONDS) == ("interrupted\n", "")
        except subprocess.TimeoutExpired:
            os.killpg(parent.pid, signal.SIGKILL)
            raise


def test_a_module_that_dies_when_imported_is_named(tmp_path):
    (tmp_path / "mine_to_die.py").write_text("import os; os._exit(3)")
    with pytest.raises(SettingsError, match="mine_to_die:loss"):
        Function("mine_to_die:loss", str(tmp_path)).check(["x"])
