"""The features of pictures in an SQLite database, which is also the cache of later runs.

A file is known by its path, size and times; its content by a hash, so that moved and copied files are not decoded
again. What every comparison needs (hashes, codes) is loaded at once; thumbnails, points and small copies only for
candidates.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from lookalike.core.arrays import U64
from lookalike.kinds.images.hashes import U8
from lookalike.kinds.images.local_features import LocalFeatures

DATABASE = "pictures-1.sqlite"  # the number is that of the tables
ROWS_PER_QUERY = 500  # rows of one query
COMMIT_SECONDS = 5.0  # time between commits: an interrupted run loses these pictures at most
BUSY_SECONDS = 60.0  # how long to wait for another run that writes
UNSETTLED_NS = 2_000_000_000  # a file changed so shortly before it was read may change again with the same time
DETAILS_KEPT = 512  # pictures whose details stay in memory
TABLES = """
create table if not exists files (
    path blob primary key, size integer, modified integer, changed integer, content blob) without rowid;
create table if not exists pictures (
    id integer primary key, content blob, recipe text, frame integer, width integer, height integer,
    head blob, codes blob, unique (content, recipe, frame));
create table if not exists details (id integer primary key, thumbs blob, points blob, mirrored blob, small blob);
"""


class FileState(NamedTuple):
    """What tells whether a file has changed: its size, the time of its content and that of its metadata."""

    size: int
    modified_ns: int
    changed_ns: int

    @classmethod
    def of(cls, file: Path) -> Self:
        stat = os.stat(file)
        return cls(stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)

    def settled(self) -> bool:
        """Return whether a later change would show in the times."""
        return time.time_ns() - max(self.modified_ns, self.changed_ns) > UNSETTLED_NS


@dataclass(frozen=True)
class PictureFeatures:
    """The features of a picture, or of one frame of it.

    head: the shape, the hashes of the whole, of the windows, and of the seven other orientations, and the colours of an
    icon. thumbs u8[windows, 256].
    """

    width: int
    height: int
    head: U64
    thumbs: U8
    local: LocalFeatures | None = None


class StoredPicture(NamedTuple):
    """What every comparison needs of a stored picture. id: its number in the store."""

    id: int
    width: int
    height: int
    head: bytes
    codes: bytes


def cache_folder() -> Path:
    """Return the folder in which hashes of pictures are kept for later runs."""
    home = os.environ.get("XDG_CACHE_HOME") or (os.environ.get("LOCALAPPDATA") if sys.platform == "win32" else None)
    return Path(home or Path.home() / ".cache") / "lookalike" / "pictures"


def count_cached(folder: Path) -> tuple[int | None, int] | None:
    """Return the number of pictures in a cache (None if it cannot be read) and its bytes; None if there is no cache."""
    files = list(folder.glob("pictures-*"))
    if not files:
        return None
    nbytes = sum(file.stat().st_size for file in files)
    try:
        with closing(sqlite3.connect(f"{(folder / DATABASE).absolute().as_uri()}?mode=ro", uri=True)) as database:
            ((pictures,),) = database.execute("select count(*) from pictures").fetchall()
    except sqlite3.Error:
        return None, nbytes
    return pictures, nbytes


def remove_cache(folder: Path) -> int:
    """Remove a cache of hashes, and return the bytes that it had. A run that uses it goes on with the removed files."""
    freed = 0
    for file in folder.glob("pictures-*"):
        freed += file.stat().st_size
        file.unlink()
    return freed


class FeatureStore:
    """Features by content and recipe: the options and versions that set them. Without a folder, it is temporary."""

    def __init__(self, folder: Path | None, recipe: str) -> None:
        """Raises sqlite3.Error or OSError if the database cannot be used."""
        self._recipe, self._lock, self._last = recipe, threading.Lock(), time.monotonic()
        if folder is not None:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        place = "" if folder is None else os.fspath(folder / DATABASE)
        self._database = sqlite3.connect(place, timeout=BUSY_SECONDS, check_same_thread=False, isolation_level=None)
        try:
            self._database.execute("pragma journal_mode = wal")
            self._database.execute("pragma synchronous = normal")
            self._database.executescript(TABLES)
        except BaseException:
            self._database.close()
            raise
        self._local = lru_cache(DETAILS_KEPT)(self._read_local)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock, closing(self._database):
            self._commit()

    def commit(self) -> None:
        """Let other runs see, and write, after all pictures were added."""
        with self._lock:
            self._commit()

    def _commit(self) -> None:
        if self._database.in_transaction:
            self._database.execute("commit")
            self._last = time.monotonic()

    def _begin(self) -> None:
        """Begin a transaction, or a new one after a while."""
        if self._database.in_transaction and time.monotonic() - self._last > COMMIT_SECONDS:
            self._commit()
        if not self._database.in_transaction:
            self._database.execute("begin immediate")

    def by_path(self, files: Sequence[tuple[str, FileState]]) -> dict[str, list[StoredPicture]]:
        """Return the frames of the files that have not changed since they were stored."""
        states = {os.fsencode(path): state for path, state in files}
        found: dict[str, list[StoredPicture]] = {}
        for some in _portions(states):
            rows = self._select(
                "select path, size, modified, changed, id, width, height, head, codes from files join pictures using "
                f"(content) where recipe = ? and path in ({_marks(some)}) order by path, frame",
                (self._recipe, *some),
            )
            for path, size, modified, changed, *loaded in rows:
                if states[path] == (size, modified, changed):
                    found.setdefault(os.fsdecode(path), []).append(StoredPicture(*loaded))
        return found

    def by_content(self, content: bytes) -> list[StoredPicture]:
        """Return the frames of a picture, or an empty list if its content is not stored."""
        columns = "id, width, height, head, codes"
        rows = self._select(
            f"select {columns} from pictures where content = ? and recipe = ? order by frame", (content, self._recipe)
        )
        return [StoredPicture(*row) for row in rows]

    def add(self, content: bytes, frames: Sequence[PictureFeatures]) -> list[StoredPicture]:
        """Store the frames of a picture."""
        added = []
        with self._lock:
            self._begin()
            for frame, made in enumerate(frames):
                local = made.local
                codes = b"" if local is None else local.codes.tobytes()
                head = made.head.tobytes()
                self._database.execute(
                    "insert or ignore into pictures (content, recipe, frame, width, height, head, codes) "
                    "values (?, ?, ?, ?, ?, ?, ?)",
                    (content, self._recipe, frame, made.width, made.height, head, codes),
                )
                ((number,),) = self._database.execute(
                    "select id from pictures where content = ? and recipe = ? and frame = ?",
                    (content, self._recipe, frame),
                )
                parts = (b"",) * 3
                if local is not None:
                    parts = (local.points.tobytes(), local.mirrored.tobytes(), _packed(local.small))
                self._database.execute(
                    "insert or ignore into details values (?, ?, ?, ?, ?)", (number, made.thumbs.tobytes(), *parts)
                )
                added.append(StoredPicture(number, made.width, made.height, head, codes))
        return added

    def remember(self, path: str, state: FileState, content: bytes) -> None:
        """Store that a file has this content, if a later change of it would be noticed."""
        if state.settled():
            with self._lock:
                self._begin()
                self._database.execute(
                    "insert or replace into files values (?, ?, ?, ?, ?)", (os.fsencode(path), *state, content)
                )

    def thumbs(self, ids: Iterable[int]) -> dict[int, bytes]:
        """Return the thumbnails of stored pictures."""
        found: dict[int, bytes] = {}
        for some in _portions(dict.fromkeys(ids)):
            found |= dict(self._select(f"select id, thumbs from details where id in ({_marks(some)})", some))
        return found

    def local(self, number: int) -> LocalFeatures:
        """Return the local features of a stored picture."""
        return self._local(number)

    def _read_local(self, number: int) -> LocalFeatures:
        ((codes, points, mirrored, small),) = self._select(
            "select codes, points, mirrored, small from pictures join details using (id) where id = ?", (number,)
        )
        return LocalFeatures(
            np.frombuffer(points, np.float32).reshape(-1, 2), np.frombuffer(codes, np.uint64).reshape(-1, 2),
            np.frombuffer(mirrored, np.uint64).reshape(-1, 2), _unpacked(small),
        )  # fmt: skip

    def _select(self, query: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._database.execute(query, values).fetchall()


def _portions(values: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    """Divide values into portions of one query each."""
    rest = iter(values)
    while some := tuple(islice(rest, ROWS_PER_QUERY)):
        yield some


def _packed(small: U8) -> bytes:
    """Return a picture as its height and its pixels."""
    height: bytes = len(small).to_bytes(2, "little")
    return height + small.tobytes()


def _unpacked(data: bytes) -> U8:
    return np.frombuffer(data, np.uint8, offset=2).reshape(int.from_bytes(data[:2], "little"), -1)


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
