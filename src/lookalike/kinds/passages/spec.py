"""The specification of a search for shared passages."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from lookalike.core.arrays import Scale
from lookalike.core.options import check_values, defaults
from lookalike.errors import UsageError
from lookalike.kinds.passages.options import BRIDGED, DEFAULT_MIN_TOKENS, K, PassageOptions

PASSAGE_DEFAULTS = defaults(PassageOptions)


@dataclass(frozen=True, kw_only=True)
class PassageJob:
    """The options that determine the answer (and `threads`, which does not). Frozen, and written to the receipt.

    min_tokens, k, window: 0 selects the default. gap: maximum tokens of an edit inside a passage; 0 allows no edits.
    reworded: passages in other words instead, of which the share `precision` is expected not to be chance.
    language: None for prose, a language that Pygments knows, or auto.
    """

    noun: ClassVar[str] = "documents"
    scale: ClassVar[Scale] = Scale("shared_tokens")
    verify: ClassVar[bool] = True

    min_tokens: int = PASSAGE_DEFAULTS["min_tokens"]
    gap: int = PASSAGE_DEFAULTS["gap"]
    k: int = PASSAGE_DEFAULTS["k"]
    window: int = PASSAGE_DEFAULTS["window"]
    language: str | None = PASSAGE_DEFAULTS["language"]
    comments: bool = PASSAGE_DEFAULTS["comments"]
    fold_case: bool = PASSAGE_DEFAULTS["fold_case"]
    strip_accents: bool = PASSAGE_DEFAULTS["strip_accents"]
    reworded: bool = PASSAGE_DEFAULTS["reworded"]
    precision: float = PASSAGE_DEFAULTS["precision"]
    max_share: float | None = PASSAGE_DEFAULTS["max_share"]
    max_pairs: int = PASSAGE_DEFAULTS["max_pairs"]
    threads: int | None = PASSAGE_DEFAULTS["threads"]

    def __post_init__(self) -> None:
        check_values(PassageOptions, self.__dict__)
        prose = self.language is None
        if self.reworded:
            for name in ("language", "gap", "window"):
                if getattr(self, name):
                    raise UsageError(
                        f"`{name}` is given, but `reworded` compares words of prose. Leave out one of both."
                    )
        self._derive("k", K[prose] if not self.min_tokens else min(K[prose], self.min_tokens))
        self._derive("min_tokens", max(DEFAULT_MIN_TOKENS[prose], self.k))
        if self.min_tokens < self.k:
            raise UsageError(f"min_tokens is {self.min_tokens}; expected at least k, which is {self.k}.")
        unbroken = self.min_tokens - self.k + 1
        self._derive("window", min(BRIDGED, unbroken) if self.gap else unbroken)
        if self.window > unbroken:
            raise UsageError(
                f"window is {self.window}; a run of {self.min_tokens} tokens (min_tokens) is sure to be found with at "
                f"most {unbroken}, which is min_tokens - k + 1."
            )

    def _derive(self, name: str, usual: int) -> None:
        given = getattr(self, name)
        if given < 0:
            raise UsageError(f"{name} is {given}; expected at least 1, or 0 for the usual one.")
        object.__setattr__(self, name, given or usual)

    @property
    def guaranteed(self) -> int:
        """The length in tokens from which every unbroken run is found."""
        return self.window + self.k - 1

    @property
    def unit(self) -> str:
        return "words" if self.language is None else "tokens"

    @property
    def threshold(self) -> float:
        return float(self.min_tokens)

    def words(self) -> str:
        """Describe the shortest passage and the bridged edits in words."""
        if self.reworded:
            return f"passages in other words, expected precision {self.precision:g}"
        bridged = f", edits of up to {self.gap} bridged" if self.gap else ""
        return f"runs of at least {self.min_tokens} {self.unit}{bridged}"

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "guaranteed": self.guaranteed}


def check_report_pairs(pairs: int) -> None:
    """Raise UsageError for a report without pairs."""
    if pairs < 1:
        raise UsageError(f"pairs is {pairs}; expected at least 1 pair in the report.")
