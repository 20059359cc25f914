"""Index of strings by segments, at least one of which a few edits leave unchanged; no match is missed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import F64, I64, Scale
from lookalike.core.token_hashes import strings
from lookalike.errors import UsageError
from lookalike.index.items import NEARLY_NOTHING, Batch, pieces_of, texts
from lookalike.index.kernels import lookup
from lookalike.index.kinds import too_loose
from lookalike.index.scan import SCAN_STEPS
from lookalike.index.sources import read_texts
from lookalike.index.store import Blobs, StoreCandidates, StoredKeys
from lookalike.kernels import edits
from lookalike.kinds.strings.kernels import probes as edit_probes
from lookalike.kinds.strings.lengths import EditBar, StringsByLength, powers
from lookalike.kinds.strings.options import Measure
from lookalike.kinds.strings.spec import StringsJob

MAX_COMPARISON_STEPS = 10**9  # steps that the comparison of any two strings may take
PROBES_OF_A_QUERY = 1 << 16  # a query that would look up more keys is compared with all strings whose lengths can match


@dataclass(frozen=True, kw_only=True)
class StringKind:
    """Strings within a number of edits (`threshold`, an integer) or, if it is below 1, of at least this similarity."""

    name: ClassVar[str] = "strings"
    scheme: ClassVar[str] = "segments-1"
    queries_at_once: ClassVar[int | None] = 128
    is_own_feature: ClassVar[bool] = False

    threshold: float = 2
    measure: Measure = "levenshtein"
    fold_case: bool = False
    strip_accents: bool = False

    def __post_init__(self) -> None:
        self._job(self.threshold)

    @classmethod
    def options(cls) -> tuple[str, ...]:
        return ("threshold", "measure", "fold_case", "strip_accents")

    @classmethod
    def make(cls, options: Mapping[str, Any]) -> Self:
        return cls(**options)

    def read(
        self, source: Any, column: str | None, id: str | None,  # noqa: A002
    ) -> Iterator[Batch]:  # fmt: skip
        """Yield the items of a source in batches, with their ids."""
        return read_texts(source, column, id)

    def settings(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.options()}

    def _job(self, threshold: float) -> StringsJob:
        return StringsJob(threshold=threshold, by_similarity=0 < threshold < 1, measure=self.measure)

    @cached_property
    def _bar(self) -> EditBar:
        return self._job(self.threshold).bar()

    @property
    def scale(self) -> Scale:
        return self._job(self.threshold).scale

    def plan(self) -> dict[str, Any]:
        return {"shape": "segments, one more than there may be edits", "recall_at_threshold": 1.0}

    def check(self, threshold: float | None) -> float:
        if threshold is None:
            return self.threshold
        job, own = self._job(threshold), self._job(self.threshold)
        if job.by_similarity != own.by_similarity or own.scale.sign * (threshold - self.threshold) < 0:
            bound = f"{own.scale.column} {own.scale.bound} {self.threshold:g}"
            raise too_loose(threshold, f"strings of a {bound}")
        return threshold

    def pieces(self, items: Any) -> Iterator[pa.Array]:
        return pieces_of(items, texts, "a list of strings")

    def features(self, piece: pa.Array) -> Blobs:
        made = StringsByLength.of(piece, fold_case=self.fold_case, strip_accents=self.strip_accents)
        return Blobs(made.points.view(np.uint8), made.ends * 4)

    def keys(self, features: Blobs) -> StoredKeys:
        most = int((np.diff(features.offsets) >> 2).sum())  # at most one segment per letter
        return self._made(edit_probes.stored_keys, features, most)

    def probes(self, features: Blobs) -> StoredKeys:
        counts = np.empty(len(features), np.int64)
        edit_probes.probe_counts(features.offsets >> 2, *self._bar, PROBES_OF_A_QUERY, counts)
        scanned = np.flatnonzero(counts > PROBES_OF_A_QUERY)
        if not len(scanned):
            return self._made(edit_probes.probe_keys, features, int(counts.sum()))
        counts[scanned] = 0
        rest = Blobs.of([b"" if row in scanned else features[row] for row in range(len(features))])
        return replace(self._made(edit_probes.probe_keys, rest, int(counts.sum())), scanned=tuple(scanned.tolist()))

    def _made(self, kernel: Callable[..., int], features: Blobs, room: int) -> StoredKeys:
        ends = features.offsets >> 2
        table = powers(int(np.diff(ends).max(initial=0)) + 2)
        out, offsets = np.empty(room, np.uint64), np.empty(len(ends), np.int64)
        count = kernel(features.data.view(np.uint32), ends, *self._bar, table, out, offsets)
        return StoredKeys(out[:count], offsets)

    def in_reach(self, query: int, stored: I64, threshold: float) -> tuple[I64, int]:
        """Return the stored strings whose lengths can match a query, and the number of steps of comparing it with them.

        query: bytes of its features; stored i64[n]: bytes of the features of each stored string.
        """
        measure, num, den = self._job(threshold).bar()
        length, lengths = query >> 2, stored >> 2
        longer = np.maximum(length, lengths)
        most = np.full(len(lengths), num)
        if measure & edits.SIMILARITY_SHARE:
            most = (den - num) * (length + lengths if measure & edits.INDEL else longer) // den
        rows = np.flatnonzero((np.abs(lengths - length) <= most) & (lengths > 0))
        return rows, int((longer[rows] * (2 * np.minimum(most, longer)[rows] + 1)).sum())

    def score(self, queries: Blobs, found: StoreCandidates, threshold: float) -> F64:
        out = np.empty(len(found), np.float64)
        lookup.score_strings(
            queries.data.view(np.uint32), queries.offsets >> 2, found.query, found.data.view(np.uint32),
            found.starts >> 2, found.ends >> 2, *self._job(threshold).bar(), out,
        )  # fmt: skip
        return out

    def farthest(self, one: Blobs, other: Blobs) -> float:
        lengths = len(one.data) >> 2, len(other.data) >> 2
        if lengths[0] * lengths[1] > MAX_COMPARISON_STEPS:
            _, steps = self.in_reach(len(one.data), np.array([len(other.data)]), self.threshold)
            if steps > SCAN_STEPS:
                raise UsageError(
                    f"strings of {lengths[0]:,} and {lengths[1]:,} letters came; comparing them would take {steps:,} "
                    f"steps, above the limit of {SCAN_STEPS:,}. Split them, and compare the parts."
                )
            return self.threshold
        return NEARLY_NOTHING if self._job(self.threshold).by_similarity else sum(lengths)

    def raw(self, piece: pa.Array) -> Blobs:
        data, ends = strings(piece)
        return Blobs(data[ends[0] : ends[-1]], ends - ends[0])

    def item(self, raw: bytes) -> str:
        return raw.decode()
