"""The specification of a run over records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from lookalike.core.arrays import SIMILARITY, Scale
from lookalike.core.options import check_values, defaults
from lookalike.kinds.records.exact_blocking import parse_blocking
from lookalike.kinds.records.options import RecordOptions
from lookalike.kinds.records.options import WeightsBy as WeightsBy
from lookalike.kinds.records.rules import RecordRules

RECORD_DEFAULTS = defaults(RecordOptions)


@dataclass(frozen=True, kw_only=True)
class RecordJob:
    """All options that determine the result (and `threads`, which does not). Frozen, and written to the receipt.

    rules: given, inferred or learned. neighbours: the maximum number of candidates that are selected for each record.
    blocking: "exact:" and columns, to compare all pairs with an equal value in one of them, and no others; None for
    blocking by keys.
    """

    noun: ClassVar[str] = "records"
    scale: ClassVar[Scale] = SIMILARITY
    verify: ClassVar[bool] = True

    rules: RecordRules
    threshold: float
    weights: WeightsBy = RECORD_DEFAULTS["weights"]
    one_to_one: bool = False
    neighbours: int = RECORD_DEFAULTS["neighbours"]
    blocking: str | None = RECORD_DEFAULTS["blocking"]
    seed: int = RECORD_DEFAULTS["seed"]
    max_pairs: int = RECORD_DEFAULTS["max_pairs"]
    audit: int = RECORD_DEFAULTS["audit"]
    threads: int | None = RECORD_DEFAULTS["threads"]

    def __post_init__(self) -> None:
        check_values(RecordOptions, self.__dict__)
        _ = self.blocking_columns

    @property
    def blocking_columns(self) -> tuple[str, ...] | None:
        return None if self.blocking is None else parse_blocking(self.blocking)

    def words(self) -> str:
        """Describe the compared fields and the threshold in one line."""
        if not self.rules.searches:
            return self.rules.fields[0].column
        names = [rule.column.strip() for rule in self.rules.fields]
        listed = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
        return f"{self.rules.score_name} at least {self.threshold:.3g} of {listed}" + (
            ", one to one" if self.one_to_one else ""
        )

    def as_dict(self) -> dict[str, Any]:
        return {**self.__dict__, "rules": self.rules.as_dict()}
