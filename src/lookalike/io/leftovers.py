"""Hidden files next to an output while it is written, and the cleanup of those left by killed processes.

`.out.csv.HOST-PID.tmp` is the draft of out.csv. The ending `.old` marks a folder that is being replaced, and `.set` an
output that is published together with others. HOST is a checksum of the host and its process namespace, since a
process id is only meaningful within these.
"""

from __future__ import annotations

import json
import os
import re
import socket
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Literal

from lookalike.io import disk

Kind = Literal["tmp", "old", "set"]

in_use: set[Path] = set()  # hidden names that this process is using


def hidden_name(path: Path, kind: Kind, pid: int | None = None) -> Path:
    """Return the hidden name next to `path` under which a process (default: this one) stores unpublished output."""
    return path.with_name(f".{path.name}.{_host()}-{pid or os.getpid()}.{kind}")


def clear_leftovers(path: Path) -> None:
    """Remove the drafts of `path` left by killed processes; restore a folder that they were replacing."""
    for leftover in _leftovers(path, "tmp"):
        remove(leftover)
    for leftover in _leftovers(path, "old"):
        if os.path.lexists(path):
            remove(leftover)
        else:
            disk.system.rename(leftover, path)


def mark_set(drafts: Mapping[Path, Path]) -> list[Path]:
    """Write a mark next to each output, and return the marks. drafts: output to draft.

    The marks are only valid while the first one exists. A mark holds the identity of the draft, which is the same
    before and after its renaming.
    """
    marks = [hidden_name(path, "set") for path in drafts]
    for mark, draft in zip(marks, drafts.values(), strict=True):
        in_use.add(mark)
        text = json.dumps({"file": _identity(draft), "first": str(marks[0].absolute())})
        with disk.open_file(mark, "wb") as file:
            file.write(text.encode())
    return marks


def is_unfinished(path: Path) -> bool:
    """Return whether `path` was written by a process that was killed before all outputs of its run were renamed."""
    for mark in _leftovers(path, "set"):
        with suppress(OSError, ValueError, KeyError, TypeError):
            content: dict[str, Any] = json.loads(mark.read_bytes())
            if content["file"] == _identity(path) and os.path.exists(content["first"]):
                return True
    return False


def clear_marks(path: Path) -> None:
    """Remove the marks of killed processes, once `path` has been rewritten."""
    for mark in _leftovers(path, "set"):
        remove(mark)


def remove(path: Path) -> None:
    """Remove a file or a folder if it exists; errors are ignored."""
    if path.is_dir() and not path.is_symlink():
        disk.system.remove_tree(path)
    else:
        with suppress(OSError):
            disk.unlink(path, missing_ok=True)


def _leftovers(path: Path, kind: Kind) -> Iterator[Path]:
    """Yield the hidden names of this kind next to `path` that belong to ended processes of this host."""
    pattern = re.compile(rf"\.{re.escape(path.name)}\.{_host()}-(\d+)\.{kind}")
    for name in os.listdir(path.absolute().parent):
        match = pattern.fullmatch(name)
        if match and path.with_name(name) not in in_use and not _is_running(int(match[1])):
            yield path.with_name(name)


def _is_running(pid: int) -> bool:
    """Return whether another process has this id. This process's own id, if not in use, is from an earlier process."""
    if pid == os.getpid():
        return False
    if os.name == "nt":  # os.kill would end the process
        return True
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True


def _identity(path: Path) -> list[int]:
    """Return what identifies a file: it survives renaming, and differs for other content under the same name."""
    status = path.stat()
    return [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns]


@cache
def _host() -> str:
    try:
        processes = os.readlink("/proc/self/ns/pid")  # containers may share a host name
    except OSError:
        processes = ""
    return f"{zlib.crc32(f'{socket.gethostname()} {processes}'.encode()):08x}"
