"""Command-line options of `lookalike images pairs`, `groups` and `dedup`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lookalike.cli import options as o
from lookalike.cli.kind_commands import KindCommands
from lookalike.kinds.images.options import ImageOptions

if TYPE_CHECKING:
    from lookalike.io.pictures import PictureFolder


def open_folder(inputs: list[str], options: dict[str, Any], given: dict[str, Any]) -> PictureFolder:
    from lookalike.io.pictures import open_pictures

    return open_pictures(o.paths(inputs))


IMAGES = KindCommands(
    "images",
    "lookalike.kinds.images.api",
    ImageOptions,
    open_folder,
    inputs="Folders, files or globs of pictures: JPEG, PNG, WebP, TIFF, GIF, BMP.",
    score="bits",
    tidies=True,
    passes_force=True,
    near="near, within the threshold,",
)
