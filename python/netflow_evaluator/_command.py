"""The command `netflow` of this package."""

from __future__ import annotations

import signal
import sys

from . import _native


def main() -> None:
    """Runs the command with the arguments of the process and exits with its exit code."""
    # The command handles Ctrl-C and closed pipes itself.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.stdout is not None:
        sys.stdout.flush()
    sys.exit(_native.command(["netflow", *sys.argv[1:]]))
