"""Reads of an index folder: the committed segments, which are memory-mapped, and the recent items in memory."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.arrays import I64, U64
from lookalike.core.token_hashes import token_hashes
from lookalike.errors import DamagedIndex, InputError, LookalikeError
from lookalike.index.checksums import Tally
from lookalike.index.manifest import Manifest
from lookalike.index.memtable import MemTable
from lookalike.index.segment_file import RESTORE
from lookalike.index.segments import Segment
from lookalike.index.store import Blobs, StoreCandidates, StoredKeys

TYPES = {"int64": pa.int64(), "string": pa.large_string()}


class FolderReader:
    """The read methods of a `Store`. Each call first loads what other processes have committed since the last one."""

    def __init__(self, folder: Path, *, read_only: bool) -> None:
        self.folder, self.place, self.read_only = folder, str(folder), read_only
        self._manifest = Manifest(folder, read_only=read_only)
        self._lock = threading.RLock()  # guards the state in memory
        self._seen: Hashable = None  # version of the manifest that is loaded
        self._change = self._layout = -1
        self._segments: list[Segment] = []
        self._dead: list[int] = []  # number of removed rows of each segment
        self._lasts: I64 = np.empty(0, np.int64)  # last item number of each segment
        self._id_type: pa.DataType | None = None
        self._recent = MemTable()
        self._dead_rows, self._recent_rows = Tally(), Tally()

    @contextmanager
    def _now(self) -> Iterator[tuple[list[Segment], MemTable]]:
        """Yield the segments, oldest first, and the recent items of the latest commit.

        Everything in memory, including `_dead`, belongs to that commit. Separate reads of the manifest need not.
        """
        with self._lock:
            version = self._manifest.version()
            if version != self._seen:
                self._catch_up()
                self._seen = version
            yield self._segments, self._recent

    def _catch_up(self) -> None:
        failed_layout = None
        while True:
            try:
                with self._manifest.reading():
                    meta = self._manifest.meta()
                    self._load(meta)
                return
            except FileNotFoundError as error:  # removed by a compaction after the manifest was read, or missing
                if meta["layout"] == failed_layout:
                    raise DamagedIndex(f"{self.place} is damaged: {error.filename} is missing. {RESTORE}") from error
                failed_layout = meta["layout"]
            except OSError as error:
                raise InputError(f"{error.filename or self.place} cannot be read: {error.strerror}.") from error
            except (TypeError, ValueError, KeyError, IndexError, OverflowError) as error:
                if isinstance(error, LookalikeError):
                    raise
                raise self._manifest.damaged(f"its tables do not fit each other ({error})") from error

    def _load(self, meta: dict[str, Any]) -> None:
        layout, since = meta["layout"], self._change
        rows = self._manifest.table(meta, "segments", "first")
        if layout != self._layout:
            self._layout = -1  # until everything is loaded
            known = {segment.number: segment for segment in self._segments}
            self._segments = [known.get(row[0]) or self._open(*row) for row in rows]
            self._lasts = np.array([segment.last for segment in self._segments], np.int64)
            self._recent, since = MemTable(), -1
            self._dead_rows, self._recent_rows = Tally(), Tally()
        self._dead = [int(row[4]) for row in rows]
        by_number = {segment.number: segment for segment in self._segments}
        for row in self._manifest.rows("SELECT * FROM dead WHERE changed > ?", (since,)):
            number, page, bits, _ = row
            by_number[number].bury(page, np.frombuffer(bits, np.uint8))
            self._dead_rows.put((number, page), row)
        for row in self._manifest.rows("SELECT * FROM recent WHERE changed > ? ORDER BY item", (since,)):
            item, id, keys, features, *_ = row  # noqa: A001
            self._recent_rows.put(item, row)
            if id is None:
                self._recent.remove(item)
            else:
                self._recent.add(item, id, np.frombuffer(keys, np.uint64), features)
        self._manifest.compare(meta, "dead", self._dead_rows.total)
        self._manifest.compare(meta, "recent", self._recent_rows.total)
        self._layout, self._change = layout, meta["change"]

    def _open(self, number: int, first: int, last: int, items: int, dead: int, nbytes: int) -> Segment:
        segment = Segment(segment_path(self.folder, number), number, nbytes)
        if (segment.first, segment.last, len(segment)) != (first, last, items) or not 0 <= dead <= items:
            raise segment.file.damaged(f"it does not hold items {first:,} to {last:,} as the manifest says")
        return segment

    def candidates(self, keys: StoredKeys, most: int | None = None) -> Iterator[StoreCandidates]:
        with self._now() as (segments, recent):
            candidates = recent.candidates(keys, most)
        if candidates is not None:
            yield candidates
        for segment in segments:
            yield from segment.candidates(keys, most)

    def features(self, items: I64) -> Blobs:
        out: list[bytes] = [b""] * len(items)
        for places, home, rows in self._where(items):
            if (rows < 0).any():
                raise KeyError(int(items[places[rows < 0][0]]))
            if isinstance(home, MemTable):
                pieces = home.features(rows.tolist())
            elif len(rows) == len(items) and bool(np.all(np.diff(rows) == 1)):
                return Blobs(*home.feature_page(int(rows[0]), int(rows[-1]) + 1))  # consecutive rows, in order
            else:
                pieces = home.features(rows)
            for place, piece in zip(places.tolist(), pieces, strict=True):
                out[place] = piece
        return Blobs.of(out)

    def raw(self, items: I64) -> list[bytes | None]:
        out: list[bytes | None] = [None] * len(items)
        moved: list[int] = []
        for places, home, rows in self._where(items):
            places, rows = places[rows >= 0], rows[rows >= 0]
            if isinstance(home, MemTable):
                moved += self._recent_raw(places.tolist(), rows.tolist(), out)
                continue
            for place, raw in zip(places.tolist(), home.raw(rows), strict=True):
                out[place] = raw
        if moved:
            for place, raw in zip(moved, self.raw(items[moved]), strict=True):
                out[place] = raw
        return out

    def _recent_raw(self, places: Sequence[int], items: Sequence[int], out: list[bytes | None]) -> list[int]:
        """Fill in the original bytes of recent items; return the places of items that have changed in the manifest."""
        moved = []
        with self._lock:
            for place, item in zip(places, items, strict=True):
                rows = self._manifest.rows("SELECT * FROM recent WHERE item = ?", (item,))
                if rows and self._recent_rows.is_same(item, rows[0]):
                    out[place] = rows[0][4]
                elif self._manifest.version() == self._seen:  # no other process has changed it
                    raise self._manifest.damaged(f"item {item} of the table recent does not match its checksum")
                else:
                    moved.append(place)
        return moved

    def ids(self, items: I64) -> pa.Array:
        parts, order = [pa.array([], self.id_type() or pa.int64())], []
        for places, home, rows in self._where(items):
            if isinstance(home, MemTable):
                part = pa.array([home.ids.get(item) for item in items[places].tolist()], self.id_type())
            else:
                part = home.ids(np.maximum(rows, 0))
                if (rows < 0).any():
                    part = pc.if_else(pa.array(rows >= 0), part, None)
            if len(part) == len(items):
                return part
            parts.append(part)
            order.append(places)
        back = np.empty(len(items), np.int64)
        back[np.concatenate([np.empty(0, np.int64), *order])] = np.arange(len(items))
        return pa.concat_arrays(parts).take(pa.array(back))

    def _where(self, items: I64) -> Iterator[tuple[I64, Segment | MemTable, I64]]:
        """Yield (places in `items`, the segment or MemTable that holds these items, their rows in it).

        The rows of recent items are their item numbers. A row is -1 if another process has removed the item since the
        caller learned of it.
        """
        with self._now() as (segments, recent):
            lasts = self._lasts
        home = np.searchsorted(lasts, items)  # an item number above all segments is recent
        for number in np.unique(home).tolist():
            places = np.flatnonzero(home == number)
            mine = items[places]
            if number == len(segments):
                yield places, recent, np.array([item if item in recent.ids else -1 for item in mine.tolist()], np.int64)
            else:
                yield places, segments[number], segments[number].rows_of_items(mine)

    def numbers(self, ids: pa.Array) -> I64:
        with self._now() as (segments, recent):
            get = recent.items.get
            out = (
                np.array([get(name, -1) for name in ids.to_pylist()], np.int64)
                if len(recent)
                else np.full(len(ids), -1)
            )
        if segments and len(ids) and ids.type == self.id_type():
            find_in_segments(segments, ids, token_hashes(ids), out)
        return out

    def after(self, item: int, limit: int) -> I64:
        with self._now() as (segments, recent):
            parts, missing = [], limit
            for segment in segments:
                low = segment.rows_after(item)
                while low < len(segment) and missing > 0:
                    rows = np.arange(low, min(low + missing, len(segment)))
                    alive = rows[~segment.is_dead(rows)]
                    parts.append(segment.items(alive))
                    missing -= len(alive)
                    low = int(rows[-1]) + 1
            if missing > 0:
                parts.append(np.array([number for number in recent.ids if number > item][:missing], np.int64))
        return np.concatenate(parts) if parts else np.empty(0, np.int64)

    def count(self) -> int:
        with self._now() as (segments, recent):
            return sum(map(len, segments)) - sum(self._dead) + len(recent)

    def id_type(self) -> pa.DataType | None:
        if self._id_type is None:  # it never changes once it is set
            with self._lock:
                known = self._manifest.get("ids")
            if known not in (None, *TYPES):
                raise self._manifest.damaged(f"the type of its ids is {known!r}")
            self._id_type = None if known is None else TYPES[known]
        return self._id_type


def segment_path(folder: Path, number: int) -> Path:
    return folder / f"{number:08d}.seg"


def find_in_segments(segments: Sequence[Segment], ids: pa.Array, hashes: U64, out: I64) -> None:
    """Set `out` to the item number of each id that a segment contains."""
    for segment in segments:
        rows = segment.rows_of(ids, hashes)
        present = rows >= 0
        out[present] = segment.items(rows[present])
