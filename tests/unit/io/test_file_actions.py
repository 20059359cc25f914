"""Tidying files: nothing is lost, what changed is left alone, interruptions leave a journal that can be undone."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lookalike.errors import InputError, OutputError, UsageError
from lookalike.io import file_actions
from lookalike.io.file_actions import Action, apply, look, undo

MODES = ("trash", "move:aside", "hardlink", "delete")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    home = tmp_path / "photos"
    (home / "sub").mkdir(parents=True)
    for name, content in {"a": "one", "b": "one", "sub/a": "one", "c": "two"}.items():
        (home / name).write_text(content)
        os.utime(home / name, ns=(10**18, 10**18 + len(name)))
    return home


def tree(folder: Path) -> dict[str, tuple[str, int]]:
    """The files of a folder: content and time of change."""
    return {
        str(path.relative_to(folder)): (path.read_text(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def copies(folder: Path) -> list[tuple[Path, Path]]:
    return [(folder / "b", folder / "a"), (folder / "sub/a", folder / "a")]


@pytest.mark.promise("docs/how-to/find-look-alike-images.md", "moves files to the trash")
@pytest.mark.parametrize("mode", MODES)
def test_what_is_done_can_be_undone(folder: Path, tmp_path: Path, mode: str) -> None:
    before, seen = tree(folder), look(folder.rglob("*"))
    planned = apply(copies(folder), Action.parse(mode), seen, None)
    assert (planned.changed, planned.nbytes, tree(folder)) == (2, 6, before)
    assert apply(copies(folder), Action.parse(mode), seen, tmp_path / "j", root=folder).changed == 2
    if mode == "hardlink":
        assert (folder / "b").samefile(folder / "a")
        assert (folder / "sub/a").samefile(folder / "a")
    else:
        assert tree(folder).keys() == {"a", "c"}
    if mode == "move:aside":
        assert tree(tmp_path / "aside").keys() == {"b", "sub/a"}
    back = undo(tmp_path / "j")
    if mode == "delete":
        assert back.reasons() == "2 files: it was deleted"
        return
    assert (back.changed, tree(folder)) == (2, before)
    assert undo(tmp_path / "j").changed == 0  # again is harmless
    assert tree(folder) == before


def test_a_file_that_changed_or_lost_its_copy_is_left_alone(folder: Path, tmp_path: Path) -> None:
    seen = look(folder.rglob("*"))
    (folder / "b").write_text("ONE")
    assert apply(copies(folder)[:1], Action.parse("delete"), seen, tmp_path / "1").reasons() == "1 file: it has changed"
    (folder / "a").unlink()
    out = apply(copies(folder), Action.parse("trash"), seen, tmp_path / "2")
    assert out.reasons() == "2 files: the file that is kept for it is no longer there"
    assert tree(folder).keys() == {"b", "sub/a", "c"}


def test_the_last_copy_stays(folder: Path, tmp_path: Path) -> None:
    """Also if the pairs form a circle, or the copy is the same file under another name."""
    seen = look(folder.rglob("*"))
    circle = [(folder / "a", folder / "b"), (folder / "b", folder / "a")]
    assert apply(circle, Action.parse("delete"), seen, tmp_path / "1").changed == 0
    (folder / "link").symlink_to(folder / "a")
    seen = look(folder.rglob("*"))
    same = apply([(folder / "a", folder / "link")], Action.parse("delete"), seen, tmp_path / "2")
    assert same.reasons() == "1 file: it is the file that is kept, under another name"
    assert (folder / "a").exists()


def test_protected_folders_are_not_touched(folder: Path, tmp_path: Path) -> None:
    seen = look(folder.rglob("*"))
    out = apply(copies(folder), Action.parse("delete"), seen, tmp_path / "j", protected=[folder / "sub"])
    assert (out.changed, out.reasons()) == (1, "1 file: it is in a protected folder")
    assert (folder / "sub/a").exists()


def test_links_need_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    near = [(folder / "c", folder / "a")]
    out = apply(near, Action.parse("hardlink"), look(folder.rglob("*")), tmp_path / "j")
    assert out.reasons() == "1 file: hardlink is for files with the same bytes"
    assert (folder / "c").read_text() == "two"


def test_names_that_are_taken_get_a_number(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "aside").mkdir()
    (tmp_path / "aside/b").write_text("before")
    apply(copies(folder)[:1], Action.parse("move:aside"), look(folder.rglob("*")), tmp_path / "j", root=folder)
    assert {name: text for name, (text, _) in tree(tmp_path / "aside").items()} == {"b": "before", "b 2": "one"}
    (folder / "b").write_text("new")
    assert undo(tmp_path / "j").reasons() == "1 file: there is a file of this name again"
    assert (folder / "b").read_text() == "new"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(mode=st.sampled_from(MODES[:3]), stop=st.integers(0, 12))
def test_an_interruption_at_any_call_loses_nothing(
    tmp_path_factory: pytest.TempPathFactory, mode: str, stop: int
) -> None:
    place = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.setenv("XDG_DATA_HOME", str(place / "data"))
        home = place / "in"
        home.mkdir()
        for number in range(5):
            (home / str(number)).write_text("same")
        before, seen = {path.name: path.read_text() for path in home.iterdir()}, look(home.iterdir())
        calls = 0

        def interrupted(name: str):  # type: ignore[no-untyped-def]
            real = getattr(os, name)

            def call(*given, **more):  # type: ignore[no-untyped-def]
                nonlocal calls
                calls += 1
                if calls == stop:
                    raise KeyboardInterrupt
                return real(*given, **more)

            return call

        with pytest.MonkeyPatch.context() as faults:
            for name in ("rename", "replace", "link", "write"):
                faults.setattr(os, name, interrupted(name))
            with contextlib.suppress(KeyboardInterrupt):
                apply([(home / str(n), home / "0") for n in range(1, 5)], Action.parse(mode), seen, place / "j")
        assert (home / "0").exists()
        if (place / "j").exists() and (place / "j").stat().st_size:
            undo(place / "j")
        assert {path.name: path.read_text() for path in home.iterdir()} == before
        assert all(path.stat().st_nlink == 1 for path in home.iterdir())


def test_odd_names_survive_the_journal(folder: Path, tmp_path: Path) -> None:
    odd = Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9\n.jpg"))
    odd.write_text("one")
    seen = look([odd, folder / "a"])
    assert apply([(odd, folder / "a")], Action.parse("trash"), seen, tmp_path / "j").changed == 1
    assert not odd.exists()
    assert undo(tmp_path / "j").changed == 1
    assert odd.read_text() == "one"


def test_bad_journals_and_actions(tmp_path: Path) -> None:
    (tmp_path / "no").write_text("{}\n")
    with pytest.raises(InputError, match="is not a journal of lookalike"):
        undo(tmp_path / "no")
    with pytest.raises(InputError, match="cannot read"):
        undo(tmp_path / "missing")
    header = json.dumps({"format": "lookalike-journal-1"})
    (tmp_path / "bad").write_text(header + '\nnonsense\n{"done": 1}\n')
    with pytest.raises(InputError, match="damaged: line 2"):
        undo(tmp_path / "bad")
    (tmp_path / "short").write_text(header + '\n{"begin": 1, "mode": "trash"}\n')
    with pytest.raises(InputError, match="change 1 is not complete"):
        undo(tmp_path / "short")
    with pytest.raises(OutputError, match="never replaced"):
        file_actions.Journal(tmp_path / "bad")
    for text in ("burn", "move", "move:", "trash:x"):
        with pytest.raises(UsageError, match="expected trash, move:FOLDER, hardlink, reflink or delete"):
            Action.parse(text)
