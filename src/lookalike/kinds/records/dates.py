"""Normalise dates in common formats to eight digits: year, month, day."""

from __future__ import annotations

import re

MONTHS = {name: number for number, name in enumerate(
    ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1)}  # fmt: skip
DATE_PARTS = re.compile(r"\d+|[a-z]{3,}")


def standard_date(text: str | None) -> str | None:
    """Return eight digits if the text is a date with a four-digit year, else the text unchanged.

    The day is expected before the month, unless the first is the name of a month or the second cannot be a month.

    >>> [standard_date(text) for text in ("1980-02-19", "19/2/1980", "2/19/1980", "19 Feb 1980", "19800219", "soon")]
    ['19800219', '19800219', '19800219', '19800219', '19800219', 'soon']
    """
    if text is None:
        return None
    parts = DATE_PARTS.findall(text.lower())[:3]
    numbers = [MONTHS.get(part[:3], 0) if part[0].isalpha() else int(part) for part in parts]
    if len(parts) < 3 or 0 in numbers:
        return text
    named = [part[0].isalpha() for part in parts]
    if len(parts[0]) == 4 and not named[0]:
        year, month, day = numbers
    elif len(parts[2]) == 4 and not named[2]:
        day, month, year = numbers
        if named[0] or (month > 12 >= day):
            day, month = month, day
    else:
        return text
    return f"{year:04d}{month:02d}{day:02d}" if 1 <= month <= 12 and 1 <= day <= 31 else text
