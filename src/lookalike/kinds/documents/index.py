"""Index kinds for documents and sets: shingles, band keys of signatures, and exact set overlap in integers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import F64, SIMILARITY, U64, Recipe, RuleOptions, Scale, ShingleRule
from lookalike.core.measures import Bar, bar, set_measure
from lookalike.core.token_hashes import strings
from lookalike.errors import UsageError
from lookalike.index.items import NEARLY_NOTHING, Batch, pieces_of, texts, token_lists
from lookalike.index.kernels import lookup
from lookalike.index.kinds import too_loose
from lookalike.index.sources import read_texts
from lookalike.index.store import Blobs, StoreCandidates, StoredKeys, ends_of
from lookalike.kernels import hashing
from lookalike.kinds.documents.features import shingle
from lookalike.kinds.documents.signatures import band_keys, sketch_items
from lookalike.planning.banding import Plan, plan

INDEX_RULE_OPTIONS = tuple(RuleOptions.__annotations__)


@dataclass(frozen=True, kw_only=True)
class SetKind:
    """The index kind of token lists (strings or integers), compared as sets or, with `bag`, as bags."""

    name: ClassVar[str] = "sets"
    scheme: ClassVar[str] = "fss-1"
    queries_at_once: ClassVar[int | None] = None
    unit: ClassVar[str] = "token"
    is_own_feature: ClassVar[bool] = False
    scale: ClassVar[Scale] = SIMILARITY

    rule: ShingleRule
    threshold: float = 0.8
    recall: float = 0.99
    measure: str = "jaccard"
    num_hashes: int = 128
    bands: int | None = None
    rows: int | None = None
    seed: int = 42

    def __post_init__(self) -> None:
        bar(set_measure(self.measure), self.threshold)
        if set_measure(self.measure).least_jaccard is None:
            raise UsageError(
                f"an index cannot promise a recall for {self.measure}: similar sets may have any Jaccard similarity. "
                "Measures of an index: jaccard, dice, cosine."
            )
        if (self.rule.unit == "token") != (self.unit == "token"):
            raise UsageError(f"unit {self.rule.unit!r} does not fit an index of {self.name}; leave the unit out.")
        _ = self.bands_and_rows

    @classmethod
    def options(cls) -> tuple[str, ...]:
        return ("threshold", "recall", "measure", *INDEX_RULE_OPTIONS, "num_hashes", "bands", "rows", "seed")

    @classmethod
    def make(cls, options: Mapping[str, Any]) -> Self:
        given = dict(options)
        rule = {name: given.pop(name) for name in INDEX_RULE_OPTIONS if name in given}
        unit: Any = rule.pop("unit", None) or cls.unit
        return cls(rule=ShingleRule.for_unit(unit, rule.pop("k", None), **rule), **given)

    def read(
        self, source: Any, column: str | None, id: str | None,  # noqa: A002
    ) -> Iterator[Batch]:  # fmt: skip
        """Read the items of a source in batches, with their ids."""
        return read_texts(source, column, id, tokens=True)

    def settings(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in SetKind.options() if name not in INDEX_RULE_OPTIONS}
        planned = {"bands": self.bands_and_rows.bands, "rows": self.bands_and_rows.rows}
        return own | planned | self.rule.as_dict()

    @cached_property
    def bands_and_rows(self) -> Plan:
        least = set_measure(self.measure).least_jaccard
        assert least is not None
        wish = {"recall": self.recall, "num_hashes": self.num_hashes, "bands": self.bands, "rows": self.rows}
        return plan(least(self.threshold), **wish)  # type: ignore[arg-type]

    def plan(self) -> dict[str, Any]:
        made = self.bands_and_rows
        return {"shape": made.shape, "keys": made.bands, "recall_at_threshold": made.probability(made.threshold)}

    @cached_property
    def _salts(self) -> U64:
        """A salt for each band, so that equal keys of different bands do not collide."""
        out = np.empty(self.bands_and_rows.bands, np.uint64)
        hashing.mix_all(np.arange(len(out), dtype=np.uint64), np.uint64(self.seed), out)
        return out

    @cached_property
    def _recipe(self) -> Recipe:
        return Recipe(seed=self.seed, length=self.num_hashes, shingles=self.rule)

    def check(self, threshold: float | None) -> float:
        if threshold is None or threshold == self.threshold:
            return self.threshold
        bar(set_measure(self.measure), threshold)
        if threshold < self.threshold:
            raise too_loose(threshold, f"{self.name} with a similarity of at least {self.threshold:g}", "higher")
        return threshold

    def pieces(self, items: Any) -> Iterator[pa.Array]:
        return pieces_of(items, token_lists, "a list of lists of tokens")

    def features(self, piece: pa.Array) -> Blobs:
        made = shingle(piece, self.rule)
        return Blobs(made.elements.view(np.uint8), made.offsets * 8)

    def keys(self, features: Blobs) -> StoredKeys:
        ends = features.offsets // 8
        sizes = np.diff(ends)
        shape = self.bands_and_rows
        made = sketch_items(features.data.view(np.uint64), ends[:-1], sizes, self._recipe)
        keys = band_keys(made, shape.bands, shape.rows)
        keys ^= self._salts
        if sizes.all():
            return StoredKeys(keys.reshape(-1), np.arange(len(sizes) + 1) * shape.bands)
        return StoredKeys(
            keys[sizes > 0].reshape(-1), ends_of(np.where(sizes > 0, shape.bands, 0))
        )  # an empty set has no keys

    probes = keys

    def score(self, queries: Blobs, found: StoreCandidates, threshold: float) -> F64:
        out = np.empty(len(found), np.float64)
        code, num, den = _bar(self.measure, threshold)
        lookup.score_sets(
            queries.data.view(np.uint64), queries.offsets >> 3, found.query, found.data.view(np.uint64),
            found.starts >> 3, found.ends >> 3, code, num, den, out,
        )  # fmt: skip
        return out

    def farthest(self, one: Blobs, other: Blobs) -> float:
        return NEARLY_NOTHING

    def raw(self, piece: pa.Array) -> Blobs:
        return Blobs.of([json.dumps(tokens, ensure_ascii=False).encode() for tokens in piece.to_pylist()])

    def item(self, raw: bytes) -> Any:
        return json.loads(raw)


@dataclass(frozen=True, kw_only=True)
class DocumentKind(SetKind):
    """The index kind of texts, compared as sets of their shingles."""

    name: ClassVar[str] = "documents"
    unit: ClassVar[str] = "word"

    def pieces(self, items: Any) -> Iterator[pa.Array]:
        return pieces_of(items, texts, "a list of texts")

    def read(
        self, source: Any, column: str | None, id: str | None,  # noqa: A002
    ) -> Iterator[Batch]:  # fmt: skip
        """Yield the texts and ids of a source in batches; each text file is one document."""
        return read_texts(source, column, id, lines=False)

    def raw(self, piece: pa.Array) -> Blobs:
        data, ends = strings(piece)
        return Blobs(data[ends[0] : ends[-1]], ends - ends[0])

    def item(self, raw: bytes) -> str:
        return raw.decode()


@lru_cache(maxsize=64)
def _bar(measure: str, threshold: float) -> Bar:
    return bar(set_measure(measure), threshold)
