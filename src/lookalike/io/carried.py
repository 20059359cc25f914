"""Carry the time of change and the EXIF data of a removed file over to the one that is kept, and take them back."""

from __future__ import annotations

import shutil
from pathlib import Path

from lookalike.io import disk
from lookalike.io.leftovers import hidden_name

START_OF_JPEG, EXIF_SEGMENT, EXIF_MARK = b"\xff\xd8", b"\xff\xe1", b"Exif\0\0"
MAX_EXIF_BYTES = 65_533  # bytes of a segment after its two bytes of length


def carried_exif(kept: Path, file: Path) -> bytes:
    """Return the JPEG segment with the EXIF data of `file` if `kept` is a JPEG file without any, else b"".

    The pixels of the kept file stay as they are, so its orientation is upright and its thumbnail is left out.
    """
    from lookalike.io.pictures import EXIF_ORIENTATION, pillow

    try:
        with pillow().open(kept) as picture:
            if picture.format != "JPEG" or "exif" in picture.info:
                return b""
        with pillow().open(file) as picture:
            tags = picture.getexif()
            if "exif" not in picture.info or not len(tags):
                return b""
            if EXIF_ORIENTATION in tags:
                tags[EXIF_ORIENTATION] = 1
            data = EXIF_MARK + bytes(tags.tobytes()).removeprefix(EXIF_MARK)
    except Exception:  # Pillow raises many types of errors for broken files; other files have no EXIF data
        return b""
    if len(data) > MAX_EXIF_BYTES:
        return b""
    segment: bytes = EXIF_SEGMENT + (len(data) + 2).to_bytes(2, "big") + data
    return segment


def carry(kept: Path, modified_ns: int, segment: bytes) -> None:
    """Give a file this time of change and, if it is not b"", this segment after the first two bytes."""
    if segment:
        _rewrite(kept, START_OF_JPEG, START_OF_JPEG + segment)
    disk.system.set_modified(kept, modified_ns)


def take_back(kept: Path, modified_ns: int, segment: bytes) -> bool:
    """Undo `carry`: remove the segment, set the time. Return whether the file was still as `carry` left it."""
    if segment:
        with disk.open_file(kept, "rb") as file:
            if file.read(2 + len(segment)) != START_OF_JPEG + segment:
                return False
        _rewrite(kept, START_OF_JPEG + segment, START_OF_JPEG)
    disk.system.set_modified(kept, modified_ns)
    return True


def _rewrite(path: Path, old: bytes, new: bytes) -> None:
    """Replace the first bytes of a file; the file is replaced at once."""
    draft = hidden_name(path, "tmp")
    try:
        with disk.open_file(path, "rb") as source, disk.open_file(draft, "wb") as target:
            source.seek(len(old))
            target.write(new)
            shutil.copyfileobj(source, target)
        shutil.copystat(path, draft)
        disk.sync_file(draft)
        disk.system.replace(draft, path)
    finally:
        disk.unlink(draft, missing_ok=True)
