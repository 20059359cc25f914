"""The door to the disk: the calls on which the promise to survive a crash depends.

Indexes, work folders, journals, verdicts and atomic outputs write, flush, rename, remove and lock files, and read the
clock, through this module only. `system` makes the calls. Tests replace it by one that loses and tears
writes, fails and stops at any call.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

NO_FOLDER_SYNC = (errno.EINVAL, errno.EACCES, errno.EISDIR, errno.ENOTSUP)  # systems that cannot flush a folder
AnyPath = str | os.PathLike[str]


class System:
    """The operating system."""

    def open(self, path: AnyPath, mode: str, buffering: int = -1) -> IO[Any]:
        return open(path, mode, buffering)

    def open_handle(self, path: AnyPath, flags: int, mode: int = 0o666) -> int:
        return os.open(path, flags, mode)

    def close(self, handle: int) -> None:
        os.close(handle)

    def read(self, handle: int, size: int, at: int) -> bytes:
        return os.pread(handle, size, at)

    def write(self, handle: int, data: memoryview) -> int:
        return os.write(handle, data)

    def write_at(self, handle: int, data: bytes, at: int) -> int:
        return os.pwrite(handle, data, at)

    def truncate(self, handle: int, size: int) -> None:
        os.ftruncate(handle, size)

    def sync(self, handle: int) -> None:
        os.fsync(handle)

    def replace(self, old: AnyPath, new: AnyPath) -> None:
        os.replace(old, new)

    def rename(self, old: AnyPath, new: AnyPath) -> None:
        os.rename(old, new)

    def link(self, old: AnyPath, new: AnyPath) -> None:
        os.link(old, new)

    def unlink(self, path: AnyPath) -> None:
        os.unlink(path)

    def remove_tree(self, path: AnyPath) -> None:
        shutil.rmtree(path, ignore_errors=True)

    def make_folder(self, path: AnyPath, mode: int) -> None:
        os.mkdir(path, mode)

    def remove_folder(self, path: AnyPath) -> None:
        os.rmdir(path)

    def set_modified(self, path: AnyPath, modified_ns: int) -> None:
        os.utime(path, ns=(os.stat(path).st_atime_ns, modified_ns))

    def lock(self, handle: int, operation: int) -> None:
        fcntl.flock(handle, operation)

    def monotonic(self) -> float:
        return time.monotonic()

    def now(self) -> datetime:
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


system = System()


@contextmanager
def replaced(other: System) -> Iterator[None]:
    """Make all calls through another system inside the block."""
    global system
    before, system = system, other
    try:
        yield
    finally:
        system = before


def open_file(path: AnyPath, mode: str, buffering: int = -1) -> IO[Any]:
    return system.open(path, mode, buffering)


def read_at(handle: int, size: int, at: int) -> bytes:
    """Read `size` bytes, or all up to the end of the file, in as many calls as the system needs."""
    parts, done = [], 0
    while done < size and (part := system.read(handle, size - done, at + done)):
        parts.append(part)
        done += len(part)
    return b"".join(parts)


def append(handle: int, data: bytes, size: int) -> None:
    """Append data to a file of this size and flush it; after an error the file has its former size."""
    view, done = memoryview(data), 0
    try:
        while done < len(data):
            done += system.write(handle, view[done:])
        system.sync(handle)
    except OSError:
        system.truncate(handle, size)
        raise


def sync_file(path: AnyPath) -> None:
    """Flush a file to disk."""
    with system.open(path, "r+b") as file:
        system.sync(file.fileno())


def sync_folder(folder: AnyPath) -> None:
    """Flush the names in a folder to disk, where the system can."""
    try:
        handle = system.open_handle(folder or ".", os.O_RDONLY)
    except OSError as error:
        if error.errno in NO_FOLDER_SYNC:
            return
        raise
    try:
        system.sync(handle)
    except OSError as error:
        if error.errno not in NO_FOLDER_SYNC:
            raise
    finally:
        system.close(handle)


def make_folders(path: Path, mode: int = 0o777) -> None:
    """Create a folder and its parents, and flush the name of each new one; nothing if it exists."""
    if path.is_dir():
        return
    make_folders(path.parent)
    try:
        system.make_folder(path, mode)
    except FileExistsError:
        if not path.is_dir():
            raise
    try:
        sync_folder(path.parent)
    except OSError:  # the next caller would take the folder as one that stays
        with suppress(OSError):
            system.remove_folder(path)
        raise


def unlink(path: AnyPath, *, missing_ok: bool = False) -> None:
    try:
        system.unlink(path)
    except FileNotFoundError:
        if not missing_ok:
            raise
