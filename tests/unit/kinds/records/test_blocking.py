"""Candidates: records that share keys meet, in crowds as well."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lookalike as la
from lookalike.kinds.records.blocking import KeyIndex, index_keys, two_hop_pairs
from lookalike.kinds.records.blocking_analysis import describe_oversized_blocks, key_costs
from lookalike.kinds.records.fields import make_field
from lookalike.kinds.records.rules import FieldRule


def candidates(
    columns: dict[str, list[str | None]], *, keys: tuple[str, ...], split: int = -1, crowd: int = 100
) -> set:
    fields = [
        make_field(pa.chunked_array([values], pa.large_string()), FieldRule(column=name, keys=keys))
        for name, values in columns.items()
    ]
    n = len(fields[0].values)
    index, _, _ = index_keys(fields, split, map, crowd=crowd)
    packed = index.nearest((0, n), index.weights(), split, 10, 0.0)
    return {(int(p >> np.uint64(32)), int(p & np.uint64(0xFFFFFFFF))) for p in packed}


@pytest.mark.parametrize(
    ("key", "one", "other"),
    [
        ("value", "Ann Lee", "ann-lee"),
        ("words", "Ann Lee", "Lee Berg"),
        ("joined", "ps lx350h", "x ps lx350h"),
        ("starts", "Johnson Mary", "mary johnsen"),
        ("sounds", "robert", "rupert"),
        ("shingles", "international business", "internationel business"),
    ],
)
def test_every_kind_of_key_brings_its_records_together(key: str, one: str, other: str) -> None:
    others = ["unrelated thing", "qwxz vvv"]
    assert candidates({"name": [one, other, *others]}, keys=(key,)) == {(0, 1)}


def test_a_joined_word_meets_the_word() -> None:
    assert candidates({"name": ["ps lx350h", "pslx350h", "other"]}, keys=("words", "joined")) == {(0, 1)}


def test_two_tables_meet_only_across() -> None:
    assert candidates({"name": ["ann", "ann", "ann"]}, keys=("words",), split=2) == {(0, 2), (1, 2)}


@pytest.mark.promise(
    "docs/how-to/records.md", "its records are compared only if they also share a rarer key, or two such keys"
)
def test_crowds_meet_where_they_share_two_crowded_keys() -> None:
    rng = np.random.default_rng(1)
    first, last = rng.integers(0, 20, 400), rng.integers(0, 20, 400)
    columns = {"first": [f"first{n}" for n in first], "last": [f"last{n}" for n in last]}
    met = candidates(columns, keys=("words",), crowd=8)
    wanted = {(a, b) for a in range(400) for b in range(a + 1, 400) if first[a] == first[b] and last[a] == last[b]}
    sizes = {(a, b): int(((first == first[a]) & (last == last[a])).sum()) for a, b in wanted}
    assert all(pair in met for pair in wanted if sizes[pair] <= 8)
    assert met <= {(a, b) for a, b in met if first[a] == first[b] and last[a] == last[b]}


def test_crowded_buckets_are_shown() -> None:
    names = [f"x{n} ltd" for n in range(150)]
    field = make_field(pa.chunked_array([names]), FieldRule(column="name"))
    _, crowded, stranded = index_keys([field], -1, map)
    assert stranded == 150, "they share nothing but that word"
    [crowd] = describe_oversized_blocks([field], crowded)
    assert (crowd.column, crowd.key, crowd.value, crowd.records) == ("name", "words", "ltd", 150)


def test_costs_of_keys() -> None:
    names = make_field(pa.chunked_array([["a b", "a", "b", "a"]]), FieldRule(column="name", keys=("words",)))
    [cost] = key_costs([names], -1)
    assert (cost.pairs, cost.largest, cost.buckets, cost.value) == (3 + 1, 3, 2, "a")
    [cost] = key_costs([names], 2)  # a: {0, 1} x {3}; b: {0} x {2}
    assert cost.pairs == 3


@given(st.sets(st.tuples(st.integers(0, 12), st.integers(0, 12)).filter(lambda pair: pair[0] < pair[1]), min_size=1))
def test_friends_of_friends_are_those_with_a_friend_in_common(pairs: set[tuple[int, int]]) -> None:
    friends = np.array([a << 32 | b for a, b in pairs], np.uint64)
    packed = two_hop_pairs(friends, 13, 10_000)
    near = {x: {a + b - x for a, b in pairs if x in (a, b)} for x in range(13)}
    wanted = {(x, z) for x in near for y in near[x] for z in near[y] if x < z and z not in near[x]}
    assert {(int(p >> np.uint64(32)), int(p & np.uint64(0xFFFFFFFF))) for p in packed} == wanted
    assert len(packed) == len(wanted), "each once"
    assert len(two_hop_pairs(friends, 13, 1)) <= 1


def test_the_heaviest_words_bring_the_nearest_first() -> None:
    words, offsets = np.array([0, 1, 0, 1, 2, 1, 2], np.uint32), np.array([0, 2, 4, 5, 7])
    index = KeyIndex.of_words(words, offsets, np.bincount(words))
    assert [index.postings[a:b].tolist() for a, b in zip([0, 2, 5], index.ends, strict=True)] == [
        [0, 1],
        [0, 1, 3],
        [2, 3],
    ]
    [nearest] = index.nearest((0, 1), np.array([2.0, 1.0, 2.0], np.float32), -1, 1, 0.0)
    assert int(nearest) == 1


def test_two_indexes_in_one() -> None:
    one = KeyIndex.of_words(np.array([0, 0, 1], np.uint32), np.array([0, 1, 2, 3]), np.array([2, 1]))
    other = KeyIndex.of_words(np.array([0, 0], np.uint32), np.array([0, 0, 1, 2]), np.array([2]))
    both = one.with_more(other)
    assert [both.keys[a:b].tolist() for a, b in zip(both.offsets[:-1], both.offsets[1:], strict=True)] == [
        [0],
        [0, 2],
        [1, 2],
    ]
    assert both.postings.tolist() == [0, 1, 2, 1, 2]
    assert both.ends.tolist() == [2, 3, 5]


def test_preview_names_the_records_that_no_block_reaches(lookalike, tmp_path: Path) -> None:
    names, towns = ["Ann Lee", "Lee Ann", "Zoe Quist", None], ["York", "York", "Hull", None]
    people = pa.table({"id": ["a", "b", "c", "d"], "name": names, "town": towns})
    _, costs = la.records.preview(people)
    assert costs.unreached == ["c", "d"]
    half = people.slice(0, 1)
    assert la.records.preview(half, against=people.slice(2))[1].unreached == ["a", "c", "d"]
    pq.write_table(people, tmp_path / "people.parquet")
    done = lookalike("records", "preview", tmp_path / "people.parquet")
    assert "2 records in no block with another record, so compared with none: c, d" in done.out
