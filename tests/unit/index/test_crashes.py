"""A writer that is killed at any moment loses nothing that it acknowledged."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import lookalike as la
from lookalike.errors import IndexBusy, InputError, OutputError, UsageError
from lookalike.index import compaction, folder, locks, writer

WRITER = Path(__file__).with_name("killed_writer.py")


def text_of(one: str) -> str:
    return f"text {one} " + " ".join(f"{one}w{j}" for j in range(20))


def test_killed_under_load(tmp_path: Path) -> None:
    """Three times: kill a writer after a random number of its lines, and check every item that it acknowledged."""
    place = tmp_path / "index"
    la.Index.create(place, k=2).close()
    draw = random.Random(1)
    sure: set[str] = set()
    for life in range(3):
        child = subprocess.Popen([sys.executable, WRITER, place, str(life)], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        said = [child.stdout.readline() for _ in range(draw.randint(1, 60))]
        known = {one for word, *ids in map(str.split, said) for one in ids if word == "added"} | sure
        known -= {one for word, *ids in map(str.split, said) for one in ids if word == "removing"}
        some = sorted(known)[-50:]
        with la.Index.open(place, read_only=True) as reader:  # next to the writer
            found = reader.query([text_of(one) for one in some])
        missing = {one for one, matches in zip(some, found, strict=True) if [match.id for match in matches] != [one]}
        threading.Event().wait(draw.random() * 0.03)  # somewhere within what comes next
        child.kill()
        assert child.wait() == -signal.SIGKILL
        said += child.stdout.read().splitlines()  # what it had said by then
        child.stdout.close()
        assert missing <= {one for word, *ids in map(str.split, said) for one in ids if word == "removing"}
        perhaps: set[str] = set()  # all of these are in, or all out
        for word, *ids in map(str.split, said):
            perhaps = set(ids) if word in ("adding", "removing") else set()
            sure = sure | set(ids) if word == "added" else sure - set(ids) if word == "removed" else sure
        with la.Index.open(place) as index:
            there = set(index)
            assert sure - perhaps <= there <= sure | perhaps
            assert len(there & perhaps) in (0, len(perhaps))
            some = sorted(there)
            found = index.query([text_of(one) for one in some])
            assert [[match.id for match in one] for one in found] == [[one] for one in some]
            assert [index.item(one).item for one in some[:20]] == [text_of(one) for one in some[:20]]
            assert len(index) == len(there)
            index.add([text_of("again")], ids=["again"])  # sweeps what was left behind
            index.remove(["again"])
            sure = there
        assert not list(place.glob("*.draft"))
    assert len(sure) > 50


def test_one_writer_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "WAIT", 0.05)
    place = tmp_path / "index"
    with la.Index.create(place, k=2) as one, la.Index.open(place) as other:
        with one.store.writing():
            one.add(["a b c"])
            with pytest.raises(IndexBusy, match=f"is being written by process {os.getpid()}; an index has one writer"):
                other.add(["d e f"])
            assert other.query(["a b c"]) == [[]]
            assert other.groups().num_rows == 0  # a reader, and what may write, read on
        other.add(["d e f"])
        assert len(one) == 2


@pytest.mark.promise("docs/how-to/index.md", "Readers never wait, neither for a writer nor for compaction")
def test_readers_in_other_threads_go_on(tmp_path: Path) -> None:
    with la.Index.create(tmp_path / "index", k=2) as index:
        index.add(["a b c"])
        answers: list[Any] = []
        with index.store.writing():
            reader = threading.Thread(target=lambda: answers.extend([index.query(["a b c"]), len(index)]))
            reader.start()
            reader.join(30)
        assert answers == [[[(0, 1.0)]], 1]


@pytest.mark.promise("docs/how-to/index.md", "Readers never wait, neither for a writer nor for compaction")
def test_a_reader_outlives_a_compaction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "MAX_RECENT_ITEMS", 2)
    place = tmp_path / "index"
    texts = [text_of(f"n{number}") for number in range(40)]
    with la.Index.create(place, k=2) as index, la.Index.open(place, read_only=True) as reader:
        for low in range(0, 40, 4):
            index.add(texts[low : low + 4])
        before = reader.query(texts)
        stream = reader.store.candidates(reader.kind.probes(reader.kind.features(next(reader.kind.pieces(texts)))))
        first = next(stream)
        index.compact()
        assert index.info()["segments"] == 1
        assert len(first) + sum(map(len, stream)) == 40  # segments that are gone by now
        assert reader.query(texts) == before


def test_what_goes_between_two_looks_is_not_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "MAX_RECENT_ITEMS", 2)
    place = tmp_path / "index"
    with la.Index.create(place, k=2) as index, la.Index.open(place, read_only=True) as reader:
        index.add([text_of(f"n{number}") for number in range(5)], ids=[f"n{number}" for number in range(5)])
        index.add([text_of("last")], ids=["last"])
        items = reader.store.after(-1, 10)
        index.remove(["n2", "last"])
        index.compact()
        assert reader.store.ids(items).to_pylist() == ["n0", "n1", None, "n3", "n4", None]
        assert reader.store.raw(items)[2] is None
        with pytest.raises(KeyError):
            reader.store.features(items)
        real = type(reader.store).candidates

        def meanwhile(store: Any, keys: Any, most: int | None = None) -> Any:
            yield from list(real(store, keys, most))
            if store is reader.store and "n3" in index:
                index.remove(["n3"])
                index.compact()

        monkeypatch.setattr(type(reader.store), "candidates", meanwhile)
        assert reader.query([text_of("n3"), text_of("n4")]) == [[], [("n4", 1.0)]]


def test_what_is_removed_during_a_compaction_stays_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "MAX_RECENT_ITEMS", 2)
    texts = [text_of(f"n{number}") for number in range(20)]
    with la.Index.create(tmp_path / "index", k=2) as index:
        monkeypatch.setattr(compaction, "due", lambda *_: [])
        for low in range(0, 20, 5):
            index.add(texts[low : low + 5])
        index.remove([1])
        real = compaction.merged

        def meanwhile(*given: Any) -> int:
            size = real(*given)
            index.remove([2, 17])
            index.add([texts[0]], ids=[18])
            return size

        monkeypatch.setattr(compaction, "merged", meanwhile)
        index.compact()
        assert sorted(index) == [n for n in range(20) if n not in (1, 2, 17)]
        assert [match.id for match in index.query([texts[0]])[0]] == [0, 18]
        assert index.query([texts[2], texts[18]]) == [[], []]


def test_a_full_disk_is_one_line_and_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "index"
    with la.Index.create(place, k=2) as index:
        index.add([text_of("a")], ids=["a"])

        def full(*_: Any, **__: Any) -> int:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(folder, "MAX_RECENT_ITEMS", 1)
            patch.setattr(writer, "write_segment", full)
            with pytest.raises(OutputError, match=r"disk full while writing .*; nothing of this change was kept\.$"):
                index.add([text_of(f"n{number}") for number in range(9)], ids=[f"n{number}" for number in range(9)])
        assert list(index) == ["a"]
        index.add([text_of("b")], ids=["b"])
        assert list(index) == ["a", "b"]


def test_a_damaged_segment_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "MAX_RECENT_ITEMS", 1)
    place = tmp_path / "index"
    with la.Index.create(place, k=2) as index:
        index.add([text_of(f"n{number}") for number in range(9)])
    (file,) = place.glob("*.seg")
    whole = file.read_bytes()
    file.write_bytes(whole[:-100])
    with la.Index.open(place) as index, pytest.raises(InputError, match=r"\.seg is damaged: expected a segment of"):
        index.query(["a b"])
    file.unlink()
    with la.Index.open(place) as index, pytest.raises(InputError, match=r"is damaged: .*\.seg is missing"):
        index.query(["a b"])


def test_a_folder_that_cannot_be_written_can_be_read(tmp_path: Path) -> None:
    place = tmp_path / "index"
    with la.Index.create(place, k=2) as index:
        index.add(["a b c"])
    with la.Index.open(place, read_only=True) as index:
        assert len(index.query(["a b c"])[0]) == 1
        with pytest.raises(UsageError, match="was opened with read_only=True"):
            index.add(["d e f"])


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_read_only_folder_says_so(tmp_path: Path) -> None:
    place = tmp_path / "index"
    with la.Index.create(place, k=2) as index:
        index.add(["a b c"])
    place.chmod(0o555)
    try:
        with la.Index.open(place, read_only=True) as index:
            assert len(index.query(["a b c"])[0]) == 1
        with la.Index.open(place) as index, pytest.raises(OutputError, match="cannot write"):
            index.add(["d e f"])
    finally:
        place.chmod(0o755)
