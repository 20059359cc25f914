"""Segments: immutable, memory-mapped files of items. The layout is described in docs/reference/index-format.md."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.arrays import I64, U32, U64
from lookalike.core.token_hashes import token_hashes
from lookalike.index.kernels import blocks, lookup
from lookalike.index.segment_file import AnyArray, SegmentFile
from lookalike.index.store import U8, StoreCandidates, StoredKeys, TooManyCandidates, ends_of

PER_PREFIX = 4  # approximate number of keys for each entry of the directory
CANDIDATES_PER_CALL = 1 << 21  # candidates that are gathered at once
MAX_SINGLE_READS = 64  # up to this many ids, reading them one by one is faster
NONE: U8 = np.empty(0, np.uint8)


class Segment:
    """An immutable file of n items.

    Its arrays: items i64[n], ascending; ids; id_hash u64[n], sorted, and id_rows u32[n]; keys u64[m], sorted, and
    key_rows u32[m]; directory; features u8[] and feature_ends i64[n+1]; raw. dead: a bitmap of the removed rows, empty
    if there are none.
    """

    def __init__(self, path: Path, number: int, nbytes: int) -> None:
        self.number, self.path, self.nbytes = number, path, nbytes
        self.file = SegmentFile(path, nbytes)
        try:
            self._length = self.file.count("items")
            self._features_at, self._features = self.file.bare("features")
            directory = self.file.count("directory") - 1
            fits = self.file.count("feature_ends") == self._length + 1 and self._length > 0
        except KeyError as error:
            raise self.file.damaged(f"it has no array {error.args[0]!r}") from error
        if not fits or directory < 2 or directory & (directory - 1):
            raise self.file.damaged("its arrays do not fit each other")
        if self.file.take("feature_ends", np.array([0, self._length])).tolist() != [0, len(self._features)]:
            raise self.file.damaged("its features do not fit their offsets")
        self._shift = np.uint64(64 - directory.bit_length() + 1)
        self.first, self.last = self.file.take("items", np.array([0, self._length - 1])).tolist()
        self.dead: U8 = NONE

    def __len__(self) -> int:
        return self._length

    def runs(self, wanted: U64) -> tuple[I64, I64, int]:
        """Return (low, high, total): key i is keys[low[i]:high[i]]; total is the sum of the lengths of these runs."""
        low, high = np.empty(len(wanted), np.int64), np.empty(len(wanted), np.int64)
        arrays = (*self.file.bare("keys"), *self.file.bare("directory"))
        total = lookup.find_runs(*self.file.guard, *arrays, self._shift, wanted, low, high)
        return low, high, self.file.checked(total)

    def candidates(self, keys: StoredKeys, most: int | None = None) -> list[StoreCandidates]:
        """Return the rows that share a key with each query, in parts of a bounded number of rows.

        most: see `Store.candidates`; a row that shares several keys counts several times.
        """
        low, high, total = self.runs(keys.values)
        if most is not None and total > most:
            raise TooManyCandidates
        if not total:
            return []
        if total <= CANDIDATES_PER_CALL:
            return [self._gathered(low, high, keys.offsets, total, 0)]
        work = np.concatenate([[0], np.cumsum(high - low)])[keys.offsets]
        cuts = np.unique(
            np.searchsorted(work, np.arange(0, total + CANDIDATES_PER_CALL, CANDIDATES_PER_CALL)).clip(0, len(keys))
        )
        return [
            self._gathered(low, high, keys.offsets[a : b + 1], int(work[b] - work[a]), int(a))
            for a, b in itertools.pairwise(cuts)
        ]

    def _gathered(self, low: I64, high: I64, offsets: I64, room: int, first: int) -> StoreCandidates:
        query, rows = np.empty(room, np.int64), np.empty(room, np.uint32)
        key_rows = self.file.bare("key_rows")
        count = self.file.checked(
            lookup.gather_rows(*self.file.guard, low, high, offsets, *key_rows, len(self), self.dead, query, rows)
        )
        return self.found(rows[:count], query[:count] + first)

    def found(self, rows: U32, query: I64) -> StoreCandidates:
        items, starts, stops = np.empty((3, len(rows)), np.int64)
        arrays = (*self.file.bare("items"), *self.file.bare("feature_ends"), self._features_at, len(self._features))
        self.file.checked(blocks.locate(*self.file.guard, *arrays, rows, items, starts, stops))
        return StoreCandidates(query, items, self._features, starts, stops)

    def features(self, rows: I64) -> list[bytes]:
        """Return the features of the items at these rows."""
        starts, stops = self.file.spans("features", "feature_ends", rows)
        return [self._features[low:high].tobytes() for low, high in zip(starts.tolist(), stops.tolist(), strict=True)]

    def feature_page(self, first: int, after: int) -> tuple[U8, I64]:
        """Return (data, offsets) of the features of the rows first to after - 1."""
        ends = self.file.span("feature_ends", first, after + 1)
        return self.file.span("features", int(ends[0]), int(ends[-1])), ends - ends[0]

    def items(self, rows: npt.NDArray[np.integer[Any]]) -> I64:
        """Return the item number of each row."""
        return self.file.take("items", rows)

    def rows_of_items(self, items: I64) -> I64:
        """Return the row of each item number, or -1; removed items still have a row."""
        rows = self.file.search("items", items)
        known = self.items(np.minimum(rows, len(self) - 1))
        return np.where(known == items, rows, -1)

    def rows_after(self, item: int) -> int:
        """Return the first row with a larger item number."""
        return int(self.file.search("items", np.array([item + 1]))[0])

    def is_dead(self, rows: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.bool_]:
        return has_bits(self.dead, rows)

    def bury(self, page: int, bits: U8) -> None:
        """Set a page of the bitmap of removed rows."""
        if not len(self.dead):
            self.dead = np.zeros(-(-len(self) // 8), np.uint8)
        at = page * len(bits)
        self.dead[at : at + len(bits)] = bits[: len(self.dead) - at]

    def rows_of(self, ids: pa.Array, hashes: U64) -> I64:
        """Return the row of each id, or -1 if it is absent or removed. hashes: `token_hashes` of the ids."""
        out = np.full(len(hashes), -1, np.int64)
        at = self.file.search("id_hash", hashes)
        pending = np.arange(len(hashes))
        while len(pending):
            pending = pending[at[pending] < len(self)]
            pending = pending[self.file.take("id_hash", at[pending]) == hashes[pending]]
            rows = self.file.take("id_rows", at[pending]).astype(np.int64)
            good = _same(self.ids(rows), ids.take(pa.array(pending))) & ~self.is_dead(rows)
            out[pending[good]] = rows[good]
            pending = pending[~good]
            at[pending] += 1
        return out

    def ids(self, rows: npt.NDArray[np.integer[Any]]) -> pa.Array:
        if "ids" in self.file:
            return pa.array(self.file.take("ids", rows))
        starts, stops = self.file.spans("id_letters", "id_ends", rows.astype(np.int64))
        letters = self.file.bare("id_letters")[1]
        try:
            if len(rows) > MAX_SINGLE_READS:
                return self._many_ids(starts, stops, letters)
            pairs = zip(starts.tolist(), stops.tolist(), strict=True)
            return pa.array([letters[low:high].tobytes().decode() for low, high in pairs], pa.large_string())
        except (UnicodeDecodeError, pa.ArrowInvalid) as error:
            raise self.file.damaged("an id is not valid UTF-8") from error

    def _many_ids(self, starts: I64, stops: I64, letters: U8) -> pa.Array:
        if len(starts) and bool(np.all(starts[1:] == stops[:-1])):  # consecutive rows
            low = int(starts[0])
            data = letters[low : int(stops[-1])]
            offsets = np.append(starts, stops[-1]) - low
        else:
            sizes = stops - starts
            offsets = ends_of(sizes)
            data = letters[np.repeat(starts - offsets[:-1], sizes) + np.arange(offsets[-1])]
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
        out = pa.Array.from_buffers(pa.large_string(), len(starts), buffers)
        if not self.file.has_sums:
            out.validate(full=True)
        return out

    def raw(self, rows: I64) -> list[bytes | None]:
        """Return the original items as bytes, or None for each if items are not stored."""
        if "raw" not in self.file:
            return [None] * len(rows)
        numbers = self.file.search("frame_rows", rows + 1) - 1
        out: list[bytes | None] = []
        last, first, frame = -1, 0, list[bytes]()
        for row, number in zip(rows.tolist(), numbers.tolist(), strict=True):
            if number != last:
                last, (first, frame) = number, self.frame(number)
            if not 0 <= row - first < len(frame):
                raise self.file.damaged(f"row {row:,} is not in its frame")
            out.append(frame[row - first])
        return out

    def frame(self, number: int) -> tuple[int, list[bytes]]:
        """Decompress a frame; return its first row and its items."""
        low, high = self.file.span("frame_rows", number, number + 2).tolist()
        sizes = self.file.span("raw_sizes", low, high)
        packed = self.file.span("raw", *self.file.span("frame_ends", number, number + 2).tolist())
        ends = ends_of(sizes)
        try:
            whole = pa.decompress(packed, int(ends[-1]), codec="zstd", asbytes=True)
        except (OSError, ValueError, MemoryError) as error:
            raise self.file.damaged(f"frame {number:,} cannot be decompressed") from error
        return low, [whole[begin:end] for begin, end in itertools.pairwise(ends.tolist())]


def _same(a: pa.Array, b: pa.Array) -> npt.NDArray[np.bool_]:
    return np.asarray(pc.equal(a, b))


def has_bits(dead: U8, rows: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.bool_]:
    """Return whether the bit of each row is set; an empty bitmap has no set bits."""
    if not len(dead):
        return np.zeros(len(rows), np.bool_)
    return np.asarray((dead[rows >> 3] >> (rows & 7).astype(np.uint8)) & 1, np.bool_)


def sorted_keys(values: U64, rows: U32) -> dict[str, Sequence[AnyArray]]:
    """Return the arrays of a segment that map keys to rows: keys, key_rows, directory."""
    order = np.argsort(values, kind="stable")
    keys = values[order]
    bits = max(1, (len(keys) // PER_PREFIX).bit_length())
    directory = np.empty((1 << bits) + 1, np.uint32 if len(keys) < 1 << 32 else np.int64)
    lookup.fill_directory(keys, np.uint64(64 - bits), directory)
    return {"keys": [keys], "key_rows": [rows[order]], "directory": [directory]}


def sorted_ids(ids: pa.Array) -> tuple[dict[str, Sequence[AnyArray]], I64]:
    """Return the arrays of a segment that map ids to rows and back, and the rows whose id occurs again later."""
    hashes = token_hashes(ids)
    order = np.argsort(hashes, kind="stable")
    known = hashes[order]
    again = np.flatnonzero(known[1:] == known[:-1])
    earlier = order[again]
    if len(again):
        earlier = earlier[_same(ids.take(pa.array(earlier)), ids.take(pa.array(order[again + 1])))]
    arrays: dict[str, Sequence[AnyArray]] = {"id_hash": [known], "id_rows": [order.astype(np.uint32)]}
    if pa.types.is_int64(ids.type):
        arrays["ids"] = [ids.to_numpy()]
    else:
        ends = np.frombuffer(ids.buffers()[1], np.int64)[ids.offset : ids.offset + len(ids) + 1]
        letters = np.frombuffer(ids.buffers()[2] or b"", np.uint8)[ends[0] : ends[-1]]
        arrays |= {"id_letters": [letters], "id_ends": [ends - ends[0]]}
    return arrays, earlier.astype(np.int64)
