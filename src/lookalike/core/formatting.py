"""Format numbers for people: 1 document, 2 documents, 1.7 kB."""

from __future__ import annotations

UNITS = ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


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
    """
    if number != 1:
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
