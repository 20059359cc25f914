"""What is committed in the folder of an index: segments that are mapped, and recent items in memory."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.data import I64, U64
from lookalike.errors import InputError
from lookalike.index.manifest import Manifest
from lookalike.index.recent import Recent
from lookalike.index.segments import Segment
from lookalike.index.store import Blobs, Found, Keys
from lookalike.stages.features import token_hashes

TYPES = {"int64": pa.int64(), "string": pa.large_string()}


class FolderReader:
    """The half of a `Store` that asks. What is in memory is brought up to date, at the beginning of each call, where
    others committed."""

    def __init__(self, folder: Path, *, read_only: bool) -> None:
        self.folder, self.place, self.read_only = folder, str(folder), read_only
        self._manifest = Manifest(folder, read_only=read_only)
        self._lock = threading.RLock()  # of what is in memory
        self._seen: int | None = None  # version of the manifest
        self._change = self._layout = -1
        self._segments: list[Segment] = []
        self._lasts: I64 = np.empty(0, np.int64)  # the last item of each
        self._id_type: pa.DataType | None = None
        self._recent = Recent()

    @contextmanager
    def _now(self) -> Iterator[tuple[list[Segment], Recent]]:
        """The segments, the oldest first, and recent items, as they are committed now."""
        with self._lock:
            version = self._manifest.version()
            if version != self._seen:
                self._catch_up()
                self._seen = version
            yield self._segments, self._recent

    def _catch_up(self) -> None:
        for last_try in (False, True):
            try:
                with self._manifest.reading():
                    self._load()
                return
            except FileNotFoundError as error:  # compacted away between two statements of ours
                if last_try:
                    raise InputError(f"{self.place} is damaged: {error.filename} is missing.") from error

    def _load(self) -> None:
        manifest, since = self._manifest.link, self._change
        layout = self._manifest.get("layout")
        if layout != self._layout:
            known = {segment.number: segment for segment in self._segments}
            rows = manifest.execute("SELECT segment, bytes FROM segments ORDER BY first").fetchall()
            self._segments = [known.get(number) or self._open(number, nbytes) for number, nbytes in rows]
            self._lasts = np.array([int(segment.items[-1]) for segment in self._segments], np.int64)
            self._recent, since = Recent(), -1
        by_number = {segment.number: segment for segment in self._segments}
        dead = manifest.execute("SELECT segment, page, bits FROM dead WHERE changed > ?", (since,))
        for number, page, bits in dead:
            by_number[number].bury(page, np.frombuffer(bits, np.uint8))
        recent = manifest.execute(
            "SELECT item, id, keys, features FROM recent WHERE changed > ? ORDER BY item", (since,)
        )
        for item, id, keys, features in recent:  # noqa: A001
            if id is None:
                self._recent.remove(item)
            else:
                self._recent.add(item, id, np.frombuffer(keys, np.uint64), features)
        self._layout, self._change = layout, self._manifest.get("change")

    def _open(self, number: int, nbytes: int) -> Segment:
        return Segment(segment_path(self.folder, number), number, nbytes)

    def candidates(self, keys: Keys) -> Iterator[Found]:
        with self._now() as (segments, recent):
            found = recent.candidates(keys)
        if found is not None:
            yield found
        for segment in segments:
            yield from segment.candidates(keys)

    def features(self, items: I64) -> Blobs:
        out: list[bytes] = [b""] * len(items)
        for places, home, rows in self._where(items):
            if (rows < 0).any():
                raise KeyError(int(items[places[rows < 0][0]]))
            if isinstance(home, Recent):
                pieces = home.features(rows.tolist())
            elif len(rows) == len(items) and bool(np.all(np.diff(rows) == 1)):
                ends = home.feature_ends[rows[0] : rows[-1] + 2]  # a page of them, in order
                return Blobs(home.features[ends[0] : ends[-1]], ends - ends[0])
            else:
                ends, data = home.feature_ends, home.features
                pieces = [data[ends[row] : ends[row + 1]].tobytes() for row in rows.tolist()]
            for place, piece in zip(places.tolist(), pieces, strict=True):
                out[place] = piece
        return Blobs.of(out)

    def raw(self, items: I64) -> list[bytes | None]:
        out: list[bytes | None] = [None] * len(items)
        for places, home, rows in self._where(items):
            places, rows = places[rows >= 0], rows[rows >= 0]
            raws = self._recent_raw(rows) if isinstance(home, Recent) else home.raw(rows)
            for place, raw in zip(places.tolist(), raws, strict=True):
                out[place] = raw
        return out

    def _recent_raw(self, items: I64) -> list[bytes | None]:
        query = "SELECT raw FROM recent WHERE item = ?"
        with self._lock:
            rows = [self._manifest.link.execute(query, (item,)).fetchone() for item in items.tolist()]
        return [None if row is None else row[0] for row in rows]

    def ids(self, items: I64) -> pa.Array:
        parts, order = [pa.array([], self.id_type() or pa.int64())], []
        for places, home, rows in self._where(items):
            if isinstance(home, Recent):
                made = pa.array([home.ids.get(item) for item in items[places].tolist()], self.id_type())
            else:
                made = home.ids(np.maximum(rows, 0))
                if (rows < 0).any():
                    made = pc.if_else(pa.array(rows >= 0), made, None)
            if len(made) == len(items):
                return made
            parts.append(made)
            order.append(places)
        back = np.empty(len(items), np.int64)
        back[np.concatenate([np.empty(0, np.int64), *order])] = np.arange(len(items))
        return pa.concat_arrays(parts).take(pa.array(back))

    def _where(self, items: I64) -> Iterator[tuple[I64, Segment | Recent, I64]]:
        """(places in `items`, where these items are, their rows there; for recent items their numbers); -1 for what is
        gone: another process may have removed it since the caller learned of it."""
        with self._now() as (segments, recent):
            lasts = self._lasts
        home = np.searchsorted(lasts, items)  # an item above all of them is recent
        for number in np.unique(home).tolist():
            places = np.flatnonzero(home == number)
            mine = items[places]
            if number == len(segments):
                yield places, recent, np.array([one if one in recent.ids else -1 for one in mine.tolist()], np.int64)
            else:
                rows = np.searchsorted(segments[number].items, mine)
                yield places, segments[number], np.where(segments[number].items[rows] == mine, rows, -1)

    def numbers(self, ids: pa.Array) -> I64:
        with self._now() as (segments, recent):
            get = recent.items.get
            out = (
                np.array([get(one, -1) for one in ids.to_pylist()], np.int64) if len(recent) else np.full(len(ids), -1)
            )
        if segments and len(ids) and ids.type == self.id_type():
            find_in_segments(segments, ids, token_hashes(ids), out)
        return out

    def after(self, item: int, limit: int) -> I64:
        with self._now() as (segments, recent):
            parts, missing = [], limit
            for segment in segments:
                low = int(np.searchsorted(segment.items, item, side="right"))
                while low < len(segment) and missing > 0:
                    rows = np.arange(low, min(low + missing, len(segment)))
                    alive = rows[~segment.is_dead(rows)]
                    parts.append(segment.items[alive])
                    missing -= len(alive)
                    low = int(rows[-1]) + 1
            if missing > 0:
                parts.append(np.array([one for one in recent.ids if one > item][:missing], np.int64))
        return np.concatenate(parts) if parts else np.empty(0, np.int64)

    def count(self) -> int:
        with self._now() as (_, recent):
            total = self._manifest.link.execute("SELECT coalesce(sum(items - dead), 0) FROM segments").fetchone()[0]
            return int(total) + len(recent)

    def id_type(self) -> pa.DataType | None:
        if self._id_type is None:  # once it is settled it stays
            with self._lock:
                known = self._manifest.get("ids")
            self._id_type = None if known is None else TYPES[known]
        return self._id_type


def segment_path(folder: Path, number: int) -> Path:
    return folder / f"{number:08d}.seg"


def find_in_segments(segments: Sequence[Segment], ids: pa.Array, hashes: U64, out: I64) -> None:
    """Put the item of each id that a segment has into `out`."""
    for segment in segments:
        rows = segment.rows_of(ids, hashes)
        there = rows >= 0
        out[there] = segment.items[rows[there]]
