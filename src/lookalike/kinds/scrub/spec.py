"""The specification of the removal of repeated text."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from lookalike.core.keep_policy import preferred_column
from lookalike.core.options import check_values, defaults
from lookalike.errors import UsageError
from lookalike.kinds.scrub.options import SHORTEST, Border, Level, Loss, ScrubOptions, SpanUnit

SCRUB_DEFAULTS = defaults(ScrubOptions)
LONGEST_SEED_RUN = 12  # equal words by which a near copy is found
UNIT_NAMES = {"word": "words", "char": "characters", "byte": "bytes"}


@dataclass(frozen=True, kw_only=True)
class ScrubJob:
    """The options that determine the answer (and `threads`, which does not). Frozen, and written to the receipt.

    min_tokens: length of the shortest repeat that is removed; 0 selects the default of the level. gap: largest number
    of words of an edit within a near copy; 0 for none. max_times: copies of
    a line or paragraph that stay. at: where cuts begin and end. protect: a regular expression; text that it matches
    stays. max_loss: share of the tokens of a document that may be cut; on_max_loss: whether a document that would lose
    more is dropped or kept whole. keep: the copy that stays.
    """

    noun: ClassVar[str] = "documents"

    min_tokens: int = SCRUB_DEFAULTS["min_tokens"]
    gap: int = SCRUB_DEFAULTS["gap"]
    unit: SpanUnit = SCRUB_DEFAULTS["unit"]
    level: Level = SCRUB_DEFAULTS["level"]
    max_times: int = SCRUB_DEFAULTS["max_times"]
    keep: str = SCRUB_DEFAULTS["keep"]
    at: Border = SCRUB_DEFAULTS["at"]
    protect: str | None = SCRUB_DEFAULTS["protect"]
    max_loss: float = SCRUB_DEFAULTS["max_loss"]
    on_max_loss: Loss = SCRUB_DEFAULTS["on_max_loss"]
    fold_case: bool = SCRUB_DEFAULTS["fold_case"]
    threads: int | None = SCRUB_DEFAULTS["threads"]

    def __post_init__(self) -> None:
        check_values(ScrubOptions, self.__dict__)
        preferred_column(self.keep)
        if not self.min_tokens:
            object.__setattr__(self, "min_tokens", SHORTEST[self.level])
        if self.max_times > 1 and self.level == "span":
            raise UsageError(f"max_times is {self.max_times} with level 'span'; expected level 'line' or 'paragraph'.")
        if self.level != "span" and (self.at != "token" or self.unit != "word"):
            raise UsageError(f"at and unit are for level 'span'; with level {self.level!r} leave them out.")
        if self.gap and (self.level != "span" or self.at != "token" or self.unit != "word"):
            raise UsageError(
                f"gap is {self.gap} with level {self.level!r}, unit {self.unit!r} and at {self.at!r}; near copies are "
                "runs of words, cut at words: leave level, unit and at out."
            )
        self.pattern()

    def pattern(self) -> re.Pattern[str] | None:
        """Compile `protect`; raises UsageError if it is invalid or matches the empty text."""
        if self.protect is None:
            return None
        try:
            pattern = re.compile(self.protect)
        except re.error as error:
            raise UsageError(f"protect {self.protect!r} is not a regular expression: {error}.") from error
        if pattern.match(""):
            raise UsageError(
                f"protect {self.protect!r} matches the empty text; expected a pattern for text to protect."
            )
        return pattern

    @property
    def length(self) -> int:
        """Tokens of a window: one line or paragraph, or `min_tokens` words, characters or bytes."""
        return self.min_tokens if self.level == "span" else 1

    @property
    def seed_run(self) -> int:
        """Equal words that follow one another in every near copy that is found."""
        return max(1, min(LONGEST_SEED_RUN, self.min_tokens // 4))

    @property
    def audit_run(self) -> int:
        """Equal words from which the audit searches the near copies that were missed."""
        return min(self.seed_run, max(2, self.seed_run // 3))

    def words(self) -> str:
        """Describe what is removed in words."""
        if self.level != "span":
            often = "once" if self.max_times == 1 else f"{self.max_times:,} times"
            return f"{self.level}s of at least {self.min_tokens} words that occur more than {often}"
        near = f", also with edits of up to {self.gap} words" if self.gap else ""
        return f"runs of at least {self.min_tokens} {UNIT_NAMES[self.unit]} that occur more than once{near}"

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)
