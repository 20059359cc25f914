"""Convert blocks of items into the arrays of a segment."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import I64
from lookalike.index.segment_file import AnyArray
from lookalike.index.segments import sorted_ids, sorted_keys
from lookalike.index.store import Blobs, Block, ends_of

FRAME = 1 << 16  # approximate number of bytes that are compressed together
LEVEL = 1


@dataclass(frozen=True)
class Frames:
    """Items in compressed frames. rows i64[f]: first row of each frame; sizes i64[n]: uncompressed item sizes."""

    packed: list[pa.Buffer]
    rows: I64
    sizes: I64


@dataclass(frozen=True)
class Packed:
    """A block whose original items are compressed, ready to be written to a segment."""

    block: Block
    frames: Frames | None

    @property
    def nbytes(self) -> int:
        packed = sum(len(frame) for frame in self.frames.packed) if self.frames else 0
        return self.block.features.data.nbytes + self.block.keys.values.nbytes + packed

    def __len__(self) -> int:
        return len(self.block)


def pack(block: Block) -> Packed:
    """Compress the original items of a block, if they are stored."""
    return Packed(block, None if block.raw is None else _frames(block.raw))


def _frames(raw: Blobs) -> Frames:
    codec = pa.Codec("zstd", compression_level=LEVEL)
    ends = raw.offsets
    cuts = np.unique(np.searchsorted(ends, np.arange(ends[0], ends[-1] + FRAME, FRAME)).clip(0, len(raw)))
    cuts = np.array([0, len(raw)]) if len(cuts) < 2 else cuts
    packed = [codec.compress(raw.data[ends[a] : ends[b]]) for a, b in itertools.pairwise(cuts)]
    return Frames(packed, cuts[:-1].astype(np.int64), np.diff(ends))


def arrays_of(items: I64, parts: Sequence[Packed]) -> tuple[dict[str, Sequence[AnyArray]], I64]:
    """Return the arrays of a segment with these items, and the rows whose id occurs again in a later row."""
    blocks = [part.block for part in parts]
    counts = np.concatenate([np.diff(block.keys.offsets) for block in blocks])
    rows = np.repeat(np.arange(len(items), dtype=np.uint32), counts)
    of_ids, again = sorted_ids(pa.concat_arrays([block.ids for block in blocks]))
    arrays: dict[str, Sequence[AnyArray]] = {
        "items": [items],
        **of_ids,
        **sorted_keys(np.concatenate([block.keys.values for block in blocks]), rows),
        "feature_ends": [ends_of(np.concatenate([np.diff(block.features.offsets) for block in blocks]))],
        "features": [block.features.data for block in blocks],
    }
    frames = [part.frames for part in parts if part.frames is not None]
    if frames:
        firsts = ends_of([len(part) for part in parts])
        starts = [compressed.rows + first for compressed, first in zip(frames, firsts[:-1], strict=True)]
        packed = [np.frombuffer(frame, np.uint8) for compressed in frames for frame in compressed.packed]
        arrays |= {
            "raw_sizes": [compressed.sizes for compressed in frames],
            "frame_rows": [*starts, firsts[-1:]],
            "frame_ends": [ends_of([len(frame) for frame in packed])],
            "raw": packed,
        }
    return arrays, again
