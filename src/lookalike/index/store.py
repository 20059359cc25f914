"""What an index asks of the place where its items are kept. Everything above speaks of item numbers, features and keys.

A store is two tables, items(item, id, features, raw) and keys(key, item), and what belongs to groups; how they are
laid out is the store's own affair. Item numbers grow with every item added and are never used again.
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
AUTOMATIC_IDS = 2**62  # automatic ids are below it, so that no id of the user's above it uses them up


@dataclass(frozen=True)
class Blobs:
    """n pieces of bytes in one array. data u8[]; offsets i64[n+1]."""

    data: U8
    offsets: I64

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> bytes:
        return self.data[self.offsets[row] : self.offsets[row + 1]].tobytes()

    @classmethod
    def of(cls, pieces: Sequence[bytes]) -> Blobs:
        """The pieces, one after the other.

        >>> Blobs.of([b"ab", b"", b"c"]).offsets.tolist()
        [0, 2, 2, 3]
        """
        return cls(np.frombuffer(b"".join(pieces), np.uint8), ends_of([len(piece) for piece in pieces]))

    def take(self, rows: Sequence[int]) -> Blobs:
        """These pieces."""
        return self if len(rows) == len(self) else Blobs.of([self[row] for row in rows])

    def part(self, low: int, high: int) -> Blobs:
        """Pieces `low` to before `high`."""
        first, last = int(self.offsets[low]), int(self.offsets[high])
        return Blobs(self.data[first:last], self.offsets[low : high + 1] - first)


@dataclass(frozen=True)
class StoredKeys:
    """The keys of n items: values u64[], spread evenly over all 64-bit numbers; offsets i64[n+1].

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
    """Some items as they are stored. ids: int64 or large_string, without nulls; raw: None where items are not kept."""

    ids: pa.Array
    features: Blobs
    keys: StoredKeys
    raw: Blobs | None

    def __len__(self) -> int:
        return len(self.ids)


class TooManyCandidates(Exception):
    """A query has more candidates than its caller asked to look at."""


@dataclass(frozen=True)
class StoreCandidates:
    """Items that share a key with a query, each once for each query.

    query i64[c]: the number of the query, ascending; items i64[c]; their features are data[starts[i]:ends[i]].
    """

    query: I64
    items: I64
    data: U8
    starts: I64
    ends: I64

    def __len__(self) -> int:
        return len(self.items)

    def check_sizes(self, nbytes: int) -> None:
        """Refuse features of another size, which only a damaged segment without checksums has."""
        if np.any(self.ends - self.starts != nbytes):
            raise DamagedIndex(f"an item of the index is damaged: its features are not of {nbytes:,} bytes.")

    def only(self, keep: npt.NDArray[np.bool_]) -> StoreCandidates:
        return StoreCandidates(self.query[keep], self.items[keep], self.data, self.starts[keep], self.ends[keep])


class Merge(NamedTuple):
    """The group `merged` is part of the older group `into` from `when` (UTC, ISO 8601) on."""

    merged: int
    into: int
    when: str


def next_automatic(next_id: int, ids: I64) -> int:
    """Return the next automatic id after items with these ids were added."""
    mine = ids[ids < AUTOMATIC_IDS]
    return max(next_id, int(mine.max()) + 1) if len(mine) else next_id


def check_automatic(next_id: int, count: int) -> None:
    """Refuse automatic ids that would not stay below their limit."""
    if next_id + count > AUTOMATIC_IDS:
        raise UsageError(
            f"no automatic ids are left for {formatting.count(count, 'items')}: the index has an id near "
            f"{next_id - 1}, and automatic ids stay below {AUTOMATIC_IDS}. Give ids."
        )


class Store(Protocol):
    """Items, keys and groups of one index. Methods may be called from several threads.

    A store sees what others have committed at the beginning of each call. Readers never wait for a writer.
    """

    place: str
    read_only: bool

    @property
    def settings(self) -> dict[str, Any]:
        """What was given at creation: format, kind, the kind's settings."""

    def writing(self) -> AbstractContextManager[None]:
        """Be the only writer. All that is done inside is committed together at the end, or, if it raises, not at all.
        It may be entered again inside. IndexBusy where another process writes and does not end soon."""

    def add(self, blocks: Iterable[Block]) -> int:
        """Give the items the next numbers, in order. An id that is there already loses its old item. How many did."""

    def remove(self, items: I64) -> None:
        """Forget these items (numbers that are there). Their groups stay."""

    def candidates(self, keys: StoredKeys, most: int | None = None) -> Iterator[StoreCandidates]:
        """Every item that shares a key with each query, in parts; each item in one part only.

        most: raise TooManyCandidates instead of gathering more than this many at a time; None for no limit.
        """

    def features(self, items: I64) -> Blobs:
        """Of items that are there; KeyError where one is gone."""

    def raw(self, items: I64) -> list[bytes | None]:
        """The items as they were given, or None where they are not kept, or gone."""

    def numbers(self, ids: pa.Array) -> I64:
        """The item of each id, or -1."""

    def ids(self, items: I64) -> pa.Array:
        """The id of each item; null where it is gone, since the caller learned of it."""

    def after(self, item: int, limit: int) -> I64:
        """The numbers of the next items above `item`, ascending, `limit` at most."""

    def count(self) -> int:
        """How many items there are."""

    def id_type(self) -> pa.DataType | None:
        """int64 or large_string: what ids are, fixed by the first items; None before."""

    def take_ids(self, count: int) -> int:
        """The first of `count` whole numbers, in a row, that no item has or had as its id. Only while writing."""

    def grouped(self) -> int:
        """All items with numbers below this have been put into groups."""

    def parents(self, items: I64) -> I64:
        """The item that each item, or group, was put with; itself where there is none. See `index.groups`."""

    def join(self, items: I64, parents: I64, merges: Sequence[Merge], grouped: int) -> None:
        """Put items with their groups, record merges, and that all items below `grouped` are done."""

    def all_parents(self) -> tuple[I64, I64]:
        """(items, parents) of all items that were put with another, in the order of items; also of removed ones."""

    def merges(self) -> list[Merge]:
        """In the order of their recording."""

    def compact(self) -> None:
        """Make the store smaller and faster, without a change of what it says. Readers go on meanwhile."""

    def check(self) -> Checked:
        """Look for damage in everything that is stored."""

    def facts(self) -> dict[str, Any]:
        """What `info` tells of the store: bytes, segments, and the like."""

    def close(self) -> None:
        """Let go of files and connections."""


def ends_of(sizes: npt.ArrayLike) -> I64:
    """i64[n+1]: where pieces of these sizes begin and end."""
    sizes = np.asarray(sizes, np.int64)
    out = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=out[1:])
    return out
