"""An index in PostgreSQL, for writers on many machines: the tables items and keys, and three small ones.

Writers are serialised: `writing` is a transaction that holds the advisory lock of the index, so a commit is atomic and
no other write can happen between the search for a match and the addition of an item. Readers take no lock. A removed
item is deleted at once; its keys remain, without effect, until the next `compact`.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import I64
from lookalike.errors import InputError, OutputError, UsageError
from lookalike.index.connections import SCAN_SETTINGS, Connections, DatabaseAddress, check_installed, closed_if_it_fails
from lookalike.index.inspection import Checked
from lookalike.index.segment_file import RESTORE
from lookalike.index.store import (
    Blobs,
    Block,
    Merge,
    StoreCandidates,
    StoredKeys,
    TooManyCandidates,
    check_automatic,
    next_automatic,
)

if TYPE_CHECKING:
    from psycopg import Connection

ID_TYPES = {"int64": pa.int64(), "large_string": pa.large_string()}
ID_TYPE_NAMES = {"int64": "whole numbers", "large_string": "strings"}
LONGEST_ID = 2000  # bytes; an entry of a PostgreSQL B-tree holds at most 2704
SCHEMA_SQL = """
CREATE TABLE {s}.state (
  settings text NOT NULL, next_item bigint NOT NULL, next_id bigint NOT NULL, items bigint NOT NULL,
  grouped bigint NOT NULL, ids text);
CREATE TABLE {s}.items (
  item bigint PRIMARY KEY, id text COLLATE "C" NOT NULL UNIQUE, features bytea NOT NULL, raw bytea);
CREATE TABLE {s}.keys (key bigint NOT NULL, item bigint NOT NULL);
CREATE INDEX keys_key ON {s}.keys (key, item);
CREATE TABLE {s}.groups (item bigint PRIMARY KEY, parent bigint NOT NULL);
CREATE TABLE {s}.merges (
  number bigserial PRIMARY KEY, merged bigint NOT NULL, into_group bigint NOT NULL, at text NOT NULL);
ALTER TABLE {s}.items ALTER features SET STORAGE EXTERNAL;
"""
MEETING = (  # all items that share a key with a query
    "SELECT DISTINCT q.query, k.item FROM unnest(%s::int4[], %s::int8[]) AS q (query, key) "
    "JOIN {s}.keys AS k ON k.key = q.key ORDER BY 1, 2"
)
TABLE_NAMES = ("state", "items", "keys", "groups", "merges")
# Binary COPY format of PostgreSQL: a header, then for each row the number of fields, and for each field its length and
# its value.
KEY_RECORD = np.dtype([("fields", ">i2"), ("eight", ">i4"), ("key", ">i8"), ("eight_more", ">i4"), ("item", ">i8")])
COPY_BEGIN, COPY_END = b"PGCOPY\n\xff\r\n\0" + bytes(8), b"\xff\xff"
ROWS_PER_COPY = 100_000  # rows of the table keys that are sent at once


class PostgresStore:
    """The `Store` of an index in PostgreSQL; the protocol documents the methods."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._sql = connections.place.sql
        self.place, self.read_only = connections.place.shown, connections.read_only
        self._met = threading.local()
        self._type: pa.DataType | None = None
        self._settings: dict[str, Any] = json.loads(self._one("SELECT settings FROM {s}.state")[0])

    @property
    def settings(self) -> dict[str, Any]:
        return self._settings

    @classmethod
    def create(cls, url: str, settings: dict[str, Any]) -> PostgresStore:
        """Create an empty index, and its schema if it does not exist."""
        check_installed()
        with closed_if_it_fails(Connections(place := DatabaseAddress.of(url))) as connections:
            with connections.writing() as link:
                if link.execute("SHOW server_encoding").fetchone() != ("UTF8",):
                    advice = "Make one that is: createdb -E UTF8 -T template0"
                    raise InputError(f"the database of {place.shown} is not in UTF8. {advice}.")
                if _tables(link, place):
                    raise OutputError(
                        f"{place.shown} holds an index already. Add schema=NAME to the URL for another one."
                    )
                if not link.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", [place.schema]).fetchone():
                    link.execute(place.sql("CREATE SCHEMA {s}"))
                link.execute(place.sql(SCHEMA_SQL))
                link.execute(place.sql("INSERT INTO {s}.state VALUES (%s, 0, 0, 0, 0, NULL)"), [json.dumps(settings)])
            return cls(connections)

    @classmethod
    def open(cls, url: str, *, read_only: bool = False) -> PostgresStore:
        """Open the index at this URL."""
        check_installed()
        with closed_if_it_fails(Connections(place := DatabaseAddress.of(url), read_only=read_only)) as connections:
            with connections.reading() as link:
                if "state" not in _tables(link, place):
                    raise InputError(f"no index at {place.shown}. Make one with: lookalike index create.")
            return cls(connections)

    def writing(self) -> AbstractContextManager[Any]:
        return self._connections.writing()

    def add(self, blocks: Iterable[Block]) -> int:
        with self._connections.writing() as link:
            return sum(self._add(link, block) for block in blocks)

    def _add(self, link: Connection, block: Block) -> int:
        self._check_type(block.ids.type)
        first, next_id = self._own("SELECT next_item, next_id FROM {s}.state")[0]
        ids = _texts(block.ids)
        rows = list(range(len(ids)))
        if len(last := dict(zip(ids, rows, strict=True))) < len(ids):
            rows = list(last.values())  # of items with the same id, the last is stored
            rows.sort()
        gone = link.execute(self._sql("DELETE FROM {s}.items WHERE id = ANY(%s)"), [ids]).rowcount
        with link.cursor() as cursor:
            with cursor.copy(self._sql("COPY {s}.items (item, id, features, raw) FROM STDIN (FORMAT BINARY)")) as copy:
                copy.set_types(["int8", "text", "bytea", "bytea"])
                for row in rows:
                    copy.write_row((first + row, ids[row], block.features[row], block.raw[row] if block.raw else None))
            with cursor.copy(self._sql("COPY {s}.keys (key, item) FROM STDIN (FORMAT BINARY)")) as copy:
                copy.write(COPY_BEGIN)
                for piece in _key_rows(block.keys, first, rows):
                    copy.write(piece)
                copy.write(COPY_END)
        if pa.types.is_int64(block.ids.type):
            next_id = next_automatic(next_id, block.ids.to_numpy())
        link.execute(
            self._sql("UPDATE {s}.state SET next_item = %s, next_id = %s, items = items + %s"),
            [first + len(ids), next_id, len(rows) - gone],
        )
        return gone + len(ids) - len(rows)

    def remove(self, items: I64) -> None:
        with self._connections.writing() as link:
            gone = link.execute(self._sql("DELETE FROM {s}.items WHERE item = ANY(%s)"), [items.tolist()]).rowcount
            link.execute(self._sql("UPDATE {s}.state SET items = items - %s"), [gone])

    def candidates(self, keys: StoredKeys, most: int | None = None) -> Iterator[StoreCandidates]:
        queries = np.repeat(np.arange(len(keys)), np.diff(keys.offsets))
        met = self._all(MEETING, queries.tolist(), keys.values.view(np.int64).tolist())
        if most is not None and len(met) > most:
            raise TooManyCandidates
        pairs = np.array(met, np.int64).reshape(-1, 2)
        items, place = np.unique(pairs[:, 1], return_inverse=True)
        rows = self._all("SELECT item, id, features FROM {s}.items WHERE item = ANY(%s)", items.tolist())
        self._met.ids = {item: name for item, name, _ in rows}  # the ids of the candidates are requested next
        features = {item: blob for item, _, blob in rows}
        pieces = Blobs.of([features.get(item, b"") for item in items.tolist()])
        candidates = StoreCandidates(
            pairs[:, 0], pairs[:, 1], pieces.data, pieces.offsets[:-1][place], pieces.offsets[1:][place]
        )
        if len(rows) < len(items):  # the keys of removed items remain until `compact`
            candidates = candidates.only(np.isin(candidates.items, np.fromiter(features, np.int64, len(features))))
        if len(candidates):
            yield candidates

    def features(self, items: I64) -> Blobs:
        stored = dict(self._all("SELECT item, features FROM {s}.items WHERE item = ANY(%s)", items.tolist()))
        return Blobs.of([stored[item] for item in items.tolist()])

    def raw(self, items: I64) -> list[bytes | None]:
        stored = dict(self._all("SELECT item, raw FROM {s}.items WHERE item = ANY(%s)", items.tolist()))
        return [stored.get(item) for item in items.tolist()]

    def numbers(self, ids: pa.Array) -> I64:
        wanted = ids.cast(pa.large_string()).to_pylist()
        possible = [name for name in wanted if "\0" not in name]
        stored = dict(self._all("SELECT id, item FROM {s}.items WHERE id = ANY(%s)", possible))
        return np.array([stored.get(name, -1) for name in wanted], np.int64)

    def ids(self, items: I64) -> pa.Array:
        wanted, known = items.tolist(), getattr(self._met, "ids", {})
        if missing := [item for item in wanted if item not in known]:
            known = known | dict(self._all("SELECT item, id FROM {s}.items WHERE item = ANY(%s)", missing))
        return pa.array([known.get(item) for item in wanted], pa.large_string()).cast(self.id_type() or pa.int64())

    def after(self, item: int, limit: int) -> I64:
        rows = self._all("SELECT item FROM {s}.items WHERE item > %s ORDER BY item LIMIT %s", item, limit)
        return np.array([row[0] for row in rows], np.int64)

    def count(self) -> int:
        return int(self._one("SELECT items FROM {s}.state")[0])

    def id_type(self) -> pa.DataType | None:
        if self._type is None:
            name = self._own("SELECT ids FROM {s}.state")[0][0]
            if self._connections.mine() is not None:
                return ID_TYPES.get(name)  # not committed yet
            self._type = ID_TYPES.get(name)
        return self._type

    def _check_type(self, ids: pa.DataType) -> None:
        """Raise UsageError unless ids have the type of the first ids of the index."""
        known = self._own("UPDATE {s}.state SET ids = coalesce(ids, %s) RETURNING ids", str(ids))[0][0]
        if known != str(ids):
            raise UsageError(f"the ids of this index are {ID_TYPE_NAMES[known]}; these are {ID_TYPE_NAMES[str(ids)]}.")

    def take_ids(self, count: int) -> int:
        with self.writing():
            self._check_type(pa.int64())
            first = int(self._own("SELECT next_id FROM {s}.state")[0][0])
            check_automatic(first, count)
            self._own("UPDATE {s}.state SET next_id = %s RETURNING next_id", first + count)
            return first

    def grouped(self) -> int:
        return int(self._own("SELECT grouped FROM {s}.state")[0][0])

    def parents(self, items: I64) -> I64:
        stored = dict(self._own("SELECT item, parent FROM {s}.groups WHERE item = ANY(%s)", items.tolist()))
        return np.array([stored.get(item, item) for item in items.tolist()], np.int64)

    def join(self, items: I64, parents: I64, merges: Sequence[Merge], grouped: int) -> None:
        with self._connections.writing() as link:
            link.execute(
                self._sql(
                    "INSERT INTO {s}.groups SELECT * FROM unnest(%s::int8[], %s::int8[]) "
                    "ON CONFLICT (item) DO UPDATE SET parent = excluded.parent"
                ),
                [items.tolist(), parents.tolist()],
            )
            insert = self._sql("INSERT INTO {s}.merges (merged, into_group, at) VALUES (%s, %s, %s)")
            with link.cursor() as cursor:
                cursor.executemany(insert, merges)
            link.execute(self._sql("UPDATE {s}.state SET grouped = %s"), [grouped])

    def all_parents(self) -> tuple[I64, I64]:
        rows = np.array(self._all("SELECT item, parent FROM {s}.groups ORDER BY item"), np.int64).reshape(-1, 2)
        return rows[:, 0], rows[:, 1]

    def merges(self) -> list[Merge]:
        return [Merge(*row) for row in self._all("SELECT merged, into_group, at FROM {s}.merges ORDER BY number")]

    def compact(self) -> None:
        self._connections.check_writable()
        with self._connections.reading() as link:
            gone = "DELETE FROM {s}.keys AS k WHERE NOT EXISTS (SELECT FROM {s}.items AS i WHERE i.item = k.item)"
            with link.transaction():
                link.execute(SCAN_SETTINGS)
                link.execute(self._sql(gone))
            link.execute(self._sql("VACUUM (ANALYZE) {s}.items, {s}.keys, {s}.groups, {s}.state"))

    def check(self) -> Checked:
        """Compare the counts and item numbers of the tables with each other.

        The bytes are checked by PostgreSQL itself if its cluster was created with data checksums.
        """
        out = Checked(self.count(), sum(self.facts()["tables"].values()))
        count, rows = self._one("SELECT (SELECT items FROM {s}.state), (SELECT count(*) FROM {s}.items)")
        newest = "SELECT (SELECT next_item FROM {s}.state), (SELECT coalesce(max(item), -1) FROM {s}.items)"
        next_item, last = self._one(newest)
        early, grouped = self._one(
            "SELECT (SELECT count(*) FROM {s}.groups WHERE parent >= item), (SELECT grouped FROM {s}.state)"
        )
        tests = {
            f"{count:,} items are counted, and {rows:,} are there": count == rows,
            f"item {last} is newer than the newest, {next_item - 1}": last < next_item,
            f"groups of {early:,} items are younger than the items": early == 0,
            f"{grouped:,} items are in groups, and there were {next_item:,}": grouped <= next_item,
        }
        out.damages = [
            f"{self.place} is damaged: {what}. {RESTORE}" for what, is_right in tests.items() if not is_right
        ]
        if self._one("SHOW data_checksums")[0] != "on":
            out.unprotected.append(f"{self.place} (PostgreSQL runs without data_checksums)")
        return out

    def facts(self) -> dict[str, Any]:
        sizes = {name: int(self._one(f"SELECT pg_total_relation_size('{{s}}.{name}')")[0]) for name in TABLE_NAMES}
        return {"store": "postgresql", "bytes": sum(sizes.values()), "tables": sizes}

    def close(self) -> None:
        self._connections.close()

    def _all(self, statement: str, *values: Any) -> list[Any]:
        """Return the rows of a query of committed data, without uncommitted changes of this thread, as in any store."""
        with self._connections.reading() as link, link.cursor(binary=True) as cursor:
            return cursor.execute(self._sql(statement), values).fetchall()

    def _one(self, statement: str, *values: Any) -> Any:
        return self._all(statement, *values)[0]

    def _own(self, statement: str, *values: Any) -> list[Any]:
        """Return the rows of a query that also sees the changes of the transaction of this thread."""
        link = self._connections.mine()
        return self._all(statement, *values) if link is None else link.execute(self._sql(statement), values).fetchall()


def _tables(link: Connection, place: DatabaseAddress) -> set[str]:
    """Return the names of the tables of an index that exist in the schema."""
    rows = link.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", [place.schema]).fetchall()
    return {name for (name,) in rows} & set(TABLE_NAMES)


def _texts(ids: pa.Array) -> list[str]:
    """Return ids as text, after checking that PostgreSQL can store them."""
    texts: list[str] = ids.cast(pa.large_string()).to_pylist()
    for text in texts:
        if "\0" in text:
            raise InputError(f"the id {text[:60]!r} holds the character NUL, which PostgreSQL cannot keep.")
        if len(text) * 4 > LONGEST_ID and len(text.encode()) > LONGEST_ID:
            raise InputError(
                f"an id of {len(text.encode())} bytes ({text[:40]!r}...) is too long: {LONGEST_ID} at most."
            )
    return texts


def _key_rows(keys: StoredKeys, first: int, rows: list[int]) -> Iterator[bytes]:
    """Yield the keys of these rows in binary COPY format. first: the item number of row 0."""
    items = np.repeat(np.arange(first, first + len(keys)), np.diff(keys.offsets))
    values = keys.values.view(np.int64)
    if len(rows) < len(keys):
        kept = np.isin(items - first, rows)
        items, values = items[kept], values[kept]
    for low in range(0, len(items), ROWS_PER_COPY):
        piece = np.empty(len(items[low : low + ROWS_PER_COPY]), KEY_RECORD)
        piece["fields"], piece["eight"], piece["eight_more"] = 2, 8, 8
        piece["key"], piece["item"] = values[low : low + ROWS_PER_COPY], items[low : low + ROWS_PER_COPY]
        yield piece.tobytes()
