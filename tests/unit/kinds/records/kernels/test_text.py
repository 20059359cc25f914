"""Folding of values and their words, against Python's own."""

from __future__ import annotations

import unicodedata

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.kinds.records.comparisons import folded_texts
from lookalike.kinds.records.fields import make_field, rarity
from lookalike.kinds.records.rules import FieldRule


def slowly_folded(text: str) -> str:
    """Lower case without accents, words parted by one blank; apostrophes vanish. ASCII and Latin letters."""
    plain = "".join(c for c in unicodedata.normalize("NFD", text.casefold()) if not unicodedata.combining(c))
    plain = plain.replace("'", "").replace("`", "")
    return " ".join("".join(c if c.isalnum() else " " for c in plain).split())


@settings(deadline=None)
@given(st.lists(st.text(alphabet="abcXYZéÉñü 019-./'`,_&", max_size=20), min_size=1, max_size=8))
def test_values_fold_as_the_slow_twin(values: list[str]) -> None:
    field = make_field(pa.chunked_array([values], pa.large_string()), FieldRule(column="x"))
    texts = folded_texts(field)
    assert [texts[v] if v >= 0 else "" for v in field.values] == [slowly_folded(value) for value in values]
    words = field.words
    for v in {int(v) for v in field.values if v >= 0}:
        mine = range(words.offsets[v], words.offsets[v + 1])
        spelled = [words.letters[words.starts[w] :][: words.sizes[w]].tobytes().decode("utf-16-le") for w in mine]
        assert spelled == texts[v].split()


@settings(deadline=None)
@given(st.lists(st.sampled_from(["a b", "b", "c a", "", None]), min_size=1, max_size=30))
def test_words_weigh_by_the_records_that_hold_them(values: list[str | None]) -> None:
    field = make_field(pa.chunked_array([values], pa.large_string()), FieldRule(column="x"))
    full = [set((value or "").split()) for value in values if value]
    for v in {int(v) for v in field.values if v >= 0}:
        for at, word in enumerate(folded_texts(field)[v].split()):
            holders = sum(word in one for one in full)
            weight = field.words.weights[field.words.ids[field.words.offsets[v] + at]]
            assert np.isclose(weight, rarity(np.array([holders]), len(full))[0])


def test_codes_lose_blanks_and_signs() -> None:
    made = make_field(pa.chunked_array([["(555) 01-00", "5550100"]]), FieldRule(column="phone", compare="code"))
    assert made.values.tolist() == [0, 0]


def test_no_values() -> None:
    made = make_field(pa.chunked_array([[None, "", " - "]], pa.large_string()), FieldRule(column="x"))
    assert made.values.tolist() == [-1, -1, -1]
    assert len(make_field(pa.chunked_array([], pa.large_string()), FieldRule(column="x")).values) == 0
