"""Numbers with units as one word each: 16 GB, 16GB and 16 gb are the same, and 1 TB is 1000 GB."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.arrow import as_numpy

# Each unit with the unit that it is converted to, and the factor.
UNITS: dict[str, tuple[str, float]] = {
    "tb": ("gb", 1000), "gb": ("gb", 1), "mb": ("mb", 1), "kg": ("g", 1000), "g": ("g", 1), "mg": ("mg", 1),
    "oz": ("oz", 1), "lb": ("lb", 1), "lbs": ("lb", 1), "l": ("ml", 1000), "cl": ("ml", 10), "ml": ("ml", 1),
    "km": ("km", 1), "cm": ("mm", 10), "mm": ("mm", 1), "inch": ("in", 1), "inches": ("in", 1), "in": ("in", 1),
    '"': ("in", 1), "ghz": ("mhz", 1000), "mhz": ("mhz", 1), "kw": ("w", 1000), "watt": ("w", 1), "w": ("w", 1),
    "mp": ("mp", 1), "megapixel": ("mp", 1), "mah": ("mah", 1),
}  # fmt: skip
NAMES = "|".join(sorted(map(re.escape, UNITS), key=len, reverse=True))
# Apart from the number, W is a direction in addresses and in is a word; one letter is a unit in lower case only.
APART = {"in": "", "w": "", "l": "l", "g": "g"}
QUANTITY = re.compile(rf"(?<![\w.])(\d+(?:[.,]\d+)?)([ -]?)({NAMES})(?!\w)", re.IGNORECASE)
# The same for RE2, which has no lookaround: whether a text may contain a quantity.
MAYBE_QUANTITY = rf"(?i)\d[ -]?({NAMES})(\W|$)"


def with_units(text: str) -> str:
    """Write every number with a unit as one word, in a common unit.

    >>> with_units("Stick 1 TB, 16GB and 3.5-inch in a box"), with_units("flat 2 in York")
    ('Stick 1000gb, 16gb and 3p5in in a box', 'flat 2 in York')
    """

    def joined(found: re.Match[str]) -> str:
        if found[2] == " " and found[3] != APART.get(found[3].lower(), found[3]):
            return found[0]
        unit, factor = UNITS[found[3].lower()]
        number = float(found[1].replace(",", ".")) * factor
        return f"{number:g}".replace(".", "p") + unit

    return QUANTITY.sub(joined, text)


def texts_with_units(texts: pa.Array) -> pa.Array:
    """Apply `with_units` to the texts that may contain a quantity."""
    places = as_numpy(pc.match_substring_regex(texts, MAYBE_QUANTITY)).nonzero()[0]
    if not len(places):
        return texts
    changed = [with_units(text) for text in texts.take(pa.array(places)).to_pylist()]
    mask = np.zeros(len(texts), np.bool_)
    mask[places] = True
    return pc.replace_with_mask(texts, pa.array(mask), pa.array(changed, texts.type))
