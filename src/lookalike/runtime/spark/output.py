"""Turn verified pairs of classes into pairs, groups or kept rows with the user's ids, for any kind of item."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from lookalike.core.exact_duplicates import too_many_copies
from lookalike.errors import DuplicateIds
from lookalike.runtime.local.memory_needs import fewer_pairs
from lookalike.runtime.spark.components import components
from lookalike.runtime.spark.exact_duplicates import Copies, near
from lookalike.runtime.spark.exact_rows import LINE, with_checked_values
from lookalike.runtime.spark.greedy_clusters import Walk, walked
from lookalike.runtime.spark.group_numbers import gather_groups, number_groups
from lookalike.runtime.spark.key_join import Order
from lookalike.runtime.spark.lineage import LineageCutter
from lookalike.runtime.spark.row_numbers import numbered
from lookalike.runtime.spark.sources import FILE, PLACE, SparkSource
from lookalike.runtime.spark.writing import KeptLines

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Matched:
    """The matches among items of any kind, as frames that are not evaluated here.

    things: as in `key_join`. edges: every verified pair of representatives of classes (left, right, similarity).
    order: the preference for which item to keep. own: the score of equal items, as an SQL expression over copies.
    roots: as in `SparkRun`.
    """

    origins: Sequence[SparkSource]
    things: DataFrame
    copies: Copies
    edges: DataFrame
    order: Order
    own: str = "1.0D"
    roots: LineageCutter = field(default_factory=LineageCutter)

    @property
    def is_cross(self) -> bool:
        return len(self.origins) == 2

    # pairs

    @cached_property
    def pairs(self) -> DataFrame:
        """left, right (items), similarity of all pairs of members of all classes.

        The lower item is on the left; with two collections, the item of the first.
        """
        edges = self.edges
        if self.is_cross:
            edges = edges.union(edges.selectExpr("right as left", "left as right", "similarity"))
        if not self.copies.members:
            return edges.where("left % 2 = 0 and right % 2 = 1") if self.is_cross else edges
        copies = self.copies.sent("rep", "item", f"{self.own} as own")  # the same for all joins: broadcast once
        for side in ("left", "right"):
            edges = edges.join(copies, edges[side] == copies["rep"], "left").drop("rep", "own")
            edges = edges.withColumn(side, _or("item", side)).drop("item")
        between = edges.select("left", "right", "similarity")
        within = self.copies.frame.selectExpr("rep as mine", "item as left").join(copies, _sql("mine = rep"))
        within = within.selectExpr("left", "item as right", "own")
        if self.is_cross:
            return between.union(within).where("left % 2 = 0 and right % 2 = 1")
        apart = between.selectExpr("least(left, right) as left", "greatest(left, right) as right", "similarity")
        return apart.union(within.where("left < right"))

    def check_copies(self, limit: int) -> int:
        """Return the number of pairs of equal items; raise TooManyPairs above `limit`."""
        pairs = self.copies.across if self.is_cross else self.copies.pairs
        if pairs > limit:
            advice = fewer_pairs("pairs", cross=self.is_cross, method="")
            raise too_many_copies(f"at least {pairs:,}", limit, self.copies.most, advice)
        return pairs

    # groups

    @property
    def graph(self) -> DataFrame:
        """Pairs (left, right) with the same connected components as all edges."""
        return self.edges

    @cached_property
    def labels(self) -> DataFrame:
        """item (a representative of a class that has a pair), root: the least item of its component."""
        return components(self.graph).persist()

    def grouped(self, tops: DataFrame) -> DataFrame:
        """Return item, group, size and representative of the members of every group of two or more.

        tops: the representative of each class in a group with other classes (item), and the label of the group (root).
        """
        tops = tops.toDF("rep", "root")
        members = tops.selectExpr("rep as item", "root")
        if self.copies.members:
            copies = (
                self.copies.frame.select("item", "rep").join(tops, "rep", "left").withColumn("root", _or("root", "rep"))
            )
            alone = tops.join(self.copies.sent("item as rep"), "rep", "left_anti").selectExpr("rep as item", "root")
            members = alone.union(copies.select("item", "root"))
        if self.order.columns:
            members = members.join(self.things.select("item", *self.order.columns), "item")
        return number_groups(gather_groups(members.select("root", "item", *self.order.columns), self.order))

    @cached_property
    def components(self) -> DataFrame:
        return self.grouped(self.labels)

    def walked_groups(self, grouping: Walk) -> DataFrame:
        """Return item, group, size and representative of the members of every star or clique of two or more."""
        walked = self.stars if grouping == "stars" else self._walked(grouping)
        gone = walked.select("item", "kept")
        return self.grouped(gone.union(gone.selectExpr("kept as item", "kept").distinct()))

    @property
    def star_roots(self) -> DataFrame:
        """item (each representative of a class in a star), root: the item that is kept for the star."""
        gone = self.stars.selectExpr("item", "kept as root")
        return gone.union(gone.selectExpr("root as item", "root").distinct())

    @cached_property
    def stars(self) -> DataFrame:
        """item, kept, similarity of every representative of a class that is removed."""
        return self._walked("stars")

    def _walked(self, grouping: Walk) -> DataFrame:
        edges, labels = (self.roots.keep(frame) for frame in (self.edges, self.labels))
        if self.order.number is not None:
            ranked = edges.selectExpr("*", *(f"{self._rank(side)} as {side}_rank" for side in ("left", "right")))
        else:
            known = labels.select("item").join(self.things.select("item", *self.order.columns), "item")
            ranks, ranked = self.roots.keep(numbered(known, self.order.sort, "rank").select("item", "rank")), edges
            for side in ("left", "right"):
                ranked = ranked.join(ranks.selectExpr(f"item as {side}", f"rank as {side}_rank"), side)
        return self.roots.keep(walked(ranked, labels, grouping))

    def _rank(self, item: str) -> str:
        return str(self.order.number).replace("item", item)

    # dedup

    @cached_property
    def removed(self) -> DataFrame:
        """item, kept, similarity of every item that is removed."""
        if self.is_cross:
            return self._best_matches.persist()
        if not self.copies.members:
            return self.stars
        gone = self.stars.toDF("rep", "kept", "similarity")
        alone = gone.join(self.copies.sent("item as rep"), "rep", "left_anti").withColumnRenamed("rep", "item")
        copies = self.copies.frame.selectExpr("item", "rep", f"{self.own} as own").join(gone, "rep", "left")
        copies = copies.withColumn("kept", _or("kept", "rep")).withColumn("similarity", _or("similarity", "own"))
        return alone.union(copies.where("item != kept").select("item", "kept", "similarity")).persist()

    @property
    def _best_matches(self) -> DataFrame:
        """For each item of the first collection, the most similar item of the second; the first one on ties."""
        copies = self.copies.frame
        rights = copies.where("item % 2 = 1").groupBy("rep").agg(_sql("min(item) as right_item"))
        firsts = copies.where("item = rep and side = 3").selectExpr("rep", "rep", f"{self.own} as similarity")
        edges = self.edges.union(self.edges.selectExpr("right", "left", "similarity")).union(firsts)
        met = edges.join(near(rights.toDF("right", "right_item"), self.copies.members), "right", "left")
        met = met.withColumn("right_item", _sql("coalesce(right_item, if(right % 2 = 1, right, null))"))
        by_left = met.where("right_item is not null").groupBy("left")
        best = by_left.agg(_sql("min(struct(-similarity as far, right_item)) as best"))
        lefts = copies.where("item % 2 = 0").selectExpr("item", "rep as left")
        matched = best.join(near(lefts, self.copies.members), "left", "left").where("item is not null or left % 2 = 0")
        return matched.selectExpr("coalesce(item, left) as item", "best.right_item as kept", "-best.far as similarity")

    @property
    def kept(self) -> DataFrame:
        """The rows of the first collection that are kept, with all their columns."""
        origin = self.origins[0]
        if LINE in origin.frame.columns:
            return with_checked_values(self._rows_that_stay(lines=True), origin.columns, FILE)
        return self._rows_that_stay().select(*(f"`{name}`" for name in origin.columns))

    @property
    def kept_lines(self) -> KeptLines | None:
        """The same rows as the lines or records that they were read from; None for inputs without lines."""
        origin = self.origins[0]
        if not origin.has_lines:
            return None
        return KeptLines(self._rows_that_stay(lines=True).selectExpr(f"{LINE} as value"), origin.csv)

    def _rows_that_stay(self, *, lines: bool = False) -> DataFrame:
        """Return the kept rows. lines: with LINE and FILE."""
        origin = self.origins[0]
        gone = self.named(self.removed.select("item"), ["item"])
        if origin.id_column is not None:
            rows, ids = origin.lines if lines else origin.frame, gone.withColumnRenamed("item", "_lookalike_id")
            return rows.join(
                ids, rows[f"`{origin.id_column}`"].cast(origin.id_type) == ids["_lookalike_id"], "left_anti"
            )
        return origin.placed(lines=lines).join(gone.withColumnRenamed("item", PLACE), PLACE, "left_anti")

    # ids

    def named(self, frame: DataFrame, left: Sequence[str], right: Sequence[str] = ()) -> DataFrame:
        """Replace item numbers by the user's ids."""
        return named(frame, self.origins, self.things, left, right)


def named(
    frame: DataFrame, origins: Sequence[SparkSource], things: DataFrame, left: Sequence[str], right: Sequence[str] = ()
) -> DataFrame:
    """Replace item numbers by the user's ids. left: columns with items of the first collection; right: of the last."""
    order, cross = frame.columns, len(origins) == 2
    for number, columns in ((0, left), (len(origins) - 1, right)):
        origin = origins[number]
        names = things.select("item", "id") if "id" in things.columns else None
        if names is not None and cross:
            names = names.where(f"item % 2 = {number}")
        for column in columns:
            if origin.id_column is None or names is None or origin.placing == "ids":
                shown = f"{column} div 2" if cross else column
                frame = frame.withColumn(column, _sql(f"cast({shown} as {origin.id_type})"))
            else:
                ids = names.selectExpr(f"item as {column}", f"cast(id as {origin.id_type}) as _id")
                frame = frame.join(ids, column).drop(column).withColumnRenamed("_id", column)
    return frame.select(*order)


def check_ids(origins: Sequence[SparkSource], things: DataFrame) -> None:
    """Raise DuplicateIds unless the ids are unique in each collection."""
    for number, origin in enumerate(origins):
        if origin.id_column is None:
            continue
        mine = things.where(f"item % 2 = {number}") if len(origins) == 2 else things
        name = "item" if origin.placing == "ids" else "id"
        twice = mine.groupBy(name).count().where("count > 1").orderBy("count", ascending=False).limit(1).collect()
        if twice:
            raise DuplicateIds(
                f"the id {twice[0][name]!r} occurs {twice[0]['count']} times in {origin.name}; ids must tell the rows "
                "apart. Use `id` to name another column, or `id='none'` for row numbers (files only)."
            )


def _or(one: str, other: str) -> Any:
    from pyspark.sql import functions as F  # noqa: N812

    return F.coalesce(one, other)


def _sql(words: str) -> Any:
    from pyspark.sql import functions as F  # noqa: N812

    return F.expr(words)
