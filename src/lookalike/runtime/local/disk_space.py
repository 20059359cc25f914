"""Room on the disk: reserved before a file is mapped, and named in one line where it runs out.

A file that is only truncated to its size has no blocks. Writing to its map where the disk is full ends the process with
SIGBUS, which no handler can turn into a message.
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

DISK_FULL_ERRORS = (errno.ENOSPC, errno.EDQUOT)  # no block left, or none left for this user
UNSUPPORTED = (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS)  # the file system cannot reserve blocks
ZEROS = bytes(1 << 20)


def reserve(file: int, nbytes: int) -> None:
    """Give an empty open file this size and all of its blocks. OSError where there are too few; it is empty then."""
    try:
        _allocate(file, nbytes)
    except OSError:
        os.ftruncate(file, 0)  # what was taken so far is free again
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
    """Turn what the system says about a work file into one line. needed: bytes that the file still has to take."""
    try:
        yield
    except (OSError, OutputError) as error:
        cause = error.__cause__ if isinstance(error, OutputError) else error  # of an output that was not written
        if isinstance(cause, OSError) and cause.errno in DISK_FULL_ERRORS:
            raise OutputError(disk_full(path.parent, needed)) from error
        if isinstance(error, OutputError):
            raise
        raise OutputError(f"cannot use the work folder {path.parent}: {error.strerror or error}.") from error


def disk_full(folder: Path, needed: int) -> str:
    """The message for a work folder whose disk has no room for `needed` more bytes (0: not known)."""
    wanted = f", at least {size(needed)} more needed" if needed else ""
    return (
        f"disk full: the work folder {folder} has {size(shutil.disk_usage(folder).free)} free{wanted}. Make room there "
        "and run the same command again (a run over files continues where it stopped), or name a folder on another "
        "disk with --work-dir."
    )
