"""Progress line for long evaluations."""

from __future__ import annotations

import sys


class Line:
    """Writes the completed fraction into one line of the standard error."""

    def __call__(self, part: float) -> None:
        if sys.stderr is None:
            return
        sys.stderr.write(f"\r{part:4.0%}" if part < 1 else "\r    \r")
        sys.stderr.flush()
