"""The manifest of an index folder: an SQLite database of its contents. A commit of it is a commit of the index.

SQLite does not detect every damage to its file, nor the loss of a part of its write-ahead log. Therefore the table
`meta` has a checksum of each other table and one of itself, and a separate file has the number of the last commit.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from lookalike.core.arrays import I64
from lookalike.errors import DamagedIndex, IndexBusy, InputError, OutputError
from lookalike.index.checksums import pairs_sum, row_sum, wrapped
from lookalike.index.segment_file import RESTORE
from lookalike.io import disk

MANIFEST_FILE, COMMITTED = "manifest.sqlite", "committed"
MANIFEST_SQL = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE segments (segment INTEGER PRIMARY KEY, first INTEGER, last INTEGER, items INTEGER, dead INTEGER,
  bytes INTEGER);
CREATE TABLE dead (segment INTEGER, page INTEGER, bits BLOB, changed INTEGER, PRIMARY KEY (segment, page))
  WITHOUT ROWID;
CREATE INDEX dead_changed ON dead (changed);
CREATE TABLE recent (item INTEGER PRIMARY KEY, id, keys BLOB, features BLOB, raw BLOB, changed INTEGER);
CREATE INDEX recent_changed ON recent (changed);
CREATE TABLE groups (item INTEGER PRIMARY KEY, parent INTEGER);
CREATE TABLE merges (merged INTEGER PRIMARY KEY, into_group INTEGER, at TEXT, number INTEGER);
"""
META = {"change": 0, "layout": 0, "next_item": 0, "next_id": 0, "next_segment": 0, "grouped": 0, "ids": None}
TABLE_KEYS = {"segments": ("segment",), "dead": ("segment", "page"), "recent": ("item",), "merges": ("merged",)}
TABLE_SUMS = {table: f"sum of {table}" for table in (*TABLE_KEYS, "groups")}
CHECKSUM = "checksum"
MAX_COPY_ATTEMPTS = 20  # attempts to copy a manifest that a writer may change during the copy

NOTHING_KEPT = "nothing of this change was kept"


def create(folder: Path) -> None:
    """Create an empty manifest."""
    link = sqlite3.connect(folder / MANIFEST_FILE, isolation_level=None)
    try:
        link.execute("PRAGMA journal_mode = WAL")
        link.executescript("BEGIN;" + MANIFEST_SQL + "COMMIT;")
        meta = META | dict.fromkeys(TABLE_SUMS.values(), 0)
        link.executemany("INSERT INTO meta VALUES (?, ?)", (meta | {CHECKSUM: _meta_sum(meta)}).items())
    except sqlite3.OperationalError as error:
        raise OutputError(f"no index could be made: {error}.") from error
    finally:
        link.close()
    record(folder, 0)


def _meta_sum(meta: dict[str, Any]) -> int:
    return row_sum(sorted(pair for pair in meta.items() if pair[0] != CHECKSUM))


def record(folder: Path, change: int) -> None:
    """Write the number of the last commit to a separate file, so that damage to the manifest does not affect it."""
    text = f"{change:020d}"
    mode = "r+b" if (folder / COMMITTED).exists() else "wb"
    with suppress(OSError), disk.open_file(folder / COMMITTED, mode) as file:
        file.write(f"{text} {row_sum([text]):08x}\n".encode())  # of constant length, so the file is never truncated


def recorded(folder: Path) -> int:
    """Return the recorded number of the last commit, or -1 if it is missing or unreadable."""
    try:
        with disk.open_file(folder / COMMITTED, "rb") as file:
            data = file.read()
        text, _, checksum = data.decode("ascii").rstrip("\n").partition(" ")
        return int(text) if f"{row_sum([text]):08x}" == checksum else -1
    except (OSError, ValueError):
        return -1


class Manifest:
    """The connection of a store to its manifest. It is not thread-safe; the store holds a lock.

    A reader without write permission can share the write-ahead log of SQLite only while a writer has the index open.
    Otherwise the connection is to a private copy of the manifest and its log, which is renewed when they change.
    """

    def __init__(self, folder: Path, *, read_only: bool) -> None:
        self.folder, self.path, self.read_only = folder, folder / MANIFEST_FILE, read_only
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        self._copied: Hashable = None  # state of the files when they were copied
        self._opened = 0
        self._connecting_again = False
        self._more: Counter[str] = Counter()  # changes of the table sums by the current transaction
        self._open()

    def _open(self) -> None:
        """Connect, and check that no commit is missing."""
        self._opened += 1
        known = recorded(self.folder)
        if not self.path.exists():
            raise DamagedIndex(f"{self.path} is missing. {RESTORE}")
        try:
            self.link = self._connect()
            if not self.read_only:
                self.link.execute("PRAGMA synchronous = FULL")  # a commit is on disk when it returns
        except sqlite3.OperationalError as error:
            raise InputError(f"cannot open {self.path}: {error}. Is it the manifest of an index?") from error
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # of text in the schema
            raise self.damaged(str(error)) from error
        change = self.meta()["change"]
        if change < known:
            self.link.close()
            raise self.damaged(
                f"it ends with commit {change:,}, and commit {known:,} was the last; {MANIFEST_FILE}-wal is missing "
                "or damaged"
            )

    def _connect(self) -> sqlite3.Connection:
        if not self.read_only:
            return _connection(self.path, "mode=rw")
        try:
            self._copied = None
            return _connection(self.path, "mode=ro")
        except sqlite3.OperationalError:
            return self._connect_to_copy()

    def _connect_to_copy(self) -> sqlite3.Connection:
        for _ in range(MAX_COPY_ATTEMPTS):
            before = self._state()
            if self._copy is not None:
                self._copy.cleanup()
            try:
                self._copy = tempfile.TemporaryDirectory(prefix="lookalike-manifest-")
                for name in (MANIFEST_FILE, f"{MANIFEST_FILE}-wal"):
                    if (self.folder / name).exists():
                        shutil.copyfile(self.folder / name, Path(self._copy.name) / name)
            except OSError as error:
                raise InputError(
                    f"{self.path} cannot be read: {error.strerror}: {error.filename}. Where the folder of an index "
                    "cannot be written, a reader copies its manifest and write-ahead log to the temporary folder."
                ) from error
            if self._state() == before:
                self._copied = before
                return _connection(Path(self._copy.name) / MANIFEST_FILE, "mode=rw")
        raise IndexBusy(f"{self.path} changes all the time and cannot be copied. Try again later.")

    def _state(self) -> Hashable:
        """Return inode, size and modification time of the files, which change when a writer changes them."""
        out: list[Any] = []
        for name in (MANIFEST_FILE, f"{MANIFEST_FILE}-wal"):
            with suppress(OSError):
                about = os.stat(self.folder / name)
                out.append((name, about.st_ino, about.st_size, about.st_mtime_ns))
        return tuple(out)

    def version(self) -> Hashable:
        """Return a value that changes when another connection commits."""
        if self._copied is not None and self._state() != self._copied:
            self._again()
        return self._opened, self.rows("PRAGMA data_version")[0]

    def _again(self) -> None:
        self.link.close()
        self._connecting_again = True
        try:
            self._open()
        finally:
            self._connecting_again = False

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return all rows of a query."""
        try:
            return self.link.execute(query, values).fetchall()
        except UnicodeDecodeError as error:
            raise self.damaged(str(error)) from error
        except sqlite3.Error as error:
            final = self._connecting_again or not self.read_only or self.link.in_transaction
            if final or not isinstance(error, sqlite3.OperationalError):
                raise self._failed(error) from error
        self._again()  # a writer has opened or closed the index, and with it the shared memory of the log
        try:
            return self.link.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise self._failed(error) from error

    def _failed(self, error: sqlite3.Error) -> Exception:
        if isinstance(error, sqlite3.OperationalError) and ("locked" in str(error) or "busy" in str(error)):
            return IndexBusy(f"{self.path}: {error}. Try again later.")
        return self.damaged(str(error))

    def damaged(self, what: str) -> DamagedIndex:
        return DamagedIndex(f"{self.path} is damaged: {' '.join(what.split())}. {RESTORE}")

    # Meta

    def meta(self) -> dict[str, Any]:
        """Return all entries of `meta` after checking their checksum."""
        meta = dict(self.rows("SELECT name, value FROM meta"))
        if not all(isinstance(name, str) for name in meta):
            raise self.damaged("a name in meta is not text")
        if CHECKSUM in meta and meta[CHECKSUM] != _meta_sum(meta):
            raise self.damaged("meta does not match its checksum")
        if not META.keys() <= meta.keys() or not isinstance(meta["change"], int):
            raise self.damaged("entries of meta are missing")
        return meta

    def get(self, name: str) -> Any:
        rows = self.rows("SELECT value FROM meta WHERE name = ?", (name,))
        if not rows:
            raise self.damaged(f"meta has no {name}")
        return rows[0][0]

    def set(self, name: str, value: Any) -> None:
        self.link.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    def compare(self, meta: dict[str, Any], table: str, total: int) -> None:
        """Compare the sum of a table with the one in `meta`; a manifest of format 1 has none."""
        if CHECKSUM in meta and wrapped(total) != meta.get(TABLE_SUMS[table]):
            raise self.damaged(f"the table {table} does not match its checksum")

    def table(self, meta: dict[str, Any], table: str, order: str) -> list[Any]:
        """Return all rows of a table after checking its sum."""
        rows = self.rows(f"SELECT * FROM {table} ORDER BY {order}")
        self.compare(meta, table, sum(map(row_sum, rows)))
        return rows

    def groups(self, meta: dict[str, Any]) -> tuple[I64, I64]:
        """Return (items, parents) of the table `groups`, sorted by item, after checking its sum and structure."""
        if self.rows("PRAGMA quick_check(groups)") != [("ok",)]:
            raise self.damaged("the table groups is out of order")
        rows = self.rows("SELECT item, parent FROM groups ORDER BY item")
        try:
            both = np.array(rows, np.int64).reshape(-1, 2)
        except (TypeError, ValueError, OverflowError) as error:
            raise self.damaged("the table groups has other values than numbers") from error
        self.compare(meta, "groups", pairs_sum(both[:, 0], both[:, 1]))
        return both[:, 0], both[:, 1]

    # Changes

    def put(self, table: str, *values: Any) -> None:
        """Insert a row, or replace the one with the same key."""
        self._more[table] += row_sum(values) - self._sum_of(table, values[: len(TABLE_KEYS[table])])
        marks = ", ".join("?" * len(values))
        self.link.execute(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", values)

    def drop(self, table: str, *key: Any) -> None:
        """Delete the rows with this key or key prefix."""
        self._more[table] -= self._sum_of(table, key)
        self.link.execute(f"DELETE FROM {table}{_where(table, key)}", key)

    def put_groups(self, items: I64, parents: I64) -> None:
        """Insert or replace rows of the table `groups`."""
        query = "SELECT item, parent FROM groups WHERE item = ?"
        stored = items[items < self.get("grouped")]  # the others are not in the table yet
        old = [row for item in stored.tolist() for row in self.rows(query, (item,))]
        both = np.array(old, np.int64).reshape(-1, 2)
        self._more["groups"] += pairs_sum(items, parents) - pairs_sum(both[:, 0], both[:, 1])
        rows = zip(items.tolist(), parents.tolist(), strict=True)
        self.link.executemany("INSERT OR REPLACE INTO groups VALUES (?, ?)", rows)

    def _sum_of(self, table: str, key: Sequence[Any]) -> int:
        return sum(map(row_sum, self.rows(f"SELECT * FROM {table}{_where(table, key)}", key)))

    def seal(self) -> None:
        """Write the table sums and the checksum of `meta` at the end of a transaction."""
        for table, more in self._more.items():
            self.set(TABLE_SUMS[table], wrapped(self.get(TABLE_SUMS[table]) + more))
        self._more.clear()
        self.set(CHECKSUM, _meta_sum(dict(self.rows("SELECT name, value FROM meta"))))

    def begin(self) -> None:
        """Check `meta` at the beginning of a transaction, and add sums to a manifest of format 1."""
        meta = self.meta()
        self._more.clear()
        if CHECKSUM not in meta:
            if self.rows("PRAGMA integrity_check") != [("ok",)]:
                raise self.damaged("its tables are not in order")
            for table in TABLE_KEYS:
                self.set(TABLE_SUMS[table], sum(map(row_sum, self.rows(f"SELECT * FROM {table}"))))
            items, parents = self.groups(meta)
            self.set(TABLE_SUMS["groups"], pairs_sum(items, parents))

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Open a read transaction: everything that is read inside is of one snapshot."""
        if self.link.in_transaction:
            yield
            return
        try:
            self._begin_reading()
        except sqlite3.DatabaseError as error:
            if not self.read_only or not isinstance(error, sqlite3.OperationalError):
                raise self._failed(error) from error
            self._again()
            self._begin_reading()
        try:
            yield
        finally:
            if self.link.in_transaction:
                with suppress(sqlite3.Error):  # of a damaged file; what was read has been checked
                    self.link.execute("ROLLBACK")

    def _begin_reading(self) -> None:
        self.link.execute("BEGIN")
        self.link.execute("SELECT 1 FROM meta").fetchone()  # the snapshot is taken by the first statement that reads

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Open a write transaction, which is rolled back if the block raises."""
        try:
            self.link.execute("BEGIN IMMEDIATE")
            try:
                yield
                self.link.execute("COMMIT")
            except BaseException:
                if self.link.in_transaction:
                    self.link.execute("ROLLBACK")
                raise
        except sqlite3.OperationalError as error:
            if "full" in str(error):
                raise OutputError(f"disk full while writing {self.path}; {NOTHING_KEPT}.") from error
            raise OutputError(f"cannot write {self.path}: {error}.") from error
        except sqlite3.DatabaseError as error:
            raise self.damaged(str(error)) from error

    def close(self) -> None:
        """Close the connection. A writer first checkpoints its log, so that a copy of the folder needs no log."""
        if not self.read_only:
            with suppress(sqlite3.Error):
                self.link.execute("PRAGMA wal_checkpoint(PASSIVE)")
        self.link.close()
        if self._copy is not None:
            self._copy.cleanup()


def _connection(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?{mode}"
    link = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, timeout=10)
    try:
        link.execute("SELECT 1 FROM meta").fetchone()
    except sqlite3.Error:
        link.close()
        raise
    return link


def _where(table: str, key: Sequence[Any]) -> str:
    return "".join(f"{' AND' if at else ' WHERE'} {name} = ?" for at, name in enumerate(TABLE_KEYS[table][: len(key)]))
