"""Index of vectors: hash tables of the signs, or of the buckets, of random projections; exact scores in float64."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np

from lookalike.core.arrays import F32, F64, I64, Scale
from lookalike.core.formatting import count
from lookalike.errors import UsageError
from lookalike.index.items import Batch, number_rows
from lookalike.index.kernels import lookup
from lookalike.index.kinds import too_loose
from lookalike.index.stable_random import normal, order, uniform
from lookalike.index.store import Blobs, StoreCandidates, StoredKeys
from lookalike.io.vectors import open_vectors
from lookalike.kernels import hashing, signs
from lookalike.kernels import vectors as kernels
from lookalike.kinds.vectors.lsh_plan import SKETCH_BITS, differing, meeting, parity_agreement
from lookalike.kinds.vectors.spec import VectorJob, no_tables

EXPECTED = 1_000_000  # number of items for which the tables are planned
BITS_PER_INDEX_KEY, MAX_INDEX_TABLES = range(4, 29), 400
BUCKET_WIDTH = 4.0  # width of the buckets, in units of the distance threshold
# Cost of a query in nanoseconds on one core; only the ratios matter.
COST_PER_INDEX_KEY, PER_CANDIDATE, PER_NUMBER = 250.0, 60.0, 1.0


@dataclass(frozen=True)
class HashTables:
    """The hash tables of an index.

    rows: bits in the key of a table; bands: number of tables; bits: length of a sketch; width: of the buckets, 0 for
    signs; recall: probability that a pair at the threshold is found.
    """

    bits: int
    rows: int
    bands: int
    width: float
    recall: float


@dataclass(frozen=True, kw_only=True)
class VectorKind:
    """Vectors of `dimensions` numbers, compared by angle (in degrees), cosine or Euclidean distance.

    They match at an angle or distance of at most `threshold`, or a cosine of at least `threshold`.
    """

    name: ClassVar[str] = "vectors"
    scheme: ClassVar[str] = "signs-1"
    queries_at_once: ClassVar[int | None] = None
    is_own_feature: ClassVar[bool] = True

    dimensions: int
    threshold: float = 10.0
    measure: Literal["angle", "cosine", "distance"] = "angle"
    recall: float = 0.99
    seed: int = 42
    fixed: HashTables | None = None

    def __post_init__(self) -> None:
        self._job(self.threshold)
        if self.dimensions < 1:
            raise UsageError(f"dimensions is {self.dimensions}; expected how many numbers a vector has, at least 1.")
        if self._tables.recall < self.recall:
            raise UsageError(
                f"{no_tables(self.recall)} for {self._job(self.threshold).words()}. "
                "Ask for nearer vectors, or for a lower recall."
            )

    @classmethod
    def options(cls) -> tuple[str, ...]:
        return ("dimensions", "threshold", "measure", "recall", "seed")

    @classmethod
    def make(cls, options: Mapping[str, Any]) -> Self:
        if "dimensions" not in options:
            raise UsageError("an index of vectors needs to know how long they are: give `dimensions=384`.")
        given = dict(options)
        planned = given.pop("plan", None)
        return cls(**given, fixed=None if planned is None else HashTables(**planned))

    def read(
        self, source: Any, column: str | None, id: str | None,  # noqa: A002
    ) -> Iterator[Batch]:  # fmt: skip
        """Yield the items of a source in batches, with their ids."""
        for batch in open_vectors(source, column=column, id=id).batches():
            yield batch.values, batch.ids

    def settings(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.options()} | {"plan": asdict(self._tables)}

    def _job(self, threshold: float) -> VectorJob:
        return VectorJob(threshold=threshold, measure=self.measure, recall=self.recall, seed=self.seed)

    @property
    def scale(self) -> Scale:
        return self._job(self.threshold).scale

    @property
    def _is_flat(self) -> bool:
        return self.measure == "distance"

    @cached_property
    def _tables(self) -> HashTables:
        """Return the cheapest tables that reach the recall, if non-matching items agree in half of their bits."""
        if self.fixed is not None:
            return self.fixed
        chord = self._job(self.threshold).chord
        if self._is_flat:
            agreement = float(parity_agreement(np.array([1.0 / BUCKET_WIDTH]))[0])
        else:
            agreement = 1.0 - 2.0 * math.asin(min(1.0, chord / 2.0)) / math.pi
        best: tuple[float, float, HashTables] | None = None
        for bits in SKETCH_BITS:
            near = differing(np.array([agreement]), bits)[0]
            for rows in BITS_PER_INDEX_KEY:
                bands = _fewest(near, bits, rows, self.recall)
                reached = float(near @ meeting(bits, rows, bands))
                made = HashTables(
                    bits, rows, bands, BUCKET_WIDTH * (self.threshold or 1.0) if self._is_flat else 0.0, reached
                )
                met = EXPECTED * bands * 0.5**rows
                cost = (
                    bands * COST_PER_INDEX_KEY
                    + met * (PER_CANDIDATE + self.dimensions * PER_NUMBER)
                    + self.dimensions * bits
                )
                missing = max(0.0, self.recall - made.recall)
                if best is None or (missing, cost) < best[:2]:
                    best = missing, cost, made
        assert best is not None
        return best[2]

    def plan(self) -> dict[str, Any]:
        made = self._tables
        shape = f"{count(made.bands, 'tables')} of {made.rows} of {count(made.bits, 'bits')}"
        return {"shape": shape, "keys": made.bands, "recall_at_threshold": made.recall}

    @cached_property
    def _planes(self) -> tuple[F32, F32]:
        """Return (directions f32[d, bits], offsets f32[bits])."""
        bits = self._tables.bits
        directions = normal(self.seed, 0, self.dimensions * bits).reshape(self.dimensions, bits)
        if not self._is_flat:
            return directions, np.zeros(bits, np.float32)
        directions /= np.float32(self._tables.width)
        return directions, (2.0 * uniform(self.seed, 2, bits)).astype(np.float32)

    @cached_property
    def _places(self) -> I64:
        made = self._tables
        return np.array([np.sort(order(self.seed, 3 + t, made.bits)[: made.rows]) for t in range(made.bands)])

    def check(self, threshold: float | None) -> float:
        if threshold is None:
            return self.threshold
        asked, own = self._job(threshold), self._job(self.threshold)
        if asked.least < own.least:
            raise too_loose(threshold, own.words())
        return threshold

    def pieces(self, items: Any) -> Iterator[F32]:
        for made in number_rows(items):
            if made.shape[1] != self.dimensions:
                raise UsageError(
                    f"these vectors have {made.shape[1]} numbers; this index is of vectors of {self.dimensions}."
                )
            good = np.empty(len(made), np.bool_)
            kernels.usable(made, not self._is_flat, good)
            if not good.all():
                raise UsageError(
                    f"vector {int(np.flatnonzero(~good)[0])} of a batch has no direction, or numbers that are not "
                    "finite; leave such vectors out."
                )
            yield made

    def features(self, piece: F32) -> Blobs:
        return Blobs(piece.reshape(-1).view(np.uint8), np.arange(len(piece) + 1) * (4 * self.dimensions))

    def _values(self, features: Blobs) -> F32:
        return features.data.view(np.float32).reshape(-1, self.dimensions)

    def keys(self, features: Blobs) -> StoredKeys:
        directions, shift = self._planes
        made = self._tables
        projected = self._values(features) @ directions
        packed = np.empty((len(features), made.bits // 64), np.uint64)
        (signs.pack_parities if self._is_flat else signs.pack_signs)(projected, shift, packed)
        plain = np.empty((len(features), made.bands), np.uint32)
        signs.table_keys(packed, self._places, plain)
        salted = plain.astype(np.uint64) | (np.arange(made.bands, dtype=np.uint64) << np.uint64(32))
        out = np.empty(salted.size, np.uint64)
        hashing.mix_all(salted.reshape(-1), np.uint64(self.seed), out)
        return StoredKeys(out, np.arange(len(features) + 1) * made.bands)

    probes = keys

    def score(self, queries: Blobs, found: StoreCandidates, threshold: float) -> F64:
        found.check_sizes(4 * self.dimensions)
        job, out = self._job(threshold), np.empty(len(found), np.float64)
        data = found.data.view(np.float32)
        lookup.score_rows(job.code, self._values(queries), found.query, data, found.starts >> 2, job.least, out)
        return out

    def farthest(self, one: Blobs, other: Blobs) -> float:
        return {"angle": 180.0, "cosine": -1.0, "distance": float(np.finfo(np.float64).max)}[self.measure]

    def raw(self, piece: F32) -> Blobs:
        return self.features(piece)

    def item(self, raw: bytes) -> list[float]:
        values: list[float] = np.frombuffer(raw, np.float32).tolist()
        return values


def _fewest(near: F64, bits: int, rows: int, recall: float) -> int:
    """Return the smallest number of tables that reaches the recall at the threshold, else MAX_INDEX_TABLES."""
    low, high = 1, MAX_INDEX_TABLES
    while low < high:
        middle = (low + high) // 2
        if near @ meeting(bits, rows, middle) >= recall:
            high = middle
        else:
            low = middle + 1
    return low
