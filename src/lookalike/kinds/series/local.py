"""Local engine for series: all pairs of z-normalised windows within a distance, by products along diagonals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lookalike.core.arrays import F64, I64
from lookalike.core.formatting import count
from lookalike.core.trace import Trace
from lookalike.errors import InputError, TooManyPairs
from lookalike.kinds.series.kernels import diagonals as kernel
from lookalike.kinds.series.source import SeriesSet
from lookalike.kinds.series.spec import SeriesJob
from lookalike.runtime.local.pool import Pool, usable_cores

PAIR_BUFFER = 1 << 16  # pairs that a call of the kernel returns at most
CELLS_PER_BATCH = 1 << 27  # pairs of windows that are compared in one task of a thread
MOST_TASKS = 1 << 20  # sets of diagonals in one task of a thread
NEED_TOLERANCE = 1e-9  # correlation by which candidates may fall short because products are rounded
PAIRS_PER_SAMPLE, LEAST_SAMPLE, MOST_SAMPLE = 200_000, 20_000, 1_000_000  # pairs of windows to guess a distance from


@dataclass(frozen=True)
class WindowTable:
    """All windows of all series. table f64[c, 5, n], peaks f64[c, 4, chunks]: see `kernels/diagonals.py`; starts,
    sizes i64[s]: first window and number of windows of each series; split: series before it belong to the first set,
    -1 if there is one set."""

    table: F64
    peaks: F64
    starts: I64
    sizes: I64
    split: int

    @property
    def columns(self) -> int:
        return len(self.table)


@dataclass(frozen=True)
class Found:
    """Pairs of windows, nearest first. series, starts i64[p, 2]: left and right; distance f64[p]; columns: of each."""

    series: I64
    starts: I64
    distance: F64
    columns: int


def run(sets: Sequence[SeriesSet], job: SeriesJob, trace: Trace) -> Found:
    """Find the pairs of windows within one set of series, or between the first and the second."""
    with trace.stage("prepare"):
        windows = prepare(sets, job, trace)
    with Pool(job.threads or usable_cores()) as pool:
        if (within := job.distance(windows.columns)) is not None:
            return _sorted(*_search(windows, job, within, pool, trace), windows, job, trace)
        return _nearest(windows, job, pool, trace)


def prepare(sets: Sequence[SeriesSet], job: SeriesJob, trace: Trace) -> WindowTable:
    """Compute mean, norm and steps of all windows; windows that match nothing are counted."""
    values = [one for each in sets for one in each.values]
    names = [name for each in sets for name in each.names]
    if not values:
        raise InputError(f"{sets[0].name} has no series; expected at least one.")
    columns = {len(one) for one in values}
    if len(columns) > 1:
        raise InputError(f"motions of {min(columns)} and of {max(columns)} columns came; expected one number.")
    window, (width,) = job.steps, columns
    lengths = np.array([one.shape[1] for one in values])
    short = np.flatnonzero(lengths < window)
    if len(short):
        name, least = names[short[0]], int(lengths[short[0]])
        more = f" (and {len(short) - 1:,} more are short)" if len(short) > 1 else ""
        raise InputError(
            f"series {name!r} has {count(least, 'steps')}{more}, fewer than the window of {window:,}. Take a shorter "
            "`window`, or leave short series out."
        )
    starts, total = np.cumsum(lengths) - lengths, int(lengths.sum())
    table = np.zeros((width, 5, total))
    peaks = np.zeros((width, 4, total // kernel.PEAK_WINDOWS + 1))
    kinds = np.zeros(total, np.uint8)
    for one, first in zip(values, starts.tolist(), strict=True):
        end = first + one.shape[1]
        for column in range(width):
            known = one[column][np.isfinite(one[column])]
            origin = float(known.mean()) if len(known) else 0.0
            table[column, kernel.VALUE_ROW, first:end] = one[column] - origin
            kernel.fill_windows(window, first, end, origin, table[column], peaks[column], kinds)
    table[:, kernel.INVERSE_ROW, kinds > 0] = 0.0
    constant, missing = int((kinds == 1).sum()), int((kinds == 2).sum())
    sizes = lengths - window + 1
    trace.add(series=len(values), steps=total, windows=int(sizes.sum()))
    trace.add(constant_windows=constant, missing_windows=missing)
    for number, why in ((constant, "have one value only"), (missing, "have a missing value")):
        if number:
            trace.warnings.append(f"{count(number, 'windows')} of {sizes.sum():,} {why} and match nothing.")
    split = len(sets[0].values) if len(sets) == 2 else -1
    return WindowTable(table, peaks, starts.astype(np.int64), sizes.astype(np.int64), split)


def _tasks(windows: WindowTable, zone: int) -> Iterator[tuple[I64, int]]:
    """Yield arrays of (left series, right series, first diagonal), each with the number of its pairs of windows."""
    held: list[I64] = []
    cells = tasks = 0
    for left in range(len(windows.sizes)):
        for made, size in _tasks_of(windows, left, zone):
            held.append(made)
            cells, tasks = cells + size, tasks + len(made)
            if cells >= CELLS_PER_BATCH or tasks >= MOST_TASKS:
                yield np.concatenate(held), cells
                held, cells, tasks = [], 0, 0
    if held:
        yield np.concatenate(held), cells


def _tasks_of(windows: WindowTable, left: int, zone: int) -> Iterator[tuple[I64, int]]:
    """Yield the tasks of one left series, in parts of about CELLS_PER_BATCH pairs of windows.

    Two series are compared twice: once with the places of the right window before, once after those of the left one.
    """
    split, sizes = windows.split, windows.sizes
    if split < 0:
        rights = np.arange(len(sizes))
    else:
        rights = np.arange(split, len(sizes)) if left < split else np.arange(split)
    firsts = np.where(rights == left, zone, np.where(rights > left, 0, 1))
    numbers = np.maximum(0, -(-(sizes[rights] - firsts) // kernel.DIAGONALS))
    right = np.repeat(rights, numbers)
    step = np.arange(len(right)) - np.repeat(np.cumsum(numbers) - numbers, numbers)
    first = np.repeat(firsts, numbers) + kernel.DIAGONALS * step
    made = np.stack([np.full(len(right), left), right, first], axis=1).astype(np.int64)
    cells = np.minimum(sizes[left], sizes[right] - first) * np.minimum(kernel.DIAGONALS, sizes[right] - first)
    parts = np.cumsum(cells) // CELLS_PER_BATCH
    for ends in np.split(np.arange(len(made)), np.flatnonzero(np.diff(parts)) + 1):
        if len(ends):
            yield made[ends], int(cells[ends].sum())


def _search(windows: WindowTable, job: SeriesJob, within: float, pool: Pool, trace: Trace) -> tuple[I64, F64]:
    """Return the places i64[p, 2] and distances f64[p] of all pairs of windows within the distance."""
    need = windows.columns - within * within / (2 * job.steps) - NEED_TOLERANCE * windows.columns

    def look(task: tuple[I64, int]) -> tuple[I64, F64, int]:
        tasks, cells = task
        at, places, distances = np.zeros(2, np.int64), [np.empty((0, 2), np.int64)], [np.empty(0)]
        held = 0
        while at[0] < len(tasks) and held <= job.max_pairs:
            out, scores = np.empty((PAIR_BUFFER, 2), np.int64), np.empty(PAIR_BUFFER)
            number = kernel.near_pairs(
                windows.table, windows.peaks, windows.starts, windows.sizes, tasks, at, job.steps, need, within, out,
                scores,
            )  # fmt: skip
            places.append(out[:number].copy())
            distances.append(scores[:number].copy())
            held += number
        return np.concatenate(places), np.concatenate(distances), cells

    found: list[I64] = []
    scores: list[F64] = []
    total = done = 0
    with trace.stage("match") as report:
        every = _all_cells(windows, job.zone)
        for places, distances, cells in pool.map(look, _tasks(windows, job.zone)):
            found.append(places)
            scores.append(distances)
            total, done = total + len(places), done + cells
            if total > job.max_pairs:
                raise TooManyPairs(
                    f"more than {job.max_pairs:,} pairs of windows (`max_pairs`) are within {within:g}, and the search "
                    "has not ended. Ask for nearer pairs, or raise `max_pairs`."
                )
            report(done, every)
    trace.counts["compared"] = every
    return np.concatenate([np.empty((0, 2), np.int64), *found]), np.concatenate([np.empty(0), *scores])


def _all_cells(windows: WindowTable, zone: int) -> int:
    """Return the number of pairs of windows that are compared."""
    sizes = windows.sizes.astype(object)
    if windows.split >= 0:
        return int(sizes[: windows.split].sum() * sizes[windows.split :].sum())
    inner = np.maximum(0, windows.sizes - zone).astype(object)
    return int((inner * (inner + 1) // 2).sum() + (sizes.sum() ** 2 - (sizes**2).sum()) // 2)


def _sorted(places: I64, distance: F64, windows: WindowTable, job: SeriesJob, trace: Trace) -> Found:
    """Return the pairs by distance and place, without those next to nearer ones."""
    with trace.stage("sort"):
        places = np.sort(places, axis=1)  # the series of the left window comes first, in one series its place
        order = np.lexsort((places[:, 1], places[:, 0], distance))
        places, distance = places[order], distance[order]
        series = np.searchsorted(windows.starts, places, "right") - 1
        trace.counts["within_bound"] = len(places)
        if not job.overlapping and len(places):
            keep = np.zeros(len(places), np.bool_)
            both = series[:, 0] * len(windows.starts) + series[:, 1]
            kernel.without_overlaps(places, both, job.zone, keep)
            places, distance, series = places[keep], distance[keep], series[keep]
        return Found(series, places - windows.starts[series], distance, windows.columns)


def _nearest(windows: WindowTable, job: SeriesJob, pool: Pool, trace: Trace) -> Found:
    """Find the nearest pairs: all within a distance that a sample suggests, then within larger ones if too few.

    The pairs that a larger distance adds are farther than those of a smaller one, so the first ones stay the same.
    """
    largest = 2.0 * math.sqrt(job.steps * windows.columns)
    sample = _sample(windows, job)
    top = int(job.top or 0)
    at = 1
    while True:
        within = float(sample[at - 1]) if at <= len(sample) else largest
        found = _sorted(*_search(windows, job, within, pool, trace), windows, job, trace)
        if len(found.distance) >= top or within >= largest:
            break
        at *= 8
    if len(found.distance) < top:
        trace.warnings.append(f"top is {top:,}, but there are only {count(len(found.distance), 'pairs')}.")
    return Found(found.series[:top], found.starts[:top], found.distance[:top], found.columns)


def _sample(windows: WindowTable, job: SeriesJob) -> F64:
    """Return the sorted distances of random pairs of windows."""
    rng = np.random.default_rng(1)
    size = min(MOST_SAMPLE, max(LEAST_SAMPLE, _all_cells(windows, job.zone) // PAIRS_PER_SAMPLE))
    valid = np.flatnonzero(windows.table[0, kernel.INVERSE_ROW] > 0)
    if not len(valid):
        return np.empty(0)
    series = np.searchsorted(windows.starts, valid, "right") - 1
    left, right = (rng.integers(0, len(valid), size) for _ in range(2))
    if windows.split >= 0:
        other = (series[left] < windows.split) != (series[right] < windows.split)
    else:
        other = (series[left] != series[right]) | (abs(valid[left] - valid[right]) >= job.zone)
    out = np.empty(int(other.sum()))
    kernel.distances(windows.table, valid[left[other]], valid[right[other]], job.steps, out)
    return np.sort(out)
