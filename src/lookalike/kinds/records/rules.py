"""Rules of record linkage: the fields, and the comparison, the weight and the blocking keys of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from lookalike.core import formatting
from lookalike.core.arrays import check_choice
from lookalike.core.options import check_similarity
from lookalike.errors import UsageError

# words: words are matched one by one, rare ones with higher weights. code: few edits in a number, a phone number, an
# id. codes: the codes that both have, by weight, relative to the record with fewer. The last
# four are computed by RapidFuzz on the folded text.
COMPARISONS = (
    "words", "code", "codes", "number", "date", "exact", "edit", "jaro_winkler", "token_set", "token_sort",
)  # fmt: skip
BY_RAPIDFUZZ = ("edit", "jaro_winkler", "token_set", "token_sort")
COMPACT = ("code", "date", "number")  # compared without blanks and punctuation
KEYS = ("value", "words", "joined", "starts", "sounds", "shingles")
WHOLE, RIVALS = "(whole record)", "(rivals)"
RIVALS_OF: dict[tuple[bool, bool], bool | str] = {
    (True, True): True, (True, False): "left", (False, True): "right", (False, False): False,
}  # fmt: skip
EACH = "each"  # of `rivals`: every record has at most one partner, in one table too
Basis = Literal["measured", "assumed", "few fields", "few matches", "several partners", "related records"]
CALIBRATED: tuple[Basis, ...] = ("measured", "assumed")  # the bases that support a match probability
BASES: dict[Basis, str] = {
    "measured": "agreement by chance and the dependence between fields, both measured on pairs of the input",
    "assumed": "agreement by chance, measured on pairs of the input; fields are taken as independent, because too few "
    "have values that several records share",
    "few fields": "fewer than three fields cannot distinguish matches from other pairs",
    "few matches": "fewer than 20 matches are expected, too few to learn from",
    "several partners": "many records have several likely partners, and the fields cannot tell copies from others "
    "that are alike, or groups are too large to see what is shared by chance",
    "related records": "pairs that differ in one field as unrelated records do connect groups that agree in it, as "
    "relatives at one address do; such pairs are among the matches",
}
EDGES = (0.2, 0.4, 0.6, 0.75, 0.88, 0.999)  # lower edges of the comparison levels of a field, above the first one


@dataclass(frozen=True, kw_only=True)
class FieldRule:
    """The rule of one field: its comparison, blocking keys and weight.

    weight: None if it is to be learned. bits: the match weight of each comparison level (`EDGES`) in the
    Fellegi-Sunter model. explained: the number of bits of each level that agreement in another column takes away, with
    term-frequency adjustment; None to use the match weights unadjusted. sources: the columns of a derived field, whose
    values are the codes in them; empty if the field is the column itself.
    """

    column: str
    compare: str = "words"
    keys: tuple[str, ...] = ("value", "words", "joined")
    weight: float | None = None
    bits: tuple[float, ...] | None = None
    explained: Mapping[str, tuple[float, ...]] | None = None
    sources: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_choice("comparison", self.compare, COMPARISONS)
        for key in self.keys:
            check_choice("key", key, KEYS)
        if self.sources and self.compare != "codes":
            raise UsageError(f"{self.column!r} has sources; a field of codes alone is made from other columns.")
        if self.weight is not None and not self.weight >= 0:
            raise UsageError(f"the weight of {self.column!r} is {self.weight}; expected 0 or more.")
        if self.bits is not None and len(self.bits) != len(EDGES) + 1:
            raise UsageError(
                f"{self.column!r} has {formatting.count(len(self.bits), 'bits')}; expected {len(EDGES) + 1}, "
                "one for each level."
            )

        for column, lift in (self.explained or {}).items():
            if len(lift) != len(EDGES) + 1:
                raise UsageError(
                    f"what {column!r} explains of {self.column!r} has {formatting.count(len(lift), 'bits')}; "
                    f"expected {len(EDGES) + 1}."
                )

    def as_dict(self) -> dict[str, Any]:
        made: dict[str, Any] = {"column": self.column, "compare": self.compare, "keys": list(self.keys)}
        if self.sources:
            made["sources"] = list(self.sources)
        if self.weight is not None:
            made["weight"] = self.weight
        if self.bits is not None:
            made["bits"] = list(self.bits)
        if self.explained is not None:
            made["explained"] = {column: list(lift) for column, lift in self.explained.items()}
        return made


@dataclass(frozen=True, kw_only=True)
class RecordRules:
    """The rules of all fields, and the settings of the record as a whole.

    whole: the weight of the words of the whole record relative to the fields, from 0 to 1. rivals: whether better
    competing pairs lower the score of a pair (between two tables): those of either record (True), only of records of
    the "left" or of the "right" table, or none (False); True also if the data is to decide. Within one table competing
    pairs count if it is "each": every record has at most one partner. threshold: None if it is to
    be selected from the data. prior: log2 of the prior odds of a match; None if scores are weighted sums. basis: the
    basis of the match probabilities of estimated match weights (`BASES`); None for weighted sums and for match weights
    that were given.
    """

    fields: tuple[FieldRule, ...]
    whole: float = 0.5
    rivals: bool | str = True
    threshold: float | None = None
    prior: float | None = None
    basis: Basis | None = None

    def __post_init__(self) -> None:
        if not self.fields:
            raise UsageError("no field is compared; name at least one column.")
        names = [field.column for field in self.fields]
        for name in names:
            if names.count(name) > 1:
                raise UsageError(f"the field {name!r} is named {names.count(name)} times; expected once.")
        if not 0 <= self.whole <= 1:
            raise UsageError(f"whole is {self.whole}; expected a share from 0 to 1.")
        if self.basis is not None:
            check_choice("basis", self.basis, tuple(BASES))
        if self.rivals not in (*RIVALS_OF.values(), EACH):
            raise UsageError(f'rivals is {self.rivals!r}; expected true, false, "left", "right" or "each".')
        if not any(field.keys for field in self.fields):
            raise UsageError("no field gives keys, so no records would meet; give one of them keys.")
        if self.threshold is not None:
            check_similarity(self.threshold)

    @property
    def score_name(self) -> str:
        """Return the name of the score: "similarity", "probability", or "score" if it only ranks pairs."""
        if self.prior is None:
            return "similarity"
        return "probability" if self.basis is None or self.basis in CALIBRATED else "score"

    @property
    def learned(self) -> bool:
        """Return whether every field has a weight or match weights."""
        return all(field.weight is not None or field.bits is not None for field in self.fields)

    @property
    def explained(self) -> list[dict[int, tuple[float, ...]]] | None:
        """Return for each field the explained bits by the number of the explaining field; None if no field has any."""
        if all(field.explained is None for field in self.fields):
            return None
        place = {field.column: n for n, field in enumerate(self.fields)}
        return [{place[by]: lift for by, lift in (f.explained or {}).items() if by in place} for f in self.fields]

    def sides(self, *, across: bool) -> tuple[bool, bool]:
        """Return whether the pairs of a record on the left compete, and of one on the right. across: two tables."""
        if self.rivals == EACH or not across:
            return (self.rivals == EACH,) * 2
        return next(sides for sides, name in RIVALS_OF.items() if name == self.rivals)

    @property
    def searches(self) -> bool:
        """Return whether fields are compared, rather than pairs given."""
        return self is not GIVEN_PAIRS

    def weighing(self, weights: Sequence[float]) -> RecordRules:
        """Return the rules with these weights, and without match weights."""
        return replace(
            self,
            fields=tuple(
                replace(f, weight=w, bits=None, explained=None) for f, w in zip(self.fields, weights, strict=True)
            ),
        )

    def as_dict(self) -> dict[str, Any]:
        made: dict[str, Any] = {"threshold": self.threshold, "whole": self.whole, "rivals": self.rivals}
        if self.prior is not None:
            made["prior"] = self.prior
        if self.basis is not None:
            made["basis"] = self.basis
        return {**made, "fields": [field.as_dict() for field in self.fields]}


GIVEN_PAIRS = RecordRules(fields=(FieldRule(column="pairs that were given"),))  # of a run without a search
