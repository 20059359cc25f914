"""Textbook versions of minhashing and LSH: small, exact and deliberately slow.

Sets are the columns of a characteristic matrix, similarities are fractions, and signatures are the columns of a
signature matrix. `CharacteristicMatrix.sets` and `SignatureMatrix.signatures` convert to the types of the fast code.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np

from lookalike.core.arrays import Recipe, Sets, Signatures, check_choice
from lookalike.core.shingle_options import check_length
from lookalike.errors import UsageError
from lookalike.planning.banding import Sensitive
from lookalike.planning.families import Family

Form = Literal["position", "row"]
INFINITY = math.inf


def shingles(text: Sequence[Any], k: int) -> list[Any]:
    """List all runs of k consecutive characters (or tokens), in order and with repeats: the bag of shingles.

    >>> shingles("abcab", 2), sorted(set(shingles("abcab", 2)))
    (['ab', 'bc', 'ca', 'ab'], ['ab', 'bc', 'ca'])
    """
    check_length(k)
    return [text[at : at + k] for at in range(len(text) - k + 1)]


def jaccard(left: Iterable[Hashable], right: Iterable[Hashable]) -> Fraction:
    """Compute the Jaccard similarity |A ∩ B| / |A ∪ B|, which is 0 for two empty sets.

    >>> jaccard("editorial", "factorial")
    Fraction(3, 5)
    """
    one, other = set(left), set(right)
    return Fraction(len(one & other), len(one | other) or 1)


class RowTypes(NamedTuple):
    """The number of rows in which two columns are 1 1 (a), 1 0 (b), 0 1 (c) and 0 0 (d)."""

    a: int
    b: int
    c: int
    d: int

    @property
    def similarity(self) -> Fraction:
        """The Jaccard similarity a / (a + b + c); rows of type d do not count."""
        return Fraction(self.a, self.a + self.b + self.c or 1)


@dataclass(frozen=True)
class CharacteristicMatrix:
    """A matrix with sets as columns and the elements of the universe as rows: 1 if the set contains the element.

    >>> print(CharacteristicMatrix.of({"S1": "ad", "S2": "c", "S3": "bde", "S4": "acd"}))
       S1 S2 S3 S4
    a   1  0  0  1
    b   0  0  1  0
    c   0  1  0  1
    d   1  0  1  1
    e   0  0  1  0
    """

    rows: tuple[Hashable, ...]
    names: tuple[str, ...]
    columns: tuple[frozenset[Hashable], ...]

    @classmethod
    def of(
        cls, sets: Mapping[str, Iterable[Hashable]] | Sequence[Iterable[Hashable]], *, rows: Iterable[Hashable] = ()
    ) -> CharacteristicMatrix:
        """Build the matrix of these sets. rows: the universe in row order; default: all elements, sorted."""
        named = dict(sets) if isinstance(sets, Mapping) else {f"C{i}": one for i, one in enumerate(sets, 1)}
        columns = tuple(frozenset(one) for one in named.values())
        everything: Any = frozenset().union(*columns)
        universe = tuple(rows) or tuple(sorted(everything))
        if not everything <= set(universe):
            raise UsageError(f"the sets hold {sorted(everything - set(universe), key=str)}, which have no row.")
        return cls(universe, tuple(named), columns)

    @classmethod
    def of_bits(cls, *columns: str) -> CharacteristicMatrix:
        """Build the matrix from columns written as strings of 0 and 1, with the rows 1, 2, ...

        >>> CharacteristicMatrix.of_bits("10111", "10011").jaccard(0, 1)
        Fraction(3, 4)
        """
        sets = [{row for row, bit in enumerate(column, 1) if bit == "1"} for column in columns]
        return cls.of(sets, rows=range(1, max(map(len, columns), default=0) + 1))

    def bits(self, column: int) -> tuple[int, ...]:
        """Return a column as bits from top to bottom."""
        return tuple(int(row in self.columns[column]) for row in self.rows)

    def jaccard(self, i: int, j: int) -> Fraction:
        """Compute the Jaccard similarity of two columns: ones of their AND divided by ones of their OR."""
        pairs = list(zip(self.bits(i), self.bits(j), strict=True))
        return Fraction(sum(x & y for x, y in pairs), sum(x | y for x, y in pairs) or 1)

    def row_types(self, i: int, j: int) -> RowTypes:
        """Count the rows of each of the four types.

        >>> CharacteristicMatrix.of_bits("011010", "101011").row_types(0, 1)
        RowTypes(a=2, b=1, c=2, d=1)
        """
        pairs = list(zip(self.bits(i), self.bits(j), strict=True))
        return RowTypes(*(pairs.count(kind) for kind in ((1, 1), (1, 0), (0, 1), (0, 0))))

    def minhash(self, permutation: Sequence[int], *, form: Form = "position") -> tuple[float, ...]:
        """Compute the minhash of each column: the first row, in the order of the permutation, that has a 1.

        The value is the position in the permutation (1, 2, ...) or, with form="row", the number of the row in the
        matrix; infinity for an empty set. permutation[i] is the position of row i+1.

        >>> matrix = CharacteristicMatrix.of([{1, 2, 6, 7}, {3, 4, 5}], rows=range(1, 8))
        >>> matrix.minhash((2, 3, 7, 6, 1, 5, 4)), matrix.minhash((2, 3, 7, 6, 1, 5, 4), form="row")
        ((2, 1), (1, 5))
        """
        check_choice("form", form, ("position", "row"))
        if sorted(permutation) != list(range(1, len(self.rows) + 1)):
            raise UsageError(f"{tuple(permutation)} is no permutation of 1 to {len(self.rows)}.")
        number = {row: i for i, row in enumerate(self.rows, 1)}
        out: list[float] = []
        for column in self.columns:
            first = min(column, key=lambda row: permutation[number[row] - 1], default=None)
            if first is None:
                out.append(INFINITY)
            else:
                out.append(number[first] if form == "row" else permutation[number[first] - 1])
        return tuple(out)

    def signature(self, permutations: Iterable[Sequence[int]], *, form: Form = "position") -> SignatureMatrix:
        """Compute the signature matrix: one row of minhashes for each permutation."""
        return SignatureMatrix(self.names, tuple(self.minhash(one, form=form) for one in permutations))

    def one_pass(self, functions: Sequence[Callable[[Any], int]]) -> Iterator[SignatureMatrix]:
        """Compute the signature matrix in one pass over the rows, and yield it after each row.

        Slots start at infinity. If a column has a 1 in the row, its slot for each function becomes the minimum of its
        value and the function of the row. The rows must be numbers.

        >>> matrix = CharacteristicMatrix.of([{0, 3}, {2}], rows=range(5))
        >>> for after in matrix.one_pass([lambda x: (x + 1) % 5]):
        ...     print(*after.rows)
        (1, inf)
        (1, inf)
        (1, 3)
        (1, 3)
        (1, 3)
        """
        slots = [[INFINITY] * len(self.columns) for _ in functions]
        for row in self.rows:
            hashes = [function(row) for function in functions]
            for c, column in enumerate(self.columns):
                if row in column:
                    for slot, value in zip(slots, hashes, strict=True):
                        slot[c] = min(slot[c], value)
            yield SignatureMatrix(self.names, tuple(tuple(slot) for slot in slots))

    def sets(self) -> Sets:
        """Convert the columns to `Sets`; the elements are the row numbers, from 0."""
        number = {row: i for i, row in enumerate(self.rows)}
        lists = [sorted(number[row] for row in column) for column in self.columns]
        ends = np.cumsum([0, *map(len, lists)]).astype(np.int64)
        return Sets(np.array([x for one in lists for x in one], np.uint64), ends)

    def __str__(self) -> str:
        return _table(self.names, [(str(row), [int(row in one) for one in self.columns]) for row in self.rows])


@dataclass(frozen=True)
class SignatureMatrix:
    """A signature matrix: one row for each hash function, one column for each set.

    >>> print(SignatureMatrix(("C1", "C2"), ((1, 3), (0, math.inf))))
        C1 C2
    h1   1  3
    h2   0  ∞
    """

    names: tuple[str, ...]
    rows: tuple[tuple[float, ...], ...]

    def similarity(self, i: int, j: int) -> Fraction:
        """Estimate the Jaccard similarity of two sets by the share of rows in which their columns agree."""
        agree = sum(row[i] == row[j] != INFINITY for row in self.rows)
        return Fraction(agree, len(self.rows) or 1)

    def bands(self, rows: int) -> list[list[tuple[float, ...]]]:
        """Divide each column into bands of `rows` rows; columns that are equal in a band share a bucket."""
        if rows < 1 or len(self.rows) % rows:
            raise UsageError(f"{len(self.rows)} rows cannot be cut into bands of {rows}; expected a divisor.")
        parts = pairwise(range(0, len(self.rows) + 1, rows))
        return [[tuple(row[c] for row in self.rows[a:b]) for c in range(len(self.names))] for a, b in parts]

    def signatures(self, recipe: Recipe) -> Signatures:
        """Convert to `Signatures`, with one signature per row and the given recipe."""
        if recipe.length != len(self.rows):
            raise UsageError(f"the recipe is of length {recipe.length}; this matrix has {len(self.rows)} rows.")
        values = np.array(self.rows, np.float64).T
        return Signatures(np.where(np.isinf(values), 0xFFFFFFFF, values).astype(np.uint32), recipe)

    def __str__(self) -> str:
        return _table(self.names, [(f"h{i}", list(row)) for i, row in enumerate(self.rows, 1)])


def comparisons(n: int) -> int:
    """Return the number of pairs of n items, n (n - 1) / 2."""
    return n * (n - 1) // 2


def longest_common_subsequence(left: str, right: str) -> str:
    """Find a longest common subsequence of two strings, which need not be contiguous.

    >>> longest_common_subsequence("abcde", "acfdeg")
    'acde'
    """
    best = [[""] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i, x in enumerate(left, 1):
        for j, y in enumerate(right, 1):
            best[i][j] = best[i - 1][j - 1] + x if x == y else max(best[i - 1][j], best[i][j - 1], key=len)
    return best[-1][-1]


def edit_distance(left: str, right: str) -> int:
    """Count the insertions and deletions between two strings: the sum of the lengths minus twice the length of the LCS.

    >>> edit_distance("abcde", "acfdeg")
    3
    """
    return len(left) + len(right) - 2 * len(longest_common_subsequence(left, right))


def hamming(left: Sequence[Any], right: Sequence[Any]) -> int:
    """Count the components in which two vectors differ.

    >>> hamming("10101", "11110")
    3
    """
    if len(left) != len(right):
        raise UsageError(f"the vectors have {len(left)} and {len(right)} components; expected as many.")
    return sum(x != y for x, y in zip(left, right, strict=True))


def angle(left: Sequence[float], right: Sequence[float]) -> float:
    """Compute the angle between two vectors in degrees, the textbook's cosine distance.

    >>> round(angle([1, 2, -1], [2, 1, 1]), 9)
    60.0
    """
    dot = sum(x * y for x, y in zip(left, right, strict=True))
    lengths = math.sqrt(sum(x * x for x in left) * sum(y * y for y in right))
    if not lengths:
        raise UsageError("a vector of length 0 has no direction; expected one that is not all zeros.")
    return math.degrees(math.acos(max(-1.0, min(1.0, dot / lengths))))


def sensitive(family: Family, d1: float, d2: float) -> Sensitive:
    """Return the (d1, d2, p1, p2)-sensitivity of a hash family at two distances.

    >>> from lookalike.planning.families import MINHASH
    >>> print(sensitive(MINHASH, 0.2, 0.6))
    (0.2, 0.6, 0.8, 0.4)-sensitive
    """
    return Sensitive(d1, d2, family.p(d1), family.p(d2))


def _table(names: Sequence[str], rows: list[tuple[str, list[Any]]]) -> str:
    """Format a table with columns of equal width and right-aligned numbers."""
    cells = [[_cell(value) for value in values] for _, values in rows]
    first = max([len(name) for name, _ in rows], default=0)
    width = max([len(text) for line in [list(names), *cells] for text in line], default=0)
    lines = [("", list(names)), *((name, line) for (name, _), line in zip(rows, cells, strict=True))]
    return "\n".join(f"{name:<{first + 1}} " + " ".join(f"{text:>{width}}" for text in line) for name, line in lines)


def _cell(value: float) -> str:
    return "∞" if value == INFINITY else str(value)
