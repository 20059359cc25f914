"""The manifest of an index folder: one SQLite database that says what is there. A commit of it is a commit of all."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lookalike.errors import InputError, OutputError

NAME = "manifest.sqlite"
TABLES = """
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


def create(folder: Path) -> None:
    """An empty manifest."""
    link = sqlite3.connect(folder / NAME, isolation_level=None)
    try:
        link.execute("PRAGMA journal_mode = WAL")
        link.executescript("BEGIN;" + TABLES + "COMMIT;")
        link.executemany("INSERT INTO meta VALUES (?, ?)", META.items())
    except sqlite3.OperationalError as error:
        raise OutputError(f"no index could be made: {error}.") from error
    finally:
        link.close()


class Manifest:
    """A connection, for one store. Its methods are not for several threads at once: the store holds a lock."""

    def __init__(self, folder: Path, *, read_only: bool) -> None:
        self.path = folder / NAME
        try:
            self.link = self._connect("mode=ro") if read_only else self._connect("mode=rw")
            self.get("change")
        except sqlite3.Error as error:
            raise InputError(f"cannot open {self.path}: {error}. Is it the manifest of an index?") from error
        if not read_only:
            self.link.execute("PRAGMA synchronous = FULL")  # a commit that returns is on the disk

    def _connect(self, mode: str) -> sqlite3.Connection:
        uri = f"{self.path.absolute().as_uri()}?{mode}"
        link = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, timeout=10)
        try:
            link.execute("SELECT 1 FROM meta").fetchone()
        except sqlite3.OperationalError:
            if mode != "mode=ro":
                raise
            link.close()  # where nothing can be written, a reader cannot share memory with a writer: there is none
            return sqlite3.connect(f"{uri}&immutable=1", uri=True, isolation_level=None, check_same_thread=False)
        return link

    def version(self) -> int:
        """Another number when another connection has committed."""
        return int(self.link.execute("PRAGMA data_version").fetchone()[0])

    def get(self, name: str) -> Any:
        return self.link.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()[0]

    def set(self, name: str, value: Any) -> None:
        self.link.execute("UPDATE meta SET value = ? WHERE name = ?", (value, name))

    @contextmanager
    def reading(self) -> Iterator[None]:
        """All that is read inside is of one moment."""
        if self.link.in_transaction:
            yield
            return
        self.link.execute("BEGIN")
        try:
            yield
        finally:
            self.link.execute("COMMIT")

    @contextmanager
    def changing(self) -> Iterator[None]:
        """One transaction; nothing of it stays if the block raises."""
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
                raise OutputError(f"disk full while writing {self.path}; nothing of this change was kept.") from error
            raise OutputError(f"cannot write {self.path}: {error}.") from error

    def close(self) -> None:
        self.link.close()
