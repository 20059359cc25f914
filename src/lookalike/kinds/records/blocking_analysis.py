"""Blocking analysis: the number of comparisons for each blocking key, and a description of oversized blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import I64
from lookalike.core.candidates import item_bits
from lookalike.kinds.records.blocking import MAX_BLOCK_SIZE, Buckets, OversizedBlocks, ValueKeys, index_keys
from lookalike.kinds.records.comparisons import folded_texts
from lookalike.kinds.records.fields import Field, make_field


@dataclass(frozen=True)
class OversizedBlock:
    """The description of a block. column, key: the origin of its key; value: the word or value that records share."""

    column: str
    key: str
    value: str
    records: int

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def describe_oversized_blocks(fields: Sequence[Field], crowded: Sequence[OversizedBlocks]) -> list[OversizedBlock]:
    """Describe for each oversized block what its records share."""
    bits = item_bits(max(len(fields[0].values), 2))
    return [_describe(fields, crowd, bits) for crowd in crowded]


def _describe(fields: Sequence[Field], crowd: OversizedBlocks, bits: int) -> OversizedBlock:
    for number, field in enumerate(fields):
        place = field.values[crowd.example]
        if place < 0:
            continue
        one = make_field(pa.chunked_array([field.texts.slice(place, 1)]), field.rule)
        for kind in field.rule.keys:
            keys = ValueKeys.of(one, number, (kind,)).keys >> np.uint64(bits)
            at = np.flatnonzero(keys == np.uint64(crowd.key))
            if len(at):
                return OversizedBlock(field.rule.column, kind, _shared(one, kind, int(at[0])), crowd.records)
    return OversizedBlock("?", "?", "?", crowd.records)


def _shared(one: Field, kind: str, at: int) -> str:
    whole = folded_texts(one)[0]
    words = whole.split()
    if kind == "words":
        return words[at]
    return words[at] + words[at + 1] if kind == "joined" else whole


@dataclass(frozen=True)
class KeyCost:
    """The comparisons that one kind of key of one field causes.

    buckets: the number of blocks; pairs: the pairs that share a block; largest, value: the number of records of the
    largest block, and what they share; crowded: the number of blocks of more than MAX_BLOCK_SIZE records.
    """

    column: str
    key: str
    buckets: int
    pairs: int
    largest: int
    crowded: int
    value: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class KeyCosts(list[KeyCost]):
    """The costs of all keys.

    unreached: the ids of the records that are compared with no other record; aligned: columns of the first table that
    have another name in the second.
    """

    unreached: Sequence[Any] = ()
    aligned: Mapping[str, str] = MappingProxyType({})


def unreached_records(fields: Sequence[Field], split: int) -> I64:
    """Return the numbers of the records that share no block with another record (of two tables: with the other one).

    A block of more than MAX_BLOCK_SIZE records counts only where it is intersected with another one.
    """
    index, _, _ = index_keys(fields, split, map)
    return np.flatnonzero(np.diff(index.offsets) == 0)


def key_costs(fields: Sequence[Field], split: int) -> list[KeyCost]:
    """Count the comparisons of every kind of key of every field, each on its own."""
    n = len(fields[0].values)
    bits = item_bits(max(n, 2))
    mask = np.uint64((1 << bits) - 1)
    made = []
    for number, field in enumerate(fields):
        for kind in field.rule.keys:
            found = Buckets.sort(ValueKeys.of(field, number, (kind,)).packed(field.values, bits), bits, split)
            sizes = found.sizes
            value = ""
            if len(sizes):
                word = found.packed[found.begins[int(np.argmax(sizes))]]
                largest = OversizedBlocks(int(sizes.max()), int(word & mask), int(word >> np.uint64(bits)))
                value = _describe([field] if number == 0 else _only(fields, number), largest, bits).value
            pairs = _pairs(found, split)
            made.append(
                KeyCost(
                    field.rule.column,
                    kind,
                    len(sizes),
                    pairs,
                    int(sizes.max(initial=0)),
                    int((sizes > MAX_BLOCK_SIZE).sum()),
                    value,
                )
            )
    return made


def _only(fields: Sequence[Field], number: int) -> list[Field]:
    """Return the fields with all but one emptied; its position stays, since keys depend on the number of a field."""
    blank = [np.full_like(field.values, -1) for field in fields]
    return [field if i == number else Field(field.rule, blank[i], *_rest(field)) for i, field in enumerate(fields)]


def _rest(field: Field) -> tuple[Any, ...]:
    return field.texts, field.offsets, field.hashes, field.words, field.word_hashes


def _pairs(found: Buckets, split: int) -> int:
    sizes = found.sizes.astype(object) if len(found.sizes) and found.sizes.max() > 1 << 30 else found.sizes
    if split < 0:
        return int((sizes * (sizes - 1) // 2).sum())
    mask = np.uint64((1 << found.bits) - 1)
    records = (found.packed & mask).astype(np.int64)
    # Equal packed words are adjacent: a record counts once in a block.
    first = np.ones(len(records), np.bool_)
    first[1:] = found.packed[1:] != found.packed[:-1]
    lefts = np.concatenate([[0], np.cumsum(first & (records < split))])
    whole = np.concatenate([[0], np.cumsum(first)])
    ends = found.begins + np.array([int(np.searchsorted(whole[begin:], whole[begin] + size)) for begin, size in
                                    zip(found.begins, found.sizes, strict=True)], np.int64)  # fmt: skip
    left = lefts[ends] - lefts[found.begins]
    return int((left * (found.sizes - left)).sum())
