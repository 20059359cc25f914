"""What killed processes leave next to an output: drafts are removed, half of a set may be replaced, nothing else is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from lookalike.errors import OutputError
from lookalike.io import atomic
from lookalike.io.leftovers import hidden_name
from lookalike.io.results import write_folder, write_json

NO_PROCESS = 2**31 - 7  # larger than any process id of Linux

# A run that is killed at the n-th rename of an output, or before the first mark is removed.
KILLED = """
import os, sys
from pathlib import Path
from lookalike.io import atomic
replace, count = os.replace, 0
def kill_at(old, new):
    global count
    if count == int(sys.argv[1]):
        os._exit(9)
    count += 1
    replace(old, new)
atomic.os.replace = kill_at
def kill_before_marks_go(path):
    if path.suffix == ".set":
        os._exit(9)
atomic._discard = kill_before_marks_go
main = Path("a.json"), Path("sub/b.json"), Path("c.json")
from lookalike.io.results import write_json
with atomic.together(main, force=False):
    for path in main:
        write_json({"run": "killed"}, path)
"""
PATHS = (Path("a.json"), Path("sub/b.json"), Path("c.json"))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sub").mkdir()


def killed(at: int) -> None:
    run = subprocess.run(
        [sys.executable, "-c", KILLED, str(at)], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    )
    assert run.returncode == 9


def write_set() -> None:
    for path in PATHS:
        atomic.check_place(path, force=False)
    with atomic.together(PATHS, force=False):
        for path in PATHS:
            write_json({"run": "second"}, path)
            assert "second" not in (path.read_text() if path.exists() else "")


def everything() -> list[str]:
    return sorted(str(path) for path in Path().rglob("*") if path.is_file())


@pytest.mark.parametrize("at", range(4))
def test_a_set_that_was_killed_is_written_by_the_next_run(at: int) -> None:
    killed(at)
    assert sum(path.exists() for path in PATHS) == at
    write_set()
    assert everything() == ["a.json", "c.json", "sub/b.json"]
    assert all("second" in path.read_text() for path in PATHS)
    with pytest.raises(OutputError, match=r"^a\.json exists\. Use `force`"):
        write_set()


def test_a_set_that_was_killed_twice() -> None:
    killed(2)
    killed(1)
    write_set()
    assert everything() == ["a.json", "c.json", "sub/b.json"]


def test_a_file_that_took_the_place_of_an_unfinished_one_is_not_replaced() -> None:
    killed(2)
    Path("a.json").write_text("mine")
    with pytest.raises(OutputError, match=r"^a\.json exists\. Use `force`"):
        write_set()
    assert Path("a.json").read_text() == "mine"


def test_outputs_of_a_process_that_is_still_running_are_not_replaced() -> None:
    killed(2)
    [mark] = Path().glob(".a.json.*.set")
    mark.rename(hidden_name(Path("a.json"), "set", os.getppid()))
    with pytest.raises(OutputError, match=r"^a\.json exists\. Use `force`"):
        write_set()


def test_nothing_is_published_when_one_of_a_set_fails() -> None:
    def write_and_fail() -> None:
        with atomic.together(PATHS, force=False):
            write_json({}, "a.json")
            with atomic.replacing(Path("c.json"), force=False):
                raise pa.ArrowInvalid("no")

    with pytest.raises(OutputError, match=r"^cannot write c\.json: no\.$"):
        write_and_fail()
    assert everything() == []


def test_only_drafts_of_ended_processes_of_this_host_are_removed() -> None:
    drafts = {
        "ended": hidden_name(Path("a.json"), "tmp", NO_PROCESS),
        "earlier process with this id": hidden_name(Path("a.json"), "tmp"),
        "running": hidden_name(Path("a.json"), "tmp", os.getppid()),
        "elsewhere": Path(f".a.json.00000000-{NO_PROCESS}.tmp"),
        "of another output": hidden_name(Path("aa.json"), "tmp", NO_PROCESS),
        "of the user": Path(".a.json.tmp"),
    }
    for path in drafts.values():
        path.touch()
    atomic.check_place(Path("a.json"), force=False)
    assert [name for name, path in drafts.items() if not path.exists()] == ["ended", "earlier process with this id"]


def test_a_folder_that_was_being_replaced_comes_back() -> None:
    write_folder({}, {"run": "first"}, "out")
    aside = hidden_name(Path("out"), "old", NO_PROCESS)
    os.rename("out", aside)
    with pytest.raises(OutputError, match=r"^out exists\."):
        write_folder({}, {"run": "second"}, "out")
    os.rename("out", aside)
    write_folder({}, {"run": "second"}, "out", force=True)
    assert sorted(os.listdir()) == ["out", "sub"]
