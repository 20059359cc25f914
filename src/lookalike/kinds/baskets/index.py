"""Index kind of baskets: sets of items that are read from tables of purchases, lists, or texts with separators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from lookalike.index.items import Batch
from lookalike.kinds.baskets.formats import BasketRule, open_baskets
from lookalike.kinds.baskets.source import BASKETS_PER_BATCH
from lookalike.kinds.documents.index import SetKind


@dataclass(frozen=True, kw_only=True)
class BasketKind(SetKind):
    """The index kind of baskets. set_column, item_column, separator: how tables are read, as in a batch run."""

    name: ClassVar[str] = "baskets"

    threshold: float = 0.5
    set_column: str | None = None
    item_column: str | None = None
    separator: str | None = None

    @classmethod
    def options(cls) -> tuple[str, ...]:
        return (*super().options(), "set", "item", "separator")

    @classmethod
    def make(cls, options: Mapping[str, Any]) -> Self:
        given = dict(options)
        columns = {f"{name}_column": given.pop(name, None) for name in ("set", "item")}
        return super().make(given | columns)

    def settings(self) -> dict[str, Any]:
        read = {"set": self.set_column, "item": self.item_column, "separator": self.separator}
        return super().settings() | read

    def read(
        self, source: Any, column: str | None, id: str | None,  # noqa: A002
    ) -> Iterator[Batch]:  # fmt: skip
        """Yield baskets and their ids in batches. column: of the items; id: of the baskets; None for the usual ones."""
        rule = BasketRule(
            set=id or self.set_column, item=column or self.item_column, separator=self.separator, bag=self.rule.bag
        )
        baskets = open_baskets(source, rule)
        named = baskets.given is not None and baskets.set_name in baskets.given.columns  # other ids are row numbers
        for batch in baskets.named_lists().to_batches(max_chunksize=BASKETS_PER_BATCH):
            yield batch.column(1), batch.column(0) if named else None
