"""Model numbers and other codes in text, as a separate field.

In a title, the model number is one word among ten, though it alone may tell a thing from the next one of its series;
and one shop writes it into the title, the other into a column. The codes of all text columns of a record are therefore
one more field, compared as a set. It is derived: no column of the input has its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa

from lookalike.kinds.records.rules import FieldRule
from lookalike.kinds.records.units import NAMES, with_units

CODE_FIELD = "(codes)"
MIN_CODED = 0.1  # minimum share of the values of a text column that contain a code
MIN_LETTERED = 0.5  # minimum share of the values of a column of codes that contain letters and digits
MIN_MIXED_LETTERS, MIN_CODE_DIGITS = 4, 5  # minimum length of a code of letters and digits, and of one of digits only
CODED_WORD = re.compile(r"[^\W_]+(?:[-/.][^\W_]+)*")
CODE_SEPARATOR = re.compile(r"[-/.]")
MAIL_ADDRESS = re.compile(r"\S+@\S+")
# Quantities, ordinals, decades and sizes such as 10x15 have letters and digits too.
NO_CODE = re.compile(rf"\d+(p\d+)?({NAMES}|st|nd|rd|th|s|x\d+)")


def codes_of(text: str) -> list[str]:
    """Return the distinct codes of a text, each without its separators, and with its parts that are codes themselves.

    >>> codes_of("Panasonic KX-TG6700B 5.8GHz phone, 2nd edition, 16 GB, part 99871"), codes_of("ann99@example.com")
    (['kxtg6700b', 'tg6700b', '99871'], [])
    """
    found: dict[str, None] = {}
    for word in CODED_WORD.findall(with_units(MAIL_ADDRESS.sub(" ", text)).lower()):
        for code in (CODE_SEPARATOR.sub("", word), *CODE_SEPARATOR.split(word)):
            if _is_code(code):
                found[code] = None
    return list(found)


def _is_code(word: str) -> bool:
    digits = sum(c.isdigit() for c in word)
    if not digits or len(word) < MIN_MIXED_LETTERS:
        return False
    return len(word) >= MIN_CODE_DIGITS if digits == len(word) else NO_CODE.fullmatch(word) is None


def code_rule(rules: Sequence[FieldRule], samples: Mapping[str, Sequence[str]]) -> FieldRule | None:
    """Return the rule of the codes of these fields; None where too few of the text values contain any.

    samples: values of each column.
    """
    texts = [rule.column for rule in rules if rule.compare == "words"]
    holding = [name for name in texts if _share(bool(codes_of(value)) for value in samples[name]) >= MIN_CODED]
    if not holding or CODE_FIELD in samples:
        return None
    columns = [
        rule.column
        for rule in rules
        if rule.compare == "code"
        and _share(any(c.isalpha() for c in value) for value in samples[rule.column]) >= MIN_LETTERED
    ]
    return FieldRule(column=CODE_FIELD, compare="codes", keys=("words",), sources=(*holding, *columns))


def _share(true: Iterable[bool]) -> float:
    made = list(true)
    return sum(made) / max(len(made), 1)


def field_values(columns: Mapping[str, pa.ChunkedArray], rule: FieldRule) -> pa.ChunkedArray:
    """Return the values of a field: those of its column, or the codes of the columns that it is derived from.

    >>> rule = FieldRule(column="(codes)", compare="codes", sources=("title", "model"))
    >>> columns = {"title": pa.chunked_array([["TX-200 red", None]]), "model": pa.chunked_array([["TX200", None]])}
    >>> field_values(columns, rule).to_pylist()
    ['tx200', None]
    """
    if not rule.sources:
        return columns[rule.column]
    parts = [columns[name].to_pylist() for name in rule.sources]
    made = [" ".join(codes_of(" ".join(filter(None, row)))) or None for row in zip(*parts, strict=True)]
    return pa.chunked_array([pa.array(made, pa.large_string())])


def columns_of(rules: Sequence[FieldRule]) -> list[str]:
    """Return the columns of the input that the fields are made from."""
    return list(dict.fromkeys(name for rule in rules for name in rule.sources or (rule.column,)))
