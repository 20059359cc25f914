"""A disk that loses, tears and reorders what was not flushed, fails, and stops at any call; all from a seed.

Calls are made on a real folder, which is what running processes see. The simulator also knows what is durable: the
content of each file when it was last flushed, and the names in each folder when that was last flushed. At a stop it
builds one of the folders that a machine may find after a loss of power. SQLite writes to it through `sqlite_simulator`.
"""

from __future__ import annotations

import errno
import os
import random
import shutil
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Any

from lookalike.io.disk import AnyPath, System

SECTOR = 512
ERRORS = (errno.EIO, errno.ENOSPC, errno.EDQUOT)
DATABASE = ".sqlite"  # in the names of files that are written in place
Name = tuple[int, str]  # inode of the folder, and name in it


class Stopped(BaseException):
    """The power is gone; nothing that the process does from now on has an effect."""


class File:
    """A file whose writes and reads may be cut short."""

    def __init__(self, file: IO[Any], disk: SimulatedDisk, path: Path) -> None:
        self._file, self._disk, self._path = file, disk, path

    def write(self, data: Any) -> int:
        self._disk.step("write", self._path)
        return self._file.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> File:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


class SimulatedDisk(System):
    """The calls on files below `root`. stop_at: the call at which the power goes; failing: the share of calls that fail."""

    def __init__(self, root: Path, draw: random.Random, *, stop_at: int | None = None, failing: float = 0.0) -> None:
        self.root, self.draw, self.stop_at, self.failing = root, draw, stop_at, failing
        self.calls, self.stopped, self.image = 0, False, root.with_name(root.name + " after")
        self.names: dict[Name, int] = {}  # what is durable
        self.data: dict[int, bytes] = {}
        self.replaced: dict[int, int] = {}  # times of change of files that have no name any more
        self.pending: list[tuple[Name | None, Name | None, int]] = []  # (old name or None, new name or None, inode)
        self.clock = 1e6
        self.log: list[str] = []
        self._scan()

    def _scan(self) -> None:
        """Take what there is as durable."""
        for folder, folders, files in os.walk(self.root):
            parent = os.stat(folder).st_ino
            for name in (*folders, *files):
                path = Path(folder, name)
                number = path.lstat().st_ino
                self.names[parent, name] = number
                if name in files:
                    self.data[number] = path.read_bytes()

    # Calls

    def step(self, what: str, *paths: Any) -> None:
        """Count a call; stop or fail if it is its turn."""
        if self.stopped:
            raise Stopped
        self.calls += 1
        self.log.append(f"{self.calls} {what} {' '.join(Path(path).name for path in paths if isinstance(path, Path))}")
        if self.calls == self.stop_at:
            self.stop()
            raise Stopped
        if self.draw.random() < self.failing and what not in ("unlink", "lock"):
            code = self.draw.choice(ERRORS)
            self.log.append(f"  fails: {errno.errorcode[code]}")
            raise OSError(code, os.strerror(code), str(paths[0]) if paths else None)

    def _name(self, path: AnyPath) -> Name:
        path = Path(os.path.abspath(path))
        return os.stat(path.parent).st_ino, path.name

    def inside(self, path: AnyPath) -> bool:
        return Path(os.path.abspath(path)).is_relative_to(self.root)

    def created(self, path: AnyPath) -> None:
        number = os.lstat(path).st_ino
        self.data.pop(number, None)
        self.replaced.pop(number, None)
        self.pending.append((None, self._name(path), number))

    def open(self, path: AnyPath, mode: str, buffering: int = -1) -> IO[Any]:
        if not self.inside(path):
            return super().open(path, mode, buffering)
        self.step(f"open {mode}", Path(path))
        new = not os.path.lexists(path)
        file = super().open(path, mode, buffering)
        if new:
            self.created(path)
        return File(file, self, Path(path))  # type: ignore[return-value]

    def open_handle(self, path: AnyPath, flags: int, mode: int = 0o666) -> int:
        if not self.inside(path):
            return super().open_handle(path, flags, mode)
        self.step("open", Path(path))
        new = not os.path.lexists(path)
        handle = super().open_handle(path, flags, mode)
        if new:
            self.created(path)
        return handle

    def read(self, handle: int, size: int, at: int) -> bytes:
        self.step("read")
        if size > 1 and self.draw.random() < 0.3:
            size = self.draw.randrange(1, size)
        return super().read(handle, size, at)

    def write(self, handle: int, data: memoryview) -> int:
        self.step("write")
        if len(data) > 1 and self.draw.random() < 0.2:
            data = data[: self.draw.randrange(1, len(data))]
        return super().write(handle, data)

    def truncate(self, handle: int, size: int) -> None:
        if self.stopped:
            raise Stopped
        super().truncate(handle, size)

    def sync(self, handle: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{handle}"))
        self.step("sync", path)
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            self.flushed_names(path)
        else:
            self.flushed(path)

    def flushed(self, path: Path) -> None:
        """Take the content of a file as durable."""
        self.data[path.stat().st_ino] = path.read_bytes()

    def flushed_names(self, folder: Path) -> None:
        """Take the names in a folder as durable."""
        inode = folder.stat().st_ino
        for one in [one for one in self.pending if inode in {name[0] for name in one[:2] if name}]:
            self.pending.remove(one)
            _apply(self.names, one)

    def replace(self, old: AnyPath, new: AnyPath) -> None:
        self._moved("replace", old, new)

    def rename(self, old: AnyPath, new: AnyPath) -> None:
        self._moved("rename", old, new)

    def _moved(self, what: str, old: AnyPath, new: AnyPath) -> None:
        self.step(what, Path(old), Path(new))
        names, number = (self._name(old), self._name(new)), os.lstat(old).st_ino
        if os.path.lexists(new):
            self.replaced[os.lstat(new).st_ino] = os.lstat(new).st_mtime_ns
        os.replace(old, new) if what == "replace" else os.rename(old, new)
        self.pending.append((*names, number))

    def link(self, old: AnyPath, new: AnyPath) -> None:
        self.step("link", Path(old), Path(new))
        os.link(old, new)
        self.pending.append((None, self._name(new), os.lstat(new).st_ino))

    def unlink(self, path: AnyPath) -> None:
        self.step("unlink", Path(path))
        self.removed(path)
        os.unlink(path)

    def removed(self, path: AnyPath) -> None:
        """Take a name as removed, which is not durable yet."""
        self.pending.append((self._name(path), None, os.lstat(path).st_ino))

    def remove_tree(self, path: AnyPath) -> None:
        if self.stopped:
            raise Stopped
        shutil.rmtree(path, ignore_errors=True)

    def make_folder(self, path: AnyPath, mode: int) -> None:
        self.step("mkdir", Path(path))
        os.mkdir(path, mode)
        self.pending.append((None, self._name(path), os.stat(path).st_ino))

    def remove_folder(self, path: AnyPath) -> None:
        if self.stopped:
            raise Stopped
        name, number = self._name(path), os.lstat(path).st_ino
        os.rmdir(path)
        self.pending.append((name, None, number))

    def lock(self, handle: int, operation: int) -> None:
        self.step("lock")
        super().lock(handle, operation)

    def monotonic(self) -> float:
        self.clock += self.draw.choice([0.0, 0.001, 0.1, 3.0])
        return self.clock

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=self.draw.uniform(-900, 900))

    def sleep(self, seconds: float) -> None:
        self.clock += seconds

    # The loss of power

    def stop(self) -> None:
        """Build the folder that is found afterwards."""
        self.stopped = True
        names = dict(self.names)
        how = self.draw.choice(["none", "all", "first", "some"])
        kept = self.draw.randrange(len(self.pending) + 1)
        for place, one in enumerate(self.pending):
            if how == "all" or (how == "first" and place < kept) or (how == "some" and self.draw.random() < 0.5):
                _apply(names, one)
        live, folders = self._live()
        known = {name for one in self.pending for name in one[:2] if name}
        for name, number in live.items():  # files that did not come through the door
            new = name not in names and name not in known and name not in self.names
            if new and self.draw.random() < 0.5:
                names[name] = number
        contents = {number: name for name, number in live.items()}
        self._build(self.root.stat().st_ino, self.image, names, folders, contents)

    def _live(self) -> tuple[dict[Name, int], dict[int, Path]]:
        """Return the inode of each name, and the path of each folder."""
        live, folders = {}, {self.root.stat().st_ino: self.root}
        for folder, inner, files in os.walk(self.root):
            parent = os.stat(folder).st_ino
            for name in (*inner, *files):
                number = os.lstat(Path(folder, name)).st_ino
                live[parent, name] = number
                if name in inner:
                    folders[number] = Path(folder, name)
        return live, folders

    def _build(
        self, inode: int, place: Path, names: dict[Name, int], folders: dict[int, Path], contents: dict[int, Name]
    ) -> None:
        place.mkdir()
        made: dict[int, Path] = {}
        for (parent, name), number in names.items():
            if parent != inode:
                continue
            path = place / name
            if number in folders:
                self._build(number, path, names, folders, contents)
            elif number in made:
                os.link(made[number], path)
            else:
                made[number] = path
                here = contents.get(number)
                now = None if here is None else (folders[here[0]] / here[1]).read_bytes()
                path.write_bytes(self._content(name, number, now))
                if number in self.replaced:
                    os.utime(path, ns=(self.replaced[number],) * 2)
                elif here is not None:
                    shutil.copystat(folders[here[0]] / here[1], path)

    def _content(self, name: str, number: int, now: bytes | None) -> bytes:
        """Return what a file may hold: what was flushed, what was written since, or a mixture of its sectors."""
        flushed = self.data.get(number, b"")
        if now is None:
            return flushed
        if now == flushed:
            return now
        how = self.draw.choice(["old", "new", "cut", "torn"])
        if how in ("old", "new"):
            return flushed if how == "old" else now
        if how == "cut":
            return now[: self.draw.randrange(min(len(flushed), len(now)), max(len(flushed), len(now)) + 1)]
        if DATABASE in name:
            return self._rewritten(flushed, now)
        out = bytearray(max(len(flushed), len(now)) if self.draw.random() < 0.5 else len(now))
        for at in range(0, len(out), SECTOR):
            part = self.draw.choice([now, flushed, b""])[at : at + SECTOR]
            out[at : at + len(part)] = part
        unchanged = len(flushed) if now.startswith(flushed) else 0
        return flushed[:unchanged] + bytes(out)[unchanged:]  # appending does not change what was flushed before

    def _rewritten(self, flushed: bytes, now: bytes) -> bytes:
        """Return a file that was written in place: each sector is old or new, or zero if the file has grown by it."""
        out = bytearray(now)
        for at in range(0, len(now), SECTOR):
            part = flushed[at : at + SECTOR] if at < len(flushed) else bytes(SECTOR)
            if self.draw.random() < 0.5:
                out[at : at + SECTOR] = (part + bytes(SECTOR))[: min(SECTOR, len(now) - at)]
        return bytes(out)


def _apply(names: dict[Name, int], one: tuple[Name | None, Name | None, int]) -> None:
    old, new, number = one
    if old is not None and names.get(old) == number:
        del names[old]
    if new is not None:
        names[new] = number
