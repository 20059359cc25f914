"""Numbers as people read them: 1 document, 2 documents, 1.7 kB."""

from __future__ import annotations

UNITS = ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def size(nbytes: float) -> str:
    """
    >>> size(2000), size(1.2e15), size(12), size(999_990)
    ('2.0 kB', '1.2 PB', '12 B', '1.0 MB')
    """
    for unit, name in UNITS:
        if nbytes >= 0.9999 * unit:
            return f"{nbytes / unit:,.1f} {name}"
    return f"{nbytes:.0f} B"


def count(number: int, plural: str) -> str:
    """So many of something that is named in the plural; words without an s at the end stay as they are.

    >>> count(1, "pairs"), count(1, "stories"), count(1, "exact copies"), count(1, "kept"), count(1200, "pairs")
    ('1 pair', '1 story', '1 exact copy', '1 kept', '1,200 pairs')
    """
    if number == 1 and plural.endswith("ies"):
        return f"1 {plural[:-3]}y"
    return f"{number:,} {plural.removesuffix('s') if number == 1 else plural}"
