"""File locks between processes. The operating system releases them when a process ends, even if it crashes."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from lookalike.errors import IndexBusy, OutputError
from lookalike.io import disk

WAIT = 5.0  # seconds that a writer waits for the lock
POLL_INTERVAL = 0.01


class FileLock:
    """An exclusive lock on a file that contains the process id of the holder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle: int | None = None

    def acquire(self, wait: float) -> bool:
        """Acquire the lock; return False if another process holds it for more than `wait` seconds."""
        try:
            handle = disk.system.open_handle(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise OutputError(f"cannot write {self.path.parent}: {error.strerror}.") from error
        until = disk.system.monotonic() + wait
        while True:
            try:
                disk.system.lock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if disk.system.monotonic() >= until:
                    disk.system.close(handle)
                    return False
                disk.system.sleep(POLL_INTERVAL)
                continue
            except OSError as error:
                disk.system.close(handle)
                raise OutputError(f"cannot lock {self.path}: {error.strerror}.") from error
            self._handle = handle
            holder = str(os.getpid()).encode()
            with suppress(OSError):  # the lock is held; its file only says by whom
                if disk.read_at(handle, 64, 0) != holder:  # a truncation costs as much as a commit
                    disk.system.truncate(handle, 0)
                    disk.system.write(handle, memoryview(holder))
            return True

    def release(self) -> None:
        if self._handle is not None:
            disk.system.close(self._handle)
            self._handle = None

    def busy(self, place: str) -> IndexBusy:
        """Return the error to raise when `acquire` returned False."""
        try:
            holder = self.path.read_text().strip()
        except OSError:
            holder = ""
        who = f"process {holder}" if holder else "another process"
        return IndexBusy(f"{place} is being written by {who}; an index has one writer at a time. Try again later.")
