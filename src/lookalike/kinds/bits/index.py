"""Index of bit codes by multi-index hashing: keys of a few bits, some of which are flipped at query time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import DISTANCE, F64, U64, Bits, Scale
from lookalike.core.method_choice import EXACT_COST_RATIO
from lookalike.errors import UsageError
from lookalike.index.items import ITEMS_PER_CHUNK, Batch
from lookalike.index.kernels import lookup
from lookalike.index.kinds import too_loose
from lookalike.index.stable_random import order
from lookalike.index.store import Blobs, StoreCandidates, StoredKeys
from lookalike.kernels import bits as kernels
from lookalike.kernels import hashing
from lookalike.kinds.bits.multi_index import CodeSegment, MultiIndexPlan, SegmentCosts, exact_plan, lsh_plan
from lookalike.kinds.bits.source import open_codes
from lookalike.kinds.bits.spec import BitsJob

EXPECTED = 1_000_000  # number of items for which the keys are planned


@dataclass(frozen=True, kw_only=True)
class BitKind:
    """Codes of `bits` bits that match if they differ in at most `threshold` bits."""

    name: ClassVar[str] = "bits"
    scheme: ClassVar[str] = "pieces-1"
    queries_at_once: ClassVar[int | None] = None
    is_own_feature: ClassVar[bool] = True
    scale: ClassVar[Scale] = DISTANCE

    bits: int
    threshold: int = 8
    recall: float = 0.99
    seed: int = 42
    fixed: MultiIndexPlan | None = None

    def __post_init__(self) -> None:
        job = BitsJob(threshold=self.threshold, recall=self.recall, seed=self.seed)
        object.__setattr__(self, "threshold", job.threshold)
        if self.bits < 1:
            raise UsageError(f"bits is {self.bits}; expected the length of the codes, at least 1.")

    @classmethod
    def options(cls) -> tuple[str, ...]:
        return ("bits", "threshold", "recall", "seed")

    @classmethod
    def make(cls, options: Mapping[str, Any]) -> Self:
        if "bits" not in options:
            raise UsageError("an index of bits needs to know the length of the codes: give `bits=64`, or the like.")
        given = dict(options)
        planned = given.pop("plan", None)
        made = cls(**given)
        if planned is None:
            return made
        shape = {name: tuple(planned[name]) for name in ("widths", "flips")}
        plan = MultiIndexPlan(
            bits=made.bits, threshold=made.threshold, recall=made.recall, rounds=planned["rounds"], **shape
        )
        return replace(made, fixed=plan)

    def read(
        self, source: Any, column: str | None, id: str | None,  # noqa: A002
    ) -> Iterator[Batch]:  # fmt: skip
        """Yield the items of a source in batches, with their ids."""
        opened = open_codes(source, column=column, id=id)
        made = opened.read()
        rows = np.flatnonzero(made.present)
        if len(rows):
            ids = made.ids.take(pa.array(rows)).combine_chunks() if opened.collection.id_column else None
            yield Bits(made.bits.words[rows], made.bits.width), ids

    def settings(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in self.options()}
        return own | {"plan": {name: getattr(self._plan, name) for name in ("widths", "flips", "rounds")}}

    @cached_property
    def _plan(self) -> MultiIndexPlan:
        if self.fixed is not None:
            return self.fixed
        costs = SegmentCosts(EXPECTED, self._words, 0.5)
        exact = exact_plan(self.bits, self.threshold, costs)
        fewer = lsh_plan(self.bits, self.threshold, self.recall, costs)
        return exact if costs.of(exact) <= EXACT_COST_RATIO * costs.of(fewer) else fewer

    @property
    def _words(self) -> int:
        return -(-self.bits // 64)

    @cached_property
    def _pieces(self) -> list[CodeSegment]:
        """Return the segments of every round, from a random order of the bit positions."""
        out = []
        for number in range(self._plan.rounds):
            places, at = order(self.seed, number, self.bits).astype(np.uint64), 0
            for width, flips in zip(self._plan.widths, self._plan.flips, strict=True):
                out.append(CodeSegment(places[at : at + width], flips))
                at += width
        return out

    def plan(self) -> dict[str, Any]:
        made = self._plan
        return {"shape": made.shape, "keys": len(self._pieces), "recall_at_threshold": made.recall_at_threshold}

    def check(self, threshold: float | None) -> float:
        if threshold is None:
            return self.threshold
        asked = BitsJob(threshold=threshold).threshold  # type: ignore[arg-type]
        if asked > self.threshold:
            raise too_loose(asked, f"codes within {self.threshold} bits", "fewer")
        return asked

    def pieces(self, items: Any) -> Iterator[Bits]:
        if isinstance(items, Bits):
            codes = items
        else:
            if isinstance(items, str | bytes | int):
                raise UsageError(f"got one {type(items).__name__}; expected several items: a list of codes.")
            given = items if isinstance(items, np.ndarray) or hasattr(items, "__arrow_c_stream__") else list(items)
            if len(given) == 0:
                return
            codes = open_codes(given).read().bits
        if codes.width != self.bits:
            raise UsageError(f"these codes have {codes.width} bits; this index is of codes of {self.bits}.")
        step = 8 * ITEMS_PER_CHUNK
        for at in range(0, len(codes), step):
            yield Bits(codes.words[at : at + step], codes.width)

    def features(self, piece: Bits) -> Blobs:
        words = np.ascontiguousarray(piece.words)
        return Blobs(words.reshape(-1).view(np.uint8), np.arange(len(words) + 1) * (8 * self._words))

    def _codes(self, features: Blobs) -> U64:
        return features.data.view(np.uint64).reshape(-1, self._words)

    def _key(self, number: int, piece: CodeSegment, codes: U64) -> U64:
        out = np.empty(len(codes), np.uint32)
        kernels.keys_of(codes, piece.places, out)
        return out.astype(np.uint64) | np.uint64(number << 32)

    def keys(self, features: Blobs) -> StoredKeys:
        codes = self._codes(features)
        plain = np.stack([self._key(number, piece, codes) for number, piece in enumerate(self._pieces)], axis=1)
        return self._mixed(plain)

    def probes(self, features: Blobs) -> StoredKeys:
        codes = self._codes(features)
        flipped = [
            self._key(number, piece, codes)[:, None] ^ xors
            for number, (piece, xors) in enumerate(zip(self._pieces, self._xors, strict=True))
        ]
        return self._mixed(np.concatenate(flipped, axis=1))

    @cached_property
    def _xors(self) -> list[U64]:
        return [piece.xors.astype(np.uint64) for piece in self._pieces]

    def _mixed(self, plain: U64) -> StoredKeys:
        out = np.empty(plain.size, np.uint64)
        hashing.mix_all(plain.reshape(-1), np.uint64(self.seed), out)
        return StoredKeys(out, np.arange(len(plain) + 1) * plain.shape[1])

    def score(self, queries: Blobs, found: StoreCandidates, threshold: float) -> F64:
        found.check_sizes(8 * self._words)
        out = np.empty(len(found), np.float64)
        data = found.data.view(np.uint64)
        lookup.score_codes(self._codes(queries), found.query, data, found.starts >> 3, int(threshold), out)
        return out

    def farthest(self, one: Blobs, other: Blobs) -> float:
        return self.bits

    def raw(self, piece: Bits) -> Blobs:
        return self.features(piece)

    def item(self, raw: bytes) -> str:
        """Return the code in hexadecimal, as it can be given to the index again."""
        digits = -(-self.bits // 4)
        return f"{int.from_bytes(raw, 'little'):0{digits}x}"
