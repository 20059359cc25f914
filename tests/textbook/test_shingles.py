"""Shingles and the similarity of sets, with the numbers of the lectures."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pyarrow as pa
import pytest

import lookalike as la
from lookalike.core.arrays import ShingleRule
from lookalike.errors import UsageError
from lookalike.kinds.documents.features import shingle

book = la.textbook


def fast(text: str, k: int, *, bag: bool = False) -> int:
    """How many character shingles the fast code makes."""
    rule = ShingleRule(unit="char", k=k, bag=bag, squeeze_space=False)
    return int(shingle(pa.array([text], pa.large_string()), rule).sizes[0])


@pytest.mark.promise("docs/tutorial/textbook.md", "A document becomes the set of all its runs of k characters")
def test_the_shingles_of_abcab() -> None:
    assert set(book.shingles("abcab", 2)) == {"ab", "bc", "ca"}
    assert Counter(book.shingles("abcab", 2)) == Counter(["ab", "bc", "ca", "ab"])
    assert fast("abcab", 2) == 3
    assert fast("abcab", 2, bag=True) == 4


def test_a_changed_word_changes_the_shingles_around_it() -> None:
    """Words change from which to that: only the shingles that touch the word, or the blanks next to it, are replaced."""
    which, that = "The dog which chased the cat", "The dog that chased the cat"
    one, other = (set(book.shingles(text, 3)) for text in (which, that))
    assert {s.replace(" ", "_") for s in one - other} == {"g_w", "_wh", "whi", "hic", "ich", "ch_", "h_c"}
    exact = book.jaccard(one, other)
    assert la.jaccard(which, that, unit="char", k=3, fold_case=False) == float(exact)


@pytest.mark.parametrize(("k", "shared", "whole"), [(1, 6, 10), (5, 2, 8), (9, 0, 2)])
def test_editorial_and_factorial(k: int, shared: int, whole: int) -> None:
    one, other = (set(book.shingles(word, k)) for word in ("editorial", "factorial"))
    assert (len(one & other), len(one | other)) == (shared, whole)
    assert la.jaccard("editorial", "factorial", unit="char", k=k) == shared / whole


@pytest.mark.promise("docs/tutorial/textbook.md", "only the second (c), none (d)")
def test_columns_of_bits_with_and_and_or() -> None:
    matrix = book.CharacteristicMatrix.of_bits("10111", "10011")
    assert matrix.jaccard(0, 1) == Fraction(3, 4)
    other = book.CharacteristicMatrix.of_bits("011010", "101011")
    assert other.jaccard(0, 1) == Fraction(2, 5)
    assert other.row_types(0, 1) == (2, 1, 2, 1)
    assert other.row_types(0, 1).similarity == Fraction(2, 5)
    assert la.jaccard({2, 3, 5}, {1, 3, 5, 6}) == 2 / 5


@pytest.mark.promise("docs/tutorial/textbook.md", "a row for every element and a column for every set")
def test_the_characteristic_matrix_of_four_sets() -> None:
    matrix = book.CharacteristicMatrix.of({"S1": "ad", "S2": "c", "S3": "bde", "S4": "acd"})
    assert matrix.rows == tuple("abcde")
    assert [matrix.bits(column) for column in range(4)] == [
        (1, 0, 0, 1, 0), (0, 0, 1, 0, 0), (0, 1, 0, 1, 1), (1, 0, 1, 1, 0),
    ]  # fmt: skip
    assert matrix.jaccard(0, 2) == Fraction(1, 4)
    assert matrix.row_types(0, 2) == (1, 1, 2, 1)
    assert matrix.sets().sizes.tolist() == [2, 1, 3, 3]
    assert la.jaccard(["a", "d"], ["b", "d", "e"]) == 1 / 4


def test_what_is_no_matrix() -> None:
    with pytest.raises(UsageError, match=r"^the sets hold \['z'\], which have no row\.$"):
        book.CharacteristicMatrix.of([{"z"}], rows="abc")
    with pytest.raises(UsageError, match=r"^k is 0; a shingle needs at least 1 token\.$"):
        book.shingles("abc", 0)
