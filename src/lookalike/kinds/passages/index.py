"""Index kind for passages: which stored texts hold a snippet, and who quotes a text. Keys are winnowed fingerprints."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import F64, I64, SIMILARITY, Scale
from lookalike.core.options import check_similarity, defaults
from lookalike.core.token_hashes import strings
from lookalike.index.items import NEARLY_NOTHING, Batch, pieces_of, texts
from lookalike.index.kinds import SharedRun
from lookalike.index.sources import read_texts
from lookalike.index.store import Blobs, StoreCandidates, StoredKeys, ends_of
from lookalike.kernels import hashing
from lookalike.kinds.passages.inverted_lists import lists_of
from lookalike.kinds.passages.kernels import containment
from lookalike.kinds.passages.kernels import passages as kernel
from lookalike.kinds.passages.options import PassageOptions
from lookalike.kinds.passages.spec import PassageJob
from lookalike.kinds.passages.tokens import place_words
from lookalike.kinds.passages.winnowing import fingerprint

INDEXED_OPTIONS = defaults(PassageOptions)
QUERY_ROWS = 1 << 10  # passages of a query for which room is made at first
KEY_SEED = np.uint64(0x9E3779B97F4A7C15)  # the least hashes are chosen: mixed once more, they are uniform


@dataclass(frozen=True, kw_only=True)
class PassageKind:
    """Texts that share passages: runs of at least `min_tokens` words. The score is the share of the words of
    the shorter text that are in such runs."""

    name: ClassVar[str] = "passages"
    scheme: ClassVar[str] = "winnow-1"
    queries_at_once: ClassVar[int | None] = None
    is_own_feature: ClassVar[bool] = False
    scale: ClassVar[Scale] = SIMILARITY

    threshold: float = 0.8
    min_tokens: int = INDEXED_OPTIONS["min_tokens"]
    fold_case: bool = INDEXED_OPTIONS["fold_case"]
    strip_accents: bool = INDEXED_OPTIONS["strip_accents"]

    def __post_init__(self) -> None:
        self.check(self.threshold)
        object.__setattr__(self, "min_tokens", self._job.min_tokens)

    @classmethod
    def options(cls) -> tuple[str, ...]:
        return ("threshold", "min_tokens", "fold_case", "strip_accents")

    @classmethod
    def make(cls, options: Mapping[str, Any]) -> Self:
        return cls(**options)

    @cached_property
    def _job(self) -> PassageJob:
        return PassageJob(min_tokens=self.min_tokens, fold_case=self.fold_case, strip_accents=self.strip_accents)

    def read(
        self, source: Any, column: str | None, id: str | None,  # noqa: A002
    ) -> Iterator[Batch]:  # fmt: skip
        """Yield the texts and ids of a source in batches; each text file is one document."""
        return read_texts(source, column, id, lines=False)

    def settings(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.options()}

    def plan(self) -> dict[str, Any]:
        shape = f"fingerprints of {self._job.k} words, one in each window of {self._job.window}"
        return {"shape": shape, "recall_at_threshold": 1.0}

    def check(self, threshold: float | None) -> float:
        if threshold is None:
            return self.threshold
        check_similarity(threshold)
        return threshold

    def pieces(self, items: Any) -> Iterator[pa.Array]:
        return pieces_of(items, texts, "a list of texts")

    def features(self, piece: pa.Array) -> Blobs:
        placed = place_words(piece, fold_case=self.fold_case, strip_accents=self.strip_accents)
        return Blobs(placed.tokens.view(np.uint8), placed.offsets * 4)

    def keys(self, features: Blobs) -> StoredKeys:
        prints = fingerprint(
            features.data.view(np.uint32), features.offsets // 4, k=self._job.k, window=self._job.window
        )
        sizes = np.diff(features.offsets // 4)
        owners = np.repeat(np.arange(len(features)), np.diff(prints.offsets))
        long = sizes[owners] >= self.min_tokens  # a shorter text has a fingerprint, but no passage
        mixed = np.empty(len(prints.hashes), np.uint64)
        hashing.mix_all(prints.hashes, KEY_SEED, mixed)
        mixed, owners = mixed[long], owners[long]
        order = np.lexsort((mixed, owners))
        mixed, owners = mixed[order], owners[order]
        first = np.ones(len(mixed), np.bool_)
        first[1:] = (mixed[1:] != mixed[:-1]) | (owners[1:] != owners[:-1])
        return StoredKeys(mixed[first], ends_of(np.bincount(owners[first], minlength=len(features))))

    probes = keys

    def score(self, queries: Blobs, found: StoreCandidates, threshold: float) -> F64:
        out = np.empty(len(found), np.float64)
        containment.score_containment(
            queries.data.view(np.uint32), queries.offsets >> 2, found.query, found.data.view(np.uint32),
            found.starts >> 2, found.ends >> 2, self.min_tokens, float(threshold), out,
        )  # fmt: skip
        return out

    def farthest(self, one: Blobs, other: Blobs) -> float:
        return NEARLY_NOTHING

    def raw(self, piece: pa.Array) -> Blobs:
        data, ends = strings(piece)
        return Blobs(data[ends[0] : ends[-1]], ends - ends[0])

    def item(self, raw: bytes) -> str:
        return raw.decode()

    def shared_runs(
        self, query: bytes, features: Blobs, stored: Blobs, raw: Callable[[I64], list[bytes | None]], most: int | None
    ) -> list[SharedRun]:
        """Return the passages that a text shares with stored ones, with their characters; see `PassageFinder`."""
        rows = self._passages(features, stored)
        if not len(rows):
            return []
        candidates, group = np.unique(rows[:, 1] - 1, return_inverse=True)
        shared = np.bincount(group, rows[:, 6])
        order = np.lexsort((candidates, -shared))[:most]
        held = {int(number): text for number, text in zip(candidates[order], raw(candidates[order]), strict=True)}
        known = {number: at for at, number in enumerate((n for n in held if held[n] is not None), 1)}
        pieces = [query, *(held[number] or b"" for number in known)]
        placed = place_words(
            pa.array([piece.decode() for piece in pieces], pa.large_string()),
            fold_case=self.fold_case, strip_accents=self.strip_accents,
        )  # fmt: skip
        by_candidate = {int(number): rows[group == at] for at, number in enumerate(candidates)}
        runs = []
        for number, at in known.items():
            for _, _, start, end, stored_start, stored_end, tokens, _ in by_candidate[number].tolist():
                own, other = placed.offsets[0], placed.offsets[at]
                runs.append(SharedRun(
                    number, int(placed.starts[own + start]), int(placed.ends[own + end - 1]),
                    int(placed.starts[other + stored_start]), int(placed.ends[other + stored_end - 1]), tokens,
                ))  # fmt: skip
        return runs

    def _passages(self, features: Blobs, stored: Blobs) -> I64:
        """Return the passages of a text (document 0) and stored ones (1, 2, ...), in tokens; see `local.Shared`."""
        tokens = np.concatenate([features.data.view(np.uint32), stored.data.view(np.uint32)])
        offsets = np.concatenate([features.offsets // 4, features.offsets[-1] // 4 + stored.offsets[1:] // 4])
        prints = fingerprint(tokens, offsets, k=self._job.k, window=self._job.window)
        lists = lists_of(prints.hashes)
        owners = np.repeat(np.arange(len(offsets) - 1, dtype=np.uint32), np.diff(prints.offsets))[lists.order]
        rivals = np.full((len(offsets) - 1, 2), -1, np.int64)
        size = QUERY_ROWS
        while True:
            out = np.empty((size, 8), np.int64)
            reached, count, _ = kernel.find_passages(
                0, 1, tokens, offsets, prints.covered, prints.offsets, lists.place, lists.fresh, owners,
                prints.starts[lists.order], rivals, self._job.k, 0, self.min_tokens, out,
            )  # fmt: skip
            if reached == 1:
                rows = out[:count]
                return rows[np.lexsort((rows[:, 4], rows[:, 2], rows[:, 1]))]
            size *= 8
