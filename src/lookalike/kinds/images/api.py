"""Public API for images: find near-duplicate pictures in a folder, including crops, with an optional contact sheet."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from lookalike.core.formatting import count
from lookalike.core.options import accepts
from lookalike.core.run_options import Against, Grouping, GroupingOption, KeepPolicy, silent
from lookalike.core.trace import Trace
from lookalike.errors import UsageError
from lookalike.kinds.images.options import ImageOptions
from lookalike.kinds.images.spec import ImageJob
from lookalike.result import Asked, Result, answer, given_verdicts, wanted
from lookalike.runtime.engine_choice import spark_options

if TYPE_CHECKING:
    from lookalike.io.pictures import PictureFolder
    from lookalike.kinds.images.contact_sheet import Alignment
    from lookalike.kinds.images.geometry import Box
    from lookalike.runtime.spark.result import SparkResult


@overload
def pairs(
    source: Any, *, against: Any = ..., engine: Literal["spark"], **options: Unpack[ImageOptions]
) -> SparkResult: ...
@overload
def pairs(
    source: Any, *, against: Any = ..., engine: Literal["local"] = ..., **options: Unpack[ImageOptions]
) -> Result: ...
@accepts(ImageOptions)
def pairs(source: Any, *, against: Against = None, **options: Any) -> Result | SparkResult:
    """Find all near-duplicate pictures in a folder, or between two folders.

    Two pictures match if their perceptual hashes differ in few bits and their thumbnails correlate, either as a whole
    or in the part that they have in common. Needs the extra `images` (imagehash, OpenCV, Pillow). Files that are not
    pictures are skipped and listed in the receipt.

    All pairs of hashes are compared, so none within the bound is missed; common parts are looked up by local features,
    without a stated recall. 10,000 pictures take seconds, in addition to reading them.

    Parameters
    ----------
    source
        A folder, or paths of pictures. With `engine="spark"`, also a URL, or a DataFrame of path and content
        (Spark's binaryFile).

    Returns
    -------
    Result
        The table `pairs` has the columns left, right, bits, relation, and `evidence`, `features`, `likeness`,
        `left_part`, `right_part`, which say in what a pair agrees. With `engine="spark"` a SparkResult, whose
        tables are DataFrames.

    Examples
    --------
    >>> import lookalike as la, numpy as np, tempfile
    >>> from PIL import Image
    >>> folder = tempfile.mkdtemp()
    >>> photo = Image.fromarray(np.add.outer(np.arange(200), np.arange(300)).astype(np.uint8))
    >>> photo.save(folder + "/a.png"), photo.resize((150, 100)).save(folder + "/b.jpg")
    (None, None)
    >>> la.images.pairs(folder).pairs.select(["left", "right"]).to_pylist()
    [{'left': 'a.png', 'right': 'b.jpg'}]
    """
    return _run("pairs", source, against, "components", "first", options)


@overload
def groups(
    source: Any, *, grouping: Grouping = ..., keep: str = ..., engine: Literal["spark"], **options: Unpack[ImageOptions]
) -> SparkResult: ...
@overload
def groups(
    source: Any,
    *,
    grouping: Grouping = ...,
    keep: str = ...,
    engine: Literal["local"] = ...,
    **options: Unpack[ImageOptions],
) -> Result: ...
@accepts(ImageOptions)
def groups(
    source: Any, *, grouping: GroupingOption = "components", keep: KeepPolicy = "first", **options: Any
) -> Result | SparkResult:
    """Group near-duplicate pictures by their pairs.

    Parameters
    ----------
    source
        As for `pairs`.

    Returns
    -------
    Result
        The table `groups` has the columns id, group, size, representative. With `engine="spark"` a SparkResult,
        whose tables are DataFrames.

    Examples
    --------
    >>> import lookalike as la, numpy as np, tempfile
    >>> from PIL import Image
    >>> folder = tempfile.mkdtemp()
    >>> photo = Image.fromarray(np.add.outer(np.arange(200), np.arange(300)).astype(np.uint8))
    >>> photo.save(folder + "/a.png"), photo.resize((150, 100)).save(folder + "/b.jpg")
    (None, None)
    >>> la.images.groups(folder).groups["id"].to_pylist()
    ['a.png', 'b.jpg']
    """
    return _run("groups", source, None, grouping, keep, options)


@overload
def dedup(
    source: Any, *, against: Any = ..., keep: str = ..., engine: Literal["spark"], **options: Unpack[ImageOptions]
) -> SparkResult: ...
@overload
def dedup(
    source: Any, *, against: Any = ..., keep: str = ..., engine: Literal["local"] = ..., **options: Unpack[ImageOptions]
) -> Result: ...
@accepts(ImageOptions)
def dedup(source: Any, *, against: Against = None, keep: KeepPolicy = "first", **options: Any) -> Result | SparkResult:
    """Choose the pictures to keep. No file is deleted.

    `keep` by a column takes file, width, height, bytes, folder, modified (min: oldest), exif (the number of tags) and
    bytes_per_pixel (max: least compressed); longest means most pixels.

    Parameters
    ----------
    source
        As for `pairs`.

    Returns
    -------
    Result
        The tables `kept` (file, width, height, bytes) and `removed` (id, kept, bits). With `engine="spark"` a
        SparkResult, whose tables are DataFrames.

    Examples
    --------
    >>> import lookalike as la, numpy as np, tempfile
    >>> from PIL import Image
    >>> folder = tempfile.mkdtemp()
    >>> photo = Image.fromarray(np.add.outer(np.arange(200), np.arange(300)).astype(np.uint8))
    >>> photo.save(folder + "/a.png"), photo.resize((150, 100)).save(folder + "/b.jpg")
    (None, None)
    >>> la.images.dedup(folder, keep="longest").removed["id"].to_pylist()
    ['b.jpg']
    """
    return _run("dedup", source, against, "stars", keep, options)


def _run(
    asked: Asked, source: Any, against: Any, grouping: Grouping, keep: str, options: dict[str, Any]
) -> Result | SparkResult:
    from lookalike.io.atomic import check_place
    from lookalike.io.pictures import open_pictures
    from lookalike.kinds.images.local import PARTS_NEED, PICTURES_NEED, run
    from lookalike.runtime.local.memory_limit import MemoryLimit

    job_options = dict(options)
    verdicts = given_verdicts(job_options)
    cluster = spark_options(job_options, verdicts)
    progress: Any = job_options.pop("progress", silent)
    sheet, force = job_options.pop("sheet", None), job_options.pop("force", False)
    if job_options.get("parts") is None:
        job_options.pop("parts", None)
    job_options["cache"] = "" if job_options.get("cache") is None else os.fspath(job_options["cache"])
    if "max_bits" in job_options:
        job_options["threshold"] = job_options.pop("max_bits")
    for name in {"hashes", "relations"} & job_options.keys():
        job_options[name] = tuple(job_options[name])
    if cluster is not None:
        from lookalike.kinds.images.spark.run import run_images
        from lookalike.runtime.spark.result import SparkResult
        from lookalike.runtime.spark.session import check_options

        check_options(job_options)
        if sheet is not None:
            raise UsageError("`sheet` is made on one machine; on Spark leave it out.")
        if job_options.get("parts") or job_options.get("orientations"):
            raise UsageError("parts and orientations are compared on one machine; on Spark leave them out.")
        job = ImageJob(**job_options | {"parts": False})
        there = run_images([source, against], job, wanted(asked, grouping), keep, cluster, Trace(progress))
        return SparkResult(asked, grouping, there)
    memory = MemoryLimit.of(job_options)
    job = ImageJob(**job_options)
    if sheet is not None:
        if against is not None:
            raise UsageError("a sheet shows the groups of one folder; leave out the sheet, or the other folder.")
        check_place(Path(sheet), force=force)
    folders = [open_pictures(source)]
    if against is not None:
        folders.append(open_pictures(against))
    memory.check_input(folders, PARTS_NEED if job.parts else PICTURES_NEED)
    trace = Trace(progress)
    with memory.within(job) as limited:
        found = run(folders, limited, wanted(asked, grouping, verdicts), trace, keep=keep, memory=memory)
        result = answer(asked, grouping, limited, folders, found, trace, verdicts=verdicts)
    if sheet is not None:
        _write_sheet(result, folders[0], Path(sheet), force)
        result.receipt["sheet"] = str(sheet)
    return result


def _write_sheet(result: Result, folder: PictureFolder, path: Path, force: bool) -> None:
    from lookalike.kinds.images.contact_sheet import Shown, write_sheet

    files = folder.named_files()
    about = {row["file"]: (row["width"], row["height"], row["bytes"]) for row in folder.described}
    rows = result.groups.to_pylist()
    matches = _matches(result)
    groups: dict[int, list[Shown]] = {}
    for row in rows:
        name, kept = row["id"], row["representative"]
        shown = Shown(files[name], name, *about[name], name == kept, matches.get((name, kept)))
        groups.setdefault(row["group"], []).append(shown)
    note = f"{count(len(folder.ids), 'files')}, {count(len(groups), 'groups')} of {count(len(rows), 'images')}"
    note += f" · {result.job.words()}"
    write_sheet(
        path, groups.values(), title=f"Look-alikes in {folder.name}", note=note, broken=folder.broken, force=force
    )


def _matches(result: Result) -> dict[tuple[str, str], Alignment]:
    """Return how a picture matches another one, for all pairs in both directions."""
    from lookalike.kinds.images.contact_sheet import Alignment
    from lookalike.kinds.images.orientations import ORIENTATIONS
    from lookalike.kinds.images.parts import WHOLE

    matches = {}
    for row in result.pairs.to_pylist():
        left, right = row["left"], row["right"]
        boxes = [_box(row[side]) if row[side] else WHOLE for side in ("left_part", "right_part")]
        evidence = row["evidence"]
        words = f"{row['relation']} · {count(int(row['bits']), 'bits')}"
        if evidence not in ("hash", "part", "frame"):
            words += f" · {evidence}"
        turned = evidence if evidence in ORIENTATIONS else "mirrored" if evidence == "mirrored part" else ""
        matches[left, right] = Alignment(words, boxes[0], boxes[1], _inverse(turned))
        matches[right, left] = Alignment(words, boxes[1], boxes[0], turned)
    return matches


def _inverse(orientation: str) -> str:
    """Return the orientation that undoes another one: rotations change their sense, mirror images undo themselves.

    >>> _inverse("rotated 90"), _inverse("mirrored, rotated 90")
    ('rotated 270', 'mirrored, rotated 90')
    """
    return {"rotated 90": "rotated 270", "rotated 270": "rotated 90"}.get(orientation, orientation)


def _box(part: str) -> Box:
    left, top, right, bottom = (int(edge) / 100 for edge in part.split())
    return left, top, right, bottom
