"""A run on Spark over any kind of item: its frames, and the counts on which the next frame depends.

A kind of item provides `things`, `choice`, `banded`, `edges`, `matched`, `weight`, `counted` and `audited`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from lookalike.core.keep_policy import preferred_column
from lookalike.core.method_choice import Choice
from lookalike.core.recall_audit import Audit
from lookalike.core.trace import Trace
from lookalike.errors import TooManyPairs
from lookalike.io.texts import OnBadText
from lookalike.runtime.local.joins import SETS_ADVICE
from lookalike.runtime.run_output import OutputKind
from lookalike.runtime.spark.exact_duplicates import Copies, collapse, count_copies, representatives
from lookalike.runtime.spark.keep_policy import order_of
from lookalike.runtime.spark.key_join import BucketStatistics, Order
from lookalike.runtime.spark.lineage import LineageCutter
from lookalike.runtime.spark.output import Matched, check_ids
from lookalike.runtime.spark.sources import SparkSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class SparkRun(ABC):
    """The settings and collections of a run. Frames are created on first use, and evaluated lazily.

    roots: persisted frames from which the planner starts again, since plans that grow with every step take longer than
    the work.
    """

    origins: Sequence[SparkSource]
    job: Any
    want: OutputKind
    keep: str
    on_bad_text: OnBadText
    trace: Trace
    roots: LineageCutter = field(default_factory=LineageCutter)

    def __post_init__(self) -> None:
        if (column := preferred_column(self.keep)) is not None:
            self.origins[0].check(column)

    @property
    @abstractmethod
    def things(self) -> DataFrame:
        """All items with their features, and their keys if they have any."""

    @property
    @abstractmethod
    def choice(self) -> Choice:
        """The method, with the reason for its choice."""

    @property
    @abstractmethod
    def banded(self) -> Any:
        """The plan of an approximate method; None if the method is exact."""

    @property
    @abstractmethod
    def edges(self) -> DataFrame:
        """Every verified pair of classes."""

    @property
    @abstractmethod
    def matched(self) -> Matched:
        """The verified pairs, from which named pairs and groups are computed."""

    @property
    @abstractmethod
    def weight(self) -> BucketStatistics:
        """The totals of the buckets, such as the number of pairs that share a key."""

    @abstractmethod
    def counted(self) -> dict[str, int]:
        """Return counts of the items, under the names of the kind of item."""

    @abstractmethod
    def audited(self) -> Audit | None:
        """Return the measured recall; None if the result is exact, or if no audit was requested."""

    @property
    def least(self) -> int:
        """The size of the smallest item that can match anything."""
        return 1

    @property
    def pairs_complete(self) -> bool:
        """False if groups are computed without a list of pairs."""
        return True

    @property
    def promised(self) -> float | None:
        """The planned recall at the threshold; None if it can only be measured."""
        return 1.0 if self.banded is None else float(self.banded.recall_at_threshold)

    @cached_property
    def order(self) -> Order:
        kinds = {field.name: field.dataType.simpleString() for field in self.things.schema.fields}
        return order_of(self.keep, kinds.get("preferred", ""))

    @cached_property
    def alike(self) -> DataFrame:
        return self.roots.keep(collapse(self.things, self.order, least=self.least))

    @cached_property
    def copies(self) -> Copies:
        """The items that equal other items; raises DuplicateIds if ids are not unique."""
        copies = count_copies(self.alike)
        if copies.twice:
            check_ids(self.origins, self.things)
        return copies

    @cached_property
    def firsts(self) -> DataFrame:
        """One item of each class of equal items."""
        return representatives(self.things, self.copies, least=self.least)

    @cached_property
    def classes(self) -> int:
        """The number of distinct items."""
        return int(self.things.where(f"size >= {max(1, self.least)}").count()) - self.copies.gone

    def count_pairs(self) -> int:
        """Return the number of pairs; raise TooManyPairs above the limit."""
        count, limit = self.matched.pairs.count(), self.job.max_pairs
        if count > limit:
            raise TooManyPairs(f"the answer has {count:,} pairs, more than `max_pairs={limit:,}`. {SETS_ADVICE}")
        return count

    def forget(self) -> None:
        """Unpersist all frames that are held for further queries."""
        for frame in self.__dict__.values():
            if hasattr(frame, "unpersist"):
                frame.unpersist()
        self.roots.forget()
