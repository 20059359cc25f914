"""The specification of a run on documents."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, get_args

from lookalike.core.arrays import SIMILARITY, Recipe, Scale, ShingleRule, check_choice
from lookalike.core.measures import Bar, SetMeasure, bar, set_measure
from lookalike.core.run_options import check_run
from lookalike.errors import UsageError

Method = Literal["auto", "lsh", "exact", "dcm", "folding"]


@dataclass(frozen=True, kw_only=True)
class Job:
    """The options that determine the answer (and `threads`, which does not). Frozen, and written to the receipt."""

    noun: ClassVar[str] = "documents"
    scale: ClassVar[Scale] = SIMILARITY

    threshold: float = 0.8
    measure: str = "jaccard"
    rule: ShingleRule = field(default_factory=ShingleRule)
    method: Method = "auto"
    recall: float = 0.99
    num_hashes: int = 128
    bands: int | None = None
    rows: int | None = None
    scheme: Literal["fss-1", "minhash-1"] = "fss-1"
    seed: int = 42
    verify: bool = True
    max_share: float | None = None
    max_pairs: int = 100_000_000
    audit: int = 2000
    threads: int | None = None

    def __post_init__(self) -> None:
        self.bar()
        check_choice("method", self.method, get_args(Method))
        if self.max_share is not None and not 0 < self.max_share <= 1:
            raise UsageError(f"max_share is {self.max_share}; expected a share above 0 and at most 1.")
        if self.method in ("exact", "dcm") and (self.bands is not None or self.rows is not None or not self.verify):
            what = "verify=False estimates from signatures" if not self.verify else "bands and rows are of signatures"
            raise UsageError(f"{what}, and method {self.method!r} makes none; give one or the other.")
        if self.method == "folding" and (self.bands is not None or not self.verify):
            what = "verify=False estimates from signatures" if not self.verify else "bands are of signatures"
            raise UsageError(f"{what}, and method 'folding' makes none; give recall, and rows for the rows of a key.")
        check_run(self.max_pairs, self.audit, self.threads)
        self.recipe()

    def set_measure(self) -> SetMeasure:
        return set_measure(self.measure)

    def bar(self) -> Bar:
        return bar(self.set_measure(), self.threshold)

    def recipe(self) -> Recipe:
        return Recipe(scheme=self.scheme, seed=self.seed, length=self.num_hashes, shingles=self.rule)

    def words(self) -> str:
        """Describe the measure, the threshold and the shingles in words."""
        bag = " (bag)" if self.rule.bag else ""
        return f"{self.measure} at least {self.threshold:g} on {self.rule.unit} {self.rule.k}-shingles{bag}"

    def as_dict(self) -> dict[str, Any]:
        return {**self.__dict__, "rule": self.rule.as_dict()}
