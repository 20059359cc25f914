"""Write a contact sheet: the groups of pictures as one self-contained HTML page, each pair aligned for comparison."""

from __future__ import annotations

import base64
import hashlib
import html
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lookalike.core.formatting import count, percent, size
from lookalike.io.atomic import check_place, replacing
from lookalike.io.pictures import pillow
from lookalike.kinds.images.geometry import Box
from lookalike.kinds.images.parts import WHOLE

if TYPE_CHECKING:
    from PIL.Image import Image

EDGE = 220  # maximum width and height of a thumbnail in pixels, as in the style sheet
COMPARED_EDGE = 640  # the same of a picture that is compared with the kept one
MAX_COMPARED = 200  # pictures that can be compared on one page, which takes about 100 kB for each
JPEG_QUALITY = 80

SHEET_TEMPLATE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline';
 script-src 'sha256-{digest}'">
<title>{title}</title>
<style>{style}</style></head><body>
<h1>{title}</h1><p class="note">{note}{ring}</p>
{groups}
{broken}
<script>{script}</script></body></html>
"""


LEGEND = ' · <span class="ring"></span> the image of each group that is kept'
QUARTER_TURNS = {"rotated 90": 1, "rotated 180": 2, "rotated 270": 3}


class Alignment(NamedTuple):
    """How a picture matches the kept one: words, the parts that correspond, and how it is turned ("" if it is not)."""

    words: str
    part: Box = WHOLE
    kept_part: Box = WHOLE
    orientation: str = ""


class Shown(NamedTuple):
    """One picture of a group: its file, name, size, whether it represents the group, and how it matches that one."""

    file: Path
    name: str
    width: int
    height: int
    nbytes: int
    kept: bool
    match: Alignment | None = None


def write_sheet(
    path: Path, groups: Iterable[Sequence[Shown]], *, title: str, note: str, broken: Sequence[tuple[str, str]] = (),
    force: bool = False,
) -> None:  # fmt: skip
    """Write the page atomically. Every name is escaped, because a file name may contain any character."""
    check_place(path, force=force)
    parts = []
    shown_groups = list(groups)
    left = MAX_COMPARED
    for number, group in enumerate(shown_groups):
        kept = next((shown for shown in group if shown.kept), None)
        figures = [_figure(shown, kept) for shown in group]
        compared = [shown for shown in group if kept is not None and shown.match is not None][:left]
        left -= len(compared)
        figures += [_comparison(shown, kept) for shown in compared if kept is not None]
        head = f"Group {number} · {count(len(group), 'images')}"
        shown_pictures = "\n".join(figures)
        parts.append(f'<section><h2>{head}</h2><div class="row">\n{shown_pictures}\n</div></section>')
    if not left:
        note += f" · the first {MAX_COMPARED} can be compared"
    listed = ""
    if broken:
        rows = "".join(f"<li>{html.escape(name)}: {html.escape(reason)}</li>" for name, reason in broken)
        listed = f"<section><h2>Left out · {count(len(broken), 'files')}</h2><ul>{rows}</ul></section>"
    script = _part_of_page("js")
    page = SHEET_TEMPLATE.format(
        title=html.escape(title), note=html.escape(note), broken=listed, style=_part_of_page("css"),
        ring=LEGEND if any(shown.kept for group in shown_groups for shown in group) else "", script=script,
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        groups="\n".join(parts) or "<p>No two images are alike.</p>",
    )  # fmt: skip
    with replacing(path, force=force) as draft:
        data = page.encode("utf-8", "replace")
        draft.nbytes = len(data)
        draft.path.write_bytes(data)


def _part_of_page(ending: str) -> str:
    """Return the style sheet or the script of the page."""
    return Path(__file__).with_suffix(f".{ending}").read_text("utf-8")


def _figure(shown: Shown, kept: Shown | None) -> str:
    name = html.escape(shown.name)
    about = f"{shown.width} × {shown.height} · {size(shown.nbytes)}"
    if shown.kept:
        about += ' · <span class="tag">kept</span>'
    elif kept is not None:
        about += f"<br>{html.escape(difference(shown, kept))}"
    return (
        f'<figure{" class=kept" if shown.kept else ""}><div class="box">'
        f'<img src="{thumbnail(shown.file)}" alt="{name}" loading="lazy"></div>'
        f'<figcaption>{name}<br><span class="note">{about}</span></figcaption></figure>'
    )


def difference(shown: Shown, kept: Shown) -> str:
    """Return what differs from the kept picture: the kind of match, pixels and bytes."""
    pixels, kept_pixels = shown.width * shown.height, kept.width * kept.height
    words = [] if shown.match is None else [shown.match.words]
    if pixels != kept_pixels:
        words.append(f"{percent(pixels / kept_pixels, 0)} of the pixels")
    if shown.nbytes != kept.nbytes:
        words.append(f"{percent(shown.nbytes / max(1, kept.nbytes), 0)} of the bytes")
    return " · ".join(words)


def _comparison(shown: Shown, kept: Shown) -> str:
    """Return the parts of two pictures that correspond, one above the other, with a slider and a switch to blink."""
    if shown.match is None:
        return ""
    below, above = _opened(kept.file), _opened(shown.file)
    if below is None or above is None:
        return ""
    below = _cut(below, shown.match.kept_part)
    above = _turned(_cut(above, shown.match.part), shown.match.orientation)
    below.thumbnail((COMPARED_EDGE, COMPARED_EDGE))
    above = above.resize(below.size)
    name = html.escape(shown.name)
    return (
        f"<details><summary>Compare {name} with {html.escape(kept.name)}</summary>"
        f'<div class="pair"><img src="{_data_url(below)}" alt="{html.escape(kept.name)}">'
        f'<img src="{_data_url(above)}" alt="{name}"></div>'
        '<div class="tools"><input type="range" value="50" aria-label="How much of the kept picture is shown">'
        '<label><input type="checkbox"> blink</label></div></details>'
    )


def _cut(image: Image, part: Box) -> Image:
    width, height = image.size
    left, top = int(part[0] * width), int(part[1] * height)
    return image.crop((left, top, max(left + 1, round(part[2] * width)), max(top + 1, round(part[3] * height))))


def _turned(image: Image, orientation: str) -> Image:
    """Turn a picture back as the kept one is; orientation: how the kept one lies relative to it."""
    turn = pillow().Transpose
    quarter = QUARTER_TURNS.get(orientation.removeprefix("mirrored").removeprefix(", "), 0)
    if orientation.startswith("mirrored"):
        image = image.transpose(turn.FLIP_LEFT_RIGHT)
    return image.rotate(90 * quarter, expand=True) if quarter else image


def thumbnail(file: Path, edge: int = EDGE) -> str:
    """Return the upright picture as a small JPEG in a data URL, or "" if it cannot be read."""
    small = _opened(file, edge)
    if small is None:
        return ""
    small.thumbnail((edge, edge))
    return _data_url(small)


def _opened(file: Path, edge: int = 2 * COMPARED_EDGE) -> Image | None:
    """Open a picture in its upright orientation, reduced if its format makes that easy."""
    from PIL import ImageOps

    try:
        with pillow().open(file) as image:
            image.draft("RGB", (edge, edge))
            return ImageOps.exif_transpose(image).convert("RGB")
    except Exception:  # the file has changed since it was hashed; Pillow raises many types of errors
        return None


def _data_url(image: Image) -> str:
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=JPEG_QUALITY)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode()
