"""Lets every test import `oracles`, wherever the test lies, and lets Ctrl-C reach what tests start."""

import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

# A shell starts what is in the background with SIGINT ignored, and all that it starts would ignore it too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
