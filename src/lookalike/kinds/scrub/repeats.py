"""Find the text that repeats, choose the copy that stays, and list what is cut, so that nothing repeats afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from lookalike.core.arrays import I64, U64
from lookalike.core.keep_policy import preference
from lookalike.core.trace import Trace
from lookalike.errors import UsageError
from lookalike.kinds.scrub.kernels import repeats as kernel
from lookalike.kinds.scrub.spec import ScrubJob
from lookalike.kinds.scrub.tokens import U8, ScrubTokens
from lookalike.runtime.local.memory_needs import check_memory
from lookalike.runtime.local.pool import Pool
from lookalike.runtime.local.work_folder import Workspace

HASHING_SHARE = 4  # 1/4 of the memory budget holds the hashes that are sorted at a time
WINDOW_BYTES = 8  # bytes of the hash of a window
REPEAT_BYTES = 56  # bytes of memory of each run that repeats: its place in the table
TOKENS_PER_STEP = 1 << 20  # tokens of the documents that are cut between two reports of progress
NO_PIECES: I64 = np.empty((0, 4), np.int64)


@dataclass(frozen=True)
class CutList:
    """What is cut. pieces i64[r, 4], by first token: first token, tokens, first token of the copy that stays (-1 if
    there is none: the text was cut to widen another cut, or with its document), occurrences.
    states u8[n]: of each document, whether it is dropped or left whole."""

    pieces: I64
    states: U8


def find_cuts(read: ScrubTokens, job: ScrubJob, pool: Pool, trace: Trace, space: Workspace) -> CutList:
    """Choose what is cut, in rounds, until no run of tokens repeats, also not across the borders of cuts."""
    lengths = np.diff(read.offsets)
    order = preference(job.keep, lengths, read.extra)
    gone = space.array((len(read.tokens),), np.uint8)
    gone[:] = 0
    states = np.zeros(len(read), np.uint8)
    found: list[I64] = []
    rounds = 0
    with trace.stage("match") as report:
        while True:
            hashes, counts = _repeated(read, gone, job, pool, space, joins=rounds > 0)
            rounds += 1
            if rounds == 1:
                trace.add(repeated_runs=len(hashes))
            if not len(hashes):
                break
            _check_table(space, len(hashes))
            made = _cut(read, gone, job, order, states, hash_table(hashes, counts), pool, report)
            if not len(made):
                break
            found.append(made)
            if job.level != "span":
                break
    pieces = np.concatenate(found) if found else NO_PIECES
    owners = np.searchsorted(read.offsets, pieces[:, 0], "right") - 1
    pieces = pieces[states[owners] != kernel.LEFT_WHOLE]
    pieces = pieces[np.argsort(pieces[:, 0], kind="stable")]
    pieces = kernel.resolve(pieces, read.flags, gone, np.empty((len(pieces) + 1, 4), np.int64))
    trace.add(rounds=rounds)
    return CutList(pieces, states)


def _check_table(space: Workspace, repeats: int) -> None:
    check_memory(space.keeper, REPEAT_BYTES * repeats, lambda: f"a table of {repeats:,} different repeats")


def _repeated(
    read: ScrubTokens, gone: U8, job: ScrubJob, pool: Pool, space: Workspace, *, joins: bool
) -> tuple[U64, I64]:
    """Return the hashes of the windows that occur more often than they may, sorted, and their numbers.

    joins: only those of which one is across a cut. The hashes are sorted in parts that fit into the memory budget.
    """
    room = max(1 << 16, space.budget // (HASHING_SHARE * WINDOW_BYTES * pool.threads))
    parts = max(pool.threads, -(-len(read.tokens) * 5 // (4 * room)))
    make = partial(_repeated_part, read, gone, job, parts, joins)
    pieces = list(pool.map(make, range(parts)))
    hashes = np.concatenate([piece[0] for piece in pieces])
    return hashes, np.concatenate([piece[1] for piece in pieces])


def _repeated_part(read: ScrubTokens, gone: U8, job: ScrubJob, parts: int, joins: bool, part: int) -> tuple[U64, I64]:
    given = (read.tokens, read.flags, gone, read.offsets, job.length, part, parts)
    hashes = _collected(lambda out: kernel.window_hashes(*given, joins, out), 0 if joins else len(read.tokens) // parts)
    if joins:
        hashes.sort()
        listed, _ = _counted(hashes, 1)
        keys, _ = hash_table(listed, np.zeros(len(listed), np.int64))
        hashes = (
            _collected(lambda out: kernel.listed_hashes(*given, keys, out), 2 * len(listed)) if len(listed) else listed
        )
    hashes.sort()
    return _counted(hashes, job.max_times + 1)


def _collected(collect: Any, expected: int) -> U64:
    """Return what a kernel writes into an array of which the length is only expected."""
    out = np.empty(expected + expected // 4 + 1024, np.uint64)
    count = collect(out)
    if count > len(out):
        out = np.empty(count, np.uint64)
        collect(out)
    return out[:count]


def _counted(hashes: U64, least: int) -> tuple[U64, I64]:
    out, counts = np.empty(len(hashes) // least + 1, np.uint64), np.empty(len(hashes) // least + 1, np.int64)
    count = kernel.repeated(hashes, least, out, counts)
    return out[:count].copy(), counts[:count].copy()


def hash_table(hashes: U64, counts: I64) -> tuple[U64, I64]:
    """Return a table with open addressing: hashes, and their counts."""
    room = 1 << max(4, int(2 * len(hashes)).bit_length())
    keys, values = np.zeros(room, np.uint64), np.zeros(room, np.int64)
    kernel.fill_table(hashes, counts, keys, values)
    return keys, values


def _cut(
    read: ScrubTokens, gone: U8, job: ScrubJob, order: I64, states: U8, table: tuple[U64, I64], pool: Pool, report: Any
) -> I64:
    """Cut the repeats of one round, document by document in the order of preference; return the pieces."""
    keys, values = table
    places = np.full(len(keys), kernel.NONE, np.int64)
    seen = np.zeros(len(keys) if job.level != "span" else 0, np.int64)
    order = order[_touched(read, gone, job, keys, pool)[order]]
    sizes = np.cumsum(np.diff(read.offsets)[order])
    made: list[I64] = [NO_PIECES]
    segments = job.at != "token" or job.unit == "byte"
    for first, last in _steps(sizes):
        some = order[first:last]
        room = np.empty((1 << 10, 4), np.int64)
        given = (some, read.tokens, read.flags, gone, read.offsets)
        ending = (job.max_loss, job.on_max_loss == "drop", states, keys, places, values)
        if job.level == "span":
            made.append(kernel.cut_documents(*given, job.length, segments, *ending, room))
        else:
            made.append(kernel.cut_lines(*given, job.max_times, *ending, seen, room))
        pool.rest()
        report(last, len(order))
    return np.concatenate(made)


def _steps(sizes: I64) -> Iterator[tuple[int, int]]:
    """Yield ranges of documents of about TOKENS_PER_STEP tokens; sizes: cumulative."""
    first = 0
    while first < len(sizes):
        before = int(sizes[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(sizes, before + TOKENS_PER_STEP, "right")))
        yield first, last
        first = last


def _touched(read: ScrubTokens, gone: U8, job: ScrubJob, keys: U64, pool: Pool) -> npt.NDArray[np.bool_]:
    """Return which documents have a window whose hash is in the table."""
    out = np.zeros(len(read), np.bool_)

    def look(span: tuple[int, int]) -> None:
        first, last = span
        where = read.offsets[first : last + 1]
        kernel.touched(read.tokens, read.flags, gone, where, job.length, keys, out[first:last])

    for _ in pool.map(look, _steps(read.offsets[1:])):
        pass
    return out


def check_columns(job: ScrubJob, column: str | None, read: ScrubTokens) -> None:
    """Raise UsageError if the column of the keep policy was not read."""
    if column is not None and column not in read.extra and len(read):
        raise UsageError(f"keep {job.keep!r}: there is no column {column!r}.")
