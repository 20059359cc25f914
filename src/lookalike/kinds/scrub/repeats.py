"""Find the text that repeats, choose the copy that stays, and list what is cut, so that nothing repeats afterwards."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lookalike.core.arrays import I64
from lookalike.core.keep_policy import preference
from lookalike.core.trace import Trace
from lookalike.errors import UsageError
from lookalike.kinds.scrub.kernels import cuts as kernel
from lookalike.kinds.scrub.kernels.near_audit import count_edited
from lookalike.kinds.scrub.kernels.windows import NONE
from lookalike.kinds.scrub.near import find_near_cuts
from lookalike.kinds.scrub.spec import ScrubJob
from lookalike.kinds.scrub.tokens import U8, ScrubTokens
from lookalike.kinds.scrub.windows import Repeats, Windows, hash_table, pieces_of, steps
from lookalike.runtime.local.memory_needs import check_memory
from lookalike.runtime.local.pool import Pool
from lookalike.runtime.local.work_folder import Workspace

REPEAT_BYTES = 56  # bytes of memory of each run that repeats: its place in the table
RESOLVED_AT_ONCE = 1 << 20  # pieces
NO_PIECES: I64 = np.empty((0, 4), np.int64)


@dataclass(frozen=True)
class CutList:
    """What is cut. pieces i64[r, 4], by first token: first token, tokens, first token of the copy that stays (-1 if
    there is none: the text was cut to widen another cut, or with its document), occurrences.
    states u8[n]: of each document, whether it is dropped or left whole. near_copies i64[n]: the near copies that were
    cut from each document; empty if none were searched."""

    pieces: I64
    states: U8
    near_copies: I64 = field(default_factory=lambda: np.empty(0, np.int64))


def find_cuts(read: ScrubTokens, job: ScrubJob, pool: Pool, trace: Trace, space: Workspace) -> CutList:
    """Choose what is cut, in rounds, until no run of tokens repeats, also not across the borders of cuts."""
    lengths = np.diff(read.offsets)
    order = preference(job.keep, lengths, read.extra)
    gone = space.array((len(read.tokens),), np.uint8)
    gone[:] = 0
    states = np.zeros(len(read), np.uint8)
    changed = np.zeros(len(read), np.uint8)  # documents with a cut
    found: list[I64] = []
    near_copies = np.zeros(len(read) if job.gap else 0, np.int64)
    rounds = 0
    with trace.stage("match") as report:
        windows = Windows.of(read, gone, job, pool, space)
        if job.gap:
            found.append(find_near_cuts(read, job, gone, order, states, pool, space))
            changed[_owners(read, found[0])] = 1
            count_edited(found[0][np.argsort(found[0][:, 0])], gone, read.offsets, near_copies)
        while True:
            repeats = windows.repeated() if rounds == 0 else windows.repeated_across(changed)
            rounds += 1
            if rounds == 1:
                trace.add(repeated_runs=len(repeats.hashes))
            if not len(repeats.hashes):
                break
            _check_table(space, len(repeats.hashes))
            made = _cut(read, gone, job, order, states, repeats, pool, report)
            if not len(made):
                break
            found.append(made)
            changed[_owners(read, made)] = 1
            if job.level != "span":
                break
    pieces = np.concatenate(found) if found else NO_PIECES
    pieces = pieces[states[_owners(read, pieces)] != kernel.LEFT_WHOLE]
    pieces = pieces[np.argsort(pieces[:, 0], kind="stable")]
    trace.add(rounds=rounds)
    near_copies[states[: len(near_copies)] == kernel.LEFT_WHOLE] = 0
    return CutList(_resolved(pieces, read.flags, gone), states, near_copies)


def _resolved(pieces: I64, flags: U8, gone: U8) -> I64:
    """Return the pieces with sources that stay."""
    firsts = pieces[:, 0].copy()
    out = np.empty((max(RESOLVED_AT_ONCE, int(pieces[:, 1].max(initial=0)) + 1), 4), np.int64)
    made: list[I64] = []
    done = used = 0
    while done < len(pieces):
        done, used = kernel.resolve(pieces, done, firsts, flags, gone, out, used)
        if done < len(pieces):  # the last piece may go on
            made.append(out[: used - 1].copy())
            out[0], used = out[used - 1], 1
    return np.concatenate([*made, out[:used]])


def _check_table(space: Workspace, repeats: int) -> None:
    check_memory(space.keeper, REPEAT_BYTES * repeats, lambda: f"a table of {repeats:,} different repeats")


def _owners(read: ScrubTokens, pieces: I64) -> I64:
    """Return the document of each piece."""
    return np.searchsorted(read.offsets, pieces[:, 0], "right") - 1


def _cut(
    read: ScrubTokens, gone: U8, job: ScrubJob, order: I64, states: U8, repeats: Repeats, pool: Pool, report: Any
) -> I64:
    """Cut the repeats of one round, document by document in the order of preference; return the pieces."""
    keys, values = hash_table(repeats.hashes, repeats.counts)
    places = np.full(len(keys), NONE, np.int64)
    seen = np.zeros(len(keys) if job.level != "span" else 0, np.int64)
    order = order[repeats.documents[order] != 0]
    sizes = np.cumsum(np.diff(read.offsets)[order])
    made: list[I64] = [NO_PIECES]
    segments = job.at != "token" or job.unit == "byte"
    for first, last in steps(sizes):
        some = order[first:last]
        room = pieces_of(sizes, first, last)
        given = (some, read.tokens, read.flags, gone, read.offsets)
        ending = (job.max_loss, job.on_max_loss == "drop", states, keys, places, values)
        if job.level == "span":
            used = kernel.cut_documents(*given, job.length, segments, *ending, room)
        else:
            used = kernel.cut_lines(*given, job.max_times, *ending, seen, room)
        made.append(room[:used].copy())
        pool.rest()
        report(last, len(order))
    return np.concatenate(made)


def check_columns(job: ScrubJob, column: str | None, read: ScrubTokens) -> None:
    """Raise UsageError if the column of the keep policy was not read."""
    if column is not None and column not in read.extra and len(read):
        raise UsageError(f"keep {job.keep!r}: there is no column {column!r}.")
