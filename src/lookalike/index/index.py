"""The public class `la.Index`."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import pyarrow as pa

from lookalike.core.options import accepts
from lookalike.core.run_options import Progress, silent
from lookalike.errors import LeftOutWarning, UsageError
from lookalike.index import grouping, quotations, sources, stores, transfer
from lookalike.index.inspection import Checked
from lookalike.index.items import Batch, ids_of
from lookalike.index.kinds import IndexKind, PassageFinder, kind_again, make_kind
from lookalike.index.new_items import NewItemFilter, blocks, check_ids
from lookalike.index.options import IndexOptions
from lookalike.index.quotations import Quotation
from lookalike.index.recall import RECALL_SAMPLE, IndexRecall, QuerySample, of_queries, of_stored
from lookalike.index.scan import Budget
from lookalike.index.search import Match, WorkLimit, matches, query_spans, shown
from lookalike.index.store import Block, Id, Store, StoreCandidates, TooManyCandidates
from lookalike.io.pictures import PictureFolder, left_out, open_pictures

DECIMAL = re.compile(r"0|-?[1-9][0-9]{0,18}")


@dataclass(frozen=True)
class Added:
    """The result of `add`. count: number of items added; replaced: how many of them replaced a stored item."""

    count: int
    replaced: int


@dataclass(frozen=True)
class Stored:
    """A stored item. item: as it was given, or None if the index does not store items; group: see `groups`."""

    id: Id
    item: Any
    group: int


class Index:
    """A persistent near-duplicate index that can be queried while items are added.

    Create a new one with `create` and open an existing one with `open`; it is a context manager. Many processes may
    read it while one writes. When a method that writes returns, its changes are on disk and visible to all readers.

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
        """Wrap an open store; use `create` or `open` instead."""
        self.store, self.kind, self._keeps_items = store, kind, keeps_items

    @classmethod
    @accepts(IndexOptions, refuses=False)
    def create(
        cls, place: str | PathLike[str], *, kind: str = "documents", store_items: bool = True,
        **options: Unpack[IndexOptions],
    ) -> Index:  # fmt: skip
        """Create a new, empty index.

        place: a folder that does not exist yet, or a postgresql:// URL. kind: documents, sets, baskets, vectors, bits,
        strings, records, images, faces, passages. store_items: store the items as they were given (for pictures, their
        paths), not only their features. Options of None have the default of the kind; an option that the kind does not
        have is refused.
        """
        item_kind = make_kind(kind, {name: value for name, value in options.items() if value is not None})
        keeps = store_items and not item_kind.is_own_feature
        settings = {
            "kind": item_kind.name,
            "scheme": item_kind.scheme,
            "store_items": keeps,
            "settings": item_kind.settings(),
        }
        return cls(stores.create(place, settings), item_kind, keeps_items=keeps)

    @classmethod
    def open(cls, place: str | PathLike[str], *, read_only: bool = False) -> Index:
        """Open an existing index: a folder or a postgresql:// URL. This takes milliseconds for an index of any size."""
        store = stores.open(place, read_only=read_only)
        settings = store.settings
        return cls(store, kind_again(settings, store.place), keeps_items=settings["store_items"])

    # Changes

    def add(self, items: Any, ids: Any = None) -> Added:
        """Add items: all of them, or none if this raises. An item with an id that is already stored is replaced.

        items: a list, an Arrow array, or an iterable. ids: strings or whole numbers, one for each item. By default, the
        items get consecutive whole numbers after the largest id below 2**62.
        """
        return self.add_batches([(items, None if ids is None else ids_of(ids))])

    def add_from(
        self, source: Any, *, column: str | None = None, id: str | None = None, lines: bool = False,  # noqa: A002
    ) -> Added:  # fmt: skip
        """Add the rows of files (a `Path`, or a list of them) or of a table: all of them, or none if this raises.

        column: the column of texts, token lists, codes or vectors; id: the column of ids. By default, both are found by
        their usual names. lines: in an index of documents, read text files line by line; otherwise each file is one
        document. The ids of pictures are the names of their files; a LeftOutWarning names those that cannot be read.
        """
        opened = open_pictures(source) if self.kind.name == "images" else source
        added = self.add_batches(sources.read(self.kind, opened, column=column, id=id, lines=lines))
        if isinstance(opened, PictureFolder) and (warning := left_out(opened.name, opened.broken, has_receipt=False)):
            warnings.warn(warning, LeftOutWarning, stacklevel=2)
        return added

    def add_batches(self, batches: Iterable[Batch]) -> Added:
        """Add items from an iterable of batches (items, ids): all of them, or none if this raises."""
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
        """Add only the items that match neither an item of the index nor an earlier item of this call.

        Return None for each item that was added, and for every other item its nearest match. An item whose id is
        already stored matches the stored item if their features are equal. Otherwise it is compared only with the other
        items, and replaces the stored item if it matches none of them.
        """
        out: list[Match | None] = []
        with self.store.writing():
            sieve, chosen = NewItemFilter(self.store, self.kind), []
            for block in self._blocks([(items, None if ids is None else ids_of(ids))]):
                outcomes, new = sieve.sift(block)
                out += outcomes
                chosen += [] if new is None else [new]
            if chosen:
                self.store.add(chosen)
        return out

    def remove(self, ids: Any) -> int:
        """Remove items and return how many of these ids were stored. The rest of their groups stays together."""
        wanted = self._known(ids)
        with self.store.writing():
            items = self.store.numbers(wanted)
            items = np.unique(items[items >= 0])
            if len(items):
                grouping.catch_up_before_change(self.store, self.kind)
                self.store.remove(items)
        return len(items)

    def compact(self) -> None:
        """Make the index smaller and faster: delete the data of removed items and merge small segments."""
        self.store.compact()

    def check(self) -> Checked:
        """Read the whole index and look for damage: `damages` has one line for each; `is_sound` is True if it is empty.

        Queries detect damage too, but only in the data that they read.
        """
        return self.store.check()

    def merge(self, other: str | PathLike[str]) -> Added:
        """Add all items of another index that has the same kind and settings, as `add` does."""
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
        """Write all items as a table of id, item and group (Parquet, CSV or JSON lines, by the extension)."""
        transfer.export(self.store, self.kind, grouping.current(self.store, self.kind), Path(path), force=force)

    # Queries

    def query(
        self, items: Any, *, threshold: float | None = None, k: int | None = None, others_than: Any = None,
    ) -> list[list[Match]]:  # fmt: skip
        """Return the matches of each item, nearest first; at equal scores the item that was added first comes first.

        Every match is scored exactly. An item of the index that is exactly at the threshold is found with at least the
        probability that `info` states, and nearer items with a higher one. threshold: a stricter threshold than that of
        the index. k: return only the k nearest of the matches that reach the threshold. others_than: an id for each
        item; the stored item with this id, such as the item itself, is left out of its matches.
        """
        if others_than is None:
            return self._query(items, threshold, k)
        return self._without(ids_of(others_than), k, self._query(items, threshold, None if k is None else k + 1))

    def _without(self, ids: pa.Array, k: int | None, results: list[list[Match]]) -> list[list[Match]]:
        """Leave the item with the id of a query out of its matches, of which at most k remain."""
        check_ids(ids, len(results))
        return [
            [match for match in found if match.id != own][:k]
            for own, found in zip(ids.to_pylist(), results, strict=True)
        ]

    def measure_recall(
        self, *, threshold: float | None = None, sample: int = RECALL_SAMPLE, seed: int = 42,
        progress: Progress = silent,
    ) -> IndexRecall:  # fmt: skip
        """Measure the recall of queries: of what a sample of the stored items matches, how much do their keys find?

        Each item of the sample is compared with all other items, exactly, so that the time is that of `sample` times
        all items. threshold: a stricter threshold than that of the index. sample: number of items; seed: of the sample.
        """
        limit = self.kind.check(threshold)
        if sample < 1:
            raise UsageError(f"sample is {sample}; expected at least 1.")
        return of_stored(
            self.store, self.kind, limit, size=sample, seed=seed, report=partial(progress, "measure recall")
        )

    def query_within(
        self, items: Any, limit: WorkLimit, *, threshold: float | None = None, k: int | None = None
    ) -> list[list[Match]] | None:
        """Return the result of `query`, or None, without doing the work, if it would exceed this limit."""
        try:
            return self._query(items, threshold, k, limit)
        except TooManyCandidates:
            return None

    def _query(
        self, items: Any, threshold: float | None, k: int | None, work: WorkLimit | None = None,
        sample: QuerySample | None = None,
    ) -> list[list[Match]]:  # fmt: skip
        limit = self.kind.check(threshold)
        if k is not None and k < 1:
            raise UsageError(f"k is {k}; expected at least 1.")
        out: list[list[Match]] = []
        budget = Budget()
        for piece in self.kind.pieces(items):
            features = self.kind.features(piece)
            if sample is not None:
                sample.add(features)
            for low, high in query_spans(self.kind, len(features)):
                part = features.part(low, high)
                out += matches(self.store, self.kind, part, self.kind.probes(part), limit, k, budget, work)
        return out

    def query_table(
        self, items: Any, *, threshold: float | None = None, k: int | None = None, others_than: Any = None,
        sample: QuerySample | None = None,
    ) -> pa.Table:  # fmt: skip
        """Return the matches of `query` as a table: query (position of the item), id, and similarity or distance.

        others_than: as for `query`. sample: keeps some of the queries, whose recall `recall_of` measures.
        """
        more = k if k is None or others_than is None else k + 1
        results = self._query(items, threshold, more, sample=sample)
        if others_than is not None:
            results = self._without(ids_of(others_than), k, results)
        rows = [(number, *match) for number, matches in enumerate(results) for match in matches]
        query, ids, scores = zip(*rows, strict=True) if rows else ((), (), ())
        kind = self.store.id_type() or pa.int64()
        return pa.table(
            {
                "query": pa.array(query, pa.int64()),
                "id": pa.array(ids, kind),
                self.kind.scale.column: pa.array(scores, pa.float64()),
            }
        )

    def recall_of(
        self, queries: QuerySample, *, threshold: float | None = None, sample: int | None = None,
        progress: Progress = silent,
    ) -> IndexRecall | None:  # fmt: skip
        """Measure the recall of queries that `query_table` answered, with or without its k.

        sample: number of queries to compare with all items; by default, as many as take about a second, and None is
        returned if these would be too few.
        """
        limit = self.kind.check(threshold)
        report = partial(progress, "measure recall")
        return of_queries(self.store, self.kind, queries, limit, asked=sample, report=report)

    @property
    def finds_passages(self) -> bool:
        """Whether `passages` can be asked."""
        return self._keeps_items and isinstance(self.kind, PassageFinder)

    def passages(self, items: Any, *, k: int | None = None) -> list[list[Quotation]]:
        """Return the passages that each text shares with stored texts: who quotes it, and where.

        For an index of passages that keeps its texts. Every run of at least `min_tokens` words is found. The stored
        texts that share the most words come first; k: their largest number.
        """
        finder = quotations.check_finder(self.kind, self.store.place, keeps_items=self._keeps_items)
        if k is not None and k < 1:
            raise UsageError(f"k is {k}; expected at least 1.")
        return [
            found for piece in finder.pieces(items) for found in quotations.quotations(self.store, finder, piece, k)
        ]

    def compare(self, a: Any, b: Any) -> float | None:
        """Return the exact similarity (or distance) of two items, whether they match or not.

        Items that have nothing in common have a similarity of 0. A distance is None if one of the strings is empty, or
        if the strings do not reach the threshold and are too long for an exact distance beyond it.
        """
        one, other = (self.kind.features(piece) for item in (a, b) for piece in self.kind.pieces([item]))
        first = np.zeros(1, np.int64)
        met = StoreCandidates(first, first, other.data, first, other.offsets[1:])
        score = float(self.kind.score(one, met, self.kind.farthest(one, other))[0])
        if score > -np.inf:
            return shown(self.kind, score)
        return 0.0 if self.kind.scale.sign > 0 else None

    def item(self, id: Id) -> Stored:  # noqa: A002  (the user's word)
        """Return what is stored for an id; KeyError if there is no such id."""
        number = self._number(id)
        return Stored(id, self._content(number), grouping.current(self.store, self.kind).of(number))

    def content(self, id: Id) -> Any:  # noqa: A002
        """Return a stored item as it was given, or None if the index does not store items; KeyError if it has none."""
        return self._content(self._number(id))

    def group_of(self, id: Id) -> int:  # noqa: A002
        """Return the group of an item, which may have no other members; KeyError if there is no such id."""
        return grouping.current(self.store, self.kind).of(self._number(id))

    def groups(self, *, verdicts: Any = None) -> pa.Table:
        """Return a table of id, group and size of all items in groups of two or more, largest groups first.

        Groups are the connected components of the matches. The number of a group is that of its oldest item and does
        not change when items are added or removed; when two groups merge, the older number remains, and `merges`
        records it.

        verdicts: on pairs of items, as for `lookalike.groups`; they refer to ids. Groups that hold a judged item are
        made again from the matches among their items: pairs judged different are never together, those judged the same
        are. What is stored does not change.
        """
        items, groups = grouping.current(self.store, self.kind).members()
        if verdicts is not None:
            from lookalike.index.judged import judged_members
            from lookalike.io.verdicts import read_verdicts

            items, groups = judged_members(self.store, self.kind, items, groups, read_verdicts(verdicts))
        return grouping.table(self.store, items, groups)

    def merges(self) -> pa.Table:
        """Return a table of merged, into and when: which group became part of which older group, in order of time."""
        forest = grouping.current(self.store, self.kind)
        rows = [*self.store.merges(), *forest.merges]
        columns = [pa.array([row[i] for row in rows], pa.int64()) for i in (0, 1)]
        when = pa.array([row.when for row in rows], pa.string())
        return pa.table({"merged": columns[0], "into": columns[1], "when": when})

    def parse_id(self, text: str) -> Id:
        """Parse an id from a command line or a URL.

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
        """Return up to `limit` ids that follow the id `after`, in the order in which the items were added."""
        begin = -1 if after is None else self._number(after)
        page = self.store.ids(self.store.after(begin, limit)).to_pylist()
        return [name for name in page if name is not None]

    def __iter__(self) -> Iterator[Id]:
        at = -1
        while len(items := self.store.after(at, 10_000)):
            yield from (name for name in self.store.ids(items).to_pylist() if name is not None)
            at = int(items[-1])

    def __len__(self) -> int:
        return self.store.count()

    def __contains__(self, id: Id) -> bool:  # noqa: A002
        return bool(self.store.numbers(self._known([id]))[0] >= 0)

    def info(self) -> dict[str, Any]:
        """Return the settings, the plan and the counts of the index.

        groups: number of groups of two or more among the items below `grouped`; ungrouped: number of items that will be
        assigned to groups when groups are requested.
        """
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

    # Private helpers

    def _known(self, ids: Any) -> pa.Array:
        """Return ids as an array to look up; ids of another type than those of the index are treated as not stored."""
        values = list(ids) if isinstance(ids, Iterable) and not isinstance(ids, str | bytes) else None
        if values is None:
            raise UsageError(f"ids is of type {type(ids).__name__}; expected a list of ids.")
        return ids_of(values) if values else pa.array([], self.store.id_type() or pa.int64())

    def _blocks(self, batches: Iterable[Batch]) -> Iterator[Block]:
        return blocks(self.store, self.kind, batches, raw=self._keeps_items)

    def _content(self, number: int) -> Any:
        where = np.array([number])
        raw = self.store.features(where)[0] if self.kind.is_own_feature else self.store.raw(where)[0]
        return None if raw is None else self.kind.item(raw)

    def _number(self, id: Id) -> int:  # noqa: A002
        number = int(self.store.numbers(self._known([id]))[0])
        if number < 0:
            raise KeyError(id)
        return number


__all__ = ["Added", "Checked", "Index", "IndexRecall", "Match", "QuerySample", "Quotation", "Stored"]
