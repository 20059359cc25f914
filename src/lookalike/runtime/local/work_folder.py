"""Work folders: what a run has done is kept in parts, each with a checksum, so that it can go on after any end.

A folder holds `lookalike.json` (what it belongs to, written first), the files of its parts, and `progress.json` (which
parts are done). A part counts once it is named there: the files are on the disk before, and the name is changed by an
atomic rename.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import shutil
import weakref
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from lookalike import __version__
from lookalike.errors import OutputError
from lookalike.io.results import write_json
from lookalike.runtime.local.allocators import return_memory_promptly
from lookalike.runtime.local.disk_space import reserve, storing
from lookalike.runtime.local.memory_budget import MemoryBudget, memory_size

ABOUT, PROGRESS, LOCK = "lookalike.json", "progress.json", "lock"
Array = npt.NDArray[Any]
Arrays = dict[str, Array]
FORMAT = 2  # of a work folder; another one is not read


def digest(about: Mapping[str, Any]) -> str:
    """A short name for what a folder belongs to.

    >>> digest({"a": 1}) == digest({"a": 1}), digest({"a": 1}) == digest({"a": 2})
    (True, False)
    """
    text = json.dumps({**about, "format": FORMAT}, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()


class CheckpointFolder:
    """One folder of parts. Only one process at a time can have it."""

    def __init__(self, path: Path, about: Mapping[str, Any]) -> None:
        self.path, self.about = path, dict(about)
        with storing(path / LOCK):
            path.mkdir(parents=True, exist_ok=True)
            self._lock = open(path / LOCK, "a")  # noqa: SIM115  (held as long as the place is used)
        weakref.finalize(self, self._lock.close)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self.close()
            raise OutputError(f"{path} is in use by another run. Wait for it, or name another --work-dir.") from error
        if not (path / ABOUT).exists():
            with storing(path / ABOUT):
                write_json({"format": FORMAT, "version": __version__, **self.about}, path / ABOUT)
        self.progress: dict[str, Any] = read_json(path / PROGRESS) or {}

    def record(self) -> None:
        """Put `progress` on the disk, in one step."""
        with storing(self.path / PROGRESS):
            write_json(self.progress, self.path / PROGRESS, force=True)

    def remove(self) -> None:
        self.close()
        shutil.rmtree(self.path, ignore_errors=True)

    def close(self) -> None:
        self._lock.close()


@dataclass(frozen=True)
class ResourceLimits:
    """What a run may use. memory: bytes. folder: where parts are kept, also afterwards. beside: where they are kept
    until a large run is done, if no folder is given. stated: the memory was asked for, not found on this machine."""

    memory: int
    folder: Path | None = None
    beside: Path | None = None
    stated: bool = False

    @classmethod
    def of(cls, options: dict[str, Any]) -> ResourceLimits:
        """From the options memory, work_dir and beside, which are taken out."""
        memory, folder, beside = (options.pop(name, None) for name in ("memory", "work_dir", "beside"))
        folder, beside = (Path(path) if path else None for path in (folder, beside))
        if memory is not None:
            return_memory_promptly()
        return cls(memory_size(memory), folder, beside, stated=memory is not None)


@dataclass
class Workspace:
    """Where the large arrays of a run live: in memory, or, where there is a folder, in files mapped into memory.

    folder: for scratch files and places. run: where the parts of this run are kept. passing: is removed at the end.
    notes: what was taken up again or begun anew, for the user.
    """

    keeper: MemoryBudget
    folder: Path | None = None
    run: CheckpointFolder | None = None
    passing: list[Path] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _places: list[CheckpointFolder] = field(default_factory=list)

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        """Where the run fails, others can have its places; what they hold stays for another try."""
        if kind is not None:
            self.close()

    def place(self, path: Path, about: Mapping[str, Any]) -> CheckpointFolder:
        """A place that is this run's until `close` or `finish`."""
        self._places.append(CheckpointFolder(path, about))
        return self._places[-1]

    def close(self) -> None:
        """Let others have the places of this run."""
        for place in self._places:
            place.close()

    def finish(self) -> None:
        """The answer is where it belongs: what was kept for another try can go."""
        self.close()
        if self.run is not None:
            self.run.remove()
        for path in self.passing:
            shutil.rmtree(path, ignore_errors=True)

    @property
    def budget(self) -> int:
        return self.keeper.budget

    def array(self, shape: tuple[int, ...], dtype: Any) -> Array:
        """Room for an array, not filled. In a folder it is a nameless file that vanishes with the process."""
        if self.folder is None:
            return np.empty(shape, dtype)
        with scratch(self.folder, int(np.prod(shape)) * np.dtype(dtype).itemsize) as file:
            return self.keeper.map(file.fileno(), dtype, shape, write=True)

    def joined(self, files: list[tuple[Path, int]], dtype: Any) -> Array:
        """The arrays in these files (with their bytes), one after the other."""
        total = sum(size for _, size in files)
        if len(files) == 1:
            with open(files[0][0], "rb") as file:
                return self.keeper.map(file.fileno(), dtype, (total // np.dtype(dtype).itemsize,))
        assert self.folder is not None
        with scratch(self.folder, total) as out:
            at = 0
            for path, size in files:
                with open(path, "rb") as file:
                    copy_range(file.fileno(), out.fileno(), size, at)
                at += size
            return self.keeper.map(out.fileno(), dtype, (total // np.dtype(dtype).itemsize,))

    def filled(
        self, name: str, kinds: Mapping[str, tuple[tuple[int, ...], Any]], fill: Callable[[Arrays], None]
    ) -> Arrays:
        """Arrays of these shapes and dtypes that `fill` fills in place: once, as `part`."""
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
            with storing(paths[key], nbytes), open(paths[key], "w+b", buffering=0) as file:
                reserve(file.fileno(), nbytes)
                arrays[key] = self.keeper.map(file.fileno(), dtype, shape, write=True)
        fill(arrays)
        self._commit(name, {key: described(array, paths[key]) for key, array in arrays.items()}, {})
        return arrays

    def part(self, name: str, make: Callable[[], tuple[Arrays, dict[str, int]]]) -> tuple[Arrays, dict[str, int]]:
        """Arrays and counts that are made once: from the run's folder if they are there and whole, else by `make`."""
        if self.run is None:
            return make()
        known = self._known(name)
        if known is not None:
            return known
        made, counts = make()
        shapes = {}
        for key, array in made.items():
            path = self.run.path / f"{name}.{key}"
            with storing(path, array.nbytes), open(path, "wb", buffering=0) as file:
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
        """A part that is done and whole."""
        place = self.run
        if place is None or name not in place.progress:
            return None
        arrays = {}
        for key, (dtype, shape, crc) in place.progress[name]["arrays"].items():
            try:
                with open(place.path / f"{name}.{key}", "rb") as file:
                    arrays[key] = self.keeper.map(file.fileno(), np.dtype(dtype), shape)
            except (OSError, ValueError):  # it is gone, or shorter than it was
                break
            if crc_of(arrays[key]) != crc:
                break
        else:
            return arrays, place.progress[name]["counts"]
        self.notes.append(f"{place.path / name} is damaged and is made again.")
        return None


def described(array: Array, path: Path) -> tuple[str, list[int], int]:
    """Dtype, shape and checksum of an array that stands in a file, which is on the disk afterwards."""
    with storing(path), open(path, "rb") as file:
        os.fsync(file.fileno())
    return array.dtype.str, list(array.shape), crc_of(np.ascontiguousarray(array))


def crc_of(array: Array) -> int:
    return zlib.crc32(array.reshape(-1).view(np.uint8).data)


@contextmanager
def scratch(folder: Path, size: int) -> Iterator[IO[bytes]]:
    """Open a nameless file of this size whose blocks are reserved."""
    path = folder / f"scratch-{os.getpid()}"
    with storing(path, size), open(path, "w+b", buffering=0) as file:
        path.unlink()
        reserve(file.fileno(), size)
        yield file


def copy_range(source: int, target: int, size: int, at: int) -> None:
    """Copy the first `size` bytes of one open file into another from `at` on."""
    done = 0
    while done < size:
        chunk = os.pread(source, min(1 << 24, size - done), done)
        if not chunk:
            raise OSError(errno.EIO, "a work file has become shorter while it was in use")
        done += os.pwrite(target, chunk, at + done)


def write_all(file: IO[bytes], array: Array) -> None:
    data = array.reshape(-1).view(np.uint8).data
    at = 0
    while at < len(data):
        at += file.write(data[at : at + (1 << 30)])


def read_json(path: Path) -> dict[str, Any] | None:
    """The object in a file, or None where there is no such file, or no object in it."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
