"""Schedules of faults: what is done, what was acknowledged, and what must be there afterwards. Each comes from a seed.

python tests/fault_schedules.py index 17    repeats a schedule, and prints its calls
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from PIL import Image

import lookalike as la
from disk_simulator import SimulatedDisk, Stopped
from lookalike.errors import InputError, LookalikeError, OutputError
from lookalike.evaluation.recheck import check_result
from lookalike.index import folder as index_folder
from lookalike.io import disk
from lookalike.io.action_journal import read_journal
from lookalike.io.atomic import check_place, together
from lookalike.io.carried import START_OF_JPEG
from lookalike.io.file_actions import Action, apply, look, undo
from lookalike.io.results import write_json
from lookalike.io.verdicts import Verdicts, events_of
from lookalike.runtime.local.memory_budget import MemoryBudget
from lookalike.runtime.local.work_folder import CheckpointFolder, Workspace
from sqlite_simulator import on_disk

SCRATCH = Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else Path(tempfile.gettempdir())
CODES = [bytes([number, 7, number * 5 % 251, 1, 2, 3, 4, 255 - number]) for number in range(64)]


class Schedule:
    """What a process does, and what is checked afterwards. calls: about how many calls it makes."""

    calls = 0

    def __init__(self, root: Path, draw: random.Random) -> None:
        self.root, self.draw = root, draw

    def work(self) -> None:
        raise NotImplementedError

    def check(self, place: Path) -> None:
        raise NotImplementedError


class VerdictSchedule(Schedule):
    """Two writers append verdicts: those acknowledged are there, in order, and at most the one under way."""

    calls = 18

    def __init__(self, root: Path, draw: random.Random) -> None:
        super().__init__(root, draw)
        self.acknowledged: list[int] = []
        self.last = -1

    def work(self) -> None:
        writers = [Verdicts(self.root / "v.jsonl"), Verdicts(self.root / "v.jsonl")]
        for number in range(self.draw.randrange(1, 6)):
            self.last = number
            with contextlib.suppress(OutputError):
                text = "x" * self.draw.choice([1, 900])
                self.draw.choice(writers).add(self.last, text, "same", by="a")
                self.acknowledged.append(self.last)

    def check(self, place: Path) -> None:
        file = place / "v.jsonl"
        there = [event["left"] for event in events_of(file)] if file.exists() else []
        assert there in (self.acknowledged, [*self.acknowledged, self.last]), (there, self.acknowledged)
        Verdicts(file).add("new", "other", "different", by="b")
        assert [event["left"] for event in events_of(file)] == [*there, "new"]
        report = check_result(file)
        assert (report.problems, report.unchecked) == ([], []), report


class JournalSchedule(Schedule):
    """Files are moved: each is at its old or new place, the journal names the new one, and undo restores them."""

    calls = 28

    def __init__(self, root: Path, draw: random.Random) -> None:
        super().__init__(root, draw)
        (root / "here").mkdir()
        if draw.random() < 0.5:
            (root / "away").mkdir()
        self.contents = {f"{number}.txt": f"content of {number}".encode() for number in range(4)}
        for name, content in {**self.contents, "kept.txt": b"kept"}.items():
            (root / "here" / name).write_bytes(content)

    def work(self) -> None:
        kept = self.root / "here/kept.txt"
        files = [self.root / "here" / name for name in self.contents]
        seen = look([*files, kept])
        with contextlib.suppress(LookalikeError, OSError):
            action = Action("move", self.root / "away")
            apply([(file, kept) for file in files], action, seen, self.root / "journal.jsonl", root=self.root / "here")

    def check(self, place: Path) -> None:
        log, moved = place / "journal.jsonl", set()
        if log.exists():
            with contextlib.suppress(InputError):  # without its first line: nothing was moved yet
                moved = {Path(change.file).name for change in read_journal(log)}
        for name, content in self.contents.items():
            held = [one for one in (place / "here" / name, place / "away" / name) if one.exists()]
            assert len(held) == 1, (name, held)
            assert held[0].read_bytes() == content
            assert held[0].parent.name == "here" or name in moved, f"{name} was moved, and no journal says so"
        if moved:  # the journal has the paths of the disk before
            log.write_bytes(log.read_bytes().replace(str(self.root).encode(), str(place).encode()))
            undo(log)
        assert {one.name: one.read_bytes() for one in (place / "here").glob("[0-9]*")} == self.contents


class LinkSchedule(Schedule):
    """Equal files become hard links, perhaps undone: each has its content at any time, and undo separates them."""

    calls = 60

    def __init__(self, root: Path, draw: random.Random) -> None:
        super().__init__(root, draw)
        self.names = ["kept.txt", "1.txt", "2.txt", "3.txt"]
        for name in self.names:
            (root / name).write_bytes(b"equal content" * 60)

    def work(self) -> None:
        kept, *files = (self.root / name for name in self.names)
        with contextlib.suppress(LookalikeError, OSError):
            apply([(file, kept) for file in files], Action("hardlink"), look([kept, *files]), self.root / "j.jsonl")
            if self.draw.random() < 0.6:
                undo(self.root / "j.jsonl")

    def check(self, place: Path) -> None:
        self._check_contents(place)
        log = place / "j.jsonl"
        linked = {(place / name).stat().st_ino for name in self.names}
        if len(linked) < len(self.names) or log.exists():
            with contextlib.suppress(InputError) if len(linked) == len(self.names) else contextlib.nullcontext():
                log.write_bytes(log.read_bytes().replace(str(self.root).encode(), str(place).encode()))
                undo(log)
        self._check_contents(place)
        assert len({(place / name).stat().st_ino for name in self.names}) == len(self.names)

    def _check_contents(self, place: Path) -> None:
        for name in self.names:
            assert (place / name).read_bytes() == b"equal content" * 60, name


class CarrySchedule(Schedule):
    """A photo without metadata gets that of the removed copy: it is always whole, and undo gives it back as it was."""

    calls = 26

    def __init__(self, root: Path, draw: random.Random) -> None:
        super().__init__(root, draw)
        self.plain, self.described = _photos()
        self.times = 2_000_000_000 * 10**9, 1_000_000_000 * 10**9
        for name, content, time in zip(("kept.jpg", "old.jpg"), _photos(), self.times, strict=True):
            (root / name).write_bytes(content)
            os.utime(root / name, ns=(time, time))

    def work(self) -> None:
        kept, file = self.root / "kept.jpg", self.root / "old.jpg"
        with contextlib.suppress(LookalikeError, OSError):
            action = Action("move", self.root / "away", carries=True)
            apply([(file, kept)], action, look([file, kept]), self.root / "j.jsonl")
            if self.draw.random() < 0.4:
                undo(self.root / "j.jsonl")

    def check(self, place: Path) -> None:
        kept, log = place / "kept.jpg", place / "j.jsonl"
        start = len(START_OF_JPEG)
        assert kept.read_bytes()[-len(self.plain) + start :] == self.plain[start:]
        changed = kept.read_bytes() != self.plain or kept.stat().st_mtime_ns != self.times[0]
        assert log.exists() or not changed
        assert [one.read_bytes() for one in (place / "old.jpg", place / "away/old.jpg") if one.exists()] == [
            self.described
        ]
        if log.exists() and log.read_bytes().count(b"\n"):
            log.write_bytes(log.read_bytes().replace(str(self.root).encode(), str(place).encode()))
            with contextlib.nullcontext() if changed else contextlib.suppress(InputError):
                undo(log)
        assert (kept.read_bytes(), kept.stat().st_mtime_ns) == (self.plain, self.times[0])
        assert (place / "old.jpg").read_bytes() == self.described


@cache
def _photos() -> tuple[bytes, bytes]:
    """Return the same picture without and with EXIF data."""
    picture, tags, out = Image.effect_noise((24, 24), 60), Image.Exif(), (io.BytesIO(), io.BytesIO())
    tags[0x010F] = "a camera"
    picture.save(out[0], "JPEG")
    picture.save(out[1], "JPEG", exif=tags)
    return out[0].getvalue(), out[1].getvalue()


class OutputSchedule(Schedule):
    """Two outputs are written together, and again: each is complete, none is older than what was acknowledged."""

    calls = 60

    def __init__(self, root: Path, draw: random.Random) -> None:
        super().__init__(root, draw)
        self.names, self.possible = ("a.json", "b.json"), {-1}

    def work(self) -> None:
        paths = [self.root / name for name in self.names]
        for number in range(3):
            self.possible.add(number)
            version = {"version": number, "text": "z" * self.draw.choice([5, 3000])}
            force = -1 not in self.possible or self.draw.random() < 0.5
            with contextlib.suppress(OutputError):
                with together(paths, force=force):
                    for path in paths:
                        write_json(version, path, force=force)
                self.possible = {number}

    def check(self, place: Path) -> None:
        found = [json.loads((place / name).read_bytes())["version"] if (place / name).exists() else -1
                 for name in self.names]  # fmt: skip
        assert set(found) <= self.possible, (found, self.possible)
        for name in self.names:
            with contextlib.suppress(OutputError):
                check_place(place / name, force=False)
        hidden = [one.name for one in place.iterdir() if one.name.endswith(".tmp")]
        assert not hidden, hidden
        with together([place / name for name in self.names], force=True):
            for name in self.names:
                write_json({"version": 9}, place / name, force=True)
        assert sorted(one.name for one in place.iterdir()) == sorted(self.names)


class WorkFolderSchedule(Schedule):
    """Parts are committed: each acknowledged part is there and intact, and no part is wrong."""

    calls = 45

    def __init__(self, root: Path, draw: random.Random) -> None:
        super().__init__(root, draw)
        sizes = [draw.choice([3, 500]) for _ in range(4)]
        self.arrays = {f"part-{number}": np.arange(size) * (number + 1) for number, size in enumerate(sizes)}
        self.committed: list[str] = []

    def work(self) -> None:
        with contextlib.suppress(LookalikeError, OSError), self._opened(self.root) as space:
            for name, array in self.arrays.items():
                space.part(name, lambda array=array: ({"rows": array}, {"count": len(array)}))  # type: ignore[misc]
                self.committed.append(name)

    @contextmanager
    def _opened(self, place: Path) -> Iterator[Workspace]:
        run = CheckpointFolder(place / "work", {"input": "x"})
        try:
            yield Workspace(MemoryBudget(1 << 62), folder=place / "work", run=run)
        finally:
            run.close()

    def check(self, place: Path) -> None:
        made: list[str] = []
        with self._opened(place) as space:
            for name, array in self.arrays.items():

                def again(name: str = name, array: Any = array) -> tuple[dict[str, Any], dict[str, int]]:
                    made.append(name)
                    return {"rows": array}, {"count": len(array)}

                found, counts = space.part(name, again)
                assert np.array_equal(found["rows"], array)
                assert counts == {"count": len(array)}
            assert not space.notes, space.notes
        assert not set(self.committed) & set(made), f"{self.committed} were committed, {made} were made again"


class IndexSchedule(Schedule):
    """Two writers add, replace, remove and compact: the index has what was acknowledged, and perhaps the change under
    way, as a whole; a change that failed left nothing."""

    calls = 220

    def __init__(self, root: Path, draw: random.Random) -> None:
        super().__init__(root, draw)
        self.model: dict[str, bytes] = {}
        self.possible: list[dict[str, bytes]] = [self.model]
        self.created = False

    def work(self) -> None:
        writers: list[la.Index] = []
        try:
            with contextlib.suppress(LookalikeError):
                writers.append(la.Index.create(self.root / "i", kind="bits", bits=64, threshold=2))
                self.created = True
            if self.created and self.draw.random() < 0.5:
                with contextlib.suppress(LookalikeError):
                    writers.append(la.Index.open(self.root / "i"))
            for _ in range(self.draw.randrange(1, 7) if writers else 0):
                self._change(self.draw.choice(writers))
        finally:
            for writer in writers:
                with contextlib.suppress(LookalikeError, OSError, Stopped):
                    writer.close()

    def _change(self, writer: la.Index) -> None:
        kind = self.draw.choice(["add", "add", "add", "many", "remove", "compact", "groups"])
        after, count = dict(self.model), {"add": 2, "many": 9, "remove": 3}.get(kind, 0)
        names = list(dict.fromkeys(f"i{self.draw.randrange(12)}" for _ in range(count)))
        codes = [self.draw.choice(CODES) for _ in names]
        if kind in ("add", "many"):
            after |= dict(zip(names, codes, strict=True))
        names = [name for name in names if name in after]
        if kind == "remove":
            after = {name: code for name, code in after.items() if name not in names}
        self.possible = [self.model, after]
        try:
            if kind in ("add", "many"):
                writer.add(codes, ids=names)
            elif kind == "remove":
                writer.remove(names)
            elif kind == "compact":
                writer.compact()
            else:
                writer.groups()
        except LookalikeError:
            if disk.system.stopped:  # type: ignore[attr-defined]  # SQLite reports a stop as an error
                raise Stopped from None
            self.possible = [self.model]
            self._compare(writer)
            return
        self.model = after
        self.possible = [self.model]

    def _compare(self, index: la.Index) -> None:
        """Compare the index with the model after a failed change; reading may fail as well."""
        with contextlib.suppress(OSError, InputError):
            assert set(index) == set(self.model), (sorted(index), sorted(self.model))

    def check(self, place: Path) -> None:
        if not self.created and not (place / "i").exists():
            return
        with la.Index.open(place / "i") as again:
            assert again.check().is_sound, again.check().damages
            there = {name: code_of(again.item(name).item) for name in again}
            assert there in self.possible, (sorted(there), [sorted(one) for one in self.possible])
            for name, code in list(there.items())[:3]:
                (matches,) = again.query([code])
                near = {one for one, other in there.items() if bits_apart(code, other) <= 2}
                assert {match.id for match in matches} == near, name
            again.add([CODES[63]], ids=["last"])
            again.compact()
            assert set(again) == {*there, "last"}


def code_of(shown: str) -> bytes:
    return bytes.fromhex(shown)[::-1]


def bits_apart(one: bytes, other: bytes) -> int:
    return (int.from_bytes(one) ^ int.from_bytes(other)).bit_count()


SCHEDULES: dict[str, type[Schedule]] = {
    "verdicts": VerdictSchedule,
    "journal": JournalSchedule,
    "links": LinkSchedule,
    "carry": CarrySchedule,
    "outputs": OutputSchedule,
    "work-folder": WorkFolderSchedule,
    "index": IndexSchedule,
}


def run(name: str, seed: int) -> SimulatedDisk:
    """Run a schedule and check what it leaves: an AssertionError or another error says that something is wrong."""
    draw = random.Random(f"{name} {seed}")
    place = Path(tempfile.mkdtemp(prefix="faults-", dir=SCRATCH))
    try:
        root = place / "disk"
        root.mkdir()
        schedule = SCHEDULES[name](root, draw)
        stop_at = draw.randrange(1, schedule.calls) if draw.random() < 0.7 else None
        system = SimulatedDisk(root, draw, stop_at=stop_at, failing=0.05 if draw.random() < 0.35 else 0.0)
        with (
            disk.replaced(system),
            on_disk(system),
            mock.patch.object(index_folder, "MAX_RECENT_ITEMS", 6),
            mock.patch.object(index_folder.FolderStore, "_start_compaction"),  # threads have no seed
            contextlib.suppress(Stopped),
        ):
            schedule.work()
        try:
            schedule.check(system.image if system.stopped else root)
        except Exception as error:
            raise AssertionError(f"{name} {seed}: {error}\n" + "\n".join(system.log)) from error
        return system
    finally:
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    sys.stdout.write("\n".join(run(sys.argv[1], int(sys.argv[2])).log) + "\n")
