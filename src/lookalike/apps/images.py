"""Images: near-duplicate pictures in a folder, crops too, with a contact sheet to look at."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, TypedDict, Unpack

from lookalike.engines.images import Hash, ImageJob, run
from lookalike.engines.job import refuse_unknown
from lookalike.engines.trace import Progress, Trace, silent
from lookalike.errors import UsageError
from lookalike.io.atomic import check_place
from lookalike.io.pictures import PictureFolder, open_pictures
from lookalike.io.sheet import Shown, write_sheet
from lookalike.result import Asked, Grouping, Result, answer, wanted


class Options(TypedDict, total=False):
    """What `pairs`, `groups` and `dedup` take beside the folder. All are keyword-only."""

    max_bits: float  # 10 of 64
    hashes: list[Hash] | tuple[Hash, ...]  # phash
    crops: bool  # True: also where one picture is a crop of the other
    min_likeness: float  # 0.7: correlation of the thumbnails
    max_pairs: int
    sheet: str | os.PathLike[str] | None  # an HTML page with the groups, to be written
    force: bool  # replace a sheet that exists
    threads: int | None
    progress: Progress


def pairs(source: Any, *, against: Any = None, **options: Unpack[Options]) -> Result:
    """All pairs of pictures in a folder (or between two) whose perceptual hashes differ in few bits and whose
    thumbnails are alike. Needs the extra `images` (imagehash, Pillow). Files that are no pictures are set aside: the
    receipt lists them.

    All pairs of hashes are compared, so none is missed; 10,000 pictures take seconds, beside reading them.
    """
    return _run("pairs", source, against, "components", "first", options)


def groups(
    source: Any, *, grouping: Grouping = "components", keep: str = "first", **options: Unpack[Options]
) -> Result:
    """Groups of near-duplicate pictures; keep: as for `dedup`."""
    return _run("groups", source, None, grouping, keep, options)


def dedup(source: Any, *, against: Any = None, keep: str = "first", **options: Unpack[Options]) -> Result:
    """The pictures to keep, as rows of file, width, height and bytes. Nothing is deleted.

    keep: first, last, longest (most pixels), shortest, max:bytes and the like.
    """
    return _run("dedup", source, against, "stars", keep, options)


def _run(asked: Asked, source: Any, against: Any, grouping: Grouping, keep: str, options: Options) -> Result:
    job_options: dict[str, Any] = dict(options)
    refuse_unknown(job_options, Options)
    progress: Any = job_options.pop("progress", silent)
    sheet, force = job_options.pop("sheet", None), job_options.pop("force", False)
    if "max_bits" in job_options:
        job_options["threshold"] = job_options.pop("max_bits")
    if "hashes" in job_options:
        job_options["hashes"] = tuple(job_options["hashes"])
    job = ImageJob(**job_options)
    if sheet is not None:
        if against is not None:
            raise UsageError("a sheet shows the groups of one folder; leave out the sheet, or the other folder.")
        check_place(Path(sheet), force=force)
    folders = [open_pictures(source)]
    if against is not None:
        folders.append(open_pictures(against))
    trace = Trace(progress)
    found = run(folders, job, wanted(asked, grouping), trace, keep=keep)
    result = answer(asked, grouping, job, folders, found, trace)
    if sheet is not None:
        _write_sheet(result, folders[0], Path(sheet), force)
        result.receipt["sheet"] = str(sheet)
    return result


def _write_sheet(result: Result, folder: PictureFolder, path: Path, force: bool) -> None:
    files = dict(zip(folder.ids, folder.files, strict=True))
    sizes = {row["file"]: f"{row['width']} x {row['height']}" for row in folder.described}
    rows = result.groups.to_pylist()
    groups: dict[int, list[Shown]] = {}
    for row in rows:
        name = row["id"]
        shown = Shown(files[name], name, sizes[name], name == row["representative"])
        groups.setdefault(row["group"], []).append(shown)
    note = f"{len(folder.ids):,} files, {len(groups):,} groups of {len(rows):,} images · {result.job.words()}"
    write_sheet(
        path, groups.values(), title=f"Look-alikes in {folder.name}", note=note, broken=folder.broken, force=force
    )
