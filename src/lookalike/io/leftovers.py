"""Hidden files next to an output while it is being written, and what a killed process leaves of them.

`.out.csv.HOST-PID.tmp` is the draft of out.csv; with `.old` at its end it is a folder that is being replaced, and with
`.set` the mark of an output that gets its name together with others. HOST is a checksum of the host and its process
namespace: a process id says nothing about a process elsewhere.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Literal

Kind = Literal["tmp", "old", "set"]

in_use: set[Path] = set()  # hidden names that this process is using now


def hidden_name(path: Path, kind: Kind, pid: int | None = None) -> Path:
    """The name next to `path` under which a process (this one) keeps what is not an output yet, or no longer."""
    return path.with_name(f".{path.name}.{_host()}-{pid or os.getpid()}.{kind}")


def clear_leftovers(path: Path) -> None:
    """Remove the drafts of `path` that killed processes left; a folder they were replacing gets its name back."""
    for leftover in _leftovers(path, "tmp"):
        remove(leftover)
    for leftover in _leftovers(path, "old"):
        if os.path.lexists(path):
            remove(leftover)
        else:
            os.rename(leftover, path)


def mark_set(drafts: Mapping[Path, Path]) -> list[Path]:
    """Write a mark next to each output (output to draft), and return the marks. Without the first, the others are void.

    A mark holds what identifies the draft, before and after it gets its name.
    """
    marks = [hidden_name(path, "set") for path in drafts]
    for mark, draft in zip(marks, drafts.values(), strict=True):
        in_use.add(mark)
        mark.write_text(json.dumps({"file": _identity(draft), "first": str(marks[0].absolute())}), encoding="utf-8")
    return marks


def is_unfinished(path: Path) -> bool:
    """Whether `path` was written by a process that was killed before the other outputs of its run had their names."""
    for mark in _leftovers(path, "set"):
        with suppress(OSError, ValueError, KeyError, TypeError):
            content: dict[str, Any] = json.loads(mark.read_bytes())
            if content["file"] == _identity(path) and os.path.exists(content["first"]):
                return True
    return False


def clear_marks(path: Path) -> None:
    """Remove the marks of killed processes: `path` has been written again."""
    for mark in _leftovers(path, "set"):
        remove(mark)


def remove(path: Path) -> None:
    """Remove a file or a folder, if it is there and if that is possible."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def _leftovers(path: Path, kind: Kind) -> Iterator[Path]:
    """The hidden names of this kind next to `path` that belong to processes of this host which have ended."""
    pattern = re.compile(rf"\.{re.escape(path.name)}\.{_host()}-(\d+)\.{kind}")
    for name in os.listdir(path.absolute().parent):
        match = pattern.fullmatch(name)
        if match and path.with_name(name) not in in_use and not _is_running(int(match[1])):
            yield path.with_name(name)


def _is_running(pid: int) -> bool:
    """Whether another process has this id. An id of this process which it does not use is from an earlier process."""
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
    """What a file keeps when it is renamed, and what no other content of that name would have."""
    status = path.stat()
    return [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns]


@cache
def _host() -> str:
    try:
        processes = os.readlink("/proc/self/ns/pid")  # containers may share a host name
    except OSError:
        processes = ""
    return f"{zlib.crc32(f'{socket.gethostname()} {processes}'.encode()):08x}"
