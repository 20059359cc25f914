"""Merge segments and drop removed items. Writers do not wait for it: the swap at the end is one small commit."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lookalike.core.arrays import I64
from lookalike.index.inspection import check_segment
from lookalike.index.packing import LEVEL
from lookalike.index.segment_file import AnyArray, write_segment
from lookalike.index.segments import Segment, has_bits, sorted_ids, sorted_keys
from lookalike.index.store import U8, ends_of

MAX_SEGMENT_BYTES = 1 << 32  # approximate largest size of a merged segment
TIER = 4  # merge when this many segments have about the same size
BIG, MAX_BIG_SEGMENTS = 1 << 27, 16  # from BIG bytes on average, merge only this many segments
DEAD = 0.3  # rewrite a segment when a larger share of its items is removed


class Stopped(Exception):
    """Raised when compaction is asked to stop; the index is unchanged."""


@dataclass(frozen=True)
class Old:
    """A segment as it was when compaction began. dead: a copy of its bitmap of removed rows."""

    segment: Segment
    dead: U8

    @property
    def alive(self) -> I64:
        rows = np.arange(len(self.segment))
        return rows[~self.is_dead(rows)]

    def is_dead(self, rows: I64) -> npt.NDArray[np.bool_]:
        return has_bits(self.dead, rows)


def due(segments: Sequence[Segment], dead: Sequence[int]) -> list[Segment]:
    """Return the adjacent segments that should be merged now, or an empty list.

    A segment with many removed items is rewritten alone. Otherwise the newest segments are merged while each is at most
    twice as large as the newer ones together, so that every item is rewritten only a few times as the index grows.
    """
    for segment, gone in zip(segments, dead, strict=True):
        if gone > DEAD * len(segment):
            return [segment]
    for end in range(len(segments), TIER - 1, -1):
        begin, total = end - 1, segments[end - 1].nbytes
        while (
            begin > 0
            and segments[begin - 1].nbytes <= 2 * total
            and total + segments[begin - 1].nbytes <= MAX_SEGMENT_BYTES
        ):
            begin -= 1
            total += segments[begin].nbytes
        if end - begin >= (TIER if total < BIG * (end - begin) else MAX_BIG_SEGMENTS):
            return list(segments[begin:end])
    return []


def runs_of_all(segments: Sequence[Segment], dead: Sequence[int]) -> Iterator[list[Segment]]:
    """Yield runs of adjacent segments to merge into segments of at most MAX_SEGMENT_BYTES.

    A run of a single segment is skipped if no item of it was removed and it has checksums.
    """
    run: list[Segment] = []
    gone = 0
    for segment, missing in zip(segments, dead, strict=True):
        if run and sum(member.nbytes for member in run) + segment.nbytes > MAX_SEGMENT_BYTES:
            if len(run) > 1 or gone or not run[0].file.has_sums:
                yield run
            run, gone = [], 0
        run.append(segment)
        gone += missing
    if len(run) > 1 or (run and (gone or not run[0].file.has_sums)):
        yield run


def merged(olds: Sequence[Old], draft: Path, go_on: Callable[[], bool]) -> int:
    """Write the live items of these segments as one segment. Return its size in bytes, or 0 if there are none."""
    alive = [old.alive for old in olds]
    if not sum(map(len, alive)):
        return 0
    firsts = ends_of([len(rows) for rows in alive])
    segments = [old.segment for old in olds]
    for segment in segments:
        if not segment.file.has_sums:
            check_segment(segment)  # a damaged segment must not be given valid checksums
    keys, rows = zip(*(_keys(*entry) for entry in zip(segments, alive, firsts[:-1], strict=True)), strict=True)
    ids = pa.concat_arrays([segment.ids(kept) for segment, kept in zip(segments, alive, strict=True)])
    arrays: dict[str, Sequence[AnyArray]] = {
        "items": [segment.items(kept) for segment, kept in zip(segments, alive, strict=True)],
        **sorted_ids(ids)[0],
        **sorted_keys(np.concatenate(keys), np.concatenate(rows)),
    }
    _check(go_on)
    sizes = [np.diff(segment.file.all("feature_ends"))[kept] for segment, kept in zip(segments, alive, strict=True)]
    arrays["feature_ends"] = [ends_of(np.concatenate(sizes))]
    arrays["features"] = [part for entry in zip(segments, alive, strict=True) for part in _features(*entry)]
    if all("raw" in segment.file for segment in segments):
        arrays |= _raw(segments, alive, firsts, go_on)
    return write_segment(draft, arrays, go_on=lambda: _check(go_on))


def _check(go_on: Callable[[], bool]) -> None:
    if not go_on():
        raise Stopped


def _keys(segment: Segment, alive: I64, first: int) -> tuple[AnyArray, AnyArray]:
    """Return the keys of the live rows, still sorted, and their rows in the new segment."""
    place = np.full(len(segment), -1, np.int64)
    place[alive] = np.arange(first, first + len(alive))
    rows = place[segment.file.all("key_rows")]
    return segment.file.all("keys")[rows >= 0], rows[rows >= 0].astype(np.uint32)


def _spans(alive: I64) -> Iterator[tuple[int, int]]:
    """Yield runs of consecutive rows as (first, last + 1)."""
    cuts = np.flatnonzero(np.diff(alive) != 1) + 1
    for low, high in itertools.pairwise([0, *cuts.tolist(), len(alive)]):
        if low < high:
            yield int(alive[low]), int(alive[high - 1]) + 1


def _features(segment: Segment, alive: I64) -> Iterator[AnyArray]:
    for low, high in _spans(alive):
        yield segment.feature_page(low, high)[0]
    yield segment.file.all("features")[:0]


def _raw(
    segments: Sequence[Segment], alive: Sequence[I64], firsts: I64, go_on: Callable[[], bool]
) -> dict[str, Sequence[AnyArray]]:
    """Copy compressed frames whose rows are all live; recompress the live items of the others."""
    codec = pa.Codec("zstd", compression_level=LEVEL)
    packed: list[AnyArray] = [segments[0].file.all("raw")[:0]]
    starts: list[int] = []
    for segment, rows, first in zip(segments, alive, firsts[:-1].tolist(), strict=True):
        frames, ends = segment.file.all("frame_rows").tolist(), segment.file.all("frame_ends").tolist()
        bounds = np.searchsorted(rows, frames).tolist()
        for number, (low, high) in enumerate(itertools.pairwise(bounds)):
            if low == high:
                continue
            starts.append(first + low)
            if high - low == frames[number + 1] - frames[number]:
                packed.append(segment.file.span("raw", ends[number], ends[number + 1]))
            else:
                texts = segment.frame(number)[1]
                left = [texts[row - frames[number]] for row in rows[low:high].tolist()]
                packed.append(np.frombuffer(codec.compress(b"".join(left)), np.uint8))
        _check(go_on)
    sizes = [segment.file.all("raw_sizes")[rows] for segment, rows in zip(segments, alive, strict=True)]
    return {
        "raw_sizes": sizes,
        "frame_rows": [np.array([*starts, int(firsts[-1])], np.int64)],
        "frame_ends": [ends_of([len(frame) for frame in packed[1:]])],
        "raw": packed,
    }


def draft_name(folder: Path) -> Path:
    """Return the path of the draft of a merged segment; `Writer._sweep` recognises its name."""
    return folder / f"compact-{os.getpid()}.draft"
