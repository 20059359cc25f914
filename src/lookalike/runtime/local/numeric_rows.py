"""Read vectors into one matrix, validate them, and collapse equal rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lookalike.core.arrays import F32, I64
from lookalike.core.arrow import as_arrow
from lookalike.core.equal_rows import collapse_rows, row_prints
from lookalike.core.exact_duplicates import Classes
from lookalike.core.keep_policy import preference, preferred_column
from lookalike.core.trace import Trace
from lookalike.errors import InputError, UsageError
from lookalike.io.collection import check_ids
from lookalike.io.vectors import VectorBatch, Vectors
from lookalike.kernels import vectors
from lookalike.runtime.local.growable_array import GrowableArray
from lookalike.runtime.local.pool import Pool

ROWS_PER_TASK = 1 << 12
U8 = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class NumericRows:
    """The vectors of one or two collections, with one distinct item per class of equal rows.

    values f32[n, d]: as read; firsts i64[c]: the representative row of each class; sides u8[c]: 1 left, 2 right,
    3 both; order i64[c]: classes, most preferred first; split: number of items of the first of two collections, -1 if
    there is only one.
    """

    values: F32
    ids: list[pa.ChunkedArray]
    split: int
    classes: Classes
    firsts: I64
    sides: U8
    order: I64

    def __len__(self) -> int:
        """Return the number of distinct items."""
        return len(self.firsts)

    def block(self, low: int, high: int) -> F32:
        """Return the rows of the distinct items from `low` to `high` - 1."""
        return self.values[self.firsts[low:high]]


def read_rows(
    sources: Sequence[Vectors], pool: Pool, trace: Trace, *, noun: str, keep: str = "first", on_bad: str = "error",
    nonzero: bool = False,
) -> NumericRows:  # fmt: skip
    """Read all vectors and collapse equal ones; an invalid vector raises InputError, or is skipped (on_bad="skip").

    nonzero: a vector of zeros is invalid too.
    """
    column = preferred_column(keep)
    if keep in ("longest", "shortest"):
        raise UsageError(f"keep {keep!r} means nothing for {noun}; choices: first, last, max:COLUMN, min:COLUMN, ...")
    with trace.stage("read") as report:
        values, ids, extra, origins = _read(sources, [column] if column else [], report)
        good = _check(values, origins, pool, on_bad, nonzero)
    trace.add(**{noun: len(values), "bytes": values.nbytes, "skipped": int((~good).sum())})
    split = len(ids[0])
    best = preference(keep, np.zeros(split, np.int64), extra)
    best = np.concatenate([best, np.arange(split, len(values))])
    with trace.stage("collapse"):
        blocks = [values[at : at + ROWS_PER_TASK] for at in range(0, len(values), ROWS_PER_TASK)]
        prints = np.concatenate([np.empty(0, np.uint64), *pool.map(row_prints, blocks)])
        classes = collapse_rows(values, prints, best[good[best]])
        trace.add(exact_duplicates=len(classes.members) - len(classes))
    cross = split if len(sources) == 2 else -1
    sides = np.full(len(classes), 3, np.uint8)
    if cross >= 0:
        lefts = classes.lefts(cross)
        sides = ((lefts > 0) + 2 * (lefts < classes.counts)).astype(np.uint8)
    rank = np.empty(len(best), np.int64)
    rank[best] = np.arange(len(best))
    order = np.argsort(rank[classes.firsts], kind="stable")
    return NumericRows(values, ids, cross, classes, classes.firsts, sides, order)


# The global number of the first row of a file, its name, and the names of its rows if they are pictures.
Origin = tuple[int, str, Sequence[str]]


def _read(
    sources: Sequence[Vectors], columns: list[str], report: Callable[[int, int | None], None]
) -> tuple[F32, list[pa.ChunkedArray], dict[str, pa.ChunkedArray], list[Origin]]:
    pieces: list[F32] = []
    growing: GrowableArray[np.float32] | None = None
    ids: list[pa.ChunkedArray] = []
    extra: dict[str, list[pa.Array]] = {name: [] for name in columns}
    origins: list[Origin] = []
    done, width = 0, 0
    for number, source in enumerate(sources):
        mine: list[pa.Array] = []
        start = done
        for batch in source.batches(columns if number == 0 else ()):
            if batch.values.shape[1] != width and len(batch.values):
                if width:
                    raise InputError(
                        f"vectors of {batch.values.shape[1]} numbers in {batch.where} and of {width} before; "
                        "expected one length."
                    )
                width = batch.values.shape[1]
            if not origins or origins[-1][1] != batch.where:
                origins.append((done, batch.where, batch.pictures))
            mine.append(_ids(batch, done - start))
            for name in extra if number == 0 else ():
                extra[name].append(batch.extra[name])
            if not pieces and growing is None:
                pieces.append(batch.values)  # usually the only one: not copied
            else:
                if growing is None:
                    growing = GrowableArray(np.float32, expect=2 * pieces[0].size)
                    growing.append(pieces.pop().reshape(-1))
                growing.append(batch.values.reshape(-1))
            done += len(batch.values)
            report(done, None)
        ids.append(pa.chunked_array(mine) if mine else pa.chunked_array([], pa.int64()))
        check_ids(ids[-1], name=source.name)
    if growing is not None:
        pieces = [growing.finish().reshape(-1, width)]
    values: F32 = np.asarray(pieces[0], np.float32) if pieces else np.empty((0, 1), np.float32)
    plain = {name: pa.chunked_array(chunks or [pa.nulls(0)]) for name, chunks in extra.items()}
    return values, ids, plain, origins


def _ids(batch: VectorBatch, first: int) -> pa.Array:
    return as_arrow(np.arange(first, first + len(batch.values))) if batch.ids is None else batch.ids


def _check(values: F32, origins: list[Origin], pool: Pool, on_bad: str, nonzero: bool) -> npt.NDArray[np.bool_]:
    """Return a mask of the valid rows; raises InputError for the first invalid row unless these are skipped."""

    def good(at: int) -> npt.NDArray[np.bool_]:
        out = np.empty(len(values[at : at + ROWS_PER_TASK]), np.bool_)
        vectors.usable(values[at : at + ROWS_PER_TASK], nonzero, out)
        return out

    usable = np.concatenate([np.empty(0, np.bool_), *pool.map(good, range(0, len(values), ROWS_PER_TASK))])
    if on_bad == "error" and not usable.all():
        row = int(np.flatnonzero(~usable)[0])
        start, name, pictures = next(origin for origin in reversed(origins) if origin[0] <= row)
        if pictures:
            raise InputError(
                f"{pictures[row - start]} in {name} cannot be read as a picture. Remove it, or give `on_bad='skip'`."
            )
        raise InputError(complaint(values[row], f"{name} row {row - start}"))
    return usable


def complaint(row: F32, where: str) -> str:
    """Return the message for an invalid vector."""
    wrong = np.flatnonzero(~np.isfinite(row))
    advice = "Drop the row, or give `on_bad='skip'`."
    if not len(wrong):
        return f"{where}: the vector is all zeros and has no direction. Compare by `max_distance`, or {advice.lower()}"
    what = "NaN or missing" if np.isnan(row[wrong[0]]) else "infinite in float32"
    return f"{where}: number {wrong[0]} is {what}; expected finite numbers. {advice}"
