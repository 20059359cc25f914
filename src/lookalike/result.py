"""What a run gives back: Arrow tables with the user's own ids, and a receipt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from lookalike.data import F64, Groups, Pairs
from lookalike.engines.job import Job
from lookalike.engines.local import Found
from lookalike.errors import UsageError
from lookalike.io.collection import Collection
from lookalike.io.results import write_folder
from lookalike.measures import check_threshold
from lookalike.stages import groups
from lookalike.stages.arrow import as_arrow
from lookalike.stages.duplicates import expand

Asked = Literal["pairs", "groups", "dedup"]
Grouping = Literal["components", "stars"]


@dataclass(frozen=True, kw_only=True)
class Result:
    """The answer to `la.pairs`, `la.groups` or `la.dedup`. Tables are made when they are first looked at.

    pairs: left, right, similarity. groups: id, group, size, representative. kept: the rows to keep, with all their
    columns. removed: id, kept, similarity. receipt: what was asked, planned, counted and measured.
    """

    asked: Asked
    job: Job
    grouping: Grouping
    receipt: dict[str, Any]
    found: Found
    collection: Collection

    @cached_property
    def pairs(self) -> pa.Table:
        """Every verified pair, sorted by the order of the input: left, right, similarity."""
        found = self.found
        if found.pairs is None:
            raise UsageError(
                "the pairs were too many to write down; groups were made straight from the buckets. "
                "Ask for pairs with a higher threshold or a larger max_pairs."
            )
        whole = expand(found.pairs, found.classes, self._own, split=found.split, limit=self.job.max_pairs)
        left, right = found.features.ids[0], found.features.ids[-1]
        second = whole.right - found.split if found.split >= 0 else whole.right
        return pa.table(
            {
                "left": left.take(as_arrow(whole.left)),
                "right": right.take(as_arrow(second)),
                "similarity": as_arrow(whole.similarity),
            }
        )

    @cached_property
    def groups(self) -> pa.Table:
        """The members of every group of two or more: id, group (0, 1, ... by first member), size, representative."""
        self._need_one("groups")
        made = self._groups(self.grouping)
        ids = self.found.features.ids[0]
        number, size = np.unique(made.representative, return_inverse=True, return_counts=True)[1:]
        shared = np.flatnonzero(size[number] > 1)
        first = np.full(len(size), len(number), np.int64)
        np.minimum.at(first, number[shared], shared)
        rank = np.argsort(np.argsort(first, kind="stable"), kind="stable")
        shared = shared[np.argsort(rank[number[shared]], kind="stable")]
        return pa.table(
            {
                "id": ids.take(as_arrow(shared)),
                "group": as_arrow(rank[number[shared]]),
                "size": as_arrow(size[number[shared]]),
                "representative": ids.take(as_arrow(made.representative[shared])),
            }
        )

    @cached_property
    def removed(self) -> pa.Table:
        """What goes: id, the id kept in its stead, and their similarity, at or above the threshold."""
        made = self._stars
        gone = np.flatnonzero(made.representative != np.arange(len(made.representative)))
        kept = made.representative[gone]
        if self.found.split >= 0:
            kept = kept - self.found.split
        ids = self.found.features.ids
        return pa.table(
            {
                "id": ids[0].take(as_arrow(gone)),
                "kept": ids[-1].take(as_arrow(kept)),
                "similarity": as_arrow(made.similarity[gone]),
            }
        )

    @cached_property
    def kept(self) -> pa.Table:
        """The rows that stay, with all their columns, in the old order."""
        batches = list(self.kept_batches())
        if batches:
            return pa.Table.from_batches(batches)
        return pa.table({name: pa.array([], pa.null()) for name in self.collection.columns})

    def kept_batches(self) -> Iterator[pa.RecordBatch]:
        """As `kept`, a batch at a time: a second pass over the input."""
        made = self._stars.representative
        stays = made == np.arange(len(made))
        at = 0
        for batch in self.collection.rows():
            yield batch.filter(as_arrow(stays[at : at + batch.num_rows]))
            at += batch.num_rows

    @property
    def kept_count(self) -> int:
        made = self._stars.representative
        return int((made == np.arange(len(made))).sum())

    def rethreshold(self, threshold: float) -> Result:
        """The same answer at a higher threshold, without reading or hashing again."""
        check_threshold(self.job.set_measure(), threshold)
        if threshold < self.job.threshold:
            raise UsageError(
                f"threshold is {threshold}; pairs below {self.job.threshold} were not looked for. Run again for those."
            )
        if self.found.pairs is None:
            raise UsageError("the pairs were too many to keep; run again with the new threshold.")
        found = replace(self.found, pairs=self.found.pairs.at_least(threshold))
        receipt = {**self.receipt, "rethreshold": threshold}
        return replace(self, job=replace(self.job, threshold=threshold), found=found, receipt=receipt)

    def to_arrow(self) -> pa.Table:
        """The table that was asked for: pairs, groups, or the kept rows."""
        return {"pairs": lambda: self.pairs, "groups": lambda: self.groups, "dedup": lambda: self.kept}[self.asked]()

    def save(self, folder: str | Path, *, force: bool = False) -> Path:
        """Write the tables that were asked for as Parquet, with receipt.json, into a new folder."""
        tables = {"pairs": self.pairs} if self.found.pairs is not None else {}
        if self.found.split < 0:
            tables["groups"] = self.groups
        if self.asked == "dedup":
            tables |= {"kept": self.kept, "removed": self.removed}
        write_folder(tables, self.receipt, Path(folder), force=force)
        return Path(folder)

    def __repr__(self) -> str:
        counts = self.receipt["counts"]
        what = ", ".join(
            f"{counts[name]:,} {name.replace('_', ' ')}" for name in ("documents", "pairs") if name in counts
        )
        return f"<Result of {self.asked}: {what}, {self.job.measure} >= {self.job.threshold}>"

    def _need_one(self, what: str) -> None:
        if self.found.split >= 0:
            raise UsageError(f"{what} are made within one collection; with `against` ask for pairs or dedup.")

    @cached_property
    def _stars(self) -> Groups:
        if self.found.split >= 0:
            pairs = self._class_pairs()
            return groups.best_matches(pairs, self.found.classes, self.found.split, self._own)
        return self._groups("stars")

    def _groups(self, grouping: Grouping) -> Groups:
        found = self.found
        make = groups.components if grouping == "components" else groups.stars
        if found.groups is not None and grouping == self.grouping:
            made = found.groups
        else:
            made = make(self._class_pairs(), found.order)
        return groups.of_items(made, found.classes, len(found.features.sets), self._own)

    @property
    def _own(self) -> F64:
        """The similarity of equal sets, class by class: 1, or their size where the measure counts elements."""
        sizes = self.found.features.sets.sizes[self.found.classes.firsts]
        return sizes.astype(np.float64) if self.job.set_measure().is_count else np.ones(len(sizes))

    def _class_pairs(self) -> Pairs:
        if self.found.pairs is None:
            raise UsageError(f"this run made {self.grouping} only; run again for the other kind of group.")
        return self.found.pairs
