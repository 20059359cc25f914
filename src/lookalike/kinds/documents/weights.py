"""Weights of elements: inverse document frequencies, and weights that the user gives."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lookalike.core.arrays import F64, I64, U64, Sets
from lookalike.core.candidates import Items
from lookalike.core.measures import SetMeasure
from lookalike.errors import InputError, UsageError, listed
from lookalike.io.columns import as_numbers
from lookalike.io.origin import sha256_of
from lookalike.io.tables import OpenTable, as_ids, open_table
from lookalike.kernels import bounds
from lookalike.kinds.documents.kernels import weighted

SMALLEST_WEIGHT, LARGEST_WEIGHT = 1e-9, 1e9  # squares and sums of weights must not overflow or vanish
LISTED_WEIGHTS = 1000  # maximum number of weights that a receipt lists
FIRST_SLOTS = 1 << 12  # hash table of the vocabulary at the beginning


@dataclass(frozen=True, eq=False)
class OwnWeights:
    """The weights that the user gave. elements u64[w], ascending; weights f64[w]. Other elements weigh 1.

    given: the file that they come from, or the items with their weights, for the receipt.
    """

    elements: U64
    weights: F64
    given: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return the number, a hash and the source of the weights, for the receipt."""
        content = self.elements.astype("<u8").tobytes() + self.weights.astype("<f8").tobytes()
        return {
            "count": len(self.weights),
            "blake2b": hashlib.blake2b(content, digest_size=16).hexdigest(),
            **self.given,
        }

    def of(self, vocabulary: U64) -> tuple[F64, npt.NDArray[np.bool_]]:
        """Return the weight of each element, and whether the user gave it."""
        if not len(self.elements):
            return np.ones(len(vocabulary)), np.zeros(len(vocabulary), np.bool_)
        at = np.minimum(np.searchsorted(self.elements, vocabulary), len(self.elements) - 1)
        known = self.elements[at] == vocabulary
        return np.where(known, self.weights[at], 1.0), known


def named_weights(given: Any) -> tuple[pa.Array, F64]:
    """Read weights from a dict, or from a table with the columns item and weight; return the items and the weights.

    >>> named_weights({"milk": 0.5, "truffles": 20})[1].tolist()
    [0.5, 20.0]
    """
    if isinstance(given, Mapping):
        return _checked(list(given), list(given.values()), "weights")
    if not (isinstance(given, str | os.PathLike) or hasattr(given, "__arrow_c_stream__")):
        raise UsageError(
            f"weights is {type(given).__name__}; expected a dict, or a table or file with the columns item and weight."
        )
    table = open_table(given, name="weights")
    names = _columns(table)
    rows = table.read(names)
    numbers = as_numbers(rows[names[1]], f"column {names[1]!r} in {table.name}").tolist()
    items = as_ids(rows[names[0]], what=f"column {names[0]!r} in {table.name}")
    return _checked(items.to_pylist(), [None if math.isnan(one) else one for one in numbers], table.name)


def _columns(table: OpenTable) -> list[str]:
    """Return the names of the columns of items and weights: item and weight, or the only two."""
    if {"item", "weight"} <= set(table.columns):
        return ["item", "weight"]
    if len(table.columns) == 2:
        return table.columns
    raise InputError(
        f"{table.name} has the columns {listed(table.columns) or '(none)'}; expected item and weight, or two columns."
    )


def _checked(items: list[Any], weights: list[Any], name: str) -> tuple[pa.Array, F64]:
    """Check the weights one by one, so that a message names the first that cannot be used."""
    if not items:
        raise UsageError(f"{name}: no weights; expected at least one item with its weight.")
    for item, weight in zip(items, weights, strict=True):
        usable = isinstance(weight, int | float | np.number) and not isinstance(weight, bool)
        if not usable or math.isnan(weight) or not SMALLEST_WEIGHT <= weight <= LARGEST_WEIGHT:
            what = "missing" if weight is None else repr(weight) if not usable else f"{weight:g}"
            raise UsageError(
                f"{name}: the weight of {item!r} is {what}; expected a number from {SMALLEST_WEIGHT:g} to "
                f"{LARGEST_WEIGHT:g}."
            )
    if len(set(items)) < len(items):
        twice = next(item for number, item in enumerate(items) if item in items[:number])
        raise UsageError(f"{name}: {twice!r} has two weights; expected one.")
    kind = pa.int64() if all(isinstance(item, int) for item in items) else pa.large_string()
    return pa.array([item if kind == pa.int64() else str(item) for item in items], kind), np.array(weights, np.float64)


def described(given: Any) -> dict[str, Any]:
    """Return the file of the weights and its hash, or the items with their weights if there are not too many."""
    if isinstance(given, Mapping):
        few = len(given) <= LISTED_WEIGHTS
        return {"listed": {str(item): float(weight) for item, weight in given.items()}} if few else {}
    if not isinstance(given, str | os.PathLike) or not os.path.isfile(given):
        return {}
    return {"path": os.fspath(given), "folder": os.getcwd(), "sha256": sha256_of(Path(given))}


def own_weights(sets: Sets, items: pa.Array, weights: F64, given: Any) -> OwnWeights:
    """Return the weights by element. sets: the shingles of each item, of which there must be one. given: by users."""
    sizes = sets.sizes
    if len(odd := np.flatnonzero(sizes != 1)):
        first = int(odd[0])
        raise UsageError(
            f"weights: {items[first].as_py()!r} has {int(sizes[first])} shingles; expected one, so that it has a "
            "weight. With k=1 the items are single words or tokens."
        )
    order = np.argsort(sets.elements, kind="stable")
    elements, weights = sets.elements[order], weights[order]
    same = np.flatnonzero(elements[1:] == elements[:-1])
    different = same[weights[same] != weights[same + 1]]
    if len(different):
        pair = sorted(items[int(order[at])].as_py() for at in (different[0], different[0] + 1))
        raise UsageError(f"weights: {pair[0]!r} and {pair[1]!r} are the same shingle and have different weights.")
    keep = np.append(elements[1:] != elements[:-1], True) if len(elements) else np.empty(0, np.bool_)
    return OwnWeights(elements[keep], weights[keep], described(given))


@dataclass(frozen=True)
class WeightedSets:
    """Sets of numbered elements with weights; elements of a single set are only in the norms.

    measure: code of the set measure. numbers i32[p], ascending in each set, the rarest element is 0; values f64[p];
    offsets i64[n+1]; norms f64[n]: the weight of each set, for the cosine the sum of squares. vocabulary: number of
    numbered elements.
    """

    measure: int
    numbers: npt.NDArray[np.int32]
    values: F64
    offsets: I64
    norms: F64
    vocabulary: int

    def __len__(self) -> int:
        return len(self.norms)

    @property
    def scaled(self) -> F64:
        """The norms for bounds, where sets of the cosine have length 1."""
        return np.ones(len(self)) if self.measure == bounds.COSINE else self.norms


@dataclass(frozen=True)
class Weighting:
    """How elements are weighted. idf: by their inverse document frequency; own: by the user's weights; bag: elements
    count as often as they occur; narrow: elements are hashes of 32 bits. With idf and own weights both are multiplied.
    """

    idf: bool
    own: OwnWeights | None
    bag: bool
    narrow: bool

    def weigh(self, items: Items, times: I64, documents: int) -> WeighedElements:
        """Weight the elements of sets. times i64[n]: the number of items with each set; documents: items in all.

        The idf of an element of c items is ln((1 + documents) / (1 + c)) + 1.
        """
        elements, starts, sizes, counts = items.elements, items.starts, items.sizes, np.empty(0)
        if self.bag:
            elements, counts, ends = np.empty(int(sizes.sum()), np.uint64), np.empty(int(sizes.sum())), sizes.copy()
            weighted.count_repeats(items.elements, starts, sizes, self.narrow, elements, counts, ends)
            starts, sizes = np.concatenate([ends[:0], [0], ends[:-1]])[: len(ends)], np.diff(ends, prepend=0)
        found = _Vocabulary.of(elements, starts, sizes, times)
        weights, known = np.ones(len(found.elements)), 0
        if self.own is not None:
            weights, listed = self.own.of(found.elements)
            known = int(listed.sum())
        if self.idf:
            weights = weights * (np.log((1 + documents) / (1 + found.items)) + 1)
        return WeighedElements(
            found.elements, found.sets, weights, np.ascontiguousarray(sizes), found.places, counts, known
        )


@dataclass(frozen=True)
class WeighedElements:
    """The elements of sets and their weights.

    vocabulary u64[v]: the distinct elements; sets i64[v]: how many have each; weights f64[v]. sizes i64[n]; places
    i64[p]: place of each element of each set in the vocabulary; counts f64[p]: its occurrences, empty if each occurs
    once.
    listed: number of elements to which the user gave a weight.
    """

    vocabulary: U64
    sets: I64
    weights: F64
    sizes: I64
    places: I64
    counts: F64
    listed: int

    def vectors(self, measure: SetMeasure) -> WeightedSets:
        """Number the elements, the rarest first, and sort those of each set."""
        shared = np.flatnonzero(self.sets > 1)
        ranks = np.full(len(self.vocabulary), -1, np.int64)
        ranks[shared[np.lexsort((self.vocabulary[shared], self.sets[shared]))]] = np.arange(len(shared))
        room = int(self.sets[shared].sum())
        numbers, values = np.empty(room, np.int32), np.empty(room)
        offsets, norms = np.zeros(len(self.sizes) + 1, np.int64), np.empty(len(self.sizes))
        weighted.take_vectors(
            measure.code, self.places, self.counts, self.sizes, ranks, self.weights, numbers, values, offsets, norms
        )
        return WeightedSets(measure.code, numbers, values, offsets, norms, len(shared))


@dataclass(frozen=True)
class _Vocabulary:
    """The distinct elements of sets in order of appearance. elements u64[v]; sets, items i64[v]: how many have it;
    places i64[nnz]: place of each element of each set."""

    elements: U64
    sets: I64
    items: I64
    places: I64

    @classmethod
    def of(cls, elements: U64, starts: I64, sizes: I64, times: I64) -> _Vocabulary:
        places = np.empty(int(sizes.sum()), np.int64)
        largest = int(sizes.max(initial=0))
        slots = max(FIRST_SLOTS, 1 << (4 * largest).bit_length())
        known, sets, items = np.empty(0, np.uint64), np.empty(0, np.int64), np.empty(0, np.int64)
        i = at = found = 0
        while True:
            keys, numbers = np.zeros(slots, np.uint64), np.empty(slots, np.int64)
            weighted.fill_slots(known[:found], keys, numbers)
            known, sets, items = (_grown(column, found, slots // 2) for column in (known, sets, items))
            i, at, found = weighted.number_elements(
                elements, starts, sizes, times, i, at, found, keys, numbers, known, sets, items, places
            )
            if i == len(starts):
                return cls(known[:found], sets[:found], items[:found], places)
            slots *= 4


def _grown(column: npt.NDArray[Any], used: int, room: int) -> npt.NDArray[Any]:
    out = np.empty(room, column.dtype)
    out[:used] = column[:used]
    return out
