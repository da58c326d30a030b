"""A line that tells how far a long evaluation is."""

from __future__ import annotations

import sys


class Line:
    """Writes the part that is done over and over into one line of the standard error."""

    def __call__(self, part: float) -> None:
        if sys.stderr is None:
            return
        sys.stderr.write(f"\r{part:4.0%}" if part < 1 else "\r    \r")
        sys.stderr.flush()
