"""Command-line options of `lookalike images pairs`, `groups` and `dedup`."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from lookalike.cli import options as o
from lookalike.cli.kind_commands import KindCommands

if TYPE_CHECKING:
    from lookalike.io.pictures import PictureFolder


class ImageHash(Enum):
    ahash = "ahash"
    phash = "phash"
    dhash = "dhash"
    whash = "whash"


def open_folder(inputs: list[str], options: dict[str, Any], given: dict[str, Any]) -> PictureFolder:
    from lookalike.io.pictures import open_pictures

    return open_pictures(o.paths(inputs))


def image_options(
    max_bits: Annotated[int, o.option(o.WHAT, "-d", "--max-bits", help="Bits of 64 in which hashes may differ.")] = 10,
    hashes: Annotated[
        list[ImageHash], o.option(o.WHAT, "--hash", help="Hash of the whole picture; several: the mean of their bits.")
    ] = [ImageHash.phash],  # noqa: B006  (typer takes a list as the default of a repeated option)
    crops: Annotated[
        bool, o.option(o.WHAT, "--crops/--no-crops", help="Also compare windows of other shapes, to find crops.")
    ] = True,
    min_likeness: Annotated[
        float, o.option(o.WHAT, help="Correlation of the thumbnails from which a pair is believed, -1 to 1.")
    ] = 0.7,
    parts: Annotated[
        bool | None,
        o.option(
            o.WHAT,
            "--parts/--no-parts",
            show_default=False,
            help="Also find pictures that have a part in common, by local features (default; not on Spark).",
        ),
    ] = None,
    orientations: Annotated[
        bool, o.option(o.WHAT, "--orientations", help="Also find pictures that are rotated by 90 degrees or mirrored.")
    ] = False,
    sheet: Annotated[Path | None, o.option(o.RUN, help="Write an HTML page that shows the groups.")] = None,
    max_pairs: o.MaxPairs = 100_000_000,
    threads: o.Threads = None,
    engine: o.Where = o.Engine.local,
    master: o.Master = None,
    spark_conf: o.SparkConf = None,
) -> None:
    """Declare the options of images pairs, groups and dedup; this function is never called."""


IMAGES = KindCommands(
    "images",
    "lookalike.kinds.images.api",
    image_options,
    open_folder,
    score="bits",
    passes_force=True,
    near="near, within the threshold,",
)
