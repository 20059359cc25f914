"""The index as users see it: `la.Index`."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.errors import LeftOutWarning, UsageError
from lookalike.index import grouping, sources, stores, transfer
from lookalike.index.inspection import Checked
from lookalike.index.items import Batch, ids_of
from lookalike.index.kinds import IndexKind, kind_again, make_kind
from lookalike.index.new_items import NewItemFilter, blocks
from lookalike.index.scan import Budget
from lookalike.index.search import Match, WorkLimit, matches, query_spans, shown
from lookalike.index.store import Block, Id, Store, StoreCandidates, TooManyCandidates
from lookalike.io.pictures import PictureFolder, left_out, open_pictures

DECIMAL = re.compile(r"0|-?[1-9][0-9]{0,18}")


@dataclass(frozen=True)
class Added:
    """What `add` did. count: items that are in now; replaced: how many of them took the place of an older one."""

    count: int
    replaced: int


@dataclass(frozen=True)
class Stored:
    """What an index has of one id. item: as it was given, or None where items are not kept; group: see `groups`."""

    id: Id
    item: Any
    group: int


class Index:
    """Items on disk that can be asked "what of you is like this?" while more come in.

    Make one with `create`, take one up with `open`; it is a context manager. Many processes may read it while one
    writes. What a method that writes has returned for is on the disk and seen by all.

    >>> import tempfile, lookalike as la
    >>> index = la.Index.create(tempfile.mkdtemp() + "/seen", kind="documents", k=2)
    >>> index.add(["a rose is a rose is a rose", "nothing alike"], ids=["r", "n"])
    Added(count=2, replaced=0)
    >>> index.query(["A rose is a rose, is a rose!"])
    [[Match(id='r', similarity=1.0)]]
    >>> index.add_if_new(["a rose is a rose", "a tulip is a tulip"], ids=["r2", "t"])
    [Match(id='r', similarity=1.0), None]
    >>> index.close()
    """

    def __init__(self, store: Store, kind: IndexKind, *, keeps_items: bool) -> None:
        """For `create` and `open`."""
        self.store, self.kind, self._keeps_items = store, kind, keeps_items

    @classmethod
    def create(
        cls, place: str | PathLike[str], *, kind: str = "documents", threshold: float | None = None,
        recall: float | None = None, store_items: bool = True, **options: Any,
    ) -> Index:  # fmt: skip
        """A new, empty index.

        place: a folder that does not exist yet, or a postgresql:// URL. kind: documents, sets, vectors, bits, strings,
        records, images, faces. threshold: how near items must be to match, in the words of the kind; an item exactly
        there is found with probability `recall`, at least. store_items: keep the items as they came (the paths of
        pictures), not only their features. The other options are those of the kind, as for `la.pairs` and its fellows.
        """
        given = {"threshold": threshold, "recall": recall}
        made = make_kind(kind, {name: value for name, value in given.items() if value is not None} | options)
        keeps = store_items and not made.is_own_feature
        settings = {"kind": made.name, "scheme": made.scheme, "store_items": keeps, "settings": made.settings()}
        return cls(stores.create(place, settings), made, keeps_items=keeps)

    @classmethod
    def open(cls, place: str | PathLike[str], *, read_only: bool = False) -> Index:
        """The index at this place. It costs milliseconds, whatever its size."""
        store = stores.open(place, read_only=read_only)
        settings = store.settings
        return cls(store, kind_again(settings, store.place), keeps_items=settings["store_items"])

    # Changes

    def add(self, items: Any, ids: Any = None) -> Added:
        """Put items in; all of them, or none if this raises. An id that is there already gets the new item instead.

        items: a list, an Arrow array, or an iterable. ids: strings or whole numbers, one for each item; without them
        the next whole numbers after the largest below 2**62.
        """
        return self.add_batches([(items, None if ids is None else ids_of(ids))])

    def add_from(
        self, source: Any, *, column: str | None = None, id: str | None = None, lines: bool = False,  # noqa: A002
    ) -> Added:  # fmt: skip
        """As `add`, of the rows of files (a `Path`, or a list of them) or of a table. All of them, or none.

        column: of the texts, token lists, codes or vectors; id: of the ids. Without them the usual names are taken.
        lines: read text files line by line; otherwise each is a document, where the index is of documents.
        Pictures have the names of their files as ids; a LeftOutWarning names those that cannot be read.
        """
        opened = open_pictures(source) if self.kind.name == "images" else source
        added = self.add_batches(sources.read(self.kind, opened, column=column, id=id, lines=lines))
        if isinstance(opened, PictureFolder) and (warning := left_out(opened.name, opened.broken, has_receipt=False)):
            warnings.warn(warning, LeftOutWarning, stacklevel=2)
        return added

    def add_batches(self, batches: Iterable[Batch]) -> Added:
        """As `add`, of batches of (items, ids) as they come; all of them, or none."""
        count = 0

        def counted() -> Iterator[Block]:
            nonlocal count
            for block in self._blocks(batches):
                count += len(block)
                yield block

        with self.store.writing():
            replaced = self.store.add(counted())
        return Added(count, replaced)

    def add_if_new(self, items: Any, ids: Any = None) -> list[Match | None]:
        """Put in those items that match nothing: nothing in the index, and none of the new ones before them.

        For each item None where it was put in, else the nearest that it matched. An item whose own id is there matches
        its older self where nothing has changed; else it is compared with the others only, and takes its place where it
        is new.
        """
        out: list[Match | None] = []
        with self.store.writing():
            sieve, chosen = NewItemFilter(self.store, self.kind), []
            for block in self._blocks([(items, None if ids is None else ids_of(ids))]):
                found, new = sieve.sift(block)
                out += found
                chosen += [] if new is None else [new]
            if chosen:
                self.store.add(chosen)
        return out

    def remove(self, ids: Any) -> int:
        """Take items out; how many of these ids were there. Their groups stay as they are, without them."""
        wanted = self._known(ids)
        with self.store.writing():
            items = self.store.numbers(wanted)
            items = np.unique(items[items >= 0])
            if len(items):
                grouping.catch_up_before_change(self.store, self.kind)
                self.store.remove(items)
        return len(items)

    def compact(self) -> None:
        """Make the index smaller and faster: what was removed is gone, small parts are put together."""
        self.store.compact()

    def check(self) -> Checked:
        """Read all of the index and look for damage: `damages` has a line for each, and `is_sound` is True for none.

        Queries notice damage too, in what they use; this finds it in what nobody has asked for.
        """
        return self.store.check()

    def merge(self, other: str | PathLike[str]) -> Added:
        """Put in all items of another index of the same kind and settings, as `add` would."""
        with Index.open(other, read_only=True) as given:
            if given.store.place == self.store.place:
                raise UsageError(f"{given.store.place} cannot be merged with itself.")
            transfer.check_alike(self.kind, given.kind, given.store.place)
            if given._keeps_items != self._keeps_items:
                raise UsageError(
                    f"only one of this index and {given.store.place} keeps its items; expected both or none."
                )
            count = len(given)
            with self.store.writing():
                if any(np.any(self.store.numbers(ids) >= 0) for ids in transfer.all_ids(given.store)):
                    grouping.catch_up_before_change(self.store, self.kind)
                return Added(count, self.store.add(transfer.blocks(given.store, self.kind, raw=self._keeps_items)))

    def export(self, path: str | PathLike[str], *, force: bool = False) -> None:
        """Write all items as a table (Parquet, CSV, JSON lines by the extension): id, item, group."""
        transfer.export(self.store, self.kind, grouping.current(self.store, self.kind), Path(path), force=force)

    # Questions

    def query(self, items: Any, *, threshold: float | None = None, k: int | None = None) -> list[list[Match]]:
        """For each item what is near it, nearest first (the older one first among equals).

        Every match is exactly scored. An item of the index that is exactly at its threshold is found with at least the
        probability that `info` states, nearer ones more surely. threshold: to ask for nearer ones only. k: as many at
        most; they are the nearest of those that reach the threshold.
        """
        return self._query(items, threshold, k)

    def query_within(
        self, items: Any, limit: WorkLimit, *, threshold: float | None = None, k: int | None = None
    ) -> list[list[Match]] | None:
        """As `query`, or None, before the work, where there is more of it than this limit."""
        try:
            return self._query(items, threshold, k, limit)
        except TooManyCandidates:
            return None

    def _query(
        self, items: Any, threshold: float | None, k: int | None, work: WorkLimit | None = None
    ) -> list[list[Match]]:
        limit = self.kind.check(threshold)
        if k is not None and k < 1:
            raise UsageError(f"k is {k}; expected at least 1.")
        out: list[list[Match]] = []
        budget = Budget()
        for piece in self.kind.pieces(items):
            features = self.kind.features(piece)
            for low, high in query_spans(self.kind, len(features)):
                part = features.part(low, high)
                out += matches(self.store, self.kind, part, self.kind.probes(part), limit, k, budget, work)
        return out

    def query_table(self, items: Any, *, threshold: float | None = None, k: int | None = None) -> pa.Table:
        """As `query`, as a table: query (the number of the item), id, and the similarity or distance."""
        found = self.query(items, threshold=threshold, k=k)
        rows = [(number, *match) for number, matches in enumerate(found) for match in matches]
        query, ids, scores = zip(*rows, strict=True) if rows else ((), (), ())
        kind = self.store.id_type() or pa.int64()
        return pa.table(
            {
                "query": pa.array(query, pa.int64()),
                "id": pa.array(ids, kind),
                self.kind.scale.column: pa.array(scores, pa.float64()),
            }
        )

    def compare(self, a: Any, b: Any) -> float | None:
        """The similarity (or distance) of two items, exactly, whether they match or not.

        Items that have nothing in common have a similarity of 0; None is the distance of strings one of which is empty,
        and of what is too long to be compared beyond the threshold.
        """
        one, other = (self.kind.features(piece) for item in (a, b) for piece in self.kind.pieces([item]))
        first = np.zeros(1, np.int64)
        met = StoreCandidates(first, first, other.data, first, other.offsets[1:])
        score = float(self.kind.score(one, met, self.kind.farthest(one, other))[0])
        if score > -np.inf:
            return shown(self.kind, score)
        return 0.0 if self.kind.scale.sign > 0 else None

    def item(self, id: Id) -> Stored:  # noqa: A002  (the user's word)
        """What is stored for an id; KeyError where it is not there."""
        number = self._number(id)
        where = np.array([number])
        raw = self.store.features(where)[0] if self.kind.is_own_feature else self.store.raw(where)[0]
        item = None if raw is None else self.kind.item(raw)
        return Stored(id, item, grouping.current(self.store, self.kind).of(number))

    def group_of(self, id: Id) -> int:  # noqa: A002
        """The group of the item with this id, also where it is alone in it; KeyError where it is not there."""
        return grouping.current(self.store, self.kind).of(self._number(id))

    def groups(self) -> pa.Table:
        """id, group, size of all items that are in a group with others, the largest groups first.

        A group is what matches connect. It has the number of its oldest item, which stays when items are added or
        removed; where two groups become one, it is the older one's, and `merges` says so.
        """
        return grouping.table(self.store, grouping.current(self.store, self.kind))

    def merges(self) -> pa.Table:
        """merged, into, when: which groups became part of which, in order."""
        forest = grouping.current(self.store, self.kind)
        rows = [*self.store.merges(), *forest.merges]
        columns = [pa.array([row[i] for row in rows], pa.int64()) for i in (0, 1)]
        when = pa.array([row.when for row in rows], pa.string())
        return pa.table({"merged": columns[0], "into": columns[1], "when": when})

    def parse_id(self, text: str) -> Id:
        """Parse an id that was written in a command or an address.

        Where the ids of this index are whole numbers, only their decimal form is accepted: 10, but not 1_0, +10 or 010.
        """
        if self.store.id_type() != pa.int64():
            return text
        if not DECIMAL.fullmatch(text) or not -(2**63) <= int(text) < 2**63:
            raise UsageError(
                f"the id {text[:60]!r} came; the ids of this index are whole numbers of 64 bits, written like 10 or -3."
            )
        return int(text)

    def ids(self, after: Id | None = None, limit: int = 1000) -> list[Id]:
        """The next ids in the order in which the items came, after the id `after`."""
        begin = -1 if after is None else self._number(after)
        page = self.store.ids(self.store.after(begin, limit)).to_pylist()
        return [one for one in page if one is not None]

    def __iter__(self) -> Iterator[Id]:
        at = -1
        while len(items := self.store.after(at, 10_000)):
            yield from (one for one in self.store.ids(items).to_pylist() if one is not None)
            at = int(items[-1])

    def __len__(self) -> int:
        return self.store.count()

    def __contains__(self, id: Id) -> bool:  # noqa: A002
        return bool(self.store.numbers(self._known([id]))[0] >= 0)

    def info(self) -> dict[str, Any]:
        """What the index is and holds. groups: of two or more, among the items below `grouped`; ungrouped: items that
        will be put into groups when these are asked for."""
        settings, (groups, ungrouped) = self.store.settings, grouping.counts(self.store)
        return {
            "place": self.store.place,
            "format": settings["format"],
            "kind": self.kind.name,
            "items": len(self),
            "compared": f"{self.kind.scale.column} {self.kind.scale.bound} {self.kind.threshold:g}",
            "plan": self.kind.plan(),
            "settings": self.kind.settings(),
            "store_items": self._keeps_items,
            "grouped": self.store.grouped(),
            "groups": groups,
            "ungrouped": ungrouped,
            **self.store.facts(),
        }

    def close(self) -> None:
        self.store.close()

    def __enter__(self) -> Index:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Index of {len(self):,} {self.kind.name} in {self.store.place}>"

    # Inside

    def _known(self, ids: Any) -> pa.Array:
        """Ids to look up; those of another type than the index has are simply not there."""
        values = list(ids) if isinstance(ids, Iterable) and not isinstance(ids, str | bytes) else None
        if values is None:
            raise UsageError(f"ids is of type {type(ids).__name__}; expected a list of ids.")
        return ids_of(values) if values else pa.array([], self.store.id_type() or pa.int64())

    def _blocks(self, batches: Iterable[Batch]) -> Iterator[Block]:
        return blocks(self.store, self.kind, batches, raw=self._keeps_items)

    def _number(self, id: Id) -> int:  # noqa: A002
        number = int(self.store.numbers(self._known([id]))[0])
        if number < 0:
            raise KeyError(id)
        return number


__all__ = ["Added", "Checked", "Index", "Match", "Stored"]
