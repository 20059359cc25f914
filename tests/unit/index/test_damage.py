"""A damaged index answers as before or says in one line that it is damaged."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lookalike as la
from index_damage import answers, changed, damage, make
from lookalike.errors import DamagedIndex
from lookalike.index import compaction, folder
from lookalike.index.kernels import blocks

GOLDEN = Path(__file__).parents[2] / "golden" / "index-1"
MASK = 2**64 - 1


@pytest.mark.promise("docs/reference/index-format.md", "the sum of a table adds its rows")
@pytest.mark.promise("docs/reference/index-format.md", "every answer is right or one line names the damage")
@pytest.mark.parametrize("kind", ["documents", "vectors", "strings"])
def test_no_damage_gives_a_wrong_answer(kind: str, tmp_path: Path) -> None:
    make(tmp_path / "good", kind)
    right = answers(tmp_path / "good", kind)
    shutil.copytree(tmp_path / "good", tmp_path / "other")
    right_then = changed(tmp_path / "other", kind)
    assert not isinstance(right, str)
    assert not isinstance(right_then, str)
    draw, noticed = random.Random(kind), 0
    for number in range(10):
        bad = tmp_path / f"bad{number}"
        shutil.copytree(tmp_path / "good", bad)
        done = damage(bad, draw)
        found = answers(bad, kind) if number % 4 else changed(bad, kind)
        noticed += isinstance(found, str)
        if isinstance(found, str):
            assert "\n" not in found, done
            assert "damaged" in found or "missing" in found or "format" in found, (done, found)
        else:
            want = right if number % 4 else right_then
            assert found[:6] == want[:6], done
            assert [row["into"] for row in found[6]] == [row["into"] for row in want[6]], done
    assert noticed > 2


def oracle(data: bytes, seed: int) -> int:
    """XXH64, after its specification, for whole stripes of 32 bytes."""
    p1, p2, p3, p4 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63

    def left(x: int, bits: int) -> int:
        return (x << bits | x >> (64 - bits)) & MASK

    def lane(state: int, word: int) -> int:
        return left((state + word * p2) & MASK, 31) * p1 & MASK

    lanes = [(seed + p1 + p2) & MASK, (seed + p2) & MASK, seed, (seed - p1) & MASK]
    for at in range(0, len(data), 8):
        lanes[at // 8 % 4] = lane(lanes[at // 8 % 4], int.from_bytes(data[at : at + 8], "little"))
    out = sum(left(one, bits) for one, bits in zip(lanes, (1, 7, 12, 18), strict=True)) & MASK
    for one in lanes:
        out = ((out ^ lane(0, one)) * p1 + p4) & MASK
    out = (out + len(data)) & MASK
    out = (out ^ out >> 33) * p2 & MASK
    out = (out ^ out >> 29) * p3 & MASK
    return out ^ out >> 32


@pytest.mark.promise("docs/reference/index-format.md", "its XXH64, with the number of the block as the seed")
@given(st.integers(1, 8).flatmap(lambda n: st.binary(min_size=32 * n, max_size=32 * n)), st.integers(0, MASK))
def test_checksums_are_xxh64(data: bytes, seed: int) -> None:
    assert int(blocks.xxh64(np.frombuffer(data, np.uint64), 0, len(data) // 8, np.uint64(seed))) == oracle(data, seed)


def test_check_names_what_is_damaged(tmp_path: Path) -> None:
    place = tmp_path / "index"
    make(place, "documents")
    with la.Index.open(place) as index:
        checked = index.check()
        assert (checked.is_sound, checked.items, checked.unprotected) == (True, len(index), [])
    segment = sorted(place.glob("*.seg"))[0]
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 1
    segment.write_bytes(data)
    command = [sys.executable, "-m", "lookalike", "index", "check", str(place)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"{segment} is damaged: block " in done.stdout + done.stderr
    assert "does not match its checksum. Restore the index from a backup" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.promise("docs/reference/index-format.md", "and has no checksums")
@pytest.mark.promise("docs/reference/index-format.md", "Version 2 has checksums")
@pytest.mark.promise("docs/reference/index-format.md", "`lookalike index check` lists what has none")
@pytest.mark.promise("docs/reference/index-format.md", "Version 2 has checksums")
@pytest.mark.promise("docs/reference/index-format.md", "the next compaction writes them with checksums")
def test_an_index_of_format_1_gets_checksums(tmp_path: Path) -> None:
    place = tmp_path / "index"
    shutil.copytree(GOLDEN / "documents", place)
    with la.Index.open(place, read_only=True) as index:
        old = index.check()
        assert old.is_sound
        assert [Path(path).name for path in old.unprotected] == ["00000000.seg", "index.json", "manifest.sqlite"]
    with la.Index.open(place) as index:
        index.compact()
        assert index.info()["format"] == 2
        assert index.check().unprotected == []


def test_a_name_that_is_not_text_is_damage(tmp_path: Path) -> None:
    with la.Index.create(tmp_path / "index", k=2) as index:
        index.add(["a b c"])
    with sqlite3.connect(tmp_path / "index" / "manifest.sqlite") as link:
        link.execute("UPDATE meta SET name = x'00' WHERE name = 'ids'")
    link.close()
    with pytest.raises(DamagedIndex, match="a name in meta is not text"):
        la.Index.open(tmp_path / "index")


def test_the_end_of_a_read_hides_no_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite can refuse to end a transaction on a damaged file."""

    class Malformed:
        def __init__(self, link: sqlite3.Connection) -> None:
            self._link = link

        def __getattr__(self, name: str) -> Any:
            return getattr(self._link, name)

        def execute(self, query: str, *values: Any) -> Any:
            if query in ("COMMIT", "ROLLBACK"):
                raise sqlite3.DatabaseError("database disk image is malformed")
            return self._link.execute(query, *values)

    with la.Index.create(tmp_path / "index", k=2) as index:
        manifest = index.store._manifest  # type: ignore[attr-defined]
        monkeypatch.setattr(manifest, "link", Malformed(manifest.link))
        with pytest.raises(DamagedIndex, match="is damaged: this"), manifest.reading():
            raise manifest.damaged("this")
        monkeypatch.undo()
        manifest.link.execute("ROLLBACK")


def test_a_lost_log_is_noticed(tmp_path: Path) -> None:
    """A log that was cut or left out of a copy loses whole commits, of which SQLite says nothing."""
    place, copy = tmp_path / "index", tmp_path / "copy"
    with la.Index.create(place, k=2) as index:
        index.add(["a b c"])
        shutil.copytree(place, copy)
        with la.Index.open(copy, read_only=True) as whole:
            assert len(whole) == 1
        for name in ("manifest.sqlite-wal", "manifest.sqlite-shm"):
            (copy / name).unlink(missing_ok=True)
        shutil.copyfile(place / "committed", copy / "committed")
        assert committed(copy) == 0
        if True:
            with pytest.raises(
                DamagedIndex, match=r"ends with commit 0, and commit 1 was the last; manifest\.sqlite-wal"
            ):
                la.Index.open(copy)


def committed(place: Path) -> int:
    link = sqlite3.connect(place / "manifest.sqlite")
    try:
        return int(link.execute("SELECT value FROM meta WHERE name = 'change'").fetchone()[0])
    finally:
        link.close()


READER = """
import sys, lookalike as la
with la.Index.open(sys.argv[1], read_only=True) as index:
    print(len(index), flush=True)
    for _ in sys.stdin:
        print(len(index), flush=True)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a reader of another user")
def test_a_reader_that_may_not_write_sees_every_commit(tmp_path: Path) -> None:
    place = tmp_path / "index"
    for parent in [tmp_path, *tmp_path.parents]:
        if parent != Path("/") and parent.owner() == "root" and not parent.stat().st_mode & 1:
            parent.chmod(parent.stat().st_mode | 0o55)
    with la.Index.create(place, k=2) as index:
        index.add(["a b c"])
    command = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", sys.executable, "-c", READER, str(place)]
    for path in place.iterdir():
        path.chmod(0o444)
    place.chmod(0o555)

    def ask(child: Any) -> int:
        child.stdin.write("\n")
        child.stdin.flush()
        return int(child.stdout.readline())

    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert int(child.stdout.readline()) == 1  # type: ignore[union-attr]
        with la.Index.open(place) as index:
            index.add(["d e f"])
            assert ask(child) == 2
            index.add(["g h i"])
            assert ask(child) == 3
            index.compact()
            assert ask(child) == 3
        assert ask(child) == 3
        child.stdin.close()  # type: ignore[union-attr]
    place.chmod(0o755)


WRITER = """
import sys, lookalike as la
from lookalike.index import compaction, folder
folder.MAX_RECENT_ITEMS, compaction.BIG, who = 2, 1 << 40, int(sys.argv[2])
with la.Index.open(sys.argv[1]) as index:
    for number in range(12):
        ids = [f"{who} {number} {i}" for i in range(4)]
        index.add([[who, number, i] for i in range(4)], ids=ids)
        assert all(one in index for one in ids)
        assert len(index) >= 4 * (number + 1)
"""


def test_several_processes_write_at_once(tmp_path: Path) -> None:
    place = str(tmp_path / "index")
    la.Index.create(place, kind="sets", threshold=0.9).close()
    children = [
        subprocess.Popen([sys.executable, "-c", WRITER, place, str(who)], stderr=subprocess.PIPE, text=True)
        for who in range(3)
    ]
    assert [child.communicate(timeout=120)[1] for child in children] == ["", "", ""]
    with la.Index.open(place) as index:
        assert len(index) == len(set(index)) == 144
        assert index.check().is_sound


def test_counts_are_of_the_moment_of_the_segments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process that commits between two looks cannot make a list of segments and their counts differ."""
    monkeypatch.setattr(folder, "MAX_RECENT_ITEMS", 1)
    place = tmp_path / "index"
    with la.Index.create(place, k=2) as index, la.Index.open(place) as other:
        index.add(["a b c", "d e f"])
        real, seen = compaction.due, []

        def meanwhile(segments: Any, dead: Any) -> Any:
            if not seen:
                seen.append(None)
                other.add(["g h i", "j k l"])
            assert len(segments) == len(dead)
            return real(segments, dead)

        monkeypatch.setattr(compaction, "due", meanwhile)
        index.add(["m n o", "p q r"])
        assert len(index) == len(other) == 6
