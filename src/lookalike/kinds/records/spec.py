"""The specification of a run over records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from lookalike.core.arrays import SIMILARITY, Scale, check_choice
from lookalike.errors import UsageError
from lookalike.kinds.records.exact_blocking import parse_blocking
from lookalike.kinds.records.rules import RecordRules

WeightsBy = Literal["learned", "equal", "em"]


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
    weights: WeightsBy = "learned"
    one_to_one: bool = False
    neighbours: int = 10
    blocking: str | None = None
    seed: int = 42
    max_pairs: int = 100_000_000
    audit: int = 2000
    threads: int | None = None

    def __post_init__(self) -> None:
        check_choice("weights", self.weights, ("learned", "equal", "em"))
        if not 0 < self.threshold <= 1:
            raise UsageError(f"threshold is {self.threshold}; expected a number above 0 and at most 1.")
        if self.threads is not None and self.threads < 1:
            raise UsageError(f"threads is {self.threads}; expected at least 1.")
        if self.max_pairs < 1:
            raise UsageError(f"max_pairs is {self.max_pairs}; expected at least 1.")
        if self.neighbours < 1:
            raise UsageError(f"neighbours is {self.neighbours}; expected at least 1.")
        _ = self.blocking_columns
        if self.audit < 0:
            raise UsageError(f"audit is {self.audit}; expected a number of records to check, or 0 for none.")

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
