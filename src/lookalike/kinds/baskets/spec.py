"""The specification of a run over baskets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lookalike.core.options import defaults
from lookalike.kinds.baskets.options import BasketOptions
from lookalike.kinds.documents.options import Method
from lookalike.kinds.documents.spec import Job

BASKET_DEFAULTS = defaults(BasketOptions)


@dataclass(frozen=True, kw_only=True)
class BasketJob(Job):
    """The options of a run over baskets, which extend those for documents.

    of: the name of the items, for messages. via_groups: the threshold of the groups of items, if baskets are compared
    by these groups.
    """

    noun: ClassVar[str] = "baskets"

    threshold: float = BASKET_DEFAULTS["threshold"]
    method: Method = BASKET_DEFAULTS["method"]
    of: str = "item"
    via_groups: float | None = None

    def words(self) -> str:
        bag = " (bag)" if self.rule.bag else ""
        through = "" if self.via_groups is None else f", grouped at {self.via_groups:g}"
        if self.via_groups is not None and self.set_measure().is_count:
            return f"at least {self.threshold:g} shared groups of {self.of!r}{bag}{through}"
        return f"{self.measure} at least {self.threshold:g} on sets of {self.of!r}{bag}{self.weight_words()}{through}"


class ItemJob(BasketJob):
    """The dual job: compare items as sets of the baskets that contain them."""

    noun: ClassVar[str] = "items"
