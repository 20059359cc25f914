"""An index in a folder: immutable mapped segments, and a manifest that holds the rest."""

from __future__ import annotations

import atexit
import itertools
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.data import I64, U64
from lookalike.errors import IndexBusy, InputError, LookalikeError, UsageError
from lookalike.index import compaction, locks
from lookalike.index.manifest import Manifest
from lookalike.index.recent import Recent
from lookalike.index.segments import Segment
from lookalike.index.store import Blobs, Block, Found, Keys, Merge
from lookalike.index.writer import COMPACTING, FLUSHED, SMALL, SMALL_BYTES, Writer, unwritten
from lookalike.stages.features import token_hashes

TYPES = {"int64": pa.int64(), "string": pa.large_string()}


class FolderStore:
    """See `Store`. What is in memory is brought up to date, at the beginning of each call, where others committed."""

    def __init__(self, folder: Path, settings: dict[str, Any], *, read_only: bool) -> None:
        self.folder, self.place, self._settings, self.read_only = folder, str(folder), settings, read_only
        self._manifest = Manifest(folder, read_only=read_only)
        self._changes: Manifest | None = None  # a connection of its own: it sees what is not committed yet
        self._seen: int | None = None  # version of the manifest
        self._change = self._layout = -1
        self._segments: list[Segment] = []
        self._lasts: I64 = np.empty(0, np.int64)  # the last item of each
        self._id_type: pa.DataType | None = None
        self._recent = Recent()
        self._lock = threading.RLock()  # of what is in memory
        self._turn = threading.RLock()  # of the writers in this process
        self._writer: Writer | None = None
        self._owner = 0  # the thread that writes
        self._swept = False
        self._compaction: threading.Thread | None = None
        self._stop = threading.Event()
        if not read_only:
            _open.add(self)

    @property
    def settings(self) -> dict[str, Any]:
        return self._settings

    # Reading

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

    def _mine(self) -> Manifest:
        """Where the thread that writes sees what it has changed, and others what is committed."""
        writing = self._writer is not None and self._owner == threading.get_ident()
        return self._writing().manifest if writing else self._manifest

    # Groups

    def grouped(self) -> int:
        with self._lock:
            return int(self._mine().get("grouped"))

    def parents(self, items: I64) -> I64:
        with self._lock:
            link = self._mine().link
            query = "SELECT parent FROM groups WHERE item = ?"
            rows = ((item, link.execute(query, (item,)).fetchone()) for item in items.tolist())
            return np.array([item if row is None else row[0] for item, row in rows], np.int64)

    def all_parents(self) -> tuple[I64, I64]:
        with self._lock:
            rows = self._manifest.link.execute("SELECT item, parent FROM groups ORDER BY item").fetchall()
        both = np.array(rows, np.int64).reshape(-1, 2)
        return both[:, 0], both[:, 1]

    def merges(self) -> list[Merge]:
        with self._lock:
            rows = self._manifest.link.execute("SELECT merged, into_group, at FROM merges ORDER BY number")
            return [Merge(*row) for row in rows]

    def join(self, items: I64, parents: I64, merges: Sequence[Merge], grouped: int) -> None:
        with self.writing():
            self._writing().join(items, parents, merges, grouped)

    # Writing

    @contextmanager
    def writing(self) -> Iterator[None]:
        if self.read_only:
            raise UsageError(f"{self.place} was opened with read_only=True; open it without to change it.")
        with self._turn:
            if self._writer is not None:
                yield
                return
            lock = locks.FileLock(self.folder / "writer.lock")
            if not lock.acquire(locks.WAIT):
                raise lock.busy(self.place)
            try:
                if self._changes is None:
                    self._changes = Manifest(self.folder, read_only=False)
                with Writer.begin(self.folder, self._changes, sweep=not self._swept) as writer:
                    self._swept, self._writer, self._owner = True, writer, threading.get_ident()
                    yield
            finally:
                self._writer = None
                lock.release()
            if threading.current_thread() is not self._compaction:
                self._start_compaction()

    def _writing(self) -> Writer:
        if self._writer is None:
            raise RuntimeError("only while writing")
        return self._writer

    def take_ids(self, count: int) -> int:
        return self._writing().take_ids(count)

    def add(self, blocks: Iterable[Block]) -> int:
        with self.writing():
            with self._now() as (segments, recent):
                pass  # nobody else commits while we write, and readers of this process must not wait
            writer = self._writing()
            stream = iter(blocks)
            first, few, nbytes = [], 0, 0
            for block in stream:
                first.append(block)
                few += len(block)
                nbytes += block.features.data.nbytes
                if few > SMALL or nbytes > SMALL_BYTES:
                    older = [*segments, *writer.flush()]
                    return writer.add_segments(itertools.chain(first, stream), older)
            replaced = writer.add_rows(first, segments, recent)
            if writer.recent_count() > FLUSHED:
                writer.flush()
            return replaced

    def remove(self, items: I64) -> None:
        with self.writing():
            for _, home, rows in self._where(items):
                self._writing().bury(None if isinstance(home, Recent) else home, rows[rows >= 0])

    def compact(self) -> None:
        with self.writing():
            self._writing().flush()
        self._await_compaction()
        lock = locks.FileLock(self.folder / COMPACTING)
        if not lock.acquire(locks.WAIT):
            raise lock.busy(self.place)
        try:
            with self._now() as (segments, _):
                runs = list(compaction.runs_of_all(segments, self._dead_counts()))
            for run in runs:
                self._compact(run, lambda: True)
        finally:
            lock.release()

    def _dead_counts(self) -> list[int]:
        """How many rows of each segment are dead."""
        rows = self._manifest.link.execute("SELECT dead FROM segments ORDER BY first").fetchall()
        return [int(row[0]) for row in rows]

    def _compact(self, run: Sequence[Segment], go_on: Callable[[], bool]) -> None:
        """Make one segment of several neighbours. Only the swap at the end keeps other writers waiting."""
        with self._lock:
            olds = [compaction.Old(segment, segment.dead.copy()) for segment in run]
        draft = compaction.draft_name(self.folder)
        try:
            nbytes = compaction.merged(olds, draft, go_on)
            self._swap(olds, draft, nbytes, go_on)
        except OSError as error:
            raise unwritten(self.folder, error) from error
        finally:
            draft.unlink(missing_ok=True)
        for old in olds:
            old.segment.path.unlink(missing_ok=True)

    def _swap(self, olds: Sequence[compaction.Old], draft: Path, nbytes: int, go_on: Callable[[], bool]) -> None:
        """Take the place of the old segments as soon as no other process writes."""
        while True:
            try:
                with self.writing():
                    self._writing().swap(olds, draft, nbytes)
                return
            except IndexBusy:
                if not go_on():
                    raise

    def _start_compaction(self) -> None:
        """Put segments together on a thread, if it is time and nobody else does."""
        if self._compaction is not None and self._compaction.is_alive():
            return
        with self._now() as (segments, _):
            if not compaction.due(segments, self._dead_counts()):
                return
        self._compaction = threading.Thread(target=self._keep_compact, name="lookalike compaction", daemon=True)
        self._compaction.start()

    def _keep_compact(self) -> None:
        lock = locks.FileLock(self.folder / COMPACTING)
        if not lock.acquire(0):
            return
        try:
            while not self._stop.is_set():
                with self._now() as (segments, _):
                    run = compaction.due(segments, self._dead_counts())
                if not run:
                    return
                self._compact(run, lambda: not self._stop.is_set())
        except (compaction.Stopped, LookalikeError):
            return  # the next writer tries again
        finally:
            lock.release()

    def _await_compaction(self) -> None:
        if self._compaction is not None:
            self._compaction.join()
            self._compaction = None

    def abandon(self) -> None:
        """The process ends: what goes on in the background stops where it is."""
        self._stop.set()
        self._await_compaction()

    def facts(self) -> dict[str, Any]:
        with self._now() as (segments, recent):
            dead = self._manifest.link.execute("SELECT coalesce(sum(dead), 0) FROM segments").fetchone()[0]
            files = [path.stat().st_size for path in self.folder.rglob("*") if path.is_file()]
            return {"segments": len(segments), "recent": len(recent), "removed": int(dead), "bytes": sum(files)}

    def close(self) -> None:
        self._await_compaction()
        _open.discard(self)
        with self._turn, self._lock:
            self._manifest.close()
            if self._changes is not None:
                self._changes.close()
            self._segments, self._recent = [], Recent()


_open: weakref.WeakSet[FolderStore] = weakref.WeakSet()


@atexit.register
def _abandon_all() -> None:
    for store in list(_open):
        store.abandon()


def segment_path(folder: Path, number: int) -> Path:
    return folder / f"{number:08d}.seg"


def find_in_segments(segments: Sequence[Segment], ids: pa.Array, hashes: U64, out: I64) -> None:
    """Put the item of each id that a segment has into `out`."""
    for segment in segments:
        rows = segment.rows_of(ids, hashes)
        there = rows >= 0
        out[there] = segment.items[rows[there]]
