"""Write a contact sheet: the groups of pictures as one self-contained HTML page."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from lookalike.core.formatting import count
from lookalike.io.atomic import check_place, replacing
from lookalike.io.pictures import pillow

EDGE = 220  # maximum width and height of a thumbnail in pixels

SHEET_TEMPLATE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 15px/1.4 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }}
h1 {{ font-size: 1.4rem; }} h2 {{ font-size: 1rem; margin: 1.5rem 0 .5rem; }}
section {{ border-top: 1px solid #8884; padding-bottom: 1.25rem; }}
.row {{ display: flex; flex-wrap: wrap; gap: 1rem; align-items: start; }}
figure {{ margin: 0; width: {edge}px; }}
figure .box {{ display: flex; align-items: end; height: {edge}px; }}
figure img {{ display: block; max-width: 100%; max-height: 100%; border-radius: 4px; }}
figure.kept img, .ring {{ outline: 3px solid #2a8; }}
.ring {{ display: inline-block; width: .7em; height: .7em; margin: 0 .2em; }}
figcaption {{ font-size: .8rem; overflow-wrap: anywhere; margin-top: .3rem; }}
.note {{ color: #777; }}
</style></head><body>
<h1>{title}</h1><p class="note">{note}{ring}</p>
{groups}
{broken}
</body></html>
"""


RING = ' · <span class="ring"></span> the image of each group that is kept'


class Shown(NamedTuple):
    """One picture of a group: its file, name, a line of description, and whether it represents the group."""

    file: Path
    name: str
    about: str
    kept: bool


def write_sheet(
    path: Path, groups: Iterable[Sequence[Shown]], *, title: str, note: str, broken: Sequence[tuple[str, str]] = (),
    force: bool = False,
) -> None:  # fmt: skip
    """Write the page atomically. Every name is escaped, because a file name may contain any character."""
    check_place(path, force=force)
    parts = []
    shown_groups = list(groups)
    for number, group in enumerate(shown_groups):
        figures = "\n".join(_figure(shown) for shown in group)
        head = f"Group {number} · {count(len(group), 'images')}"
        parts.append(f'<section><h2>{head}</h2><div class="row">\n{figures}\n</div></section>')
    listed = ""
    if broken:
        rows = "".join(f"<li>{html.escape(name)}: {html.escape(reason)}</li>" for name, reason in broken)
        listed = f"<section><h2>Left out · {count(len(broken), 'files')}</h2><ul>{rows}</ul></section>"
    page = SHEET_TEMPLATE.format(
        title=html.escape(title), note=html.escape(note), edge=EDGE, broken=listed,
        ring=RING if any(shown.kept for group in shown_groups for shown in group) else "",
        groups="\n".join(parts) or "<p>No two images are alike.</p>",
    )  # fmt: skip
    with replacing(path, force=force) as draft:
        data = page.encode("utf-8", "replace")
        draft.nbytes = len(data)
        draft.path.write_bytes(data)


def _figure(shown: Shown) -> str:
    kept = ' class="kept"' if shown.kept else ""
    name, about = html.escape(shown.name), html.escape(shown.about)
    return (
        f'<figure{kept}><div class="box"><img src="{thumbnail(shown.file)}" alt="{name}" loading="lazy"></div>'
        f'<figcaption>{name}<br><span class="note">{about}</span></figcaption></figure>'
    )


def thumbnail(file: Path, edge: int = EDGE) -> str:
    """Return the picture as a small JPEG in a data URL, or "" if it cannot be read."""
    try:
        with pillow().open(file) as image:
            image.draft("RGB", (edge, edge))
            small = image.convert("RGB")
            small.thumbnail((edge, edge))
    except (OSError, ValueError, SyntaxError):  # the file has changed since it was hashed
        return ""
    buffer = io.BytesIO()
    small.save(buffer, "JPEG", quality=80)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode()
