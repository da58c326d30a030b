"""The command `netflow`, which the package carries."""

from __future__ import annotations

import signal
import sys

from . import _native


def main() -> None:
    """Does what the arguments of the process say, and ends it with the command's exit code."""
    # The command listens to Ctrl-C itself, and a closed pipe is an end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.stdout is not None:
        sys.stdout.flush()
    sys.exit(_native.command(["netflow", *sys.argv[1:]]))
