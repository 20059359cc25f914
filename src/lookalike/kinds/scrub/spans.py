"""From cut tokens to cut text: the byte ranges of each document, and the places of the copies that stay."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lookalike.core.arrays import I64
from lookalike.core.arrow import as_arrow
from lookalike.core.token_hashes import strings
from lookalike.errors import InputChanged
from lookalike.io.batch import TextBatch
from lookalike.io.collection import Collection
from lookalike.kinds.scrub.kernels import cuts as cuts_kernel
from lookalike.kinds.scrub.kernels import tokens as tokens_kernel
from lookalike.kinds.scrub.repeats import CutList
from lookalike.kinds.scrub.spec import ScrubJob
from lookalike.kinds.scrub.tokens import U8, TokenRanges, protected_ranges, token_ranges
from lookalike.runtime.local.pool import Pool


@dataclass(frozen=True)
class CutRange:
    """Bytes start to end - 1 of a document that are cut; piece: its number in CutList.pieces."""

    start: int
    end: int
    piece: int


@dataclass(frozen=True)
class CutDocument:
    """A document from which text is cut. ranges: ascending, not overlapping; dropped: the whole row goes."""

    row: int
    text: bytes
    ranges: list[CutRange]
    dropped: bool

    @property
    def rest(self) -> bytes:
        """The text that stays."""
        edges = [0, *(edge for cut in self.ranges for edge in (cut.start, cut.end)), len(self.text)]
        return b"".join(self.text[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True))

    def character_ranges(self) -> list[tuple[int, int]]:
        """Return the ranges in characters instead of bytes."""
        edges = np.array([edge for cut in self.ranges for edge in (cut.start, cut.end)], np.int64)
        counted = np.empty(len(edges), np.int64)
        tokens_kernel.character_positions(np.frombuffer(self.text, np.uint8), 0, edges, counted)
        return [(int(a), int(b)) for a, b in zip(counted[::2], counted[1::2], strict=True)]


@dataclass(frozen=True)
class CutBatch:
    """The cuts in the documents first_row to first_row + rows - 1."""

    first_row: int
    rows: int
    documents: dict[int, CutDocument]


@dataclass
class KeptPlaces:
    """The places of the copies that stay. tokens i64: their first and last tokens, ascending; ranges i64[n, 4]: start
    and end of each of these tokens, in bytes and in characters, which are filled while the texts are read."""

    tokens: I64
    ranges: I64

    @classmethod
    def of(cls, pieces: I64) -> KeptPlaces:
        copies = pieces[pieces[:, 2] >= 0]
        tokens = np.unique(np.concatenate([copies[:, 2], copies[:, 2] + copies[:, 1] - 1]))
        return cls(tokens, np.zeros((len(tokens), 4), np.int64))

    def places(self, pieces: I64) -> I64:
        """Return i64[n, 4]: start and end of the copy of each piece, in bytes and in characters; 0 without a copy."""
        if not len(self.tokens):
            return np.zeros((len(pieces), 4), np.int64)
        first = np.minimum(np.searchsorted(self.tokens, pieces[:, 2]), len(self.tokens) - 1)
        last = np.minimum(np.searchsorted(self.tokens, pieces[:, 2] + pieces[:, 1] - 1), len(self.tokens) - 1)
        out = np.stack([self.ranges[first, 0], self.ranges[last, 1], self.ranges[first, 2], self.ranges[last, 3]], 1)
        out[pieces[:, 2] < 0] = 0
        return out


@dataclass(frozen=True)
class CutReader:
    """Reads the texts again and finds the bytes that are cut. offsets: first token of each document."""

    collection: Collection
    job: ScrubJob
    cuts: CutList
    offsets: I64
    kept: KeptPlaces

    def batches(self, pool: Pool) -> Iterator[CutBatch]:
        """Yield the cuts of all documents, in order; checks that the texts have not changed."""
        rows = 0
        for batch in pool.map(self._cuts_of, self.collection.texts()):
            rows += batch.rows
            yield batch
        if rows != len(self.offsets) - 1:
            raise InputChanged(self.collection.name)

    @cached_property
    def _owners(self) -> I64:
        """The document of each piece."""
        return np.searchsorted(self.offsets, self.cuts.pieces[:, 0], "right") - 1

    def _cuts_of(self, batch: TextBatch) -> CutBatch:
        first, last = batch.first_row, batch.first_row + len(batch)
        if last >= len(self.offsets):
            raise InputChanged(self.collection.name)
        begin, end = np.searchsorted(self._owners, [first, last])
        low, high = np.searchsorted(self.kept.tokens, self.offsets[[first, last]])
        referred = np.searchsorted(self.offsets, self.kept.tokens[low:high], "right") - 1
        cut_whole = first + np.flatnonzero(self.cuts.states[first:last] == cuts_kernel.DROPPED)
        wanted = np.unique(np.concatenate([self._owners[begin:end], referred, cut_whole]))
        documents: dict[int, CutDocument] = {}
        if len(wanted):
            texts = batch.texts.take(as_arrow(wanted - first))
            ranges = token_ranges(texts, self.job)
            if not np.array_equal(np.diff(ranges.offsets), np.diff(self.offsets)[wanted]):
                raise InputChanged(self.collection.name)
            data, where = strings(texts)
            walls = list(protected_ranges(texts.to_pylist(), self.job)) if self.job.protect else [[]] * len(wanted)
            for number, row in enumerate(wanted.tolist()):
                text = data[where[number] : where[number + 1]]
                self._fill_places(row, text, ranges, number)
                if (cut := self._document(row, text, ranges, number, walls[number])) is not None:
                    documents[row] = cut
        return CutBatch(first, len(batch), documents)

    def _fill_places(self, row: int, text: U8, ranges: TokenRanges, number: int) -> None:
        low, high = np.searchsorted(self.kept.tokens, self.offsets[row : row + 2])
        if low == high:
            return
        at = self.kept.tokens[low:high] - self.offsets[row] + ranges.offsets[number]
        edges = np.stack([ranges.starts[at], ranges.ends[at]], 1)
        counted = np.empty(edges.size, np.int64)
        tokens_kernel.character_positions(text, 0, edges.ravel(), counted)
        self.kept.ranges[low:high] = np.concatenate([edges, counted.reshape(-1, 2)], 1)

    def _document(
        self,
        row: int,
        text: U8,
        ranges: TokenRanges,
        number: int,
        walls: list[tuple[int, int]],
    ) -> CutDocument | None:
        begin, end = (int(edge) for edge in np.searchsorted(self._owners, [row, row + 1]))
        dropped = bool(self.cuts.states[row] == cuts_kernel.DROPPED)
        if begin == end:
            return None
        span = slice(int(ranges.offsets[number]), int(ranges.offsets[number + 1]))
        found = _byte_ranges(
            self.cuts.pieces[begin:end, :2] - [self.offsets[row], 0], ranges.starts[span], ranges.ends[span], text
        )
        cuts = [CutRange(a, b, begin + piece) for a, b, piece in found for a, b in _outside(a, b, walls)]
        return CutDocument(row, text.tobytes(), cuts, dropped)


def _byte_ranges(pieces: I64, starts: I64, ends: I64, text: U8) -> list[tuple[int, int, int]]:
    """Return (start, end, number) in bytes of each piece of a document.

    pieces i64[r, 2]: first token and tokens; starts, ends: byte ranges of the tokens; text: its bytes. What
    separates a cut token from the next one is cut with it. If nothing separates a cut from the token before, what
    separates it from the token after stays, so that the two are not joined.
    """
    out: list[tuple[int, int, int]] = []
    tokens = len(starts)
    rows = pieces.tolist()
    number = 0
    while number < len(rows):
        last = number
        while last + 1 < len(rows) and rows[last + 1][0] == sum(rows[last]):
            last += 1
        first, after = rows[number][0], sum(rows[last])
        if after == tokens:
            begin, end = (0 if first == 0 else int(starts[first])), len(text)
        else:
            begin = int(starts[first])
            apart = first == 0 or starts[first] > ends[first - 1]
            end = int(starts[after] if apart else ends[after - 1])
        inner = (_character_start(text, int(starts[row[0]])) for row in rows[number + 1 : last + 1])
        edges = [begin, *inner, end]
        out += [(a, b, number + k) for k, (a, b) in enumerate(itertools.pairwise(edges))]
        number = last + 1
    return out


def _character_start(text: U8, at: int) -> int:
    """Return the first byte of the character that the byte belongs to."""
    while at > 0 and text[at] & 0xC0 == 0x80:
        at -= 1
    return at


def _outside(start: int, end: int, walls: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the parts of start to end that are not protected.

    >>> list(_outside(2, 9, [(0, 3), (5, 6)]))
    [(3, 5), (6, 9)]
    """
    for begin, stop in walls:
        if begin >= end or stop <= start:
            continue
        if begin > start:
            yield start, begin
        start = max(start, stop)
    if start < end:
        yield start, end
