"""Verified pairs of classes to what was asked, as DataFrames with the user's own ids. Any kind of item."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from lookalike.engines.joins import ADVICE
from lookalike.engines.spark.components import components
from lookalike.engines.spark.flow import Order
from lookalike.engines.spark.grouping import gather_groups, number_groups
from lookalike.engines.spark.numbering import numbered
from lookalike.engines.spark.sources import PLACE, Origin
from lookalike.engines.spark.stars import stars
from lookalike.errors import DuplicateIds, TooManyPairs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Matched:
    """What a kind of item has found (frames, none of them evaluated here).

    things, classes: as in `flow`. edges: every verified pair of representatives of classes (left, right, similarity).
    order: the best to keep first. own: the score of equal items, as an expression over `classes`.
    """

    origins: Sequence[Origin]
    things: DataFrame
    classes: DataFrame
    edges: DataFrame
    order: Order
    own: str = "1.0D"

    @property
    def is_cross(self) -> bool:
        return len(self.origins) == 2

    # pairs

    @cached_property
    def pairs(self) -> DataFrame:
        """left, right (items), similarity: of all members of all classes. The lower item is on the left; of two
        collections, the item of the first."""
        copies = self.classes.where("count > 1").selectExpr("rep", "item", f"{self.own} as own")
        edges = self.edges
        if self.is_cross:
            edges = edges.union(edges.selectExpr("right as left", "left as right", "similarity"))
        for side in ("left", "right"):
            members = copies.selectExpr(f"rep as {side}", f"item as {side}_item")
            edges = edges.join(members, side, "left").withColumn(f"{side}_item", _or(f"{side}_item", side))
        between = edges.selectExpr("left_item as left", "right_item as right", "similarity")
        one, other = copies.selectExpr("rep", "item as left", "own"), copies.selectExpr("rep", "item as right")
        within = one.join(other, "rep")
        if self.is_cross:
            first, second = "left % 2 = 0", "right % 2 = 1"
            both = between.union(within.selectExpr("left", "right", "own"))
            return both.where(f"{first} and {second}")
        apart = between.selectExpr("least(left, right) as left", "greatest(left, right) as right", "similarity")
        return apart.union(within.where("left < right").selectExpr("left", "right", "own"))

    def check_copies(self, limit: int) -> int:
        """How many pairs equal items make; TooManyPairs above `limit`."""
        count = "lefts * (count - lefts)" if self.is_cross else "count * (count - 1) div 2"
        firsts = self.classes.where("item = rep and count > 1")
        row = firsts.selectExpr(f"sum({count}) as pairs", "max(count) as most").collect()[0]
        if (row["pairs"] or 0) > limit:
            raise TooManyPairs(
                f"the answer has at least {row['pairs']:,} pairs, more than --max-pairs {limit:,}; the most repeated "
                f"item stands {row['most']:,} times. {ADVICE}"
            )
        return int(row["pairs"] or 0)

    # groups

    @property
    def graph(self) -> DataFrame:
        """Pairs (left, right) whose components are those of all edges."""
        return self.edges

    @cached_property
    def labels(self) -> DataFrame:
        """item (a representative of a class that has a pair), root: the least item of its component."""
        return components(self.graph).persist()

    def grouped(self, tops: DataFrame) -> DataFrame:
        """item, group, size, representative of the members of every group of two or more. tops: of classes that are
        in a group with others, the representative (item) and what stands for the group (root)."""
        classes = self.classes.select("item", "rep", "count").join(tops.toDF("rep", "root"), "rep", "left")
        members = classes.where("count > 1 or root is not null").withColumn("root", _or("root", "rep"))
        if self.order.columns:
            members = members.join(self.things.select("item", *self.order.columns), "item")
        return number_groups(gather_groups(members.select("root", "item", *self.order.columns), self.order))

    @cached_property
    def components(self) -> DataFrame:
        return self.grouped(self.labels)

    @cached_property
    def star_groups(self) -> DataFrame:
        gone = self.stars.select("item", "kept")
        return self.grouped(gone.union(gone.selectExpr("kept as item", "kept").distinct()))

    @cached_property
    def stars(self) -> DataFrame:
        """item, kept, similarity: of every representative of a class that goes."""
        if self.order.number is not None:
            ranked = self.edges.selectExpr("*", *(f"{self._rank(side)} as {side}_rank" for side in ("left", "right")))
        else:
            known = self.labels.select("item").join(self.things.select("item", *self.order.columns), "item")
            ranks, ranked = numbered(known, self.order.sort, "rank"), self.edges
            for side in ("left", "right"):
                ranked = ranked.join(ranks.selectExpr(f"item as {side}", f"rank as {side}_rank"), side)
        return stars(ranked, self.labels).persist()

    def _rank(self, item: str) -> str:
        return str(self.order.number).replace("item", item)

    # dedup

    @cached_property
    def removed(self) -> DataFrame:
        """item, kept, similarity: of every item that goes."""
        if self.is_cross:
            return self._best_matches.persist()
        classes = self.classes.selectExpr("item", "rep", f"{self.own} as own")
        gone = self.stars.toDF("rep", "kept", "similarity")
        every = classes.join(gone, "rep", "left").withColumn("kept", _or("kept", "rep"))
        every = every.withColumn("similarity", _or("similarity", "own"))
        return every.where("item != kept").select("item", "kept", "similarity").persist()

    @property
    def _best_matches(self) -> DataFrame:
        """For each item of the first collection the most similar of the second, the first among equals."""
        rights = self.classes.where("item % 2 = 1").groupBy("rep").agg(_sql("min(item) as right_item"))
        firsts = self.classes.where("item = rep").selectExpr("rep as left", "rep as right", f"{self.own} as similarity")
        edges = self.edges.union(self.edges.selectExpr("right", "left", "similarity")).union(firsts)
        met = edges.join(rights.toDF("right", "right_item"), "right")
        best = met.groupBy("left").agg(_sql("min(struct(-similarity as far, right_item)) as best"))
        lefts = self.classes.where("item % 2 = 0").selectExpr("item", "rep as left")
        matched = lefts.join(best, "left")
        return matched.selectExpr("item", "best.right_item as kept", "-best.far as similarity")

    @property
    def kept(self) -> DataFrame:
        """The rows of the first collection that stay, with all their columns."""
        origin = self.origins[0]
        gone = self.named(self.removed.select("item"), ["item"])
        if origin.id_column is not None:
            rows, ids = origin.frame, gone.withColumnRenamed("item", "_lookalike_id")
            stay = rows.join(
                ids, rows[f"`{origin.id_column}`"].cast(origin.id_type) == ids["_lookalike_id"], "left_anti"
            )
        else:
            stay = origin.placed().join(gone.withColumnRenamed("item", PLACE), PLACE, "left_anti")
        return stay.select(*(f"`{name}`" for name in origin.columns))

    # ids

    def named(self, frame: DataFrame, left: Sequence[str], right: Sequence[str] = ()) -> DataFrame:
        """The frame with the users' ids instead of numbers: columns of the first collection, and of the last."""
        order = frame.columns
        for number, columns in ((0, left), (len(self.origins) - 1, right)):
            origin = self.origins[number]
            names = self.things.select("item", "id") if "id" in self.things.columns else None
            if names is not None and self.is_cross:
                names = names.where(f"item % 2 = {number}")
            for column in columns:
                if origin.id_column is None or names is None or origin.placing == "ids":
                    shown = f"{column} div 2" if self.is_cross else column
                    frame = frame.withColumn(column, _sql(f"cast({shown} as {origin.id_type})"))
                else:
                    ids = names.selectExpr(f"item as {column}", f"cast(id as {origin.id_type}) as _id")
                    frame = frame.join(ids, column).drop(column).withColumnRenamed("_id", column)
        return frame.select(*order)


def check_ids(origins: Sequence[Origin], things: DataFrame) -> None:
    """Raise DuplicateIds unless the ids of each collection tell its rows apart."""
    for number, origin in enumerate(origins):
        if origin.id_column is None:
            continue
        mine = things.where(f"item % 2 = {number}") if len(origins) == 2 else things
        name = "item" if origin.placing == "ids" else "id"
        twice = mine.groupBy(name).count().where("count > 1").orderBy("count", ascending=False).limit(1).collect()
        if twice:
            raise DuplicateIds(
                f"the id {twice[0][name]!r} occurs {twice[0]['count']} times in {origin.name}; ids must tell the rows "
                "apart. Use --id to name another column."
            )


def _or(one: str, other: str) -> Any:
    from pyspark.sql import functions as F  # noqa: N812

    return F.coalesce(one, other)


def _sql(words: str) -> Any:
    from pyspark.sql import functions as F  # noqa: N812

    return F.expr(words)
