"""The cache of hashes: what it spares, when it must not be believed, and what it does if it is damaged."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import numpy as np
import pytest

import lookalike as la
from lookalike.errors import InputError
from lookalike.io import pictures
from lookalike.kinds.images import feature_store, reading

Image = pytest.importorskip("PIL.Image")
pytest.importorskip("imagehash")


def save(path: Path, seed: int, **options) -> None:  # type: ignore[no-untyped-def]
    pixels = np.random.default_rng(seed).integers(0, 256, (6, 8), np.uint8)
    Image.fromarray(pixels).resize((160, 120), 3).save(path, **options)
    os.utime(path, (1_000_000_000, 1_000_000_000))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    for seed in range(4):
        save(folder / f"{seed}.png", seed)
    save(folder / "copy.jpg", 0)
    monkeypatch.setattr(feature_store, "UNSETTLED_NS", -1)  # as if the files were old
    return folder


def decoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that grows by the name of each file that is decoded."""
    names: list[str] = []
    load = pictures.load_frames
    monkeypatch.setattr(reading, "load_frames", lambda file, *rest: (names.append(file.name), load(file, *rest))[1])
    return names


def found(folder: Path, cache: Path | str, **options) -> tuple[list[dict[str, object]], int]:  # type: ignore[no-untyped-def]
    result = la.images.pairs(folder, cache=cache, **options)
    return result.pairs.to_pylist(), result.receipt["counts"]["cached"]


@pytest.mark.promise("docs/how-to/images.md", "A later run decodes only new and changed files")
def test_a_second_run_decodes_nothing_and_answers_the_same(folder: Path, tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    cache, names = tmp_path / "cache", decoded(monkeypatch)
    (folder / "broken.jpg").write_bytes(b"\xff\xd8\xff")
    for options in ({}, {"orientations": True}, {"max_bits": 2, "keep": None}):
        options.pop("keep", None)
        names.clear()
        first, _ = found(folder, "none", **options)
        assert len(names) == 6
        found(folder, cache, **options)
        names.clear()
        assert found(folder, cache, **options) == (first, 5)
        assert names == ["broken.jpg"], "what cannot be read is tried again: a plug-in may have been installed"
    names.clear()
    found(folder, cache, hashes=["dhash"])
    assert len(names) == 6, "other options, other hashes"


@pytest.mark.promise("docs/how-to/images.md", "whose path, size and times are the same, or whose bytes are")
def test_changed_files_are_read_again_and_moved_ones_are_known_by_content(
    folder: Path, tmp_path: Path, monkeypatch
) -> None:  # type: ignore[no-untyped-def]
    cache, names = tmp_path / "cache", decoded(monkeypatch)
    assert found(folder, cache)[0][0]["right"] == "copy.jpg"
    (folder / "0.png").rename(folder / "moved.png")
    save(folder / "1.png", 77)  # the same time; the time of the metadata tells
    names.clear()
    pairs, cached = found(folder, cache)
    assert names == ["1.png"]
    assert cached == 4
    assert [(row["left"], row["right"]) for row in pairs] == [("copy.jpg", "moved.png")]


def test_files_that_changed_just_now_are_known_by_content_only(folder: Path, tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(feature_store, "UNSETTLED_NS", 3_600_000_000_000)
    cache, reads = tmp_path / "cache", []
    found(folder, cache)
    read = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: (reads.append(path.name), read(path))[1])
    assert found(folder, cache)[1] == 5
    assert len(reads) == 5


@pytest.mark.promise("docs/how-to/images.md", "never stops a run")
def test_a_cache_that_cannot_be_used_is_said_and_not_needed(folder: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    (damaged / feature_store.DATABASE).write_bytes(b"not a database, " * 300)
    (tmp_path / "file").write_text("")
    expected, _ = found(folder, "none")
    for cache in (damaged, tmp_path / "file"):
        result = la.images.pairs(folder, cache=cache)
        assert result.pairs.to_pylist() == expected
        assert "are not kept for later runs" in result.receipt["warnings"][0]


def test_damage_that_shows_during_a_run_is_one_clear_error(folder: Path, tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    def fail(*_: object) -> None:
        raise sqlite3.DatabaseError("database disk image is malformed")

    monkeypatch.setattr(feature_store.FeatureStore, "thumbs", fail)
    with pytest.raises(InputError, match=r"malformed\. Remove the file, or give cache='none'"):
        la.images.pairs(folder, cache=tmp_path / "cache")


def test_two_runs_share_a_cache(folder: Path, tmp_path: Path) -> None:
    job = reading.ImageJob(cache=str(tmp_path / "cache"))
    with reading.open_store(job, reading.Trace()) as one, reading.open_store(job, reading.Trace()) as other:
        made = reading.features_of(pictures.load_picture(folder / "0.png", "0"), job)
        stored = one.add(b"content", [made])
        one.commit()
        assert other.by_content(b"content") == stored == other.add(b"content", [made])
        other.commit()
        assert (one.local(stored[0].id).small == made.local.small).all()
        assert one.local(stored[0].id).points.tolist() == made.local.points.tolist()


@pytest.mark.promise(
    "docs/how-to/images.md", "`lookalike runs` shows them and `lookalike runs clean --cache` removes them"
)
def test_runs_shows_the_cache_and_removes_it(folder: Path, tmp_path: Path, lookalike, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(folder)
    cache = tmp_path / "cache"
    monkeypatch.setattr(feature_store, "cache_folder", lambda: cache)
    assert "pictures" not in lookalike("runs").out
    la.images.pairs(folder)
    assert "hashes of 5 pictures\n    lookalike runs clean --cache removes them" in lookalike("runs").out
    assert "hashes" not in lookalike("runs", "list", folder).out
    assert lookalike("runs", "clean").out == "No work folders here.\n"
    assert lookalike("runs", "clean", "--cache").out.startswith(f"Removed  {cache} (")
    assert list(cache.iterdir()) == []
    (cache / feature_store.DATABASE).write_bytes(b"x")
    assert "1 B  not readable" in lookalike("runs").out


@pytest.mark.promise("docs/how-to/images.md", "about 30 kB, of which a run reads 4 kB")
def test_the_size_of_a_picture_in_the_cache(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (36, 48), np.uint8)
    Image.fromarray(pixels).resize((800, 600), 0).save(tmp_path / "a.png")
    job = reading.ImageJob(cache="none")
    made = reading.features_of(pictures.load_picture(tmp_path / "a.png", "a"), job)
    read = made.head.nbytes + made.local.codes.nbytes
    rest = made.thumbs.nbytes + sum(
        array.nbytes for array in (made.local.points, made.local.mirrored, made.local.small)
    )
    assert (round(read / 1000), round((read + rest) / 10_000)) == (4, 3)
