"""Numbers, whoever's they are: Python's, NumPy's, fractions and decimals."""

from __future__ import annotations

import decimal
import numbers
from typing import Any


def is_number(value: object) -> bool:
    """Whether something is one number; True and False are none."""
    return isinstance(value, (numbers.Real, decimal.Decimal)) and not isinstance(value, bool)


def plain(value: Any) -> Any:
    """A number as Python's own `int` or `float`; anything else as it is."""
    if not is_number(value):
        return value
    return int(value) if isinstance(value, numbers.Integral) else float(value)
