"""Index of faces: hash tables of a few measurements, quantised into ranges; planned for every pair that matches."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from lookalike.core.arrays import F32, F64, I64, U64, Scale
from lookalike.errors import InputError, UsageError
from lookalike.index.items import NEARLY_NOTHING, Batch, number_rows
from lookalike.index.kinds import too_loose
from lookalike.index.stable_random import order, uniform, words
from lookalike.index.store import Blobs, StoreCandidates, StoredKeys
from lookalike.io.pictures import has_pictures, is_picture, load_item
from lookalike.kinds.faces.kernels import measurements as kernels
from lookalike.kinds.faces.source import DEFAULT_GRID, measure, open_faces, parse_grid
from lookalike.kinds.faces.spec import (
    MAX_FACE_TABLES,
    PER_LOOKUP,
    PER_MEASUREMENT,
    RANGE_WIDTHS,
    RANGES_PER_KEY,
    FaceJob,
)

EXPECTED_FACES = 100_000  # number of items for which the tables are planned
SPREAD = 16.0  # assumed spread of the measurements, in tolerances, without a sample
SAMPLED_ROWS = 300  # rows of a sample that are compared with each other
PER_CANDIDATE = 60.0  # nanoseconds, like the costs in `kinds.faces.spec`


@dataclass(frozen=True)
class Ranges:
    """The hash tables of an index.

    bands: number of tables; rows: measurements in each; width: of a range; recall: for the pair that is hardest to
    find, which agrees in the required number of measurements and whose other ranges do not collide.
    """

    bands: int
    rows: int
    width: float
    recall: float


@dataclass(frozen=True, kw_only=True)
class FaceKind:
    """Rows of `dimensions` measurements that match if a share of at least `threshold` differ by at most `tolerance`.

    grid: columns and rows of blocks of a picture, one measurement each; "" for rows of numbers.
    """

    name: ClassVar[str] = "faces"
    scheme: ClassVar[str] = "ranges-1"
    queries_at_once: ClassVar[int | None] = 64
    is_own_feature: ClassVar[bool] = True
    scale: ClassVar[Scale] = FaceJob.scale

    dimensions: int
    grid: str = ""
    threshold: float = 0.5
    tolerance: float = 10.0
    recall: float = 0.95
    seed: int = 42
    ranges: Ranges

    @classmethod
    def options(cls) -> tuple[str, ...]:
        return ("threshold", "tolerance", "dimensions", "grid", "recall", "seed", "sample")

    @classmethod
    def make(cls, options: Mapping[str, Any]) -> Self:
        given = dict(options)
        planned, sample = given.pop("plan", None), given.pop("sample", None)
        grid = given.pop("grid", None)
        if "dimensions" not in given or grid:
            wide, high = parse_grid(grid or DEFAULT_GRID)
            grid = f"{wide}x{high}"
            if given.setdefault("dimensions", wide * high) != wide * high:
                raise UsageError(
                    f"dimensions is {given['dimensions']}, and a grid of {grid} makes {wide * high}; give one of them."
                )
        if given["dimensions"] < 1:
            raise UsageError(f"dimensions is {given['dimensions']}; expected how many measurements an item has.")
        own = {name: given.get(name, getattr(cls, name)) for name in ("threshold", "tolerance", "recall", "seed")}
        job = FaceJob(**own)
        ranges = _ranges(job, given["dimensions"], sample, grid) if planned is None else Ranges(**planned)
        return cls(**own, dimensions=given["dimensions"], grid=grid or "", ranges=ranges)

    def read(
        self, source: Any, column: str | None, id: str | None,  # noqa: A002
    ) -> Iterator[Batch]:  # fmt: skip
        """Yield the items of a source in batches, with their ids."""
        if has_pictures(source) and not self.grid:
            raise UsageError("pictures came; this index is of rows of numbers. Create one with a grid for pictures.")
        for batch in open_faces(source, column=column, id=id, grid=self.grid or DEFAULT_GRID).batches():
            bad = np.flatnonzero(~np.isfinite(batch.values).all(axis=1))
            if len(bad):
                row = int(bad[0])
                name = f"row {row}" if batch.ids is None else repr(batch.ids[row].as_py())
                raise InputError(
                    f"{batch.where}: {name} is no picture, or has measurements that are missing or not finite; "
                    "leave it out."
                )
            yield batch.values, batch.ids

    def settings(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in self.options() if name != "sample"}
        return own | {"plan": asdict(self.ranges)}

    def _job(self, threshold: float) -> FaceJob:
        return FaceJob(tolerance=self.tolerance, threshold=threshold, recall=self.recall, seed=self.seed)

    def plan(self) -> dict[str, Any]:
        made = self.ranges
        shape = f"{made.bands} tables of {made.rows} measurements"
        return {"shape": shape, "keys": made.bands, "recall_at_threshold": made.recall}

    def check(self, threshold: float | None) -> float:
        if threshold is None:
            return self.threshold
        self._job(threshold)
        if threshold < self.threshold:
            raise too_loose(threshold, self._job(self.threshold).words())
        return threshold

    def pieces(self, items: Any) -> Iterator[F32]:
        if isinstance(items, list | tuple) and items and all(map(is_picture, items)):
            if not self.grid:
                raise UsageError(
                    "pictures came; this index is of rows of numbers. Create one with a grid for pictures."
                )
            grid = parse_grid(self.grid)
            items = np.stack([measure(load_item(item), grid) for item in items])
        for rows in number_rows(items):
            if rows.shape[1] != self.dimensions:
                raise UsageError(
                    f"these items have {rows.shape[1]} measurements; this index is of items of {self.dimensions}."
                )
            if not np.isfinite(rows).all():
                row = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
                raise UsageError(
                    f"item {row} of a batch has measurements that are missing or not finite; leave it out."
                )
            yield rows

    def features(self, piece: F32) -> Blobs:
        return Blobs(piece.reshape(-1).view(np.uint8), np.arange(len(piece) + 1) * (4 * self.dimensions))

    def _values(self, features: Blobs) -> F32:
        return features.data.view(np.float32).reshape(-1, self.dimensions)

    @cached_property
    def _tables(self) -> tuple[I64, F64, float, U64]:
        """Return (measurements of each table, offsets of the ranges, their width, a salt for each table)."""
        made = self.ranges
        chosen = np.array([order(self.seed, 3 + t, self.dimensions)[: made.rows] for t in range(made.bands)])
        offsets = uniform(self.seed, 0, self.dimensions) * made.width
        return chosen, offsets, made.width, words(self.seed, 1, made.bands)

    def keys(self, features: Blobs) -> StoredKeys:
        out = np.empty((len(features), self.ranges.bands), np.uint64)
        kernels.range_keys(self._values(features), *self._tables, out)
        return StoredKeys(out.reshape(-1), np.arange(len(features) + 1) * self.ranges.bands)

    def probes(self, features: Blobs) -> StoredKeys:
        values, ends = self._values(features), np.zeros(len(features) + 1, np.int64)
        kernels.range_probes(values, *self._tables, self.tolerance, ends, np.empty(0, np.uint64))
        out = np.empty(int(ends[-1]), np.uint64)
        if len(out):
            kernels.range_probes(values, *self._tables, self.tolerance, ends, out)
        return StoredKeys(out, ends)

    def score(self, queries: Blobs, found: StoreCandidates, threshold: float) -> F64:
        found.check_sizes(4 * self.dimensions)
        need, out = self._job(threshold).need(self.dimensions), np.empty(len(found), np.float64)
        data, starts = found.data.view(np.float32), found.starts >> 2
        kernels.score_measurements(self._values(queries), found.query, data, starts, self.tolerance, need, out)
        return out

    def farthest(self, one: Blobs, other: Blobs) -> float:
        return NEARLY_NOTHING

    def raw(self, piece: F32) -> Blobs:
        return self.features(piece)

    def item(self, raw: bytes) -> list[float]:
        values: list[float] = np.frombuffer(raw, np.float32).tolist()
        return values


def _ranges(job: FaceJob, dimensions: int, sample: Any, grid: str | None) -> Ranges:
    """Return the cheapest tables that find every pair with the recall; measurements that agree always collide.

    How often other measurements collide affects only the cost. It is estimated from the sample; without one,
    measurements are assumed to be spread evenly.
    """
    need = job.need(dimensions)
    values = None if sample is None else _sampled(sample, dimensions, grid, job.seed)
    best: tuple[float, Ranges] | None = None
    for factor in RANGE_WIDTHS:
        width = factor * job.tolerance
        met = np.array([min(1.0, (factor + 2.0) / SPREAD)]) if values is None else _meeting(values, width, job)
        for rows in range(1, min(RANGES_PER_KEY[-1], need) + 1):
            chance = math.prod((need - i) / (dimensions - i) for i in range(rows))
            bands = 1 if chance >= 1 else math.ceil(math.log(1.0 - job.recall) / math.log1p(-chance) - 1e-9)
            if bands > MAX_FACE_TABLES:
                break
            scored = float(-np.expm1(bands * np.log1p(-(np.minimum(met, 1.0 - 1e-12) ** rows))).mean())
            cost = bands * (1.0 + 2.0 / factor) ** rows * PER_LOOKUP
            cost += EXPECTED_FACES * scored * (PER_CANDIDATE + dimensions * PER_MEASUREMENT)
            if best is None or cost < best[0]:
                best = cost, Ranges(bands, rows, width, 1.0 - (1.0 - chance) ** bands)
    if best is None:
        raise UsageError(
            f"no {MAX_FACE_TABLES} tables promise a recall of {job.recall:g} for {job.words()}. Ask for a larger "
            "share, or for a lower recall."
        )
    return best[1]


def _sampled(sample: Any, dimensions: int, grid: str | None, seed: int) -> F32:
    """Read rows of a sample: an array, a table, files, or a folder of pictures."""
    values = [batch.values for batch in open_faces(sample, grid=grid or DEFAULT_GRID).batches()]
    width = next((batch.shape[1] for batch in values if batch.shape[1] != dimensions), dimensions)
    if width != dimensions:
        raise UsageError(
            f"the sample has items of {width} measurements; this index is of items of {dimensions}. Give "
            f"`dimensions` {width}, or another sample."
        )
    rows: F32 = np.concatenate([np.empty((0, dimensions), np.float32), *values])
    rows = rows[np.isfinite(rows).all(axis=1)]
    if len(rows) < 2:
        raise UsageError("the sample has fewer than two items; give more of them, or leave the sample out.")
    return rows[np.sort(np.random.default_rng([seed, 5]).permutation(len(rows))[:SAMPLED_ROWS])]


def _meeting(values: F32, width: float, job: FaceJob) -> F64:
    """Return the share of the measurements whose ranges collide, for pairs of a sample."""
    left, right = np.nonzero(np.tri(len(values), k=-1))
    offsets = uniform(job.seed, 0, values.shape[1]) * width
    agree, meet = np.empty(len(left)), np.empty(len(left))
    kernels.meet_shares(values, left, right, offsets, width, job.tolerance, agree, meet)
    return meet
