"""Minhash by permutations and by one pass over the rows, digit by digit, and the same by the fast code."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike as la
from lookalike.core.arrays import Signatures
from lookalike.errors import UsageError
from lookalike.kinds.documents.signatures import sketch_by_permutations

book = la.textbook
INF = math.inf

FOUR = book.CharacteristicMatrix.of([{1, 2, 6, 7}, {3, 4, 5}, {1, 6, 7}, {2, 3, 4, 5}], rows=range(1, 8))
THREE = [(2, 3, 7, 6, 1, 5, 4), (4, 2, 1, 3, 6, 7, 5), (3, 4, 7, 2, 6, 1, 5)]


def by_kernel(matrix: book.CharacteristicMatrix, permutations: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Rows of the signature matrix, by the fast code: one signature for each column."""
    made = sketch_by_permutations(matrix.sets(), np.array(permutations, np.uint32))
    return [tuple(row) for row in made.values.T.tolist()]


def test_three_permutations_of_seven_rows() -> None:
    signature = FOUR.signature(THREE)
    assert signature.rows == ((2, 1, 2, 1), (2, 1, 4, 1), (1, 2, 1, 2))
    assert by_kernel(FOUR, THREE) == list(signature.rows)
    pairs = [(0, 2), (1, 3), (0, 1), (2, 3)]
    assert [FOUR.jaccard(*pair) for pair in pairs] == [Fraction(3, 4), Fraction(3, 4), 0, 0]
    assert [signature.similarity(*pair) for pair in pairs] == [Fraction(2, 3), 1, 0, 0]
    fast = sketch_by_permutations(FOUR.sets(), np.array(THREE, np.uint32))
    assert [fast.similarity(*pair)[0] for pair in pairs] == [2 / 3, 1.0, 0.0, 0.0]


@pytest.mark.promise("docs/tutorial/textbook.md", "They agree in the same places")
def test_the_same_by_the_number_of_the_row() -> None:
    by_row = FOUR.signature(THREE, form="row").rows
    assert by_row == ((1, 5, 1, 5), (2, 3, 1, 3), (6, 4, 6, 4))
    for positions, rows in zip(FOUR.signature(THREE).rows, by_row, strict=True):
        for i, j in combinations(range(4), 2):
            assert (positions[i] == positions[j]) == (rows[i] == rows[j])


def test_three_other_permutations() -> None:
    matrix = book.CharacteristicMatrix.of([{3, 6}, {1, 4, 6}, {1, 2, 7}, {2, 4, 5}], rows=range(1, 8))
    permutations = [(1, 2, 3, 4, 5, 6, 7), (7, 6, 5, 4, 3, 2, 1), (6, 3, 1, 7, 2, 5, 4)]
    assert matrix.signature(permutations).rows == ((3, 1, 1, 2), (2, 2, 1, 3), (1, 5, 3, 2))
    assert by_kernel(matrix, permutations) == list(matrix.signature(permutations).rows)


@pytest.mark.promise("docs/tutorial/textbook.md", "all slots start at infinity")
def test_one_pass_with_two_hash_functions() -> None:
    """The table after each row; slots start at infinity."""
    matrix = book.CharacteristicMatrix.of({"S1": {0, 3}, "S2": {2}, "S3": {1, 3, 4}, "S4": {0, 2, 3}}, rows=range(5))
    steps = [after.rows for after in matrix.one_pass([lambda x: (x + 1) % 5, lambda x: (3 * x + 1) % 5])]
    assert steps == [
        ((1, INF, INF, 1), (1, INF, INF, 1)),
        ((1, INF, 2, 1), (1, INF, 4, 1)),
        ((1, 3, 2, 1), (1, 2, 4, 1)),
        ((1, 3, 2, 1), (0, 2, 0, 0)),
        ((1, 3, 0, 1), (0, 2, 0, 0)),
    ]
    *_, last = matrix.one_pass([lambda x: (x + 1) % 5, lambda x: (3 * x + 1) % 5])
    assert last.similarity(0, 3) == 1
    assert matrix.jaccard(0, 3) == Fraction(2, 3)
    assert str(last) == "    S1 S2 S3 S4\nh1   1  3  0  1\nh2   0  2  0  0"
    noun = last.signatures(la.Recipe(scheme="minhash-1", length=2))
    assert noun.similarity(0, 3)[0] == 1.0


@pytest.mark.promise("docs/tutorial/textbook.md", "The first column ends with 1 and 2, the second with 0 and 0")
def test_one_pass_over_two_columns() -> None:
    matrix = book.CharacteristicMatrix.of([{1, 3, 4}, {2, 3, 5}], rows=range(1, 6))
    *_, last = matrix.one_pass([lambda x: x % 5, lambda x: (2 * x + 1) % 5])
    assert [tuple(row[column] for row in last.rows) for column in (0, 1)] == [(1, 2), (0, 0)]


@pytest.mark.promise("docs/tutorial/textbook.md", "are 40 MB")
def test_a_hundred_thousand_signatures_of_a_hundred_integers_are_forty_megabytes() -> None:
    signatures = Signatures(np.empty((100_000, 100), np.uint32), la.Recipe(length=100))
    assert signatures.values.nbytes == 40_000_000


sets = st.lists(st.sets(st.integers(1, 6)), min_size=1, max_size=4)


@given(sets, st.permutations(range(1, 7)))
@settings(max_examples=50, deadline=None)
def test_the_fast_code_agrees_on_any_permutation(columns: list[set[int]], permutation: list[int]) -> None:
    matrix = book.CharacteristicMatrix.of(columns, rows=range(1, 7))
    fast = by_kernel(matrix, [tuple(permutation)])[0]
    assert tuple(INF if value == 0xFFFFFFFF else value for value in fast) == matrix.minhash(permutation)


@pytest.mark.promise("docs/tutorial/textbook.md", "Over all permutations the estimate is the truth")
@pytest.mark.promise(
    "docs/tutorial/textbook.md", "The chance that two columns have the same minhash is their Jaccard similarity"
)
@given(sets.filter(lambda columns: len(columns) > 1))
@settings(max_examples=15, deadline=None)
def test_over_all_permutations_minhashes_agree_as_often_as_columns_are_similar(columns: list[set[int]]) -> None:
    """The theorem itself, on four rows: the share of the 24 permutations is the Jaccard similarity, exactly."""
    from itertools import permutations

    small = [{x for x in column if x < 5} for column in columns]
    matrix = book.CharacteristicMatrix.of(small, rows=range(1, 5))
    signature = matrix.signature(permutations(range(1, 5)))
    assert signature.similarity(0, 1) == matrix.jaccard(0, 1) == matrix.row_types(0, 1).similarity


def test_estimates_by_la_minhash() -> None:
    """The estimate of two real signatures lies near the Jaccard similarity of the example: 2/3."""
    one, other = la.MinHash.bulk([["0", "3"], ["0", "2", "3"]], num_perm=1024)
    assert abs(one.jaccard(other) - 2 / 3) < 0.08


def test_bands_of_a_signature() -> None:
    signature = book.SignatureMatrix(("C1", "C2"), ((1, 1), (2, 2), (3, 4), (5, 5)))
    assert signature.bands(2) == [[(1, 2), (1, 2)], [(3, 5), (4, 5)]]
    with pytest.raises(UsageError, match=r"^4 rows cannot be cut into bands of 3; expected a divisor\.$"):
        signature.bands(3)


def test_what_is_no_permutation() -> None:
    with pytest.raises(UsageError, match=r"^\(1, 1, 2\) is no permutation of 1 to 7\.$"):
        FOUR.minhash((1, 1, 2))
    with pytest.raises(UsageError, match=r"^the recipe is of length 128; this matrix has 3 rows\.$"):
        FOUR.signature(THREE).signatures(la.Recipe())
