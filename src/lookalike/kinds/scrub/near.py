"""Find and cut near copies, before the runs of tokens that still repeat exactly."""

from __future__ import annotations

import numpy as np

from lookalike.core.arrays import I64
from lookalike.kinds.scrub.kernels import near as kernel
from lookalike.kinds.scrub.kernels.windows import NONE
from lookalike.kinds.scrub.spec import ScrubJob
from lookalike.kinds.scrub.tokens import U8, ScrubTokens
from lookalike.kinds.scrub.windows import Windows, hash_set, pieces_of, steps
from lookalike.runtime.local.memory_needs import check_memory
from lookalike.runtime.local.pool import Pool
from lookalike.runtime.local.work_folder import Workspace

SEED_BYTES = 100  # bytes of memory of each seed that repeats: its places in the table


def find_near_cuts(
    read: ScrubTokens, job: ScrubJob, gone: U8, order: I64, states: U8, pool: Pool, space: Workspace
) -> I64:
    """Cut the near copies of runs of tokens, document by document in the order of preference; return the pieces."""
    windows = Windows(read, gone, pool, space, job.seed_run, max(1, 2 * job.seed_run // 3))
    seeds, _ = windows.repeated_anchors()
    check_memory(space.keeper, SEED_BYTES * len(seeds), lambda: f"a table of {len(seeds):,} repeated seeds")
    keys = hash_set(seeds)
    places = np.full((len(keys), kernel.SEED_PLACES), NONE, np.int64)
    stays = space.array((len(read.tokens),), read.tokens.dtype)
    stays_at = space.array((len(read.tokens),), np.int64)
    ends = np.zeros(len(read), np.int64)
    made: list[I64] = [np.empty((0, 4), np.int64)]
    number = 0
    sizes = np.cumsum(np.diff(read.offsets)[order])
    for first, last in steps(sizes):
        given = (order[first:last], read.tokens, read.flags, gone, read.offsets, windows.length, windows.short)
        table = (states, keys, places, stays, stays_at, ends, number)
        room = pieces_of(sizes, first, last)
        made.append(room[: kernel.cut_near(*given, job.gap, job.length, job.max_loss, *table, room)].copy())
        number = last
        pool.rest()
    return _counted(np.concatenate(made))


def _counted(pieces: I64) -> I64:
    """Set the occurrences of each piece: one, and the pieces whose copy has the token in the middle of its copy."""
    copies = pieces[:, 2] >= 0
    first, tokens = pieces[copies, 2], pieces[copies, 1]
    middle = first + tokens // 2
    begun = np.searchsorted(np.sort(first), middle, "right")
    pieces[copies, 3] = 1 + begun - np.searchsorted(np.sort(first + tokens), middle, "right")
    return pieces
