"""The specification of a search for shared passages."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from lookalike.core.arrays import Scale
from lookalike.errors import UsageError

K = {True: 5, False: 10}  # default tokens in a shingle: prose, code
DEFAULT_MIN_TOKENS = {True: 12, False: 24}  # default tokens in the shortest passage: prose, code
BRIDGED = 3  # shingles in a window if edits are bridged, because runs between edits are short
MOST_GAP = 64  # maximum tokens of an edit that is bridged


@dataclass(frozen=True, kw_only=True)
class PassageJob:
    """The options that determine the answer (and `threads`, which does not). Frozen, and written to the receipt.

    min_tokens, k, window: 0 selects the default. gap: maximum tokens of an edit inside a passage; 0 allows no edits.
    language: None for prose, a language that Pygments knows, or auto.
    """

    noun: ClassVar[str] = "documents"
    scale: ClassVar[Scale] = Scale("shared_tokens")
    verify: ClassVar[bool] = True

    min_tokens: int = 0
    gap: int = 0
    k: int = 0
    window: int = 0
    language: str | None = None
    comments: bool = True
    fold_case: bool = True
    strip_accents: bool = False
    max_share: float | None = None
    max_pairs: int = 10_000_000
    threads: int | None = None

    def __post_init__(self) -> None:
        prose = self.language is None
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
        if not 0 <= self.gap <= MOST_GAP:
            raise UsageError(f"gap is {self.gap}; expected 0 to {MOST_GAP} tokens.")
        if self.max_share is not None and not 0 < self.max_share <= 1:
            raise UsageError(f"max_share is {self.max_share}; expected a share above 0 and at most 1.")
        if self.max_pairs < 1:
            raise UsageError(f"max_pairs is {self.max_pairs}; expected at least 1.")
        if self.threads is not None and self.threads < 1:
            raise UsageError(f"threads is {self.threads}; expected at least 1.")

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
        bridged = f", edits of up to {self.gap} bridged" if self.gap else ""
        return f"runs of at least {self.min_tokens} {self.unit}{bridged}"

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "guaranteed": self.guaranteed}
