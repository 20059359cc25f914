"""The result of a run: Arrow tables with the user's ids, and a receipt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lookalike.core.arrays import F64, I64, Groups, Pairs
from lookalike.core.arrow import as_arrow
from lookalike.core.formatting import count, share
from lookalike.core.notebook import NOTEBOOK_EXCERPT, NOTEBOOK_ROWS, card, table
from lookalike.core.results import ArrowRows
from lookalike.core.run_options import Grouping as Grouping
from lookalike.core.trace import Trace
from lookalike.errors import NO_PAIRS, InputChanged, InputError, TooManyPairs, UsageError
from lookalike.runtime.receipt import make_receipt
from lookalike.runtime.run_output import ManyRows, OutputKind, RunOutput, RunSpec, Source

if TYPE_CHECKING:
    from lookalike.core.judged_groups import KeptApart, Links
    from lookalike.core.run_options import WithText
    from lookalike.io.verdicts import VerdictSet

Asked = Literal["pairs", "groups", "dedup"]
LISTED_VERDICT_PAIRS = 20  # pairs kept apart by verdicts that a receipt lists
SIZE_COLUMNS = ("group_size", "copies")


@dataclass(frozen=True, kw_only=True)
class Result(ArrowRows):
    """The result of `pairs`, `groups` or `dedup` for any kind of item. Each table is built when it is first accessed.

    pairs: left, right, similarity (or distance), and further columns that depend on the kind of item. groups: id,
    group, size, representative. kept: the rows to keep, with all their columns. removed: id, kept, similarity (or
    distance). receipt: what was requested, planned, counted and measured. copies: how many rows of each group are kept.
    size_columns: whether kept rows have the columns group_size and copies.
    """

    asked: Asked
    job: RunSpec
    grouping: Grouping
    receipt: dict[str, Any]
    found: RunOutput
    source: Source
    against: Source | None = None
    copies: int = 1
    size_columns: bool = False

    @cached_property
    def pairs(self) -> pa.Table:
        """All verified pairs, sorted by input order. Columns: left, right, similarity (or distance)."""
        found = self.found
        if found.streamed is not None:
            return pa.Table.from_batches(self.pair_batches())
        if found.pairs is None:
            raise UsageError(NO_PAIRS)
        from lookalike.core.exact_duplicates import expand

        whole = expand(found.pairs, found.classes, found.own, split=found.split, limit=self.job.max_pairs)
        left, right = found.ids[0], found.ids[-1]
        second = whole.right - found.split if found.split >= 0 else whole.right
        more = {} if found.details is None else found.details(whole.left, whole.right, whole.similarity)
        judged: dict[str, pa.Array] = {}
        if found.links is not None:
            judged = {"verdict": self._verdicts(whole, found.links)}
        return pa.table(
            {
                "left": left.take(as_arrow(whole.left)),
                "right": right.take(as_arrow(second)),
                self.job.scale.column: self._column(whole.similarity),
                **judged,
                **more,
            }
        )

    def pair_batches(self) -> Iterator[pa.RecordBatch]:
        """Iterate over the rows of `pairs` in record batches; pairs that are on disk are read batch by batch."""
        streamed, column = self.found.streamed, self.job.scale.column
        if streamed is None:
            yield from self.pairs.to_batches(max_chunksize=1 << 16)
            return
        for left, right, scores in streamed.batches():
            yield pa.record_batch({"left": left, "right": right, column: self._column(scores)})

    def _verdicts(self, pairs: Pairs, links: Links) -> pa.Array:
        """Return "same" for pairs of items that were judged the same, else null."""
        number = self.found.classes.class_of(len(self.found))
        n = len(self.found.classes)
        same, pair = (
            np.minimum(one, other) * n + np.maximum(one, other)
            for one, other in (links.same, (number[pairs.left], number[pairs.right]))
        )
        is_same = np.isin(pair, same)
        return pa.DictionaryArray.from_arrays(
            as_arrow(np.zeros(len(pair), np.int32), ~is_same), pa.array(["same"])
        ).cast(pa.string())

    @cached_property
    def groups(self) -> pa.Table:
        """Members of all groups of two or more: id, group (0, 1, ... by first member), size, representative."""
        self._need_one("groups")
        made = self._groups(self.grouping)
        ids = self.found.ids[0]
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
        """Removed rows: id, the id kept instead, and their similarity (or distance), within the threshold."""
        made = self._stars
        gone = np.flatnonzero(self._gone)
        kept = made.representative[gone]
        if self.found.split >= 0:
            kept = kept - self.found.split
        ids = self.found.ids
        return pa.table(
            {
                "id": ids[0].take(as_arrow(gone)),
                "kept": ids[-1].take(as_arrow(kept)),
                self.job.scale.column: self._column(made.similarity[gone]),
            }
        )

    @cached_property
    def sizes(self) -> pa.Table:
        """The kept rows that stand for others: id, group_size (rows of the group), copies (its equal rows).

        A row that is not listed has the size 1. The sizes of all groups and the single rows add up to the input. With
        `against`, the rows are those of the other collection, each counted with the rows that were removed for it.
        """
        if self.found.split >= 0:
            return self._sizes_of_the_other
        group_sizes, copies = self._sizes_of_items
        representative = self._stars.representative
        kept = np.flatnonzero((group_sizes > 1) & (representative == np.arange(len(representative))))
        return pa.table(
            {
                "id": self.found.ids[0].take(as_arrow(kept)),
                "group_size": as_arrow(group_sizes[kept]),
                "copies": as_arrow(copies[kept]),
            }
        )

    @property
    def _sizes_of_the_other(self) -> pa.Table:
        gone = np.flatnonzero(self._gone)
        number = self.found.classes.class_of(len(self.found))
        kept = self._stars.representative[gone]
        items, place, sizes = np.unique(kept, return_inverse=True, return_counts=True)
        copies = np.bincount(place[number[gone] == number[kept]], minlength=len(items))
        return pa.table(
            {
                "id": self.found.ids[-1].take(as_arrow(items - self.found.split)),
                "group_size": as_arrow(1 + sizes.astype(np.int64)),
                "copies": as_arrow(1 + copies.astype(np.int64)),
            }
        )

    @cached_property
    def kept(self) -> pa.Table:
        """The kept rows with all their columns, in input order."""
        batches = list(self.kept_batches())
        if batches:
            return pa.Table.from_batches(batches)
        empty = pa.table({name: pa.array([], pa.null()) for name in self.source.columns})
        for name in SIZE_COLUMNS if self.size_columns else ():
            empty = empty.append_column(name, pa.array([], pa.int64()))
        return empty

    def kept_batches(self) -> Iterator[pa.RecordBatch]:
        """Iterate over the rows of `kept` in record batches, which reads the input a second time.

        Raises InputChanged if the input no longer has the rows that were compared.
        """
        from lookalike.io.selection import select_rows

        stays = self._rows_that_stay()
        at = 0
        for batch in self.source.given_rows() if isinstance(self.source, ManyRows) else self.source.rows():
            here = stays[at : at + batch.num_rows]
            if len(here) < batch.num_rows:
                raise InputChanged(self.source.name)
            rows = select_rows(batch, here)
            if self.size_columns:
                for name, values in zip(SIZE_COLUMNS, self._sizes_of_items, strict=True):
                    rows = rows.append_column(name, as_arrow(values[at : at + batch.num_rows][here]))
            yield rows
            at += batch.num_rows
        if at != len(stays):
            raise InputChanged(self.source.name)

    def write(self, path: str | Path, *, force: bool = False, with_text: WithText = "none") -> Path:
        """Write the requested table atomically, in the format that the file extension names.

        with_text: put the beginnings, or all, of the texts next to the ids of pairs and groups. Kept rows of JSON
        Lines, CSV, TSV and text files are copied byte for byte if the output has the same format.
        """
        from lookalike.io.canonical import canonical, converted
        from lookalike.io.paths import kind_of
        from lookalike.io.reader import name_of_row
        from lookalike.io.texts import repaired
        from lookalike.io.verbatim import can_copy, check_added_columns, copied_rows
        from lookalike.io.write import write_bytes, write_table

        path = Path(path)
        readers = getattr(self.source, "readers", ())
        repair = getattr(self.source, "on_bad_text", "error") == "replace"
        if self.size_columns:
            check_added_columns(readers, path, "size_columns")
        if with_text != "none" and self.asked != "dedup":
            write_table(self.with_text(whole=with_text == "all"), path, force=force)
        elif self.asked == "pairs" and self.found.streamed is not None:
            write_table(self.pair_batches(), path, force=force)
        elif self.asked != "dedup":
            write_table(self.to_arrow(), path, force=force)
        elif can_copy(readers, path):
            write_bytes(copied_rows(readers, self._rows_that_stay(), repair=repair), path, force=force)
        else:
            batches, kept = self.kept_batches(), np.flatnonzero(self._rows_that_stay())
            if repair and kind_of(path) == "JSON lines":  # the other formats can hold the bytes
                batches = (converted(batch, lambda column: repaired(canonical(column))) for batch in batches)
            write_table(batches, path, force=force, where=lambda row: name_of_row(readers, self.source.name, kept[row]))
        return path

    def _rows_that_stay(self) -> npt.NDArray[np.bool_]:
        """Return a mask of the input rows that are kept."""
        stays, listed = ~self._gone, self.found.listed
        if listed is not None:
            here = np.ones(listed.counts[0], np.bool_)
            here[listed.numbers[: len(stays)]] = stays
            stays = here
        return self.source.rows_that_stay(stays) if isinstance(self.source, ManyRows) else stays

    @property
    def kept_count(self) -> int:
        return self.found.rows[0] - int(self._gone.sum())

    def rethreshold(self, threshold: float) -> Result:
        """Return the same result at a stricter threshold, without reading or hashing the input again."""
        sign = self.job.scale.sign
        job = replace(self.job, threshold=threshold)  # type: ignore[type-var]  # every job is a dataclass
        if sign * threshold < sign * self.job.threshold:
            beyond = "below" if sign > 0 else "beyond"
            raise UsageError(
                f"threshold is {threshold}; pairs {beyond} {self.job.threshold} were not looked for. "
                "Run again for those."
            )
        if self.found.pairs is None:
            raise UsageError("the pairs were too many to keep; run again with the new threshold.")
        found = replace(self.found, pairs=self.found.pairs.at_least(sign * threshold))
        receipt = {**self.receipt, "rethreshold": threshold}
        return replace(self, job=job, found=found, receipt=receipt)

    def to_arrow(self) -> pa.Table:
        """Return the requested table: pairs, groups, or the kept rows."""
        return {"pairs": lambda: self.pairs, "groups": lambda: self.groups, "dedup": lambda: self.kept}[self.asked]()

    def with_text(self, table: pa.Table | None = None, *, whole: bool = False) -> pa.Table:
        """Return a table of this result with the texts of the items next to their ids: their beginnings, or `whole`.

        table: `pairs`, `groups` or `removed`; by default the requested one, or `removed` for dedup. The input is read
        again.
        """
        from lookalike.io.item_texts import add_texts

        if table is None:
            table = self.removed if self.asked == "dedup" else self.to_arrow()
        other = self.source if self.against is None else self.against
        sources = {"left": self.source, "right": other, "id": self.source}
        sources |= {"kept": other, "representative": self.source}
        return add_texts(table, {name: sources[name] for name in table.column_names if name in sources}, whole=whole)

    def listed_pairs(self) -> pa.Table | None:
        """Return the pairs, or None if groups or dedup was requested and there are more than `max_pairs` pairs."""
        if self.found.pairs is None and self.found.streamed is None:
            return None
        try:
            return self.pairs
        except TooManyPairs:
            if self.asked == "pairs":
                raise
            return None

    def save(self, folder: str | Path, *, force: bool = False) -> Path:
        """Write all tables as Parquet files, and receipt.json, into a new folder.

        For groups and dedup, the pairs are left out if there are more than `max_pairs`.
        """
        from lookalike.io.results import write_folder

        pairs = self.listed_pairs()
        if pairs is None and self.receipt["pairs_complete"]:
            self.receipt["pairs_complete"] = False
            limit = f"more than `max_pairs={self.job.max_pairs:,}`"
            self.receipt["warnings"].append(f"{folder} has no pairs.parquet: the pairs of equal items are {limit}.")
        write_folder(self._tables(pairs), self.receipt, Path(folder), force=force)
        return Path(folder)

    @property
    def tables(self) -> dict[str, pa.Table]:
        """The tables that `save` writes, by name; pairs are left out if groups or dedup have too many."""
        return self._tables(self.listed_pairs())

    def _tables(self, pairs: pa.Table | None) -> dict[str, pa.Table]:
        tables = {} if pairs is None else {"pairs": pairs}
        if self.found.split < 0 and self.found.streamed is None:
            tables["groups"] = self.groups
        if self.asked == "dedup":
            tables |= {"kept": self.kept, "removed": self.removed}
        return tables

    @property
    def score_column(self) -> str:
        """The name of the column of scores: similarity, distance, or that of the kind of item."""
        return self.job.scale.column

    def done(self) -> None:
        """Delete the checkpoints of the run, if it has a work folder; call this after the result is saved."""
        self.found.space.finish()

    def __repr__(self) -> str:
        counts = self.receipt["counts"]
        what = ", ".join(
            count(counts[name], name.replace("_", " ")) for name in (self.job.noun, "pairs") if name in counts
        )
        return f"<Result of {self.asked}: {what}, {self.job.words()}>"

    def _repr_html_(self) -> str:
        counts, measured = self.receipt["counts"], self.receipt["recall_measured"]
        names = (self.job.noun, "pairs", "groups", "kept", "removed")
        counted = [count(counts[name], name).split(" ", 1) for name in names if name in counts]
        facts: list[tuple[str, object]] = [(name, number) for number, name in counted]
        if measured and measured["recall"] is not None:
            facts.append(("recall, measured", share(measured["recall"])))
        seconds = sum(self.receipt["seconds"].values())
        facts.append(("seconds", f"{seconds:.2g}" if seconds < 10 else f"{seconds:.0f}"))
        scale = self.job.scale
        words = f"{scale.column} of the pairs, exact copies left out"
        picture = "" if self.found.pairs is None else self.found.pairs.picture(scale, words)
        return card(f"{self.asked} · {self.job.words()}", facts, picture, self._first_rows())

    def _first_rows(self) -> str:
        """Render the nearest pairs, the largest groups, or the nearest removed rows as HTML for a notebook."""
        from lookalike.io.excerpts import with_excerpts

        near = (self.job.scale.column, "descending" if self.job.scale.sign > 0 else "ascending")
        orders = {"pairs": [near], "groups": [("size", "descending"), ("group", "ascending")], "dedup": [near]}
        whole = self.removed if self.asked == "dedup" else self.to_arrow()
        best = whole.sort_by(orders[self.asked]).slice(0, NOTEBOOK_ROWS)
        other = self.source if self.against is None else self.against
        sides = {"left": (self.source, self.found.ids[0]), "right": (other, self.found.ids[-1])}
        if self.asked != "pairs":
            sides = {"id": sides["left"]}
        shown = with_excerpts(best, sides, self.job.noun, NOTEBOOK_EXCERPT)
        return table(shown.column_names, [list(row.values()) for row in shown.to_pylist()], whole.num_rows)

    def _need_one(self, what: str) -> None:
        if self.found.split >= 0:
            raise UsageError(f"{what} are made within one collection; with `against` ask for pairs or dedup.")

    @cached_property
    def _stars(self) -> Groups:
        from lookalike.core import clusters

        if self.found.split >= 0:
            if self.found.groups is not None:
                return self.found.groups
            return clusters.best_matches([self._class_pairs()], self.found.classes, self.found.split, self.found.own)
        return self._groups("stars")

    @cached_property
    def _sizes_of_items(self) -> tuple[I64, I64]:
        """Return the size of the group of each item, and the number of items that are equal to it."""
        representative = self._stars.representative
        known = self.found.classes.class_of(len(representative))
        copies = np.where(known >= 0, self.found.classes.counts[known] if len(self.found.classes) else 1, 1)
        return np.bincount(representative, minlength=len(representative))[representative], copies

    @cached_property
    def _gone(self) -> npt.NDArray[np.bool_]:
        """Return which items are removed."""
        representative = self._stars.representative
        if self.copies == 1:
            return np.asarray(representative != np.arange(len(representative)))
        from lookalike.core.clusters import beyond

        preferred = np.arange(len(representative)) if self.found.preferred is None else self.found.preferred
        return beyond(self._stars, preferred, self.copies)

    def _groups(self, grouping: Grouping) -> Groups:
        from lookalike.core import clusters

        found = self.found
        if found.links is not None:
            from lookalike.core.judged_groups import judged_groups

            made, self.cuts[grouping] = judged_groups(grouping, self._class_pairs(), found.order, found.links)
        elif found.groups is not None and grouping == self.grouping:
            made = found.groups
        else:
            made = clusters.MAKERS[grouping](self._class_pairs(), found.order)
        return clusters.of_items(made, found.classes, len(found), found.own)

    @cached_property
    def cuts(self) -> dict[str, KeptApart]:
        """What verdicts kept apart in each grouping that was made."""
        return {}

    def _column(self, scores: F64) -> pa.Array:
        """Return scores as they are shown, null for a pair that only a verdict joins."""
        unknown = ~np.isfinite(scores) if self.found.links is not None else None
        return as_arrow(self._shown(scores), unknown)

    def _shown(self, scores: F64) -> F64:
        return scores if self.job.scale.sign > 0 else -scores + 0.0  # + 0.0 turns -0.0 into 0.0

    def _class_pairs(self) -> Pairs:
        if self.found.streamed is not None:
            raise UsageError("the pairs are on disk, and make no groups there; run again for groups.")
        if self.found.pairs is None:
            raise UsageError(f"this run made {self.grouping} only; run again for the other kind of group.")
        return self.found.pairs


@dataclass(frozen=True)
class KeptRows:
    """Which rows `dedup` keeps. copies: how many of each group, 0 for none; size_columns: whether with their sizes."""

    copies: int = 1
    size_columns: bool = False


def answer(
    asked: Asked, grouping: Grouping, job: RunSpec, sources: Sequence[Source], found: RunOutput, trace: Trace,
    verdicts: VerdictSet | None = None, rows: KeptRows | None = None,
) -> Result:  # fmt: skip
    """Build the result of a run with its receipt, including the requested table, whose size the receipt counts.

    verdicts: on pairs of its items, to be honoured. rows: which rows `dedup` keeps, by default one of each group.
    """
    rows = rows or KeptRows()
    judged: dict[str, Any] = {}
    unjudged = found
    if verdicts is not None:
        from lookalike.runtime.verdicts import facts_of, match_verdicts, warnings_of, with_verdicts

        with trace.stage("verdicts"):
            matched = match_verdicts(verdicts, found.ids, sources)
            found, changes = with_verdicts(found, matched)
            judged = facts_of(verdicts, matched, changes)
            trace.warnings += warnings_of(verdicts, matched)
    result = Result(
        asked=asked, job=job, grouping=grouping, receipt={}, found=found, source=sources[0],
        against=sources[1] if len(sources) > 1 else None, copies=rows.copies,
        size_columns=rows.size_columns,
    )  # fmt: skip
    with trace.stage(asked):
        if asked == "pairs":
            trace.add(pairs=result.pairs.num_rows if found.streamed is None else found.streamed.count)
        elif asked == "groups":
            trace.add(groups=len(result.groups["group"].unique()), grouped=result.groups.num_rows)
        else:
            trace.add(kept=result.kept_count, removed=result.removed.num_rows)
    if verdicts is not None:
        judged |= _cut_facts(result, trace)
    result.receipt.update(make_receipt(asked, sources, job, found, trace))
    if verdicts is not None:
        quality = _judged_quality(replace(result, found=unjudged), verdicts)
        result.receipt["verdicts"] = judged | ({"quality": quality} if quality else {})
    result.receipt["grouping"] = grouping
    if rows.copies != 1:
        result.receipt["keep_copies"] = rows.copies
    return result


def _judged_quality(unjudged: Result, verdicts: VerdictSet) -> dict[str, Any] | None:
    """Estimate precision, recall and F1 of what the search found, if the verdicts are on a sample of it."""
    if verdicts.plan is None:
        return None
    from lookalike.evaluation.judged_quality import quality

    try:
        return quality(unjudged, verdicts).as_dict()
    except (InputError, TooManyPairs):  # no drawn pair was judged, or there are too many to list
        return None


def _cut_facts(result: Result, trace: Trace) -> dict[str, Any]:
    """Return which pairs verdicts kept apart in the requested groups, by their ids."""
    cuts = result.cuts.get("stars" if result.asked == "dedup" else result.grouping)
    if cuts is None:
        return {}
    classes, ids = result.found.classes, result.found.ids[0]
    named = {
        name: [[ids[int(classes.firsts[one])].as_py() for one in pair] for pair in listed[:LISTED_VERDICT_PAIRS]]
        for name, listed in (("cut_pairs", cuts.pairs), ("contradicted_pairs", cuts.contradicted))
    }
    if cuts.contradicted:
        one, other = named["contradicted_pairs"][0]
        words = f"{one} and {other} were judged the same, but other verdicts keep them apart"
        more = len(cuts.contradicted) - 1
        trace.warnings.append(f"{words}{f' (and {more:,} more pairs)' if more else ''}; they are in different groups.")
    return {"cuts": len(cuts.pairs), "contradictions": len(cuts.contradicted), **named}


def wanted(asked: Asked, grouping: Grouping, verdicts: VerdictSet | None = None) -> OutputKind:
    """Return the kind of output that an engine must compute for this request."""
    return "pairs" if asked == "pairs" or grouping == "cliques" or verdicts is not None else grouping


def given_verdicts(options: dict[str, Any]) -> VerdictSet | None:
    """Take `verdicts` out of the options, and read them."""
    given = options.pop("verdicts", None)
    if given is None or (isinstance(given, list | tuple) and not given):
        return None
    from lookalike.io.verdicts import read_verdicts

    return read_verdicts(given)
