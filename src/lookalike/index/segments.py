"""Segments: immutable files of items, mapped into memory. What stands where: docs/reference/index-format.md."""

from __future__ import annotations

import itertools
import json
import mmap
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.data import I64, U32, U64
from lookalike.errors import InputError
from lookalike.index.store import U8, Found, Keys
from lookalike.kernels import lookup
from lookalike.stages.features import token_hashes

MAGIC = b"lookalike seg 1\n"
ALIGN = 64
PER_PREFIX = 4  # keys, about, that share an entry of the directory
ROOM = 1 << 21  # candidates that one call looks at
NONE: U8 = np.empty(0, np.uint8)
AnyArray = npt.NDArray[Any]


def write_segment(
    path: Path, arrays: Mapping[str, Sequence[AnyArray]], go_on: Callable[[], None] = lambda: None
) -> int:
    """Write arrays (each in parts, of one dtype) to a new file that is on the disk when this returns. Its size.

    go_on: is called before each part, and may raise.
    """
    listed: dict[str, Any] = {}
    at = 0
    for name, parts in arrays.items():
        count = sum(part.size for part in parts)
        listed[name] = {"dtype": parts[0].dtype.str, "count": count, "at": at}
        at += -(-count * parts[0].dtype.itemsize // ALIGN) * ALIGN
    header = json.dumps(listed).encode()
    header += b" " * (-(len(MAGIC) + 8 + len(header)) % ALIGN)
    with open(path, "xb") as file:
        file.write(MAGIC + len(header).to_bytes(8, "little") + header)
        for parts in arrays.values():
            for part in parts:
                go_on()
                file.write(np.ascontiguousarray(part).data)
            file.write(b"\0" * (-sum(part.nbytes for part in parts) % ALIGN))
        file.flush()
        os.fsync(file.fileno())
        return file.tell()


class Segment:
    """One file of n items. Its arrays are views of the mapped file.

    items i64[n], ascending; ids; id_hash u64[n], sorted, and id_rows u32[n]; keys u64[m], sorted, and key_rows u32[m];
    directory; features u8[] and feature_ends i64[n+1]; raw. dead: a bit for each row that is no longer there.
    """

    def __init__(self, path: Path, number: int, nbytes: int) -> None:
        self.number, self.path, self.nbytes = number, path, nbytes
        with open(path, "rb") as file:
            whole = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if whole[: len(MAGIC)] != MAGIC or len(whole) != nbytes:
            raise InputError(
                f"{path} is damaged: expected a segment of {nbytes:,} bytes, found {len(whole):,}. "
                "Take the index from a backup, or make it anew."
            )
        size = int.from_bytes(whole[len(MAGIC) : len(MAGIC) + 8], "little")
        begin = len(MAGIC) + 8 + size
        self.arrays: dict[str, AnyArray] = {
            name: np.frombuffer(whole, np.dtype(one["dtype"]), one["count"], begin + one["at"])
            for name, one in json.loads(whole[len(MAGIC) + 8 : begin]).items()
        }
        self.items: I64 = self.arrays["items"]
        self.features: U8 = self.arrays["features"]
        self.feature_ends: I64 = self.arrays["feature_ends"]
        self._keys, self._key_rows, self._directory = (self.arrays[name] for name in ("keys", "key_rows", "directory"))
        self._shift = np.uint64(64 - (len(self._directory) - 1).bit_length() + 1)
        self.dead: U8 = NONE

    def __len__(self) -> int:
        return len(self.items)

    def runs(self, wanted: U64) -> tuple[I64, I64, int]:
        """Where the keys stand, and how many rows they have together."""
        low, high = np.empty(len(wanted), np.int64), np.empty(len(wanted), np.int64)
        return low, high, lookup.find_runs(self._keys, self._directory, self._shift, wanted, low, high)

    def candidates(self, keys: Keys) -> list[Found]:
        """Every row that shares a key with each query; the queries in blocks of a bounded number of rows."""
        low, high, total = self.runs(keys.values)
        if not total:
            return []
        if total <= ROOM:
            return [self._gathered(low, high, keys.offsets, total, 0)]
        work = np.concatenate([[0], np.cumsum(high - low)])[keys.offsets]
        cuts = np.unique(np.searchsorted(work, np.arange(0, total + ROOM, ROOM)).clip(0, len(keys)))
        return [
            self._gathered(low, high, keys.offsets[a : b + 1], int(work[b] - work[a]), int(a))
            for a, b in itertools.pairwise(cuts)
        ]

    def _gathered(self, low: I64, high: I64, offsets: I64, room: int, first: int) -> Found:
        query, rows = np.empty(room, np.int64), np.empty(room, np.uint32)
        count = lookup.gather_rows(low, high, offsets, self._key_rows, self.dead, query, rows)
        return self.found(rows[:count], query[:count] + first)

    def found(self, rows: U32, query: I64) -> Found:
        return Found(query, self.items[rows], self.features, self.feature_ends[rows], self.feature_ends[rows + 1])

    def is_dead(self, rows: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.bool_]:
        return has_bits(self.dead, rows)

    def bury(self, page: int, bits: U8) -> None:
        """Take over a page of dead bits."""
        if not len(self.dead):
            self.dead = np.zeros(-(-len(self) // 8), np.uint8)
        at = page * len(bits)
        self.dead[at : at + len(bits)] = bits[: len(self.dead) - at]

    def rows_of(self, ids: pa.Array, hashes: U64) -> I64:
        """The row of each id that is there, or -1."""
        known = self.arrays["id_hash"]
        out = np.full(len(hashes), -1, np.int64)
        at = np.searchsorted(known, hashes)
        open_ones = np.arange(len(hashes))
        while len(open_ones):
            inside = at[open_ones] < len(known)
            open_ones = open_ones[inside]
            open_ones = open_ones[known[at[open_ones]] == hashes[open_ones]]
            rows = self.arrays["id_rows"][at[open_ones]].astype(np.int64)
            good = _same(self.ids(rows), ids.take(pa.array(open_ones))) & ~self.is_dead(rows)
            out[open_ones[good]] = rows[good]
            open_ones = open_ones[~good]
            at[open_ones] += 1
        return out

    def ids(self, rows: npt.NDArray[np.integer[Any]]) -> pa.Array:
        if "ids" in self.arrays:
            return pa.array(self.arrays["ids"][rows])
        ends, letters = self.arrays["id_ends"], self.arrays["id_letters"]
        texts = [letters[ends[row] : ends[row + 1]].tobytes().decode() for row in rows.tolist()]
        return pa.array(texts, pa.large_string())

    def raw(self, rows: I64) -> list[bytes | None]:
        """The items as they were given, or None where they are not kept."""
        if "raw" not in self.arrays:
            return [None] * len(rows)
        firsts = self.arrays["frame_rows"]
        out: list[bytes | None] = []
        last, frame = -1, []
        for row, number in zip(rows.tolist(), (np.searchsorted(firsts, rows, side="right") - 1).tolist(), strict=True):
            if number != last:
                last, frame = number, self.frame(number)
            out.append(frame[row - int(firsts[number])])
        return out

    def frame(self, number: int) -> list[bytes]:
        """The items of one frame."""
        firsts, ends = self.arrays["frame_rows"], self.arrays["frame_ends"]
        sizes = self.arrays["raw_sizes"][int(firsts[number]) : int(firsts[number + 1])]
        packed = self.arrays["raw"][ends[number] : ends[number + 1]]
        whole = pa.decompress(packed, int(sizes.sum()), codec="zstd", asbytes=True)
        return [
            whole[at : at + size] for at, size in zip((np.cumsum(sizes) - sizes).tolist(), sizes.tolist(), strict=True)
        ]


def _same(a: pa.Array, b: pa.Array) -> npt.NDArray[np.bool_]:
    return np.asarray(pc.equal(a, b))


def has_bits(dead: U8, rows: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.bool_]:
    """Whether the bit of each row is set; none is where there are no bits."""
    if not len(dead):
        return np.zeros(len(rows), np.bool_)
    return np.asarray((dead[rows >> 3] >> (rows & 7).astype(np.uint8)) & 1, np.bool_)


def sorted_keys(values: U64, rows: U32) -> dict[str, Sequence[AnyArray]]:
    """The arrays of a segment that lead from keys to rows."""
    order = np.argsort(values, kind="stable")
    keys = values[order]
    bits = max(1, (len(keys) // PER_PREFIX).bit_length())
    directory = np.empty((1 << bits) + 1, np.uint32 if len(keys) < 1 << 32 else np.int64)
    lookup.fill_directory(keys, np.uint64(64 - bits), directory)
    return {"keys": [keys], "key_rows": [rows[order]], "directory": [directory]}


def sorted_ids(ids: pa.Array) -> tuple[dict[str, Sequence[AnyArray]], I64]:
    """The arrays of a segment that lead from ids to rows and back; and the rows whose id comes again later."""
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
