"""Some hundred schedules of faults; `make bench-faults` runs a hundred thousand."""

from __future__ import annotations

import ast
from pathlib import Path
from unittest import mock

import pytest

import fault_schedules
import lookalike
import sqlite_simulator
from disk_simulator import SimulatedDisk
from lookalike.errors import OutputError
from lookalike.index.locks import FileLock
from lookalike.io import disk

SEEDS = {"verdicts": 250, "journal": 200, "links": 120, "carry": 120, "outputs": 120, "work-folder": 120, "index": 60}
PACKAGE = Path(lookalike.__file__).parent
BEHIND_THE_DOOR = (
    "index/folder.py", "index/locks.py", "index/manifest.py", "index/segment_file.py", "index/settings.py", "index/writer.py",
    "index/stores.py", "io/action_journal.py", "io/atomic.py", "io/carried.py", "io/file_actions.py", "io/leftovers.py", "io/trash.py",
    "io/verdicts.py", "runtime/local/checkpoints.py", "runtime/local/work_folder.py",
)  # fmt: skip
DIRECT = {
    "os": {"open", "replace", "rename", "fsync", "unlink", "remove", "link", "ftruncate", "write", "pwrite", "mkdir"},
    "fcntl": {"flock", "lockf"}, "time": {"time", "monotonic", "sleep"}, "shutil": {"rmtree"}, "datetime": {"now"},
    "random": {"random", "choice", "Random"},
}  # fmt: skip


@pytest.mark.promise("docs/explanation/faults.md", "Nothing that was acknowledged is lost")
@pytest.mark.parametrize("name", SEEDS)
def test_schedules(name: str) -> None:
    stopped = [fault_schedules.run(name, seed).stopped for seed in range(SEEDS[name])]
    assert sum(stopped) > SEEDS[name] // 4


FOUND = {"journal": [1007095, 1015104], "links": [144, 158]}  # schedules that failed once


def test_schedules_that_failed_once() -> None:
    for name, seeds in FOUND.items():
        for seed in seeds:
            fault_schedules.run(name, seed)


@pytest.mark.promise("docs/explanation/faults.md", "each failure is repeated by its seed")
def test_a_seed_repeats_its_calls() -> None:
    for name in SEEDS:
        one, other = (fault_schedules.run(name, 3).log for _ in range(2))
        assert [line.split(" ")[:3] for line in one] == [line.split(" ")[:3] for line in other]


@pytest.mark.promise("docs/explanation/faults.md", "Without one of these flushes the schedules fail")
@pytest.mark.parametrize("name", ["verdicts", "journal", "links", "carry", "work-folder", "index"])
@pytest.mark.parametrize("without", ["sync_folder", "sync"])
def test_the_schedules_find_a_missing_flush(name: str, without: str) -> None:
    place, method = (disk, "sync_folder") if without == "sync_folder" else (SimulatedDisk, "sync")
    found = 0
    with mock.patch.object(place, method):
        for seed in range(400):
            try:
                fault_schedules.run(name, seed)
            except AssertionError:
                found += 1
                break
    assert found


@pytest.mark.promise("docs/explanation/faults.md", "Without the flushes of SQLite")
def test_the_schedules_find_a_missing_flush_of_sqlite() -> None:
    def without_flush(self: sqlite_simulator.Files, file: int, _: int) -> int:
        return self.step("sync", self.open_files[file][0], lambda: sqlite_simulator.OK)

    found = 0
    with mock.patch.object(sqlite_simulator.Files, "sync", without_flush):
        for seed in range(100):
            try:
                fault_schedules.run("index", seed)
            except AssertionError:
                found += 1
                break
    assert found


@pytest.mark.promise("docs/explanation/faults.md", "go through one module")
def test_the_door_is_the_only_way() -> None:
    for name in BEHIND_THE_DOOR:
        for node in ast.walk(ast.parse((PACKAGE / name).read_text())):
            if not isinstance(node, ast.Call):
                continue
            call = node.func
            if isinstance(call, ast.Name):
                assert call.id != "open", (name, node.lineno)
            elif isinstance(call, ast.Attribute):
                owner = call.value.id if isinstance(call.value, ast.Name) else ""
                assert call.attr not in DIRECT.get(owner, ()), (name, node.lineno, call.attr)
                written = {"write_text", "write_bytes"}
                assert call.attr not in written, (name, node.lineno, call.attr)


def test_a_lock_is_held_although_its_file_cannot_be_written(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "writer.lock")
    with mock.patch.object(disk.System, "write", side_effect=OSError(28, "No space left on device")):
        assert lock.acquire(0)
    assert not FileLock(tmp_path / "writer.lock").acquire(0)
    lock.release()
    assert FileLock(tmp_path / "writer.lock").acquire(0)


def test_a_verdict_that_does_not_fit_leaves_no_part(tmp_path: Path) -> None:
    verdicts = lookalike.Verdicts(tmp_path / "v.jsonl")
    verdicts.add(1, 2, "same", by="a")
    before = verdicts.path.read_bytes()
    real = disk.System().write

    def half(self: disk.System, handle: int, data: memoryview) -> int:
        if len(data) < 60:
            raise OSError(28, "No space left on device")
        return real(handle, data[: len(data) // 2])

    with mock.patch.object(disk.System, "write", half), pytest.raises(OutputError, match="No space left"):
        verdicts.add(3, 4, "same", by="a")
    assert verdicts.path.read_bytes() == before


def test_torn_verdicts_are_dropped_and_damage_inside_is_reported(tmp_path: Path) -> None:
    verdicts = lookalike.Verdicts(tmp_path / "v.jsonl")
    for number in range(3):
        verdicts.add(number, 9, "same", by="a")
    whole = verdicts.path.read_bytes()
    verdicts.path.write_bytes(whole + bytes(300) + b'by": "a"}\n')
    assert len(verdicts.read().pairs) == 3
    verdicts.add(3, 9, "same", by="a")
    assert len(verdicts.read().pairs) == 4
    lines = whole.split(b"\n")
    verdicts.path.write_bytes(b"\n".join([lines[0], bytes(40), *lines[2:]]))
    with pytest.raises(lookalike.errors.InputError, match="line 2 is not JSON"):
        verdicts.read()
