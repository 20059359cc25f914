"""The specification of a run on documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from lookalike.core.arrays import SIMILARITY, Recipe, Scale, ShingleRule
from lookalike.core.measures import Bar, SetMeasure, bar, set_measure
from lookalike.core.options import check_values, defaults
from lookalike.errors import UsageError
from lookalike.kinds.documents.options import DocumentOptions, Scheme, Weight
from lookalike.kinds.documents.options import Method as Method
from lookalike.kinds.documents.weights import OwnWeights, Weighting

DOCUMENT_DEFAULTS = defaults(DocumentOptions)


@dataclass(frozen=True, kw_only=True)
class Job:
    """The options that determine the answer (and `threads`, which does not). Frozen, and written to the receipt."""

    noun: ClassVar[str] = "documents"
    scale: ClassVar[Scale] = SIMILARITY

    threshold: float = DOCUMENT_DEFAULTS["threshold"]
    measure: str = DOCUMENT_DEFAULTS["measure"]
    rule: ShingleRule = field(default_factory=ShingleRule)
    weight: Weight = DOCUMENT_DEFAULTS["weight"]
    weights: OwnWeights | None = None
    method: Method = DOCUMENT_DEFAULTS["method"]
    recall: float = DOCUMENT_DEFAULTS["recall"]
    num_hashes: int = DOCUMENT_DEFAULTS["num_hashes"]
    bands: int | None = DOCUMENT_DEFAULTS["bands"]
    rows: int | None = DOCUMENT_DEFAULTS["rows"]
    scheme: Scheme = DOCUMENT_DEFAULTS["scheme"]
    seed: int = DOCUMENT_DEFAULTS["seed"]
    verify: bool = DOCUMENT_DEFAULTS["verify"]
    max_share: float | None = DOCUMENT_DEFAULTS["max_share"]
    max_pairs: int = DOCUMENT_DEFAULTS["max_pairs"]
    audit: int = DOCUMENT_DEFAULTS["audit"]
    threads: int | None = DOCUMENT_DEFAULTS["threads"]

    def __post_init__(self) -> None:
        self.bar()
        check_values(DocumentOptions, self.__dict__)
        if self.method in ("exact", "dcm") and (self.bands is not None or self.rows is not None or not self.verify):
            what = "verify=False estimates from signatures" if not self.verify else "bands and rows are of signatures"
            raise UsageError(f"{what}, and method {self.method!r} makes none; give one or the other.")
        if self.method == "folding" and (self.bands is not None or not self.verify):
            what = "verify=False estimates from signatures" if not self.verify else "bands are of signatures"
            raise UsageError(f"{what}, and method 'folding' makes none; give recall, and rows for the rows of a key.")
        if self.is_weighted:
            self._check_weighted()
        self.recipe()

    def _check_weighted(self) -> None:
        """Raise UsageError for what does not go with weights."""
        if self.set_measure().is_count:
            raise UsageError(
                "measure 'overlap' (min_shared) counts shared elements; with weights give another measure and a "
                "threshold."
            )
        banded = self.method == "lsh"
        if self.method in ("dcm", "folding") or not self.verify:
            raise UsageError(
                "sets with weights are joined by their rarest elements (exact) or by bands (lsh), and verified. Leave "
                "out the method and verify, or the weights."
            )
        if not banded and (self.bands is not None or self.rows is not None):
            raise UsageError("bands and rows are of signatures; with weights these are made with method 'lsh'.")
        if banded and self.measure not in ("jaccard", "dice"):
            raise no_promise("banding of weighted sets", self)

    @property
    def is_weighted(self) -> bool:
        """Whether elements have weights other than 1."""
        return self.weight != "none" or self.weights is not None

    def weighting(self) -> Weighting:
        return Weighting(self.weight == "idf", self.weights, self.rule.bag, self.rule.hash_bits == 32)

    def set_measure(self) -> SetMeasure:
        return set_measure(self.measure)

    def bar(self) -> Bar:
        return bar(self.set_measure(), self.threshold)

    def recipe(self) -> Recipe:
        return Recipe(scheme=self.scheme, seed=self.seed, length=self.num_hashes, shingles=self.rule)

    def words(self) -> str:
        """Describe the measure, the threshold and the shingles in words."""
        bag = " (bag)" if self.rule.bag else ""
        shingles = f"{self.rule.unit} {self.rule.k}-shingles{bag}{self.weight_words()}"
        return f"{self.measure} at least {self.threshold:g} on {shingles}"

    def weight_words(self) -> str:
        """Describe the weights, after the name of the elements; empty without weights."""
        kinds = [*(["idf"] if self.weight == "idf" else []), *(["own weights"] if self.weights is not None else [])]
        return f", weighted by {' and '.join(kinds)}" if kinds else ""

    def as_dict(self) -> dict[str, Any]:
        weights = None if self.weights is None else self.weights.as_dict()
        return {**self.__dict__, "rule": self.rule.as_dict(), "weights": weights}


def refuse_weights(options: Mapping[str, Any], what: str) -> None:
    """Raise UsageError if the options hold weights. what: what does not know them, as the begin of a sentence."""
    if options.get("weight", "none") != "none" or options.get("weights") is not None:
        raise UsageError(f"{what} without weights; leave out `weight` and `weights`.")


def refuse_local_methods(options: Mapping[str, Any]) -> None:
    """Raise UsageError if the options name a method without an engine on Spark."""
    method = options.get("method")
    if method == "dcm":
        raise UsageError(
            "Divide-Compute-Merge runs on one machine; on Spark choose method exact, which finds the same."
        )
    if method == "folding":
        raise UsageError(
            "method folding runs on one machine; on Spark choose lsh, which keeps the same recall with fewer "
            "candidates, or exact."
        )


def no_promise(method: str, job: Job) -> UsageError:
    """Return the error for a method whose recall depends on the Jaccard similarity, with a measure that does not."""
    return UsageError(
        f"{method} cannot promise a recall for {job.measure}: similar sets may have any Jaccard similarity. "
        "Leave the method to auto, or ask for exact."
    )
