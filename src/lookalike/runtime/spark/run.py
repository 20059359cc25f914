"""A run on Spark over any kind of item: its frames, and the counts that are needed before the next can be made.

A kind of item brings `things`, `plan`, `choice`, `edges` and `matched`; what every kind has is here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
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
from lookalike.runtime.spark.output import Matched, check_ids
from lookalike.runtime.spark.sources import SparkSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class SparkRun(ABC):
    """What is asked of which collections. Frames are made when they are first needed, and are lazy then."""

    origins: Sequence[SparkSource]
    job: Any
    want: OutputKind
    keep: str
    on_bad_text: OnBadText
    trace: Trace

    def __post_init__(self) -> None:
        if (column := preferred_column(self.keep)) is not None:
            self.origins[0].check(column)

    @property
    @abstractmethod
    def things(self) -> DataFrame:
        """All items, with their features, and with keys where they have some."""

    @property
    @abstractmethod
    def choice(self) -> Choice:
        """The method, and why."""

    @property
    @abstractmethod
    def banded(self) -> Any:
        """The plan of an approximate method; None where the method is exact."""

    @property
    @abstractmethod
    def edges(self) -> DataFrame:
        """Every verified pair of classes."""

    @property
    @abstractmethod
    def matched(self) -> Matched:
        """The verified pairs, ready to be named and grouped."""

    @property
    @abstractmethod
    def weight(self) -> BucketStatistics:
        """How many pairs share a key."""

    @abstractmethod
    def counted(self) -> dict[str, int]:
        """What there is, in the words of the kind of item."""

    @abstractmethod
    def audited(self) -> Audit | None:
        """The recall as measured; None where the answer is exact, or nobody asked."""

    @property
    def least(self) -> int:
        """The size of the smallest item that can match anything."""
        return 1

    @property
    def pairs_complete(self) -> bool:
        """False where groups are made without a list of pairs."""
        return True

    @property
    def promised(self) -> float | None:
        """The recall at the threshold; None where only measuring tells."""
        return 1.0 if self.banded is None else float(self.banded.recall_at_threshold)

    @cached_property
    def order(self) -> Order:
        kinds = {field.name: field.dataType.simpleString() for field in self.things.schema.fields}
        return order_of(self.keep, kinds.get("preferred", ""))

    @cached_property
    def alike(self) -> DataFrame:
        return collapse(self.things, self.order, least=self.least).persist()

    @cached_property
    def copies(self) -> Copies:
        """The items that others are equal to; DuplicateIds where ids do not tell the rows apart."""
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
        """How many different items there are."""
        return int(self.things.where(f"size >= {max(1, self.least)}").count()) - self.copies.gone

    def count_pairs(self) -> int:
        """How many pairs there are; TooManyPairs above the limit."""
        count, limit = self.matched.pairs.count(), self.job.max_pairs
        if count > limit:
            raise TooManyPairs(f"the answer has {count:,} pairs, more than --max-pairs {limit:,}. {SETS_ADVICE}")
        return count

    def forget(self) -> None:
        """Let go of all frames that are kept for the next question."""
        for frame in self.__dict__.values():
            if hasattr(frame, "unpersist"):
                frame.unpersist()
