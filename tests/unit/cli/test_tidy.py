"""`dedup --apply` and `undo` on the command line."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import lookalike as la
from lookalike.cli.main import app
from lookalike.cli.tidy import Tidy
from lookalike.errors import UsageError

TEXT = "one two three four five six seven"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in/sub").mkdir(parents=True)
    for name, text in {"a": TEXT, "b": TEXT, "sub/a": TEXT, "c": "something else that nobody wrote before"}.items():
        (tmp_path / f"in/{name}.txt").write_text(text)
    return tmp_path


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0
    return result.stderr


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*.txt"))


@pytest.mark.promise("docs/how-to/find-look-alike-images.md", "journal before and after it is made")
@pytest.mark.promise("docs/how-to/find-look-alike-images.md", "lookalike dedup FOLDER --apply trash")
def test_apply_shows_then_does_and_undo_reverses(folder: Path) -> None:
    before = names(folder)
    planned = run("dedup", "in", "--apply", "move:out")
    assert "Planned  move:out: 2 files, 66 B" in planned
    assert "Nothing was changed; the same command with --yes does it." in planned
    assert names(folder) == before
    done = run("dedup", "in", "--apply", "move:out", "--yes", "--journal", "j")
    assert "Moved: 2 files, 66 B · lookalike undo j reverses it" in done
    assert names(folder) == ["in/a.txt", "in/c.txt", "out/b.txt", "out/sub/a.txt"]
    assert "Would restore 2 files" in run("undo", "j", "--dry-run")
    assert "Restored 2 files" in run("images", "undo", "j")
    assert names(folder) == before


def test_files_of_another_folder_are_only_compared(folder: Path) -> None:
    (folder / "new").mkdir()
    (folder / "new/copy.txt").write_text(TEXT)
    run("dedup", "new", "--against", "in", "--apply", "delete", "--yes")
    assert names(folder) == ["in/a.txt", "in/b.txt", "in/c.txt", "in/sub/a.txt"]


def test_a_kept_file_of_another_folder_that_changed_meanwhile_counts(folder: Path) -> None:
    (folder / "new").mkdir()
    (folder / "new/copy.txt").write_text(TEXT)
    tidy = Tidy(apply="delete", yes=True, journal=folder / "j")
    result = la.dedup(folder / "new", against=folder / "in")
    seen = tidy.look(result.source)
    for file in (folder / "in").rglob("*.txt"):
        file.write_text("changed")
    tidy.run(result, seen, quiet=True)
    assert (folder / "new/copy.txt").exists()


def photo(path: Path, side: int, exif: dict[int, object], modified: int) -> None:
    image = pytest.importorskip("PIL.Image")
    pixels = np.random.default_rng(1).integers(0, 256, (6, 8, 3), np.uint8)
    tags = image.Exif()
    tags.update(exif)
    picture = image.fromarray(pixels).resize((4 * side, 3 * side), image.Resampling.BICUBIC)
    picture.save(path, quality=90, exif=tags.tobytes() if exif else b"")
    os.utime(path, (modified, modified))


@pytest.mark.promise("docs/how-to/find-look-alike-images.md", "gives the file that stays the older time of change")
def test_times_and_exif_data_are_carried_to_the_file_that_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = pytest.importorskip("PIL.Image")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    photo(tmp_path / "in/large.jpg", 90, {}, 2_000_000)
    photo(tmp_path / "in/small.jpg", 45, {0x010F: "Maker", 0x0112: 1}, 1_500_000)
    photo(tmp_path / "in/tiny.jpg", 30, {0x010F: "Other"}, 1_000_000)
    large, pixels = tmp_path / "in/large.jpg", image.open(tmp_path / "in/large.jpg").tobytes()
    before = large.read_bytes()
    given = ("images", "dedup", "in", "--keep", "longest", "--cache", "none", "--apply", "move:out", "--carry")
    assert "Carried  times or EXIF data to 1 kept file\n" in run(*given)
    assert large.read_bytes() == before
    assert "Carried  times or EXIF data to 1 kept file\n" in run(*given, "--yes", "--journal", "j")
    assert large.stat().st_mtime == 1_000_000
    with image.open(large) as kept:
        assert kept.tobytes() == pixels
        assert dict(kept.getexif()) == {0x010F: "Maker", 0x0112: 1}
    assert run("undo", "j").startswith("Restored 2 files")
    assert (large.read_bytes(), large.stat().st_mtime) == (before, 2_000_000)
    assert "Restored 0 files" in run("undo", "j")


def test_a_file_that_changed_after_it_got_a_time_is_left_alone(folder: Path) -> None:
    kept = folder / "in/a.txt"
    os.utime(folder / "in/b.txt", (1_000_000, 1_000_000))
    run("dedup", "in", "--apply", "move:out", "--carry", "--yes", "--journal", "j")
    assert kept.stat().st_mtime == 1_000_000
    kept.write_text(TEXT[::-1])
    result = CliRunner().invoke(app, ["undo", "j"])
    assert "1 file: it has changed since" in result.stderr
    assert kept.read_text() == TEXT[::-1]
    with pytest.raises(UsageError, match="--carry belongs to --apply"):
        Tidy.of({"apply": None, "yes": False, "journal": None, "carry": True, "protect": None})


@pytest.mark.promise("docs/how-to/find-look-alike-images.md", "names folders whose files are only compared")
def test_protected_files_stay(folder: Path) -> None:
    out = run("dedup", "in", "--apply", "delete", "--yes", "--protect", "in/sub")
    assert "1 file: it is in a protected folder" in out
    assert names(folder) == ["in/a.txt", "in/c.txt", "in/sub/a.txt"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("dedup", "in/a.txt", "--apply", "trash"), "here the items are rows or lines of a file"),
        (("dedup", "in", "--yes"), "--yes belongs to --apply"),
        (("dedup", "in", "--apply", "move"), "expected trash, move:FOLDER"),
        (("dedup", "in", "--apply", "trash", "--protect", "no"), "no such folder: no"),
        (("dedup", "in", "--apply", "trash", "--engine", "spark"), "with --engine spark leave it out"),
    ],
)
def test_what_does_not_fit_is_refused(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        CliRunner().invoke(app, list(arguments), catch_exceptions=False)
