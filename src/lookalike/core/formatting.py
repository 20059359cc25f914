"""Format numbers for people: 1 document, 2 documents, 1.7 kB."""

from __future__ import annotations

import math

UNITS = ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))

MAX_TABLE_ROWS = 20  # maximum steps of the threshold in a table: 0.05 from 0 to 1


def size(nbytes: float) -> str:
    """Format a number of bytes with a decimal unit.

    >>> size(2000), size(1.2e15), size(12), size(999_990)
    ('2.0 kB', '1.2 PB', '12 B', '1.0 MB')
    """
    for unit, name in UNITS:
        if nbytes >= 0.9999 * unit:
            return f"{nbytes / unit:,.1f} {name}"
    return f"{nbytes:.0f} B"


def count(number: int, plural: str) -> str:
    """Format a number with its noun, given in the plural; a word that does not end in s is left unchanged.

    >>> count(1, "pairs"), count(1, "stories"), count(1, "exact copies"), count(1, "kept"), count(1200, "pairs")
    ('1 pair', '1 story', '1 exact copy', '1 kept', '1,200 pairs')
    >>> count(1, "matches"), count(1, "hashes")
    ('1 match', '1 hash')
    >>> count(1, "series")
    '1 series'
    """
    if number != 1 or plural == "series":
        return f"{number:,} {plural}"
    for ending, singular in (("ies", "y"), ("ches", "ch"), ("shes", "sh"), ("s", "")):
        if plural.endswith(ending):
            return f"1 {plural.removesuffix(ending)}{singular}"
    return f"1 {plural}"


def share(value: float, places: int = 4) -> str:
    """Format a fraction with decimals; a value below 1 is never rounded to 1.

    >>> share(0.99997), share(0.99228), share(1.0), share(0.9996, places=3)
    ('0.9999', '0.9923', '1.0000', '0.999')
    """
    return f"{_below_whole(value, places):.{places}f}"


def percent(value: float, places: int = 1) -> str:
    """Format a fraction as a percentage; a value below 1 is never rounded to 100%.

    >>> percent(0.9997), percent(0.123), percent(1.0)
    ('99.9%', '12.3%', '100.0%')
    """
    return f"{_below_whole(value, places + 2):.{places}%}"


def _below_whole(value: float, places: int) -> float:
    return min(value, 1 - 10**-places) if value < 1 else value


def readable_thresholds(low: float, high: float) -> list[float]:
    """Return the multiples of 1, 2 or 5 times a power of ten from low to high, at most 21 of them.

    >>> readable_thresholds(0.62, 0.8)
    [0.62, 0.63, 0.64, 0.65, 0.66, 0.67, 0.68, 0.69, 0.7, 0.71, 0.72, 0.73, 0.74, 0.75, 0.76, 0.77, 0.78, 0.79, 0.8]
    >>> readable_thresholds(0.5, 1.0)
    [0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0]
    """
    if not high > low or math.isinf(high - low):
        return [high]
    power = math.floor(math.log10((high - low) / MAX_TABLE_ROWS))
    for mantissa, exponent in ((1, power), (2, power), (5, power), (1, power + 1)):
        first = math.ceil(low / (mantissa * 10.0**exponent) - 1e-9)
        last = math.floor(high / (mantissa * 10.0**exponent) + 1e-9)
        if last - first <= MAX_TABLE_ROWS:
            break
    # Via decimal text, 7 steps of 0.1 are exactly 0.7, so a similarity of 0.7 is at the threshold.
    return [t for n in range(first, last + 1) if low <= (t := float(f"{n * mantissa}e{exponent}")) <= high]
