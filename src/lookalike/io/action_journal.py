"""The journal of changes to the user's files: what was about to be done, what was done, and how to undo it.

A journal is a file of JSON lines. The first line names the format; then each change has one line before it begins and
one after it is done, both flushed to disk. After an interruption the last change may have begun without being done.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Self

from lookalike.errors import InputError, OutputError
from lookalike.io import disk

JOURNAL_FORMAT = "lookalike-journal-1"
Mode = Literal["trash", "move", "hardlink", "reflink", "delete"]
CARRY: Literal["carry"] = "carry"  # the change of a kept file that gets the time or the EXIF data of a removed one


@dataclass(frozen=True)
class Change:
    """One change: what is done to `file`, the file that is kept for it, and the new place, if it has one.

    size and modified_ns: those of `file` before the change. All paths are absolute. In mode "carry", `file` is the one
    that is kept, `kept` the removed one, and `place` the new time of change and the inserted segment in hexadecimal.
    """

    mode: Mode | Literal["carry"]
    file: str
    kept: str
    size: int
    modified_ns: int
    place: str | None = None


class Journal:
    """Appends changes to a new file. Each line reaches the disk before the method returns."""

    def __init__(self, path: Path) -> None:
        try:
            self._handle = disk.system.open_handle(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        except FileExistsError:
            raise OutputError(f"{path} exists. A journal is never replaced; use another name.") from None
        except OSError as error:
            raise OutputError(f"cannot write {path}: {error.strerror}.") from error
        self._number = self._size = 0
        self._write({"format": JOURNAL_FORMAT})
        disk.sync_folder(path.parent)  # a journal that is lost with its folder's names could undo nothing

    def begin(self, change: Change) -> int:
        self._number += 1
        self._write({"begin": self._number, **asdict(change)})
        return self._number

    def done(self, number: int) -> None:
        self._write({"done": number})

    def failed(self, number: int) -> None:
        """Record that a change was not made."""
        self._write({"failed": number})

    def _write(self, row: dict[str, Any]) -> None:
        data = json.dumps(row).encode() + b"\n"  # ASCII: names that are not UTF-8 are escaped
        disk.append(self._handle, data, self._size)
        self._size += len(data)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        disk.system.close(self._handle)


def read_journal(path: Path) -> Iterator[Change]:
    """Yield the changes of a journal that were made or may have been made, in order."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}.") from error
    rows = [_row(line) for line in lines]
    if not rows or rows[0].get("format") != JOURNAL_FORMAT:
        raise InputError(f"{path} is not a journal of lookalike.")
    if any(not row for row in rows[:-1]):  # the last line may be cut off
        raise InputError(f"{path} is damaged: line {rows.index({}) + 1} is not valid.")
    failed = [row["failed"] for row in rows if "failed" in row]
    for row in rows:
        if "begin" in row and row["begin"] not in failed:
            yield _change(row, path)


def _row(line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return row if isinstance(row, dict) else {}


def _change(row: dict[str, Any], path: Path) -> Change:
    types: dict[str, Any] = {"mode": str, "file": str, "kept": str, "size": int, "modified_ns": int}
    if not all(isinstance(row.get(name), kind) for name, kind in types.items()) or not isinstance(
        row.get("place", 0), str | None
    ):
        raise InputError(f"{path} is damaged: change {row.get('begin')} is not complete.")
    return Change(**{name: row[name] for name in (*types, "place")})
