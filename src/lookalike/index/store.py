"""The interface of the storage of an index, in terms of item numbers, features and keys.

A store consists of two tables, items(item, id, features, raw) and keys(key, item), and of the data of groups; each
implementation chooses their layout. Item numbers increase with every added item and are never reused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lookalike.core import formatting
from lookalike.core.arrays import I64, U64
from lookalike.errors import DamagedIndex, UsageError

if TYPE_CHECKING:
    from lookalike.index.inspection import Checked

U8 = npt.NDArray[np.uint8]
Id = str | int
AUTOMATIC_IDS = 2**62  # upper bound of automatic ids; a larger id given by the user does not use them up


@dataclass(frozen=True)
class Blobs:
    """n byte strings in one array. data u8[]; offsets i64[n+1]."""

    data: U8
    offsets: I64

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> bytes:
        return self.data[self.offsets[row] : self.offsets[row + 1]].tobytes()

    @classmethod
    def of(cls, pieces: Sequence[bytes]) -> Blobs:
        """Concatenate byte strings.

        >>> Blobs.of([b"ab", b"", b"c"]).offsets.tolist()
        [0, 2, 2, 3]
        """
        return cls(np.frombuffer(b"".join(pieces), np.uint8), ends_of([len(piece) for piece in pieces]))

    def take(self, rows: Sequence[int]) -> Blobs:
        """Return the byte strings at these rows. rows: all rows in order, or fewer rows than there are."""
        return self if len(rows) == len(self) else Blobs.of([self[row] for row in rows])

    def part(self, low: int, high: int) -> Blobs:
        """Return the byte strings low to high - 1, without copying their bytes."""
        first, last = int(self.offsets[low]), int(self.offsets[high])
        return Blobs(self.data[first:last], self.offsets[low : high + 1] - first)


@dataclass(frozen=True)
class StoredKeys:
    """The keys of n items. values u64[]: uniformly distributed hashes; offsets i64[n+1].

    scanned: queries that would need too many keys and have none here; they are compared with every item in reach.
    """

    values: U64
    offsets: I64
    scanned: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def part(self, low: int, high: int) -> StoredKeys:
        first, last = int(self.offsets[low]), int(self.offsets[high])
        scanned = tuple(query - low for query in self.scanned if low <= query < high)
        return StoredKeys(self.values[first:last], self.offsets[low : high + 1] - first, scanned)


@dataclass(frozen=True)
class Block:
    """Items to store. ids: int64 or large_string, without nulls; raw: original items, None if they are not stored."""

    ids: pa.Array
    features: Blobs
    keys: StoredKeys
    raw: Blobs | None

    def __len__(self) -> int:
        return len(self.ids)


class TooManyCandidates(Exception):
    """Raised when a query has more candidates than its caller allows."""


@dataclass(frozen=True)
class StoreCandidates:
    """Candidates: items that share a key with a query, each once per query.

    query i64[c]: position of the query, ascending; items i64[c]: item numbers; data[starts[i]:ends[i]]: their features.
    """

    query: I64
    items: I64
    data: U8
    starts: I64
    ends: I64

    def __len__(self) -> int:
        return len(self.items)

    def check_sizes(self, nbytes: int) -> None:
        """Raise DamagedIndex for features of another size, which occur only in a damaged segment without checksums."""
        if np.any(self.ends - self.starts != nbytes):
            raise DamagedIndex(f"an item of the index is damaged: its features are not of {nbytes:,} bytes.")

    def only(self, keep: npt.NDArray[np.bool_]) -> StoreCandidates:
        return StoreCandidates(self.query[keep], self.items[keep], self.data, self.starts[keep], self.ends[keep])


class Merge(NamedTuple):
    """A merge of groups: `merged` became part of the older group `into` at the time `when` (UTC, ISO 8601)."""

    merged: int
    into: int
    when: str


def next_automatic(next_id: int, ids: I64) -> int:
    """Return the next automatic id after items with these ids were added."""
    mine = ids[ids < AUTOMATIC_IDS]
    return max(next_id, int(mine.max()) + 1) if len(mine) else next_id


def check_automatic(next_id: int, count: int) -> None:
    """Raise UsageError if `count` more automatic ids would exceed their limit."""
    if next_id + count > AUTOMATIC_IDS:
        raise UsageError(
            f"no automatic ids are left for {formatting.count(count, 'items')}: the index has an id near "
            f"{next_id - 1}, and automatic ids stay below {AUTOMATIC_IDS}. Give ids."
        )


def read_only(place: object) -> UsageError:
    """Return the error for a change of an index that was opened for reading."""
    return UsageError(f"{place} was opened with read_only=True; open it without to change it.")


class Store(Protocol):
    """The items, keys and groups of one index. Methods may be called from several threads.

    Each call sees everything that was committed before it began. Readers never wait for a writer.
    """

    place: str
    read_only: bool

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that were given at creation: format, kind, and the settings of the kind."""

    def writing(self) -> AbstractContextManager[None]:
        """Open a transaction as the only writer: all changes inside are committed at the end, or none if it raises.

        It may be nested. IndexBusy if another process keeps writing for too long.
        """

    def add(self, blocks: Iterable[Block]) -> int:
        """Store items under the next item numbers, in order. Items with the same ids are replaced; return how many."""

    def remove(self, items: I64) -> None:
        """Remove items by number; each must be stored. Their groups remain."""

    def candidates(self, keys: StoredKeys, most: int | None = None) -> Iterator[StoreCandidates]:
        """Yield the items that share a key with each query, in parts; each item occurs in only one part.

        most: raise TooManyCandidates instead of gathering more than this many at a time; None for no limit.
        """

    def features(self, items: I64) -> Blobs:
        """Return the features of stored items; KeyError if an item was removed."""

    def raw(self, items: I64) -> list[bytes | None]:
        """Return the original items as bytes, or None for items that are not stored or were removed."""

    def numbers(self, ids: pa.Array) -> I64:
        """Return the item number of each id, or -1."""

    def ids(self, items: I64) -> pa.Array:
        """Return the id of each item number; null if the item was removed meanwhile."""

    def after(self, item: int, limit: int) -> I64:
        """Return the next item numbers above `item`, ascending, at most `limit`."""

    def count(self) -> int:
        """Return the number of items."""

    def id_type(self) -> pa.DataType | None:
        """Return the type of ids, int64 or large_string, set by the first items; None if there were none yet."""

    def take_ids(self, count: int) -> int:
        """Reserve `count` consecutive automatic ids that were never used, and return the first. Only while writing."""

    def grouped(self) -> int:
        """Return the number below which all items are assigned to groups."""

    def parents(self, items: I64) -> I64:
        """Return the parent of each item or group, which is itself if it has none. See `index.grouping`."""

    def join(self, items: I64, parents: I64, merges: Sequence[Merge], grouped: int) -> None:
        """Set the parents of items, record merges, and mark all items below `grouped` as assigned to groups."""

    def all_parents(self) -> tuple[I64, I64]:
        """Return (items, parents) of all items that have a parent, including removed items, sorted by item."""

    def merges(self) -> list[Merge]:
        """Return all merges of groups in the order in which they were recorded."""

    def compact(self) -> None:
        """Make the store smaller and faster without changing its contents. Readers are not blocked."""

    def check(self) -> Checked:
        """Check all stored data for damage."""

    def facts(self) -> dict[str, Any]:
        """Return the entries of `Index.info` that describe the store, such as bytes and segments."""

    def close(self) -> None:
        """Close files and connections."""


def ends_of(sizes: npt.ArrayLike) -> I64:
    """Return the offsets i64[n+1] of n pieces of these sizes."""
    sizes = np.asarray(sizes, np.int64)
    out = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=out[1:])
    return out
