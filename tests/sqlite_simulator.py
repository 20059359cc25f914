"""SQLite on the simulated disk: a file system layer (VFS) of SQLite that writes, flushes and removes through it.

The layer is SQLite's own for Unix, of which a few methods are replaced in place, by ctypes. It is the default for all
connections inside `on_disk`. Locks and shared memory stay those of the system: they do not survive a loss of power.
"""

from __future__ import annotations

import _sqlite3
import ctypes
import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_int, c_int64, c_void_p
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from disk_simulator import SimulatedDisk

OK, FULL, IOERR = 0, 13, 10
READONLY_FLAG, CREATE, JOURNALS = (
    0x1,
    0x4,
    0x800 | 0x4000 | 0x80000,
)  # main journals, super-journals and write-ahead logs
METHODS_IN_FILE = 19  # pointers of sqlite3_io_methods: its version, and 18 methods

Open = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_int, POINTER(c_int))
Delete = CFUNCTYPE(c_int, c_void_p, c_char_p, c_int)
Write = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int, c_int64)
Truncate = CFUNCTYPE(c_int, c_void_p, c_int64)
Sync = CFUNCTYPE(c_int, c_void_p, c_int)


class Layer(Structure):
    """The struct sqlite3_vfs."""

    _fields_ = [
        ("version", c_int), ("file_bytes", c_int), ("path_bytes", c_int), ("next", c_void_p), ("name", c_char_p),
        ("data", c_void_p), ("open", c_void_p), ("delete", c_void_p), ("others", c_void_p * 14),
    ]  # fmt: skip


class Methods(Structure):
    """The struct sqlite3_io_methods."""

    _fields_ = [
        ("version", c_int), ("close", c_void_p), ("read", c_void_p), ("write", c_void_p), ("truncate", c_void_p),
        ("sync", c_void_p), ("others", c_void_p * (METHODS_IN_FILE - 6)),
    ]  # fmt: skip


@cache
def _library() -> Any:
    library = ctypes.CDLL(_sqlite3.__file__)
    library.sqlite3_vfs_find.restype = POINTER(Layer)
    library.sqlite3_vfs_find.argtypes = [c_char_p]
    library.sqlite3_vfs_register.argtypes = library.sqlite3_vfs_unregister.argtypes = [POINTER(Layer)]
    library.sqlite3_vfs_register.argtypes = [POINTER(Layer), c_int]
    return library


class Files:
    """The replaced methods, and the files that are open: path, and whether its name is flushed with its content."""

    def __init__(self, disk: SimulatedDisk, original: Any) -> None:
        self.disk, self.original, self.open_files = disk, original, dict[int, tuple[Path, bool]]()
        about = original.contents
        self.system_open, self.system_delete = Open(about.open), Delete(about.delete)
        self.methods: dict[int, Methods] = {}  # by the address of the methods of the system
        self.layer = Layer()
        ctypes.pointer(self.layer)[0] = about
        self.layer.name = b"simulated"
        self.callbacks = [
            Open(self.open),
            Delete(self.delete),
            Write(self.write),
            Truncate(self.truncate),
            Sync(self.sync),
        ]
        self.layer.open, self.layer.delete = (ctypes.cast(call, c_void_p).value for call in self.callbacks[:2])

    def step(self, what: str, path: Path, call: Callable[[], int]) -> int:
        from disk_simulator import Stopped

        try:
            self.disk.step(f"sqlite {what}", path)
        except Stopped:
            return IOERR
        except OSError as error:
            return FULL if error.errno in (errno.ENOSPC, errno.EDQUOT) else IOERR
        return call()

    def open(self, _: int, name: int | None, file: int, flags: int, given: Any) -> int:
        path = Path(ctypes.string_at(name).decode()) if name else None  # SQLite keeps the address of the name
        new = path is not None and self.disk.inside(path) and not path.exists()
        code = (
            IOERR
            if self.disk.stopped
            else self.system_open(ctypes.addressof(self.original.contents), name, file, flags, given)
        )
        if code != OK:
            c_void_p.from_address(file).value = None  # SQLite closes a file that has methods
        elif path is not None and self.disk.inside(path) and not flags & READONLY_FLAG:
            if new:
                self.disk.created(path)
            self.open_files[file] = path, bool(flags & CREATE and flags & JOURNALS)
            self._replace_methods(file)
        return int(code)

    def _replace_methods(self, file: int) -> None:
        address = c_void_p.from_address(file).value
        assert address is not None
        if address not in self.methods:
            theirs, ours = Methods.from_address(address), Methods()
            ctypes.pointer(ours)[0] = theirs
            ours.version = min(2, theirs.version)  # without mapped pages
            ours.write, ours.truncate, ours.sync = (ctypes.cast(call, c_void_p).value for call in self.callbacks[2:])
            self.methods[address] = ours
            self.system_write, self.system_truncate = Write(theirs.write), Truncate(theirs.truncate)
            self.system_sync = Sync(theirs.sync)
        c_void_p.from_address(file).value = ctypes.addressof(self.methods[address])

    def write(self, file: int, data: int, size: int, at: int) -> int:
        return self.step("write", self.open_files[file][0], lambda: self.system_write(file, data, size, at))

    def truncate(self, file: int, size: int) -> int:
        return self.step("truncate", self.open_files[file][0], lambda: self.system_truncate(file, size))

    def sync(self, file: int, flags: int) -> int:
        path, with_name = self.open_files[file]

        def flush() -> int:
            self.disk.flushed(path)
            if with_name:
                self.disk.flushed_names(path.parent)
                self.open_files[file] = path, False
            return int(self.system_sync(file, flags))

        return self.step("sync", path, flush)

    def delete(self, layer: int, name: bytes, sync_folder: int) -> int:
        path = Path(name.decode())
        if not self.disk.inside(path) or not path.exists():
            return int(self.system_delete(layer, name, sync_folder))

        def remove() -> int:
            self.disk.removed(path)
            if sync_folder:
                self.disk.flushed_names(path.parent)
            return int(self.system_delete(layer, name, sync_folder))

        return self.step("delete", path, remove)


@contextmanager
def on_disk(disk: SimulatedDisk) -> Iterator[None]:
    """Let connections that are opened inside the block use the simulated disk. They must be closed inside it."""
    library = _library()
    original = library.sqlite3_vfs_find(None)
    files = Files(disk, original)
    assert library.sqlite3_vfs_register(ctypes.byref(files.layer), 1) == OK
    try:
        yield
    finally:
        library.sqlite3_vfs_register(original, 1)
        library.sqlite3_vfs_unregister(ctypes.byref(files.layer))
