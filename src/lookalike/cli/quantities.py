"""Parse numbers as people write them: 1e9, 10M, 2kB."""

from __future__ import annotations

import math
import re

from lookalike.errors import UsageError

TIMES = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}


def amount(what: str, given: str, *, unit: str = "") -> float:
    """Parse a number above 0. unit: a letter that may follow, such as B for bytes.

    >>> amount("items", "10M"), amount("mean-bytes", "2kB", unit="B")
    (10000000.0, 2000.0)
    """
    tail = f"{unit}?" if unit else ""
    match = re.fullmatch(rf"\s*(\d[\d_]*\.?\d*(?:e[+-]?\d+)?)\s*([kmgt]?){tail}\s*", given, re.IGNORECASE)
    value = float(match[1]) * TIMES[match[2].lower()] if match else math.nan
    if not (math.isfinite(value) and value > 0):
        example = f"2000, 2k{unit} or 2e3" if unit else "1000000, 1e9 or 10M"
        raise UsageError(f"--{what} is {given!r}; expected a number above 0, such as {example}.")
    return value
