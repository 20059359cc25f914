"""Find and describe existing work folders."""

from __future__ import annotations

import fcntl
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lookalike.core.formatting import count
from lookalike.errors import InputError
from lookalike.runtime.local.work_folder import ABOUT, LOCK, PROGRESS, read_json

WANTED = {"pairs": "pairs", "components": "groups", "stars": "dedup, or groups that are stars"}


@dataclass(frozen=True)
class WorkFolder:
    """A work folder with checkpoint folders in it. holds: a description of each; touched: time of the last change."""

    path: Path
    holds: list[str]
    nbytes: int
    touched: float
    in_use: bool

    def age(self) -> str:
        minutes = max(0.0, time.time() - self.touched) / 60
        for size, unit in ((60 * 24, "days"), (60, "hours"), (1, "minutes")):
            if minutes >= 2 * size:
                return f"{minutes / size:.0f} {unit} ago"
        return "just now"

    def as_dict(self) -> dict[str, Any]:
        return {**self.__dict__, "path": str(self.path)}

    def remove(self) -> None:
        """Delete the checkpoint folders, and the work folder too if nothing else is in it."""
        for place in _places(self.path):
            shutil.rmtree(place, ignore_errors=True)
        if not any(self.path.iterdir()):
            self.path.rmdir()


def find_work(folders: Sequence[Path]) -> list[WorkFolder]:
    """Return the work folders among these folders and their direct subfolders, sorted by name."""
    for folder in folders:
        if not folder.is_dir():
            raise InputError(f"no such folder: {folder}.")
    inside = [path for folder in folders for path in sorted(folder.iterdir()) if path.is_dir()]
    return [_describe(path) for path in dict.fromkeys([*folders, *inside]) if _places(path)]


def _places(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.iterdir()) if _is_place(path)]


def _is_place(path: Path) -> bool:
    """Return whether this is a checkpoint folder: it is named by what it holds."""
    about = read_json(path / ABOUT) if (path / ABOUT).is_file() else None
    return about is not None and path.name.startswith(f"{about.get('holds')}-")


def _describe(folder: Path) -> WorkFolder:
    places = _places(folder)
    files = [file.stat() for place in places for file in place.iterdir()]
    return WorkFolder(
        folder,
        [_words(read_json(place / ABOUT) or {}, read_json(place / PROGRESS) or {}) for place in places],
        sum(file.st_size for file in files),
        max(file.st_mtime for file in files),
        any(_locked(place) for place in places),
    )


def _words(about: dict[str, Any], progress: dict[str, Any]) -> str:
    if about.get("holds") == "run":
        parts = ", ".join(_part(name, known) for name, known in progress.items()) or "nothing yet"
        wanted = WANTED.get(str(about.get("wants")), about.get("wants"))
        return f"run for {wanted}: {about.get('compared')} · done: {parts}"
    commits = progress.get("commits", [])
    rows = commits[-1]["rows"] if commits else 0
    state = "all" if progress.get("complete") else "unfinished, after"
    options = about.get("options", {})
    how = f" · {options['unit']} {options['k']}-shingles" if "unit" in options else ""
    noun = str(about.get("noun", "documents"))
    return f"{about.get('holds')} of {about.get('name')}: {state} {count(rows, noun)}{how}"


def _part(name: str, known: Any) -> str:
    """Name a part of a run, with its steps if it is not complete."""
    unfinished = isinstance(known, dict) and known.get("complete") is False
    return f"{name} ({count(known['steps'], 'steps')})" if unfinished else name


def _locked(place: Path) -> bool:
    try:
        with open(place / LOCK, "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    return False
