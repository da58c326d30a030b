"""Numbers of Python, NumPy, fractions and decimal."""

from __future__ import annotations

import decimal
import numbers
from typing import Any


def is_number(value: object) -> bool:
    """Returns whether a value is a single number and not a boolean."""
    return isinstance(value, (numbers.Real, decimal.Decimal)) and not isinstance(value, bool)


def plain(value: Any) -> Any:
    """Returns a number as `int` or `float`; returns any other value unchanged."""
    if not is_number(value):
        return value
    return int(value) if isinstance(value, numbers.Integral) else float(value)
