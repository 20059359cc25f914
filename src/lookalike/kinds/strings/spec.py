"""The specification of a run over strings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from lookalike.core.arrays import DISTANCE, SIMILARITY, Scale
from lookalike.core.options import changed, check_values, defaults
from lookalike.core.run_options import Seed
from lookalike.errors import UsageError
from lookalike.kinds.strings.lengths import EditBar, edit_bar
from lookalike.kinds.strings.options import DEFAULT_EDITS, Measure, StringOptions

STRING_DEFAULTS = defaults(StringOptions)


@dataclass(frozen=True, kw_only=True)
class StringsJob:
    """The options that determine the result (and `threads`, which does not). threshold: edits, or a similarity."""

    noun: ClassVar[str] = "strings"
    verify: ClassVar[bool] = True

    threshold: float = DEFAULT_EDITS
    by_similarity: bool = False
    measure: Measure = STRING_DEFAULTS["measure"]
    fold_case: bool = STRING_DEFAULTS["fold_case"]
    strip_accents: bool = STRING_DEFAULTS["strip_accents"]
    seed: int = changed(Seed).default
    max_pairs: int = STRING_DEFAULTS["max_pairs"]
    threads: int | None = STRING_DEFAULTS["threads"]

    def __post_init__(self) -> None:
        check_values(StringOptions, self.__dict__, threshold="threshold" if self.by_similarity else "max_edits")
        if not self.by_similarity and not (self.threshold >= 0 and float(self.threshold).is_integer()):
            raise UsageError(f"max_edits is {self.threshold}; expected a whole number, 0 or more.")

    @property
    def scale(self) -> Scale:
        return SIMILARITY if self.by_similarity else DISTANCE

    def bar(self) -> EditBar:
        return edit_bar(self.measure, self.threshold, by_similarity=self.by_similarity)

    def words(self) -> str:
        name = "Levenshtein" if self.measure == "levenshtein" else "insert/delete"
        kind = "similarity" if self.by_similarity else "distance"
        return f"{name} {kind} {self.scale.bound} {self.threshold:g}"

    def as_dict(self) -> dict[str, Any]:
        return dict(self.__dict__)
