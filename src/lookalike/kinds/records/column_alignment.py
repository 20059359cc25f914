"""Align columns of different names between two tables by their content.

Two columns are as alike as the distributions of their words overlap (people of two registers have the same common
family names, products the same makers), and the distributions of their forms (letters and digits), which count
less; columns whose names have a word in common are somewhat more alike. A column is aligned with another one if each is
the most similar one of the other.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lookalike.kinds.records.dates import standard_date
from lookalike.kinds.records.schema_inference import guess_kind, sample_values
from lookalike.kinds.records.source import RecordTable

ALIGNED_VALUES = 20_000  # approximate number of values of a column to compare
WORDS_SHARE, FORM_SHARE, NAME_BONUS = 0.75, 0.25, 0.15  # weights of words and forms, and what a name in common adds
MIN_ALIKE = 0.3  # minimum similarity of aligned columns
MIN_NAME_LETTERS = 4  # minimum length of a word that two column names have in common
VALUE_WORD, DIGIT_CLASS, LETTER_RUN = re.compile(r"\w+"), re.compile(r"\d"), re.compile(r"[^\W\d]+")


@dataclass(frozen=True)
class ColumnContent:
    """The shares of the words of a column, and of the forms of its values."""

    name: str
    words: dict[str, float]
    forms: dict[str, float]

    @classmethod
    def of(cls, name: str, values: Sequence[str]) -> ColumnContent:
        if guess_kind(values) == "date":
            values = [standard_date(value) or value for value in values]
        words = Counter(word for value in values for word in VALUE_WORD.findall(value.casefold()))
        forms = Counter(LETTER_RUN.sub("a", DIGIT_CLASS.sub("9", value)) for value in values)
        return cls(name, _shares(words), _shares(forms))

    def similarity(self, other: ColumnContent) -> float:
        """Return a number from 0 to 1, or a little more if the names have a word in common.

        >>> one, other = ColumnContent.of("surname", ["Lee", "Ray"]), ColumnContent.of("family name", ["Ray", "Lee"])
        >>> one.similarity(other)
        1.15
        """
        content = WORDS_SHARE * _overlap(self.words, other.words) + FORM_SHARE * _overlap(self.forms, other.forms)
        return content + NAME_BONUS * _names_alike(self.name.casefold(), other.name.casefold())


def aligned_columns(one: RecordTable, other: RecordTable, wanted: Sequence[str] | None) -> dict[str, str]:
    """Return which column of the other table corresponds to each column of the first that the other one lacks.

    wanted: the columns to compare; None for all. Columns without a counterpart are left out.
    """
    theirs = set(other.usable()) - {other.id_column}
    mine = [
        name for name in (one.usable() if wanted is None else wanted) if name not in theirs and name != one.id_column
    ]
    mine = [name for name in mine if name in one.columns]
    free = [name for name in other.usable() if name in theirs and name not in one.columns]
    if not mine or not free:
        return {}
    left, right = _contents(one, mine), _contents(other, free)
    if not left or not right:
        return {}
    alike = [[a.similarity(b) for b in right] for a in left]
    made: dict[str, str] = {}
    for i, row in enumerate(alike):
        j = max(range(len(row)), key=row.__getitem__)
        if row[j] >= MIN_ALIKE and row[j] == max(others[j] for others in alike):
            made.setdefault(right[j].name, left[i].name)
    return {mine: theirs for theirs, mine in made.items()}


def renamed(table: RecordTable, names: dict[str, str]) -> RecordTable:
    """Return the table whose columns can be read by other names: new name -> own name."""
    own = {theirs: mine for mine, theirs in names.items()}
    columns = tuple(own.get(name, name) for name in table.columns)
    return replace(table, columns=columns, renamed=tuple(names.items()))


def _contents(table: RecordTable, names: Sequence[str]) -> list[ColumnContent]:
    """Return the contents of the columns that are neither empty nor constant."""
    read = table.read(names)
    values = {name: sample_values(read.column(name), ALIGNED_VALUES) for name in names}
    return [ColumnContent.of(name, some) for name, some in values.items() if guess_kind(some) is not None]


def _shares(counts: Counter[str]) -> dict[str, float]:
    total = max(counts.total(), 1)
    return {key: count / total for key, count in counts.items()}


def _overlap(one: dict[str, float], other: dict[str, float]) -> float:
    return sum(min(share, other[key]) for key, share in one.items() if key in other)


def _names_alike(one: str, other: str) -> bool:
    words = [word for name in (one, other) for word in LETTER_RUN.findall(name.replace("_", " "))]
    return any(len(word) >= MIN_NAME_LETTERS and word in one and word in other for word in words)
