"""Infer which columns to compare, and how, from a sample of their values."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from lookalike.core.arrow import as_arrow
from lookalike.errors import UsageError
from lookalike.kinds.records.codes import code_rule
from lookalike.kinds.records.dates import standard_date
from lookalike.kinds.records.rules import FieldRule

MOST_FIELDS = 256  # maximum number of fields; the time to compare grows with the square of their number
SAMPLED_VALUES = 2000  # approximate number of values to sample from a column
MIN_TYPICAL_SHARE = 0.9  # share of the values that must have the form of a number, or of a date
MONEY = re.compile(r"\s*[$€£¥]?\s*-?\d[\d,]*(\.\d+)?\s*[$€£¥]?\s*")
FRACTION = re.compile(r"\.\d|[$€£¥]")
FEW_FIELDS, MAX_FIELD_WORDS = (
    3,
    4,
)  # maximum number of fields, and of words per value, for which blocking keys must tolerate typing errors


def infer_fields(table: pa.Table, names: Sequence[str]) -> tuple[FieldRule, ...]:
    """Infer a rule for every column that can distinguish records; columns that are empty or constant are left out.

    >>> table = pa.table({"name": ["Ann Lee", "Bob Ray"], "phone": ["555-0100", "555-0199"], "country": ["US", "US"]})
    >>> [(rule.column, rule.compare) for rule in infer_fields(table, table.column_names)]
    [('name', 'words'), ('phone', 'code')]
    """
    samples = {name: sample_values(table.column(name)) for name in names}
    guessed = {name: kind for name, values in samples.items() if (kind := guess_kind(values)) is not None}
    if len(guessed) > MOST_FIELDS:
        raise UsageError(
            f"{len(guessed):,} columns could be compared, more than {MOST_FIELDS}; select those that "
            "distinguish the records with `fields`."
        )
    few = len(guessed) <= FEW_FIELDS
    made = tuple(
        FieldRule(
            column=name, compare=kind, keys=_keys(kind, forgiving=few and _mean_words(samples[name]) <= MAX_FIELD_WORDS)
        )
        for name, kind in guessed.items()
    )
    codes = code_rule(made, samples)
    return made if codes is None else (*made, codes)


def _mean_words(values: Sequence[str]) -> float:
    return sum(len(value.split()) for value in values) / max(len(values), 1)


def guess_kind(values: Sequence[str]) -> str | None:
    """Guess the comparison for these non-empty values; None where fewer than two of them are distinct.

    >>> [guess_kind(values) for values in (["1.50", "$3"], ["2001-02-03", "1999-12-31"], ["x", "x"], ["a b", "c d"])]
    ['number', 'date', None, 'words']
    """
    if len(set(values)) < 2:
        return None

    def share(looks: Sequence[bool]) -> float:
        return sum(looks) / len(looks)

    if share([MONEY.fullmatch(value) is not None for value in values]) >= MIN_TYPICAL_SHARE:
        if share([FRACTION.search(value) is not None for value in values]) >= 0.05:
            return "number"
    elif share([_is_date(value) for value in values]) >= MIN_TYPICAL_SHARE:
        return "date"
    digits = [sum(c.isdigit() for c in value) >= 0.5 * sum(c.isalnum() for c in value) for value in values]
    return "code" if share(digits) >= 0.8 else "words"


def _is_date(value: str) -> bool:
    made = standard_date(value)
    return made != value and made is not None and len(made) == 8


def _keys(kind: str, *, forgiving: bool) -> tuple[str, ...]:
    if kind == "number":
        return ()
    if kind in ("code", "date"):
        return ("words",)
    return ("value", "words", "joined", "starts", "sounds", "shingles") if forgiving else ("value", "words", "joined")


def sample_values(column: pa.ChunkedArray, most: int = SAMPLED_VALUES) -> list[str]:
    """Sample values at regular intervals over the column, without those that are missing or blank."""
    step = max(1, len(column) // most)
    picked, skipped = [], 0  # chunk by chunk: `take` on a chunked array would concatenate the chunks first
    for chunk in column.chunks:
        places = np.arange(-skipped % step, len(chunk), step)
        picked += chunk.take(as_arrow(places)).to_pylist()
        skipped += len(chunk)
    return [text for value in picked if value is not None and (text := value.strip())]
