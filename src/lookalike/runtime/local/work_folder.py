"""Work folders: a run stores its intermediate results as checkpoints with checksums, from which it can resume.

A folder contains `lookalike.json` (what it belongs to, written first), the files of its parts, and `progress.json`
(which parts are complete). A part is committed once it is listed there: its files are synced to disk before, and the
list is replaced by an atomic rename.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import weakref
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from lookalike import __version__
from lookalike.errors import OutputError
from lookalike.io import disk
from lookalike.io.json_rows import json_document
from lookalike.io.results import write_json
from lookalike.runtime.local.allocators import return_memory_promptly
from lookalike.runtime.local.disk_space import reserve, storing
from lookalike.runtime.local.memory_budget import MemoryBudget, memory_size

ABOUT, PROGRESS, LOCK = "lookalike.json", "progress.json", "lock"
CHECKSUM = "checksum"  # in PROGRESS, of all the rest
Array = npt.NDArray[Any]
Arrays = dict[str, Array]
FOLDER_FORMAT = 3  # version of the format of work folders; other versions are not read


def digest(about: Mapping[str, Any]) -> str:
    """Return a short hash of what a folder belongs to, for its name.

    >>> digest({"a": 1}) == digest({"a": 1}), digest({"a": 1}) == digest({"a": 2})
    (True, False)
    """
    text = json.dumps({**about, "format": FOLDER_FORMAT}, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()


class CheckpointFolder:
    """A folder of checkpoints, locked for one process at a time."""

    def __init__(self, path: Path, about: Mapping[str, Any]) -> None:
        self.path, self.about = path, dict(about)
        with storing(path / LOCK):
            disk.make_folders(path)
            self._lock = disk.open_file(path / LOCK, "a")  # held as long as the place is used
        weakref.finalize(self, self._lock.close)
        try:
            disk.system.lock(self._lock.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self.close()
            raise OutputError(f"{path} is in use by another run. Wait for it, or name another `work_dir`.") from error
        if not (path / ABOUT).exists():
            with storing(path / ABOUT):
                write_json({"format": FOLDER_FORMAT, "version": __version__, **self.about}, path / ABOUT)
        self.progress = self._intact()

    def _intact(self) -> dict[str, Any]:
        """Return what was recorded, or nothing if it is missing or damaged: the run then begins again."""
        progress = read_json(self.path / PROGRESS) or {}
        return progress if progress.pop(CHECKSUM, None) == _checksum(progress) else {}

    def record(self) -> None:
        """Write `progress` to disk atomically."""
        with storing(self.path / PROGRESS):
            disk.sync_folder(self.path)  # the names of the files that `progress` lists
            write_json({**self.progress, CHECKSUM: _checksum(self.progress)}, self.path / PROGRESS, force=True)

    def remove(self) -> None:
        """Delete the folder, unless another process uses it by now."""
        self.close()
        with suppress(OSError), disk.open_file(self.path / LOCK, "a") as lock:
            disk.system.lock(lock.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            disk.system.remove_tree(self.path)

    def close(self) -> None:
        self._lock.close()


@dataclass(frozen=True)
class ResourceLimits:
    """The memory and disk that a run may use.

    memory: bytes. folder: a permanent work folder. beside: a work folder until a large run is done, if no folder is
    given. stated: the memory was set by the user, not derived from this machine.
    """

    memory: int
    folder: Path | None = None
    beside: Path | None = None
    stated: bool = False

    @classmethod
    def of(cls, options: dict[str, Any]) -> ResourceLimits:
        """Build the limits from the options memory, work_dir and beside, which are removed from `options`."""
        memory, folder, beside = (options.pop(name, None) for name in ("memory", "work_dir", "beside"))
        folder, beside = (Path(path) if path else None for path in (folder, beside))
        if memory is not None:
            return_memory_promptly()
        return cls(memory_size(memory), folder, beside, stated=memory is not None)


@dataclass
class Workspace:
    """The storage of the large arrays of a run: memory or, if there is a folder, memory-mapped files.

    folder: for scratch files and checkpoint folders. run: the checkpoints of this run. passing: folders to delete at
    the end. notes: messages for the user about what was resumed or started again.
    """

    keeper: MemoryBudget
    folder: Path | None = None
    run: CheckpointFolder | None = None
    passing: list[Path] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _places: list[CheckpointFolder] = field(default_factory=list)
    _files: list[tuple[int, int, int]] = field(default_factory=list)

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        """If the run fails, release its locks; the checkpoints stay for another attempt."""
        if kind is not None:
            self.close()

    def place(self, path: Path, about: Mapping[str, Any]) -> CheckpointFolder:
        """Open a checkpoint folder and lock it until `close` or `finish`; an input that is given twice has one."""
        for place in self._places:
            if place.path == path:
                return place
        self._places.append(CheckpointFolder(path, about))
        return self._places[-1]

    def close(self) -> None:
        """Release the locks of the checkpoint folders."""
        for place in self._places:
            place.close()

    def finish(self) -> None:
        """Delete the checkpoints of this run and temporary folders; call this after the result is saved."""
        self.close()
        if self.run is not None:
            self.run.remove()
        for path in self.passing:
            disk.system.remove_tree(path)

    @property
    def budget(self) -> int:
        return self.keeper.budget

    def array(self, shape: tuple[int, ...], dtype: Any) -> Array:
        """Allocate an uninitialised array; in a folder, in an unnamed file that is deleted with the process."""
        if self.folder is None:
            return np.empty(shape, dtype)
        with scratch(self.folder, int(np.prod(shape)) * np.dtype(dtype).itemsize) as file:
            return self._mapped(file.fileno(), dtype, shape, write=True)

    def file_of(self, array: Array) -> int | None:
        """Return a descriptor of the file that was mapped as this array; None for other arrays.

        Pages that are read through it count as page cache, not as memory of the process.
        """
        address = array.ctypes.data
        return next((file for start, nbytes, file in self._files if (start, nbytes) == (address, array.nbytes)), None)

    def _mapped(self, file: int, dtype: Any, shape: tuple[int, ...], *, write: bool = False) -> Array:
        """Map an array and keep its file open for `file_of`."""
        array = self.keeper.map(file, dtype, shape, write=write)
        if array.nbytes:
            kept = os.dup(file)
            weakref.finalize(self, os.close, kept)
            self._files.append((array.ctypes.data, array.nbytes, kept))
        return array

    def joined(self, files: list[tuple[Path, int]], dtype: Any) -> Array:
        """Return the concatenation of the arrays in these files, each given with its number of bytes."""
        total = sum(size for _, size in files)
        if len(files) == 1:
            with disk.open_file(files[0][0], "rb") as file:
                return self._mapped(file.fileno(), dtype, (total // np.dtype(dtype).itemsize,))
        assert self.folder is not None
        with scratch(self.folder, total) as out:
            at = 0
            for path, size in files:
                with disk.open_file(path, "rb") as file:
                    copy_range(file.fileno(), out.fileno(), size, at)
                at += size
            return self._mapped(out.fileno(), dtype, (total // np.dtype(dtype).itemsize,))

    def filled(
        self, name: str, kinds: Mapping[str, tuple[tuple[int, ...], Any]], fill: Callable[[Arrays], None]
    ) -> Arrays:
        """Return arrays of the given shapes and dtypes, filled by `fill`, or from a checkpoint as in `part`."""
        if self.run is None:
            arrays = {key: self.array(*kind) for key, kind in kinds.items()}
            fill(arrays)
            return arrays
        known = self._known(name)
        if known is not None:
            return known[0]
        arrays, paths = {}, {key: self.run.path / f"{name}.{key}" for key in kinds}
        for key, (shape, dtype) in kinds.items():
            nbytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
            with storing(paths[key], nbytes), disk.open_file(paths[key], "w+b", 0) as file:
                reserve(file.fileno(), nbytes)
                arrays[key] = self.keeper.map(file.fileno(), dtype, shape, write=True)
        fill(arrays)
        self._commit(name, {key: described(array, paths[key]) for key, array in arrays.items()}, {})
        return arrays

    def part(self, name: str, make: Callable[[], tuple[Arrays, dict[str, int]]]) -> tuple[Arrays, dict[str, int]]:
        """Return arrays and counts from an intact checkpoint of the run, or compute and commit them with `make`."""
        if self.run is None:
            return make()
        known = self._known(name)
        if known is not None:
            return known
        made, counts = make()
        shapes = {}
        for key, array in made.items():
            path = self.run.path / f"{name}.{key}"
            with storing(path, array.nbytes), disk.open_file(path, "wb", 0) as file:
                reserve(file.fileno(), array.nbytes)
                write_all(file, np.ascontiguousarray(array))
            shapes[key] = described(array, path)
        self._commit(name, shapes, counts)
        return made, counts

    def _commit(self, name: str, arrays: dict[str, Any], counts: dict[str, int]) -> None:
        if self.run is not None:
            self.run.progress[name] = {"arrays": arrays, "counts": counts}
            self.run.record()

    def _known(self, name: str) -> tuple[Arrays, dict[str, int]] | None:
        """Return a committed part with correct checksums, or None."""
        place = self.run
        if place is None or name not in place.progress:
            return None
        arrays = {}
        for key, (dtype, shape, crc) in place.progress[name]["arrays"].items():
            try:
                with disk.open_file(place.path / f"{name}.{key}", "rb") as file:
                    arrays[key] = self.keeper.map(file.fileno(), np.dtype(dtype), shape)
            except (OSError, ValueError):  # the file is missing or too short
                break
            if crc_of(arrays[key]) != crc:
                break
        else:
            return arrays, place.progress[name]["counts"]
        self.notes.append(f"{place.path / name} is damaged and is made again.")
        return None


def described(array: Array, path: Path) -> tuple[str, list[int], int]:
    """Sync the file of an array to disk, and return the dtype, shape and checksum of the array."""
    with storing(path), disk.open_file(path, "rb") as file:
        disk.system.sync(file.fileno())
    return array.dtype.str, list(array.shape), crc_of(np.ascontiguousarray(array))


def crc_of(array: Array) -> int:
    return zlib.crc32(array.reshape(-1).view(np.uint8).data)


@contextmanager
def scratch(folder: Path, size: int) -> Iterator[IO[bytes]]:
    """Open an unnamed file of this size with reserved disk blocks."""
    path = folder / f"scratch-{os.getpid()}"
    with storing(path, size), disk.open_file(path, "w+b", 0) as file:
        disk.system.unlink(path)
        reserve(file.fileno(), size)
        yield file


def copy_range(source: int, target: int, size: int, at: int) -> None:
    """Copy the first `size` bytes of an open file to position `at` of another."""
    done = 0
    while done < size:
        chunk = disk.system.read(source, min(1 << 24, size - done), done)
        if not chunk:
            raise OSError(errno.EIO, "a work file has become shorter while it was in use")
        done += disk.system.write_at(target, chunk, at + done)


def write_all(file: IO[bytes], array: Array) -> None:
    data = array.reshape(-1).view(np.uint8).data
    at = 0
    while at < len(data):
        at += file.write(data[at : at + (1 << 30)])


def read_json(path: Path) -> dict[str, Any] | None:
    """Return the JSON object in a file, or None if the file is missing or contains no object."""
    try:
        with disk.open_file(path, "rb") as file:
            found = json.loads(file.read())
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _checksum(progress: Mapping[str, Any]) -> int:
    return zlib.crc32(json_document(progress))
