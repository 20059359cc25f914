"""An index in a folder: immutable memory-mapped segments, and a manifest that holds the rest."""

from __future__ import annotations

import atexit
import itertools
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from lookalike.core.arrays import I64
from lookalike.errors import IndexBusy, LookalikeError
from lookalike.index import compaction, locks, manifest
from lookalike.index import settings as about
from lookalike.index.folder_reader import FolderReader
from lookalike.index.inspection import Checked, check_segment
from lookalike.index.manifest import Manifest
from lookalike.index.memtable import MemTable
from lookalike.index.segments import Segment
from lookalike.index.store import Block, Merge, read_only
from lookalike.index.writer import COMPACTING, FLUSHED, MAX_RECENT_ITEMS, SMALL_BYTES, Writer, unwritten
from lookalike.io import disk


class FolderStore(FolderReader):
    """The `Store` of an index folder: reads, groups, one writer at a time, and compaction in a background thread."""

    def __init__(self, folder: Path, settings: dict[str, Any], *, read_only: bool) -> None:
        super().__init__(folder, read_only=read_only)
        self._settings = settings
        self._changes: Manifest | None = None  # a second connection, which sees what is not committed yet
        self._turn = threading.RLock()  # serialises the writers of this process
        self._writer: Writer | None = None
        self._owner = 0  # identifier of the thread that writes
        self._swept = self._groups_checked = False
        self._compaction: threading.Thread | None = None
        self._stop = threading.Event()
        if not read_only:
            _open.add(self)

    @property
    def settings(self) -> dict[str, Any]:
        return self._settings

    def _mine(self) -> Manifest:
        """Return the connection to read from: the writing thread sees its own changes, others what is committed."""
        writing = self._writer is not None and self._owner == threading.get_ident()
        return self._writing().manifest if writing else self._manifest

    # Groups

    def grouped(self) -> int:
        with self._lock:
            return int(self._mine().get("grouped"))

    def parents(self, items: I64) -> I64:
        with self._lock:
            if not self._groups_checked:
                self.all_parents()
            mine, query = self._mine(), "SELECT parent FROM groups WHERE item = ?"
            rows = ((item, mine.rows(query, (item,))) for item in items.tolist())
            return np.array([row[0][0] if row else item for item, row in rows], np.int64)

    def all_parents(self) -> tuple[I64, I64]:
        with self._lock, self._manifest.reading():
            both = self._manifest.groups(self._manifest.meta())
            self._groups_checked = True
            return both

    def merges(self) -> list[Merge]:
        with self._lock, self._manifest.reading():
            return [Merge(*row[:3]) for row in self._manifest.table(self._manifest.meta(), "merges", "number")]

    def join(self, items: I64, parents: I64, merges: Sequence[Merge], grouped: int) -> None:
        with self.writing():
            self._writing().join(items, parents, merges, grouped)

    # Writing

    @contextmanager
    def writing(self) -> Iterator[None]:
        if self.read_only:
            raise read_only(self.place)
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
                with self._now():
                    pass  # check what will be overwritten
                with Writer.begin(self.folder, self._changes, sweep=not self._swept) as writer:
                    self._swept, self._writer, self._owner = True, writer, threading.get_ident()
                    yield
                if self._settings["format"] != about.FORMAT:  # the manifest has checksums now
                    with suppress(LookalikeError):  # the change is committed; the next write tries again
                        about.write(self.folder, self._settings | {"format": about.FORMAT})
                        self._settings = self._settings | {"format": about.FORMAT}
            finally:
                self._writer = None
                lock.release()
            if threading.current_thread() is not self._compaction:
                with suppress(LookalikeError, RuntimeError):  # the change is committed even if this fails
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
                pass  # no other process commits during a write, and readers in this process must not wait for it
            writer = self._writing()
            stream = iter(blocks)
            first, few, nbytes = [], 0, 0
            for block in stream:
                first.append(block)
                few += len(block)
                nbytes += block.features.data.nbytes
                if few > MAX_RECENT_ITEMS or nbytes > SMALL_BYTES:
                    older = [*segments, *writer.flush()]
                    return writer.add_segments(itertools.chain(first, stream), older)
            replaced = writer.add_rows(first, segments, recent)
            if writer.recent_count() > FLUSHED:
                writer.flush()
            return replaced

    def remove(self, items: I64) -> None:
        with self.writing():
            for _, home, rows in self._where(items):
                self._writing().bury(None if isinstance(home, MemTable) else home, rows[rows >= 0])

    def compact(self) -> None:
        with self.writing():
            self._writing().flush()
        self._await_compaction()
        lock = locks.FileLock(self.folder / COMPACTING)
        if not lock.acquire(locks.WAIT):
            raise lock.busy(self.place)
        try:
            with self._now() as (segments, _):
                runs = list(compaction.runs_of_all(segments, self._dead))
            for run in runs:
                self._compact(run, lambda: True)
        finally:
            lock.release()

    def _compact(self, run: Sequence[Segment], go_on: Callable[[], bool]) -> None:
        """Merge adjacent segments into one. Other writers wait only for the swap at the end."""
        with self._lock:
            olds = [compaction.Old(segment, segment.dead.copy()) for segment in run]
        draft = compaction.draft_name(self.folder)
        try:
            nbytes = compaction.merged(olds, draft, go_on)
            self._swap(olds, draft, nbytes, go_on)
        except OSError as error:
            raise unwritten(self.folder, error) from error
        finally:
            disk.unlink(draft, missing_ok=True)
        for old in olds:
            disk.unlink(old.segment.path, missing_ok=True)

    def _swap(self, olds: Sequence[compaction.Old], draft: Path, nbytes: int, go_on: Callable[[], bool]) -> None:
        """Replace the old segments by the draft as soon as no other process writes."""
        while True:
            try:
                with self.writing():
                    self._writing().swap(olds, draft, nbytes)
                return
            except IndexBusy:
                if not go_on():
                    raise

    def _start_compaction(self) -> None:
        """Start compaction in a thread if it is due and this process is not compacting already."""
        if self._compaction is not None and self._compaction.is_alive():
            return
        with self._now() as (segments, _):
            if not compaction.due(segments, self._dead):
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
                    run = compaction.due(segments, self._dead)
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
        """Stop background compaction because the process is exiting."""
        self._stop.set()
        self._await_compaction()

    def check(self) -> Checked:
        with self._now() as (segments, recent):
            out = Checked(sum(map(len, segments)) - sum(self._dead) + len(recent))
        out.bytes = sum(segment.nbytes for segment in segments) + self._manifest.path.stat().st_size
        out.attempt(self._check_manifest)
        for segment in segments:
            out.attempt(partial(check_segment, segment))
        out.unprotected = [str(segment.path) for segment in segments if not segment.file.has_sums]
        if self._settings["format"] == 1:
            out.unprotected += [str(self.folder / about.SETTINGS_FILE), str(self._manifest.path)]
        return out

    def _check_manifest(self) -> None:
        with self._lock, self._manifest.reading():
            if (wrong := self._manifest.rows("PRAGMA integrity_check")) != [("ok",)]:
                raise self._manifest.damaged(str(wrong[0][0]).replace("\n", " "))
            meta = self._manifest.meta()
            for table in manifest.TABLE_KEYS:
                self._manifest.table(meta, table, "1")
            self._manifest.groups(meta)

    def facts(self) -> dict[str, Any]:
        with self._now() as (segments, recent):
            files = [path.stat().st_size for path in self.folder.rglob("*") if path.is_file()]
            return {"segments": len(segments), "recent": len(recent), "removed": sum(self._dead), "bytes": sum(files)}

    def close(self) -> None:
        self._await_compaction()
        _open.discard(self)
        with self._turn, self._lock:
            self._manifest.close()
            if self._changes is not None:
                self._changes.close()
            self._segments, self._recent = [], MemTable()


_open: weakref.WeakSet[FolderStore] = weakref.WeakSet()


@atexit.register
def _abandon_all() -> None:
    for store in list(_open):
        store.abandon()
