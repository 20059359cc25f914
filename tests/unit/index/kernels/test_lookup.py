"""Keys to rows, and scores of candidates, against the obvious way."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.index.kernels import lookup
from lookalike.kernels import edits
from lookalike.kinds.strings.kernels import probes
from lookalike.kinds.strings.lengths import edit_bar, powers
from oracles import edits_apart

few = st.sampled_from([0, 1, 2, 3, 1 << 61, (1 << 64) - 1, 7 << 60, (7 << 60) + 1])


@settings(deadline=None)  # the first call compiles
@given(st.lists(st.tuples(few, st.integers(0, 30)), max_size=60), st.lists(st.lists(few, max_size=6), max_size=5),
       st.sets(st.integers(0, 30)), st.sampled_from([1, 2, 5, 9]))  # fmt: skip
def test_rows_of_keys(pairs: list[tuple[int, int]], queries: list[list[int]], dead: set[int], bits: int) -> None:
    pairs = sorted(pairs)
    keys = np.array([key for key, _ in pairs], np.uint64)
    rows = np.array([row for _, row in pairs], np.uint32)
    shift = np.uint64(64 - bits)
    directory = np.empty((1 << bits) + 1, np.uint32)
    lookup.fill_directory(keys, shift, directory)
    wanted = np.array([key for query in queries for key in query], np.uint64)
    offsets = np.concatenate([[0], np.cumsum([len(query) for query in queries])]).astype(np.int64)
    low, high = np.empty(len(wanted), np.int64), np.empty(len(wanted), np.int64)
    bare = np.empty(0, np.uint64), np.empty(0, np.uint64), np.ones(10, np.uint8)  # no checksums
    total = lookup.find_runs(*bare, 0, keys, 0, directory, shift, wanted, low, high)
    assert total == sum(key == other for key in wanted.tolist() for other, _ in pairs)
    gone = np.zeros(4, np.uint8)
    for row in dead:
        gone[row >> 3] |= 1 << (row & 7)
    query, out = np.empty(total, np.int64), np.empty(total, np.uint32)
    count = lookup.gather_rows(*bare, low, high, offsets, 0, rows, 31, gone, query, out)
    expected = [
        (number, row)
        for number, mine in enumerate(queries)
        for row in sorted({row for key, row in pairs if key in mine and row not in dead})
    ]
    assert list(zip(query[:count].tolist(), out[:count].tolist(), strict=True)) == expected


words = st.text("abc", min_size=1, max_size=9)
bars = st.sampled_from([(1, False), (2, False), (3, False), (0.5, True), (0.75, True), (0.8, True)])


@settings(deadline=None)  # the first call compiles
@given(words, words, bars, st.sampled_from(["levenshtein", "indel"]))
def test_strings_within_the_bar_share_a_key(
    stored: str, query: str, threshold: tuple[float, bool], measure: str
) -> None:
    bar = edit_bar(measure, threshold[0], by_similarity=threshold[1])

    def keys(kernel: object, text: str) -> set[int]:
        points = np.array([ord(c) for c in text], np.uint32)
        out, offsets = np.empty(3000, np.uint64), np.empty(2, np.int64)
        count = kernel(points, np.array([0, len(points)]), *bar, powers(len(points) + 2), out, offsets)  # type: ignore[operator]
        assert count <= 3000
        return set(out[:count].tolist())

    one, other = (np.array([ord(c) for c in text], np.uint32) for text in (query, stored))
    score = np.empty(1, np.float64)
    zero = np.zeros(1, np.int64)
    lookup.score_strings(one, np.array([0, len(one)]), zero, other, zero, np.array([len(other)]), *bar, score)
    apart = edits_apart(query, stored, replace=measure == "levenshtein")
    longer, shorter = max(len(query), len(stored)), min(len(query), len(stored))
    if apart <= edits.allowed(*bar, longer, shorter):
        assert score[0] == edits.score(bar.measure, apart, longer, shorter)
        assert keys(probes.stored_keys, stored) & keys(probes.probe_keys, query)
    else:
        assert score[0] == -np.inf


@settings(deadline=None)  # the first call compiles
@given(st.lists(st.sets(st.integers(1, 20)), min_size=1, max_size=6), st.sets(st.integers(1, 20)))
def test_scores_of_sets(stored: list[set[int]], query: set[int]) -> None:
    data = np.array([x for one in stored for x in sorted(one)], np.uint64)
    ends = np.concatenate([[0], np.cumsum([len(one) for one in stored])]).astype(np.int64)
    mine = np.array(sorted(query), np.uint64)
    out = np.empty(len(stored), np.float64)
    zeros = np.zeros(len(stored), np.int64)
    lookup.score_sets(mine, np.array([0, len(mine)]), zeros, data, ends[:-1], ends[1:], 0, 1, 2, out)
    for one, score in zip(stored, out.tolist(), strict=True):
        shared, both = len(one & query), len(one | query)
        assert score == (shared / both if shared and 2 * shared >= both else -np.inf)


@settings(deadline=None)
@given(st.lists(st.binary(max_size=20), max_size=12))
def test_prints_tell_pieces_apart(pieces: list[bytes]) -> None:
    ends = np.concatenate([[0], np.cumsum([len(piece) for piece in pieces])]).astype(np.int64)
    out = np.empty(len(pieces), np.uint64)
    lookup.blob_prints(np.frombuffer(b"".join(pieces), np.uint8), ends, out)
    assert [out.tolist().index(one) for one in out.tolist()] == [pieces.index(piece) for piece in pieces]
