"""Move files to the trash of the desktop, as the FreeDesktop specification says, and report where they went.

Libraries for the trash do not tell the new place of a file, which is needed to bring it back.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from urllib.parse import quote

from lookalike.errors import UsageError
from lookalike.io import disk


def trash_place(file: Path) -> Path:
    """Reserve a name in the trash for an absolute path, and return it. The caller then renames the file to it."""
    if sys.platform == "win32":
        raise UsageError("the trash of Windows is not supported; use apply='move:FOLDER', which can be undone as well.")
    if sys.platform == "darwin":
        return _free_name(Path.home() / ".Trash", file.name)
    home = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share") / "Trash"
    if _device(home) == file.lstat().st_dev:
        trash, shown = home, str(file)
    else:
        top = _mount_point(file)
        trash, shown = top / f".Trash-{os.getuid()}", str(file.relative_to(top))
    for folder in (trash / "files", trash / "info"):
        disk.make_folders(folder, 0o700)
    now = disk.system.now().astimezone()
    info = f"[Trash Info]\nPath={quote(os.fsencode(shown))}\nDeletionDate={now:%Y-%m-%dT%H:%M:%S}\n"
    return _reserved(trash, file.name, info)


def forget_trashed(place: Path) -> None:
    """Remove the description of a file that has left the trash."""
    disk.unlink(place.parent.parent / "info" / f"{place.name}.trashinfo", missing_ok=True)


def _reserved(trash: Path, name: str, info: str) -> Path:
    number = 1
    while True:
        numbered = name if number == 1 else f"{Path(name).stem} {number}{Path(name).suffix}"
        try:
            described = trash / "info" / f"{numbered}.trashinfo"
            handle = disk.system.open_handle(described, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            number += 1
            continue
        try:
            disk.append(handle, info.encode(), 0)
        finally:
            disk.system.close(handle)
        if not os.path.lexists(trash / "files" / numbered):
            return trash / "files" / numbered
        number += 1


def _free_name(folder: Path, name: str) -> Path:
    number, place = 2, folder / name
    while os.path.lexists(place):
        place, number = folder / f"{Path(name).stem} {number}{Path(name).suffix}", number + 1
    return place


def _device(path: Path) -> int:
    while not path.exists():
        path = path.parent
    return path.stat().st_dev


def _mount_point(file: Path) -> Path:
    folder, device = file.parent, file.lstat().st_dev
    while folder.parent != folder and folder.parent.stat().st_dev == device:
        folder = folder.parent
    return folder
