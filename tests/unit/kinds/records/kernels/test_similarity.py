"""Edits, words and whole records, against slow and obvious twins."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.kinds.records.comparisons import WholeRecords, compare
from lookalike.kinds.records.fields import make_field
from lookalike.kinds.records.kernels import similarity
from lookalike.kinds.records.rules import FieldRule

PAIR = np.array([0], np.uint32), np.array([1], np.uint32)


def slow_edits(a: str, b: str) -> int:
    """Optimal string alignment, the whole table."""
    table = {(i, 0): i for i in range(len(a) + 1)} | {(0, j): j for j in range(len(b) + 1)}
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            options = [table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + (a[i - 1] != b[j - 1])]
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                options.append(table[i - 2, j - 2] + 1)
            table[i, j] = min(options)
    return table[len(a), len(b)]


def letters(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("utf-16-le"), np.uint16)


@settings(deadline=None)
@given(st.text(alphabet="abc", max_size=9), st.text(alphabet="abc", max_size=9), st.integers(0, 4))
def test_edits_equal_the_whole_table(a: str, b: str, most: int) -> None:
    rows = np.full((3, similarity.MAX_EDIT_LETTERS + 2), -99, np.int64)  # leftovers of another pair must not matter
    assert similarity.edits(letters(a), letters(b), most, rows) == min(slow_edits(a, b), most + 1)


WORDS = st.lists(st.text(alphabet="abc1", min_size=1, max_size=7), min_size=1, max_size=6)


@settings(deadline=None)
@given(WORDS, WORDS, st.data())
def test_the_closest_word_is_the_first_of_the_most_similar_ones(
    one: list[str], other: list[str], data: st.DataObject
) -> None:
    """Lengths and letters exclude words before they are compared, and never the closest one."""
    column = pa.chunked_array([[" ".join(one), " ".join(other)]], pa.large_string())
    words = make_field(column, FieldRule(column="x")).words
    ends = words.offsets.tolist()
    a0, a1, b0, b1 = (ends[0], ends[1], ends[1], ends[2]) if len(ends) > 2 else (0, ends[1], 0, ends[1])
    used = np.array(data.draw(st.lists(st.booleans(), min_size=b1 - b0, max_size=b1 - b0)), np.bool_)
    rows = np.empty((3, similarity.MAX_EDIT_LETTERS + 2), np.int64)
    for i in range(a0, a1):
        a = similarity.word(words, i)
        seen = [0.0 if used[j] else similarity.word_likeness(a, similarity.word(words, b0 + j), words.masks[i],
                                                             words.masks[b0 + j], rows) for j in range(b1 - b0)]  # fmt: skip
        best = max(seen)
        expected = (best, seen.index(best)) if best > 0 else (0.0, -1)
        assert similarity.closest_word(words, i, b0, b1 - b0, used, rows) == expected


def values(kind: str, *texts: str | None) -> float:
    """The similarity of the first two texts in a column of all."""
    made = make_field(pa.chunked_array([list(texts)], pa.large_string()), FieldRule(column="x", compare=kind))
    return float(compare(made, *PAIR)[0])


OTHERS = [f"other{n} thing{n}" for n in range(30)]


def test_words() -> None:
    assert values("words", "ann lee", "lee ann", *OTHERS) == 1.0
    assert values("words", "pslx 350h", "pslx350h", *OTHERS) == 1.0
    assert 0.7 < values("words", "johnson street", "jonhson street", *OTHERS) < 1.0
    assert values("words", "model 350", "model 360", *["model " + str(n) for n in range(30)]) < 0.1
    assert values("words", "j smith", "john smith", *OTHERS) > 0.8
    assert np.isnan(values("words", None, "ann"))
    rare = values("words", "zanzibar the", "zanzibar a", *["the a" for _ in range(40)])
    common = values("words", "the zanzibar", "the timbuktu", *["the a" for _ in range(40)])
    assert rare > 0.9 > 0.1 > common


def test_codes_numbers_and_dates() -> None:
    assert values("code", "555-0100", "5550100") == 1.0
    assert np.isclose(values("code", "5550100", "5550101"), 2 / 3)
    assert values("code", "5550100", "9178264") == 0.0
    assert np.isclose(values("number", "$100.00", "90"), 0.9)
    assert values("number", "1,000", "1000") == 1.0
    assert values("date", "19/2/1980", "1980-02-19") == 1.0
    assert np.isclose(values("date", "1980-02-19", "1980-02-20"), 0.9)
    assert values("exact", "a b", "A-B") == 1.0
    assert values("exact", "a b", "a c") == 0.0


def test_rapidfuzz_scores() -> None:
    assert np.isclose(values("jaro_winkler", "martha", "marhta"), 0.9611, atol=1e-4)
    assert np.isclose(values("edit", "abcd", "abdc"), 0.75)
    assert values("token_set", "ann lee", "lee ann of york") == 1.0


@settings(deadline=None)
@given(st.lists(st.text(alphabet="abc ", max_size=12), min_size=2, max_size=6))
def test_whole_records_are_a_cosine(texts: list[str]) -> None:
    field = make_field(pa.chunked_array([texts], pa.large_string()), FieldRule(column="x"))
    sets = [set(text.split()) for text in texts]
    holders = {word: sum(word in one for one in sets) for one in sets for word in one}
    weight = {word: np.log2((len(sets) + 1) / count) ** 2 for word, count in holders.items()}

    def total(words: set[str]) -> float:
        return sum(weight[word] for word in words)

    both = np.sqrt(total(sets[0]) * total(sets[1]))
    expected = total(sets[0] & sets[1]) / both if both else 0.0
    assert np.isclose(WholeRecords([field]).compare(*PAIR)[0], expected, atol=1e-5)
