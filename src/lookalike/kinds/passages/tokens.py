"""Tokenisation of texts with the character range of each token."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import I64, U32
from lookalike.core.token_hashes import strings
from lookalike.kernels import unicode
from lookalike.kinds.passages.kernels import tokens as places

WHOLE_WORDS = 1 << 30  # letters of a word that are hashed: all


@dataclass(frozen=True)
class PositionedTokens:
    """The concatenated tokens of n documents.

    tokens: u32[total], hash of each token; starts, ends: u32[total], its character range; offsets: i64[n+1].
    """

    tokens: U32
    starts: U32
    ends: U32
    offsets: I64

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def sizes(self) -> I64:
        return np.diff(self.offsets)

    def __getitem__(self, index: int) -> U32:
        return self.tokens[self.offsets[index] : self.offsets[index + 1]]


def place_words(
    texts: pa.Array, *, fold_case: bool = True, strip_accents: bool = False, letters: int = WHOLE_WORDS
) -> PositionedTokens:
    """Tokenise each text (large_string) into words. Linear in the text; runs without the GIL.

    Words that agree in their first `letters` letters are equal.

    >>> made = place_words(pa.array(["To be, or not"], pa.large_string()))
    >>> [*zip(made.starts.tolist(), made.ends.tolist())]
    [(0, 2), (3, 5), (7, 9), (10, 13)]
    """
    data, offsets = strings(texts)
    room = int(offsets[-1] - offsets[0]) // 2 + len(texts) + 1
    out = [np.empty(room, np.uint32) for _ in range(3)]
    where = np.empty(len(texts) + 1, np.int64)
    places.all_places(data, offsets, unicode.tables(fold_case, strip_accents), letters, *out, where)
    tokens, starts, ends = (column[: where[-1]] for column in out)
    return PositionedTokens(tokens, starts, ends, where)
