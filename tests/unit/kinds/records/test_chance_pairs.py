"""Pairs by chance: permuted words keep what they must, and the threshold follows from them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lookalike as la
from lookalike.kinds.records.chance_pairs import above_chance, chance_pairs, permuted
from lookalike.kinds.records.fields import make_field
from lookalike.kinds.records.rules import FieldRule
from record_cases import CASES, words


def field_of(values: list[str | None]) -> object:
    return make_field(pa.chunked_array([pa.array(values, pa.large_string())]), FieldRule(column="name"))


@given(
    st.lists(st.one_of(st.none(), st.lists(st.sampled_from("abcde"), min_size=1, max_size=4).map(" ".join)), min_size=1)
)
def test_words_are_permuted_and_nothing_else(values: list[str | None]) -> None:
    made = permuted(field_of(values), np.arange(len(values)), np.random.default_rng(0))  # type: ignore[arg-type]
    assert [len((one or "").split()) for one in made] == [len((one or "").split()) for one in values]
    assert Counter(" ".join(filter(None, made)).split()) == Counter(" ".join(filter(None, values)).split())


def test_unrelated_names_are_found_as_often_as_by_chance() -> None:
    """On names whose words are drawn independently, both counts agree."""
    counts = np.zeros(2)
    for seed in (6, 7):
        rng = np.random.default_rng(seed)
        vocabulary = [word.lower() for word in words(rng, 400)]
        names = [" ".join(vocabulary[i] for i in rng.integers(0, 400, 3)) for _ in range(2000)]
        found = la.records.pairs(pa.table({"name": names}), id="none", audit=0, threshold=0.6)
        table, stands_for = chance_pairs([field_of(names)], np.ones(2000, np.int64), 10)  # type: ignore[list-item]
        counts += len(found.pairs), float(stands_for[table.similarity([1.0], 0.0) >= 0.6].sum())
    assert counts[1] == pytest.approx(counts[0], rel=0.15)


@pytest.mark.promise("docs/how-to/records.md", "a threshold that more pairs reach than by chance")
def test_no_threshold_where_nothing_exceeds_chance() -> None:
    score = np.linspace(0, 0.9, 200, dtype=np.float32)
    one = np.ones(200)
    assert above_chance(score, one, score, one) > 0.9
    assert above_chance(np.append(score, np.full(40, 0.95, np.float32)), np.ones(240), score, one) > 0.85


def test_names_of_one_column_are_not_all_alike() -> None:
    """By EM alone, 1,700 pairs are found where 310 are true."""
    case = CASES["one_name"](np.random.default_rng(1))
    found = la.records.pairs(case.tables[0], id="none", audit=0)
    assert len(found.pairs) < 2 * len(case.truth)
