"""Open files for reading, of this machine or at an address."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa

from lookalike.io.addresses import name_in_address, shown

if TYPE_CHECKING:
    from lookalike.io.remote import RemoteFile


class _Stat:
    """What `Path.stat` tells of a remote file."""

    st_mtime_ns = 0  # stores have versions instead; see `RemoteFile.check_unchanged`

    def __init__(self, size: int) -> None:
        self.st_size = size


class RemotePath:
    """An address in the place of a `Path`, as far as readers use one. `str` is the address without secrets."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._pure = PurePosixPath(name_in_address(address))
        self._file: RemoteFile | None = None

    @property
    def file(self) -> RemoteFile:
        if self._file is None:
            from lookalike.io.remote import RemoteFile

            self._file = RemoteFile(self.address)
        return self._file

    name = property(lambda self: self._pure.name)
    suffix = property(lambda self: self._pure.suffix)
    suffixes = property(lambda self: self._pure.suffixes)

    def stat(self) -> _Stat:
        return _Stat(self.file.size)

    def exists(self) -> bool:
        return self.file is not None

    def as_posix(self) -> str:
        return shown(self.address)

    def absolute(self) -> RemotePath:
        return self

    def __str__(self) -> str:
        return shown(self.address)

    def __fspath__(self) -> str:
        return self.address

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemotePath) and other.address == self.address

    def __hash__(self) -> int:
        return hash(self.address)


def remote_path(address: str) -> Path:
    """Return an address as a path, for the readers of this package."""
    return cast(Path, RemotePath(address))


def remote_file(path: object) -> RemoteFile | None:
    """Return the remote file of a path, or None if it is local."""
    return path.file if isinstance(path, RemotePath) else None


def open_file(path: Path) -> Any:
    """Open a file of this machine or at an address for reading bytes, unbuffered."""
    remote = remote_file(path)
    return open(path, "rb", buffering=0) if remote is None else _reading(remote)


def _reading(file: RemoteFile) -> Any:
    from lookalike.io.remote import RemoteReading

    return RemoteReading(file)


def open_for_arrow(path: Path) -> pa.NativeFile:
    """Open a file of this machine or at an address for Arrow, which accepts names that are not UTF-8 only as bytes."""
    remote = remote_file(path)
    return pa.OSFile(os.fsencode(path)) if remote is None else pa.PythonFile(_reading(remote), mode="r")


def local_copy(path: Path) -> Path:
    """Return a path of this machine; a file at an address is transferred to a temporary folder, which ends with it."""
    remote = remote_file(path)
    if remote is None:
        return path
    if remote.copy is not None:
        return Path(remote.copy) / path.name
    folder = tempfile.mkdtemp(prefix="lookalike-")
    weakref.finalize(remote, shutil.rmtree, folder, ignore_errors=True)
    copy = Path(folder) / path.name
    with open(copy, "wb") as file:
        shutil.copyfileobj(_reading(remote), file, 1 << 22)
    remote.copy = folder
    return copy
