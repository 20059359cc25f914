"""A run over items that the local engine joins, block with block."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from lookalike.engines.choice import Choice
from lookalike.engines.spark.answer import Matched
from lookalike.engines.spark.cells import listed
from lookalike.engines.spark.flow import Weight
from lookalike.engines.spark.roots import Roots
from lookalike.engines.spark.run import Run
from lookalike.stages.audit import Audit
from lookalike.stages.preference import preferred_column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class CellRun(Run):
    """As a run over documents, of another job. A kind of item brings `things`, `edges`, and a payload for its join."""

    job: Any
    roots: Roots = field(default_factory=Roots)

    payload = ""

    def __post_init__(self) -> None:
        if (column := preferred_column(self.keep)) is not None:
            self.origins[0].check(column)

    @property
    def least(self) -> int:
        return 1

    @property
    def several(self) -> bool:
        return len(self.origins) == 2

    @cached_property
    def listed(self) -> DataFrame:
        """One row for each class, numbered as one machine numbers them."""
        return self.roots.keep(listed(self.firsts, self.copies, [self.payload], several=self.several))

    @property
    def count(self) -> int:
        """How many different items there are."""
        return self.classes

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
    def weight(self) -> Weight:
        return Weight(0, self.count * (self.count - 1) // 2, 0)

    @property
    def own(self) -> str:
        """The score of equal items, in Spark's words."""
        return "0.0D"

    @cached_property
    def matched(self) -> Matched:
        return Matched(self.origins, self.things, self.copies, self.edges, self.order, self.own)

    def audited(self) -> Audit | None:
        return None

    def forget(self) -> None:
        super().forget()
        self.roots.forget()
