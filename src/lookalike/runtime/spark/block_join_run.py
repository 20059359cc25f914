"""A run in which the local engine joins blocks of items, as Spark tasks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from lookalike.core.method_choice import Choice
from lookalike.core.recall_audit import Audit
from lookalike.runtime.spark.block_join import number_classes
from lookalike.runtime.spark.key_join import BucketStatistics
from lookalike.runtime.spark.output import Matched
from lookalike.runtime.spark.run import SparkRun

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class CellRun(SparkRun):
    """A run that joins blocks of items. A kind of item provides `things`, `edges` and the payload of its join."""

    payload = ""

    @property
    def several(self) -> bool:
        return len(self.origins) == 2

    @cached_property
    def listed(self) -> DataFrame:
        """One row per class of equal items, numbered as in the local engine."""
        return self.roots.keep(number_classes(self.firsts, self.copies, [self.payload], several=self.several))

    @property
    def choice(self) -> Choice:
        return Choice("exact", {}, "all items are compared, block with block")

    @property
    def banded(self) -> Any:
        return None

    @property
    def pairs_complete(self) -> bool:
        return True

    @cached_property
    def weight(self) -> BucketStatistics:
        return BucketStatistics(0, self.classes * (self.classes - 1) // 2, 0)

    @property
    def own(self) -> str:
        """The score of equal items, as a Spark SQL expression."""
        return "0.0D"

    @cached_property
    def matched(self) -> Matched:
        return Matched(self.origins, self.things, self.copies, self.edges, self.order, self.own, self.roots)

    def audited(self) -> Audit | None:
        return None
