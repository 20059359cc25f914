"""Pictures on Spark: hashed by the tasks that read them, and joined block by block by the local engine."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import Pairs
from lookalike.core.arrow import as_arrow
from lookalike.core.keep_policy import preferred_column
from lookalike.core.method_choice import Choice
from lookalike.core.trace import Trace
from lookalike.errors import InputError, UsageError
from lookalike.io.pictures import PICTURES, PictureFolder, left_out, no_pictures, open_pictures
from lookalike.kinds.images.icons import ICON_BYTES
from lookalike.kinds.images.local import all_pairs
from lookalike.kinds.images.local_features import LocalFeatures
from lookalike.kinds.images.reading import Hashed, view_of
from lookalike.kinds.images.spec import ImageJob
from lookalike.runtime.local.pool import Pool
from lookalike.runtime.run_output import OutputKind
from lookalike.runtime.spark.arrow_batches import mapped, nothing, numbers
from lookalike.runtime.spark.block_join import across, cell_edges, cell_sides
from lookalike.runtime.spark.block_join_run import CellRun
from lookalike.runtime.spark.file_names import plain
from lookalike.runtime.spark.read_items import read_items
from lookalike.runtime.spark.session import open_session, quiet, tune
from lookalike.runtime.spark.sources import PLACE, PathArguments, SparkSource, is_read_by_spark, reached

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

IMAGES_PER_BLOCK = 1 << 12  # with crops, a picture takes 12 kB
MAX_LISTED_FILES = 1000  # maximum number of unreadable files listed in a receipt
READ = f"file string, width long, height long, bytes long, views binary, reason string, {PLACE} long"
IMAGE_FEATURES = "size int, print long, other long, length long, views binary, keys binary, places binary"


@dataclass(frozen=True)
class ImageFiles(SparkSource):
    """Pictures that were read: file, width, height, bytes; internal columns: views, or the reason of a failure."""

    @property
    def columns(self) -> tuple[str, ...]:
        return PictureFolder.columns

    @cached_property
    def broken(self) -> list[tuple[str, str]]:
        rows = (
            self.frame.where("reason is not null")
            .orderBy(PLACE)
            .limit(MAX_LISTED_FILES)
            .select("file", "reason")
            .collect()
        )
        return [(row["file"], row["reason"]) for row in rows]

    def describe(self) -> dict[str, Any]:
        broken = [{"file": file, "reason": reason} for file, reason in self.broken]
        return {"name": self.name, "broken": broken, "origin": super().describe()["origin"]}


def run_images(
    sources: Sequence[Any], job: ImageJob, want: OutputKind, keep: str, cluster: dict[str, Any], trace: Trace
) -> ImageRun:
    """Create the run over the pictures of one source, or of two if the second is not None."""
    session = open_session(**cluster)
    origins = [_open(session, source, job) for source in sources if source is not None]
    tune(session, [])
    return ImageRun(origins, job, want, keep, "error", trace)


def _open(session: SparkSession, source: Any, job: ImageJob) -> ImageFiles:
    """Open local files or a folder (which the executors must also see), a URL, or a DataFrame of path and content."""
    from pyspark.sql import DataFrame

    paths = [source] if isinstance(source, str | os.PathLike) else source
    if isinstance(source, DataFrame):
        if not {"path", "content"} <= set(source.columns):
            raise UsageError(
                "a DataFrame of pictures has the columns path and content, as the format binaryFile gives."
            )
        return _of_contents(source, "the DataFrame", "", job)
    if not is_read_by_spark(source) and not isinstance(source, list | tuple | PathArguments):
        raise no_pictures(source)
    names = [os.fspath(path) for path in paths]
    if any("://" in name for name in names):
        if len(names) > 1:
            raise UsageError(f"{names[0]} and others: give one URL of pictures at a time.")
        if not reached(session, names[0])[1]:
            raise InputError(f"no such file or folder: {names[0]}.")
        frame = session.read.format("binaryFile").option("recursiveFileLookup", "true").load(names[0])
        good = " or ".join(f"lower(path) like '%{ending}'" for ending in PICTURES)
        return _of_contents(frame.where(good), names[0], plain(names[0]).rstrip("/") + "/", job)
    folder = open_pictures([Path(name) for name in names] if len(names) > 1 else Path(names[0]))
    files = [str(file.absolute()) for file in folder.files]
    table = pa.table({"file": folder.ids, "path": files, PLACE: as_arrow(np.arange(len(files)))})
    with quiet():
        listed = session.createDataFrame(table).repartition(4 * session.sparkContext.defaultParallelism)

    def work(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        read = [view_of(Path(path), file, job) for path, file in zip(*_lists(batch, "path", "file"), strict=True)]
        yield _described(batch["file"], batch[PLACE], read)

    frame = mapped(listed, work, READ).persist()
    return ImageFiles(folder.name, frame, "views", "file", "column", {}, given=folder.given, files=tuple(files))


def _of_contents(frame: DataFrame, name: str, root: str, job: ImageJob) -> ImageFiles:
    """Create the source of pictures that Spark has read; their ids are their paths below the root."""
    from lookalike.runtime.spark.row_numbers import numbered

    listed = numbered(frame.select("path"), ["path"], PLACE).join(frame.select("path", "content"), "path")

    def work(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        paths, contents = _lists(batch, "path", "content")
        ids = [plain(path).removeprefix(root) for path in paths]
        read = [view_of(Path(path), id_, job, content) for path, id_, content in zip(paths, ids, contents, strict=True)]
        yield _described(pa.array(ids, pa.string()), batch[PLACE], read)

    return ImageFiles(name, mapped(listed, work, READ).persist(), "views", "file", "column", {})


def _lists(batch: pa.RecordBatch, *names: str) -> list[list[Any]]:
    return [batch[name].to_pylist() for name in names]


def _described(files: pa.Array, places: pa.Array, read: Sequence[Any]) -> pa.RecordBatch:
    sizes = [[size and size[which] for size, _, _ in read] for which in range(3)]
    views = [None if made is None else _packed(size, made) for size, made, _ in read]
    reasons = [reason or None for _, _, reason in read]
    columns = [files, *(pa.array(one, pa.int64()) for one in sizes), pa.array(views, pa.binary())]
    return pa.record_batch([*columns, pa.array(reasons, pa.string()), places],
                           ["file", "width", "height", "bytes", "views", "reason", PLACE])  # fmt: skip


def _packed(size: tuple[int, int, int], made: Any) -> bytes:
    """Pack the features of a picture: pixels, shape, number of hashes and of windows; the hashes; the thumbnails."""
    whole, windows, thumbs, shape = made
    head = np.array([size[0] * size[1], shape, len(whole), len(windows)], np.int64)
    return b"".join(part.tobytes() for part in (head, whole, windows, thumbs))


def hashed_of(views: Sequence[bytes]) -> Hashed:
    """Unpack the features of pictures that were hashed with the same options."""
    heads = np.array([np.frombuffer(one, np.int64, 4) for one in views])
    hashes, windows = (int(heads[0, 2]), int(heads[0, 3])) if len(views) else (1, 1)
    at, end = 32 + 8 * hashes, 32 + 8 * (hashes + windows)
    thumbs = np.stack([np.frombuffer(one[end:], np.uint8) for one in views])
    empty = np.empty((0, 2), np.uint64)
    return Hashed(
        np.arange(len(views)), np.arange(len(views)),
        np.stack([np.frombuffer(one[32:at], np.uint64) for one in views]),
        np.stack([np.frombuffer(one[at:end], np.uint64) for one in views]),
        heads[:, 1].copy(), thumbs.__getitem__, empty, np.zeros(len(views) + 1, np.int64), _no_features, empty,
        np.ones((len(views), 2), np.int64), np.zeros((len(views), ICON_BYTES), np.uint8),
    )  # fmt: skip


def _no_features(frame: int) -> LocalFeatures:
    raise NotImplementedError  # parts are compared on one machine


@dataclass(frozen=True)
class ImageRun(CellRun):
    """The run over pictures: the same DataFrames as a run over documents. Pictures are never merged into classes."""

    origins: Sequence[ImageFiles]
    job: ImageJob

    payload = "views"

    def __post_init__(self) -> None:
        column = preferred_column(self.keep)
        if column is not None and column not in PictureFolder.columns:
            raise InputError(f"no column {column!r} for pictures. Columns: {', '.join(PictureFolder.columns)}.")

    @cached_property
    def things(self) -> DataFrame:
        def make(batch: pa.RecordBatch) -> Iterator[tuple[pa.RecordBatch, dict[str, pa.Array]]]:
            n, views = batch.num_rows, batch["text"]
            pixels = [0 if one is None else int.from_bytes(one[:8], "little") for one in views.to_pylist()]
            yield batch, {
                "size": views.is_valid().cast(pa.int32()),
                "print": batch["item"],
                "other": as_arrow(np.zeros(n, np.int64)),
                "length": pa.array(pixels, pa.int64()),
                "views": views,
                "keys": nothing(n),
                "places": nothing(n),
            }  # fmt: skip

        made = read_items(self.origins, make, IMAGE_FEATURES, preferred=preferred_column(self.keep))
        return self.roots.keep(made.withColumn("print", made["item"]))  # keeps the items of two folders apart

    @property
    def choice(self) -> Choice:
        return Choice("exact", {}, "all pairs of hashes are compared")

    @cached_property
    def edges(self) -> DataFrame:
        job = self.job

        def join(cell: pa.RecordBatch, split: int) -> Pairs:
            apart, real = cell_sides(cell, split)
            order = np.argsort(numbers(cell, "item"))  # the chosen view depends on which picture comes first
            hashed = hashed_of(cell["views"].take(as_arrow(order)).to_pylist())
            with Pool(1) as pool:
                found = all_pairs(hashed, apart[order], job, pool, Trace())
            return across(Pairs(order[found.left], order[found.right], found.similarity), real)

        return self.roots.keep(
            cell_edges(self.listed, IMAGES_PER_BLOCK, -(-self.classes // IMAGES_PER_BLOCK), join, "views")
        )

    def counted(self) -> dict[str, int]:
        row = self.things.selectExpr("count(1) as images", "count_if(size = 0) as broken").collect()[0]
        for origin in self.origins:
            if omission := left_out(origin.name, origin.broken):
                self.trace.warnings.append(omission)
        return dict(row.asDict())

    def forget(self) -> None:
        super().forget()
        for origin in self.origins:
            origin.frame.unpersist()
