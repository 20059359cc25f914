"""Planted rewordings: passages of the collection are reworded at random and searched with it, to measure recall."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lookalike.core.arrays import F64, I64, U32
from lookalike.core.binomial import clopper_pearson
from lookalike.kinds.passages.kernels import rewording as kernel
from lookalike.kinds.passages.tokens import PositionedTokens

PLANTED_COLLECTION = 2  # number of their collection: they are compared with all documents, not with one another
PASSAGES, LENGTH = 200, 60  # planted passages, at most one of a document, and their words
REPLACED, LEFT_OUT, BLOCK = 0.3, 0.1, 12  # shares of their words; words that keep their order when blocks are shuffled
SEED = 42


@dataclass(frozen=True)
class Planted:
    """Planted rewordings. sources: i64[m], the document of each; found: number of those found; None: not searched."""

    sources: I64
    found: int | None = None

    def measured(self, rows: F64, first: int, least: float) -> Planted:
        """Count those found with their document. rows: passages that end in a planted document, from number `first`."""
        right = rows[:, kernel.RIGHT_TEXT].astype(np.int64) - first
        hit = (rows[:, kernel.LEFT_TEXT] == self.sources[right]) & (rows[:, kernel.BY_CHANCE] == 0)
        return replace(self, found=len(np.unique(right[hit & (rows[:, kernel.SCORE] >= least)])))

    def as_dict(self) -> dict[str, Any]:
        """Return the measured recall with what was planted."""
        planted, found = len(self.sources), self.found or 0
        low, high = clopper_pearson(found, planted) if planted else (0.0, 1.0)
        return {
            "passages": planted, "words": LENGTH, "replaced": REPLACED, "left_out": LEFT_OUT, "found": found,
            "recall": found / planted if planted else None, "interval_95": [low, high],
        }  # fmt: skip


def plant(placed: PositionedTokens) -> tuple[Planted, U32, I64]:
    """Return planted rewordings, and the tokens and offsets of the documents followed by them.

    In blocks of BLOCK words, some words are left out and some replaced by words of the collection; then the blocks are
    shuffled.
    """
    rng = np.random.default_rng(SEED)
    sources = np.flatnonzero(placed.sizes >= LENGTH)
    if len(sources) > PASSAGES:
        sources = np.sort(rng.choice(sources, PASSAGES, replace=False))
    made: list[U32] = []
    for document in sources:
        first = int(rng.integers(placed.sizes[document] - LENGTH + 1))
        words = np.array(placed[int(document)][first : first + LENGTH])
        chosen = rng.random(LENGTH) < REPLACED
        words[chosen] = placed.tokens[rng.integers(len(placed.tokens), size=int(chosen.sum()))]
        stays = rng.random(LENGTH) >= LEFT_OUT
        blocks = rng.permutation(LENGTH // BLOCK)
        order = (blocks[:, None] * BLOCK + np.arange(BLOCK)).ravel()
        made.append(words[order][stays[order]])
    ends = placed.offsets[-1] + np.cumsum([len(one) for one in made], dtype=np.int64)
    tokens = np.concatenate([placed.tokens, *made])
    return Planted(sources), tokens, np.concatenate([placed.offsets, ends]).astype(np.int64)
