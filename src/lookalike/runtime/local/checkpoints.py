"""Append the features of a collection to checkpoint files; committed data survives a crash and is reused on resume."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa

from lookalike.core import formatting
from lookalike.io import disk
from lookalike.runtime.local.disk_space import storing
from lookalike.runtime.local.growable_array import GrowableArray
from lookalike.runtime.local.pool import Pool
from lookalike.runtime.local.stored_array import StoredPart
from lookalike.runtime.local.work_folder import CheckpointFolder, Workspace, write_all

COMMIT = 3.0  # minimum seconds between two commits,
COMMIT_TIME_SHARE = 0.01  # or this fraction of the elapsed time, if larger: hundreds of commits overnight
TABLE = "columns"  # ids and extra columns: one Arrow stream for each commit


@dataclass(frozen=True)
class FeatureChunk:
    """A chunk of items: feature arrays by name, ids and extra columns, and counts."""

    numbers: Mapping[str, Any]
    columns: pa.RecordBatch
    counts: Mapping[str, int]

    def __len__(self) -> int:
        return len(self.columns)


@dataclass(frozen=True)
class Shelved:
    """The features of all items of the collections. columns: one table per collection, with the ids first."""

    numbers: Mapping[str, Any]
    columns: list[pa.Table]


class FeaturesInMemory:
    """Collects the features of collections, one after the other, in memory."""

    def __init__(self, dtypes: Mapping[str, Any], expect: Mapping[str, int]) -> None:
        """dtypes: of the feature arrays by name; expect: expected lengths of some of them."""
        self._numbers = {name: GrowableArray(dtype, expect=expect.get(name, 0)) for name, dtype in dtypes.items()}
        self._columns: list[list[pa.RecordBatch]] = []

    def begin(self) -> None:
        self._columns.append([])

    def append(self, piece: FeatureChunk) -> None:
        for name, numbers in piece.numbers.items():
            self._numbers[name].append(numbers)
        self._columns[-1].append(piece.columns)

    def finish(self) -> Shelved:
        tables = [pa.Table.from_batches(batches) if batches else pa.table({}) for batches in self._columns]
        return Shelved({name: growing.finish() for name, growing in self._numbers.items()}, tables)


class CheckpointWriter:
    """Writes the features of one collection to a checkpoint folder, and resumes from its last valid commit."""

    def __init__(
        self, place: CheckpointFolder, names: Iterable[str], pool: Pool, space: Workspace, expect: int, *,
        noun: str = "documents",
    ) -> None:  # fmt: skip
        """expect: approximate number of bytes of text in the collection. noun: of its items."""
        self._expect = expect
        self.place, self._space, self._names = place, space, (*names, TABLE)
        self._commits: list[dict[str, Any]] = place.progress.get("commits", [])
        whole = self._whole(pool)
        if whole < len(self._commits):
            space.notes.append(
                f"{place.path} is damaged after {formatting.count(self._at(whole, 'rows') or 0, noun)}; "
                "the rest is read again."
            )
            self._commits = self._commits[:whole]
            place.progress["complete"] = False
        self.counts: dict[str, int] = dict(self._at(whole, "counts") or {})
        self.rows: int = self._at(whole, "rows") or 0
        self.complete = bool(place.progress.get("complete"))
        self._files: dict[str, IO[bytes]] = {}
        self._crc = dict.fromkeys(self._names, 0)
        self._waiting: list[pa.RecordBatch] = []
        self._last = self._begin = disk.system.monotonic()
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="lookalike-commit")
        self._under_way: Future[None] | None = None

    def _at(self, commits: int, what: str) -> Any:
        return self._commits[commits - 1][what] if commits else None

    def _path(self, name: str) -> Path:
        return self.place.path / name

    def _end(self, name: str) -> int:
        return int(self._commits[-1]["ends"][name]) if self._commits else 0

    def _whole(self, pool: Pool) -> int:
        """Return the number of intact commits, up to the first with a wrong checksum."""

        def check(number: int) -> bool:
            ends, crcs = self._commits[number]["ends"], self._commits[number]["crc"]
            starts = self._commits[number - 1]["ends"] if number else dict.fromkeys(ends, 0)
            return all(checksum(self._path(name), starts[name], ends[name]) == crcs[name] for name in ends)

        for number, good in enumerate(pool.map(check, range(len(self._commits)))):
            if not good:
                return number
        return len(self._commits)

    def __enter__(self) -> CheckpointWriter:
        """Open the files for appending after the last commit; later data is truncated."""
        for name in self._names:
            with storing(self._path(name)):
                file = disk.open_file(self._path(name), "ab", 0)
                file.truncate(self._end(name))
            self._files[name] = file
        return self

    def __exit__(self, *_: object) -> None:
        """Wait for the commit in progress, also after an error, and close the files."""
        self._writer.shutdown()
        for file in self._files.values():
            file.close()

    def append(self, piece: FeatureChunk, state: Callable[[], Mapping[str, Any]]) -> None:
        """Append a chunk; from time to time commit all data so far, with the `state` of the input."""
        for name, numbers in piece.numbers.items():
            self._write(name, numbers)
        self._waiting.append(piece.columns)
        self.rows += len(piece)
        for name, count in piece.counts.items():
            self.counts[name] = self.counts.get(name, 0) + count
        idle = self._under_way is None or self._under_way.done()
        now = disk.system.monotonic()
        if idle and now - self._last >= max(COMMIT, COMMIT_TIME_SHARE * (now - self._begin)):
            self._commit(state())

    def end(self, state: Mapping[str, Any]) -> None:
        """Commit the rest and mark the collection as complete."""
        self._commit(state)
        self._settle()
        self.place.progress["complete"] = self.complete = True
        self.place.record()

    def state(self) -> Mapping[str, Any]:
        """Return the state of the input at the last commit."""
        return self._at(len(self._commits), "state") or {}

    def columns(self) -> pa.Table:
        """Return the ids and extra columns from the memory-mapped file."""
        with disk.open_file(self._path(TABLE), "rb") as file:
            data = self._space.keeper.map_bytes(file.fileno(), self._end(TABLE))
        batches: list[pa.RecordBatch] = []
        start = 0
        for commit in self._commits:
            end = commit["ends"][TABLE]
            if end > start:
                batches += pa.ipc.open_stream(pa.py_buffer(data[start:end]))
            start = end
        return pa.Table.from_batches(batches) if batches else pa.table({})

    def part(self, name: str, dtype: Any, width: int) -> StoredPart:
        """Return the rows of a feature that has `width` numbers per item."""
        path, nbytes = self.file(name)
        return StoredPart(path, nbytes // max(1, width * np.dtype(dtype).itemsize), dtype)

    def file(self, name: str) -> tuple[Path, int]:
        """Return the path of a feature array and its number of committed bytes."""
        return self._path(name), self._end(name)

    def _write(self, name: str, numbers: Any) -> None:
        with storing(self._path(name), self._needed(numbers.nbytes)):
            write_all(self._files[name], numbers)
        self._crc[name] = zlib.crc32(numbers.view(np.uint8).data, self._crc[name])

    def _needed(self, nbytes: int) -> int:
        """Estimate the bytes on disk for the rest of the collection from the part read so far; at least `nbytes`."""
        text = self.counts.get("bytes", 0)
        stored = sum(os.fstat(file.fileno()).st_size for file in self._files.values())
        return max(nbytes, int(stored * (self._expect / text - 1)) if text else 0)

    def _commit(self, state: Mapping[str, Any]) -> None:
        self._settle()
        if self._waiting:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, self._waiting[0].schema) as stream:
                for batch in self._waiting:
                    stream.write_batch(batch)
            self._write(TABLE, np.frombuffer(sink.getvalue(), np.uint8))
            self._waiting = []
        made = {
            "rows": self.rows,
            "counts": dict(self.counts),
            "state": dict(state),
            "ends": {name: os.fstat(file.fileno()).st_size for name, file in self._files.items()},
            "crc": dict(self._crc),
        }
        self._crc = dict.fromkeys(self._crc, 0)
        self._last = disk.system.monotonic()
        self._under_way = self._writer.submit(self._record, made)

    def _record(self, made: dict[str, Any]) -> None:
        for name, file in self._files.items():
            with storing(self._path(name)):
                disk.system.sync(file.fileno())
        self._commits.append(made)
        self.place.progress["commits"] = self._commits
        self.place.record()

    def _settle(self) -> None:
        if self._under_way is not None:
            self._under_way.result()
            self._under_way = None


def checksum(path: Path, start: int, end: int) -> int | None:
    """Return the CRC-32 of the bytes `start` to `end` of a file; None if the file is shorter or unreadable."""
    crc = 0
    try:
        with disk.open_file(path, "rb", 0) as file:
            file.seek(start)
            while start < end:
                chunk = file.read(min(1 << 22, end - start))
                if not chunk:
                    return None
                crc = zlib.crc32(chunk, crc)
                start += len(chunk)
    except OSError:
        return None
    return crc


def shelved(kept: Sequence[CheckpointWriter], dtypes: Mapping[str, Any], space: Workspace) -> Shelved:
    """Return the features of the collections as memory-mapped arrays."""
    numbers = {name: space.joined([one.file(name) for one in kept], dtype) for name, dtype in dtypes.items()}
    return Shelved(numbers, [one.columns() for one in kept])
