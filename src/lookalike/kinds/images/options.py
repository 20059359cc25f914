"""The options of `pairs`, `groups` and `dedup` of images."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

from lookalike.core import run_options as shared
from lookalike.core.options import SIMILARITY_PANEL, Option

Hash = Literal["ahash", "phash", "dhash", "whash"]
Relation = Literal["copy", "part", "frame", "burst"]


class ImageOptions(shared.SparkOptions, total=False):
    """The options of `pairs`, `groups` and `dedup`."""

    max_bits: Annotated[
        float,
        Option(10, "Largest number of bits, of 64, in which two hashes differ.", flags=("-d", "--max-bits"),
               panel=SIMILARITY_PANEL, range="[0, 64]", expected="a whole number from 0 to 64", command_type=int,
               reason="10 of 64 bits of a perceptual hash is the usual bound"),
    ]  # fmt: skip
    hashes: Annotated[
        list[Hash] | tuple[Hash, ...],
        Option(("phash",), "Hash of the whole picture; for several, the mean of their differing bits counts.",
               flags=("--hash",), panel=SIMILARITY_PANEL),
    ]  # fmt: skip
    crops: Annotated[
        bool,
        Option(True, "Find pairs in which one picture is a crop of the other, too.", flags=("--crops/--no-crops",),
               panel=SIMILARITY_PANEL),
    ]  # fmt: skip
    min_likeness: Annotated[
        float,
        Option(0.7, "Lowest correlation of the thumbnails of a pair.", panel=SIMILARITY_PANEL, range="[-1, 1]",
               expected="a correlation from -1 to 1"),
    ]  # fmt: skip
    parts: Annotated[
        bool | None,
        Option(None, "Find pictures that have a part in common, too, by local features.", unset="yes; on Spark no",
               flags=("--parts/--no-parts",), panel=SIMILARITY_PANEL, local_only=True),
    ]  # fmt: skip
    orientations: Annotated[
        bool,
        Option(
            False,
            "Find pictures that are rotated by 90 degrees or mirrored, too.",
            panel=SIMILARITY_PANEL,
            local_only=True,
        ),
    ]
    relations: Annotated[
        list[Relation] | tuple[Relation, ...],
        Option(("copy", "part", "frame"), "What matching pictures may be to each other (repeatable).",
               flags=("--relation",), panel=SIMILARITY_PANEL, local_only=True),
    ]  # fmt: skip
    sheet: Annotated[
        str | os.PathLike[str] | None,
        Option(None, "Path of an HTML page that shows the groups.", unset="none", command_type=Path | None,
               local_only=True),
    ]  # fmt: skip
    force: Annotated[bool, Option(False, "Replace a sheet that exists.", python_only=True, local_only=True)]
    cache: Annotated[
        str | os.PathLike[str] | None,
        Option(None, "Folder in which hashes are kept for later runs, or none.", unset="~/.cache/lookalike/pictures",
               command_type=str | None, metavar="FOLDER", local_only=True),
    ]  # fmt: skip
    max_pairs: shared.MaxPairs
    verdicts: shared.Verdicts
    threads: shared.Threads
    memory: shared.MemoryLimitOption
    progress: shared.ProgressOption
