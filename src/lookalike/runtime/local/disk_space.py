"""Reserve disk space before a file is memory-mapped, and report a full disk in one line.

A file that is only truncated to its size has no blocks. Writing to its mapping when the disk is full kills the process
with SIGBUS, which no handler can turn into a message.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lookalike.core.formatting import size
from lookalike.errors import OutputError

DISK_FULL_ERRORS = (errno.ENOSPC, errno.EDQUOT)  # no space left, or the quota of the user is exhausted
UNSUPPORTED = (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS)  # the file system cannot reserve blocks
ZEROS = bytes(1 << 20)


def reserve(file: int, nbytes: int) -> None:
    """Allocate `nbytes` of disk blocks for an empty open file; OSError, and still empty, if there are too few."""
    try:
        _allocate(file, nbytes)
    except OSError:
        os.ftruncate(file, 0)  # free the blocks allocated so far
        raise


def _allocate(file: int, nbytes: int) -> None:
    if nbytes == 0:
        return
    if hasattr(os, "posix_fallocate"):
        try:
            os.posix_fallocate(file, 0, nbytes)
            return
        except OSError as error:
            if error.errno not in UNSUPPORTED:
                raise
    at = 0
    while at < nbytes:
        at += os.pwrite(file, ZEROS[: nbytes - at], at)


@contextmanager
def storing(path: Path, needed: int = 0) -> Iterator[None]:
    """Convert I/O errors of a work file to a one-line OutputError. needed: bytes still to be written."""
    try:
        yield
    except (OSError, OutputError) as error:
        cause = error.__cause__ if isinstance(error, OutputError) else error  # the cause of a failed output
        if isinstance(cause, OSError) and cause.errno in DISK_FULL_ERRORS:
            raise OutputError(disk_full(path.parent, needed)) from error
        if isinstance(error, OutputError):
            raise
        raise OutputError(f"cannot use the work folder {path.parent}: {error.strerror or error}.") from error


def disk_full(folder: Path, needed: int) -> str:
    """Return the message for a work folder whose disk has no space for `needed` more bytes (0: unknown)."""
    wanted = f", at least {size(needed)} more needed" if needed else ""
    return (
        f"disk full: the work folder {folder} has {size(shutil.disk_usage(folder).free)} free{wanted}. Make room there "
        "and run the same command again (a run over files continues where it stopped), or name a folder on another "
        "disk with `work_dir`."
    )
