"""Kinds whose items are numbers work on disk within a budget, with the bytes of a run in memory, however often they are
killed.
"""

from __future__ import annotations

import errno
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pv
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import lookalike as la
from lookalike.cli.main import app
from lookalike.core.clusters import MAKERS
from lookalike.errors import DuplicateIds, InputError, OutputError, TooManyPairs, UsageError
from lookalike.kinds.bits import disk as bits_disk
from lookalike.kinds.strings import disk as strings_disk
from lookalike.kinds.vectors import disk as vectors_disk
from lookalike.runtime.local import (
    checkpoints,
    code_join,
    listed_rows,
    memory_limit,
    pair_store,
    work_folder,
)

COUNT = 3_000


def words(seed: int = 1, count: int = COUNT, bits: int = 3) -> Any:
    """Half of the codes are copies of others, with up to `bits` bits turned."""
    draw = np.random.default_rng(seed)
    codes = draw.integers(0, 1 << 63, count).astype(np.uint64)
    codes[count // 2 :] = codes[draw.integers(0, count // 2, count - count // 2)]
    for _ in range(bits):
        turned = np.flatnonzero(draw.random(count) < 0.4)
        turned = turned[turned >= count // 2]
        codes[turned] ^= np.uint64(1) << draw.integers(0, 63, len(turned), np.uint64)
    return codes


def integers(folder: Path) -> Path:
    draw = np.random.default_rng(2)
    ids = [f"code {number}" for number in draw.permutation(COUNT)]
    columns = {"id": ids, "code": words(), "rank": draw.integers(0, 9, COUNT)}
    pq.write_table(pa.table(columns), folder / "in.parquet", row_group_size=500)
    return folder / "in.parquet"


def hexadecimal(folder: Path) -> Path:
    """The first codes are missing, and the next ones have no letters."""
    codes: list[str | None] = [f"{int(code):016x}" for code in words()]
    codes[:700] = [None] * 700
    codes[700:1400] = [f"{int(code) & 0x1111111111111111:016x}" for code in words()[700:1400]]
    pv.write_csv(pa.table({"code": codes}), folder / "in.csv")
    return folder / "in.csv"


def wide(folder: Path) -> Path:
    rows = np.stack([words(), words() ^ np.uint64(9), words()], axis=1)
    codes = pa.array([row.tobytes() for row in rows], pa.binary(24))
    pq.write_table(pa.table({"code": codes}), folder / "in.parquet")
    return folder / "in.parquet"


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a join on disk have many parts, runs and tasks."""
    monkeypatch.setattr(code_join.CodeJoin, "chunk_rows", 400)
    monkeypatch.setattr(code_join, "READ_CODES", 700)
    monkeypatch.setattr(code_join, "CODE_TASK_PAIRS", 8)
    for module in (bits_disk, vectors_disk):
        monkeypatch.setattr(module, "pairs_in_memory", lambda _: 1)
    monkeypatch.setattr(vectors_disk, "CANDIDATES_PER_TASK", 100)
    monkeypatch.setattr(vectors_disk, "room_for", lambda *_: 1 << 20)


def answers(kind: Any, source: Path, **options: Any) -> dict[str, Any]:
    found = kind.pairs(source, **options)
    out = {
        "pairs": found.pairs.combine_chunks(),
        "rows": [one["rows"] for one in found.receipt["inputs"]],
        "method": found.receipt["choice"]["method"],
        "plan": found.receipt["plan"],
    }
    del found
    if "against" not in options:
        out["groups"] = kind.groups(source, **options).groups
        out["cliques"] = kind.groups(source, grouping="cliques", **options).groups
    removed = kind.dedup(source, **options)
    return out | {"kept": removed.kept, "removed": removed.removed, "sizes": removed.sizes}


@pytest.mark.usefixtures("small_parts")
@pytest.mark.promise("docs/how-to/large.md", "the same pairs as in memory")
@pytest.mark.parametrize(
    ("made", "options"),
    [
        (integers, {"max_bits": 3}),
        (integers, {"max_bits": 0}),
        (integers, {"max_bits": 12, "method": "lsh", "recall": 0.8}),
        (hexadecimal, {"max_bits": 3}),
        (wide, {"max_bits": 9}),
    ],
    ids=["integers", "equal", "lsh", "hexadecimal", "wide"],
)
def test_codes_on_disk_have_the_pairs_of_those_in_memory(
    made: Callable[[Path], Path], options: dict[str, Any], tmp_path: Path
) -> None:
    source = made(tmp_path)
    expected = answers(la.bits, source, **options)
    assert expected["pairs"].num_rows > 100
    found = answers(la.bits, source, work_dir=tmp_path / "work", memory="300MB", **options)
    assert found == expected


def points(count: int = COUNT) -> Any:
    """Half of the vectors are near others, and some are equal to others."""
    draw = np.random.default_rng(5)
    values = draw.standard_normal((count, 24)).astype(np.float32)
    half = count // 2
    values[half:] = values[draw.integers(0, half, count - half)]
    values[half:] += np.float32(0.05) * draw.standard_normal((count - half, 24)).astype(np.float32)
    values[-40:] = values[:40]
    return values


def array(folder: Path) -> Path:
    np.save(folder / "in.npy", points())
    return folder / "in.npy"


def halves(folder: Path) -> Path:
    np.save(folder / "in.npy", points().astype(np.float16))
    return folder / "in.npy"


def bytes_of_rows(folder: Path) -> Path:
    values = pa.array((30 * points()).clip(-127, 127).astype(np.int8).reshape(-1))
    table = {"id": [f"row {n}" for n in range(COUNT)], "vector": pa.FixedSizeListArray.from_arrays(values, 24)}
    pq.write_table(pa.table({**table, "rank": np.arange(COUNT) % 7}), folder / "in.parquet", row_group_size=700)
    return folder / "in.parquet"


def fvecs(folder: Path) -> Path:
    rows = np.concatenate([np.full((COUNT, 1), 24, np.int32).view(np.float32), points()], axis=1)
    (folder / "in.fvecs").write_bytes(rows.tobytes())
    return folder / "in.fvecs"


@pytest.mark.usefixtures("small_parts")
@pytest.mark.promise("docs/how-to/large.md", "Vectors of .npy and .fvecs files stay there")
@pytest.mark.parametrize(
    ("made", "options"),
    [
        (array, {"max_angle": 10, "method": "lsh"}),
        (halves, {"min_cosine": 0.98, "method": "lsh", "recall": 0.8}),
        (bytes_of_rows, {"max_angle": 10, "method": "lsh", "keep": "max:rank"}),
        (fvecs, {"max_distance": 0.5, "exact": True}),
    ],
    ids=["angle", "halves", "bytes", "distance"],
)
def test_vectors_on_disk_have_the_pairs_of_those_in_memory(
    made: Callable[[Path], Path], options: dict[str, Any], tmp_path: Path
) -> None:
    """Plan, pairs, scores and even the measured recall are the same."""
    source, work = made(tmp_path), {"work_dir": tmp_path / "work", "memory": "300MB"}
    keep = {"keep": options.pop("keep")} if "keep" in options else {}
    expected, found = (la.vectors.pairs(source, **options, **more) for more in ({}, work))
    assert expected.pairs.num_rows > 1_000
    assert found.pairs.equals(expected.pairs)
    for name in ("plan", "choice", "recall_measured", "inputs"):
        assert found.receipt[name] == expected.receipt[name], name
    stored = sum(file.stat().st_size for file in (tmp_path / "work").glob("rows-*/values"))
    assert stored == (COUNT * 24 if made is bytes_of_rows else 0)
    one, other = (la.vectors.dedup(source, **options, **keep, **more) for more in ({}, work))
    assert one.kept.equals(other.kept)
    assert one.removed.equals(other.removed)


def names(folder: Path, count: int = 1_800) -> Path:
    """Half of the names have a few letters changed; some are equal, empty, missing or long."""
    draw = np.random.default_rng(9)
    letters = list("abcdefgh é")
    out: list[str | None] = []
    for number in range(count):
        if number < count // 2:
            out.append("".join(draw.choice(letters, draw.integers(4, 90 if number % 40 == 0 else 16))))
            continue
        text = list(out[draw.integers(0, count // 2)] or "")
        for _ in range(draw.integers(0, 3)):
            text[draw.integers(0, len(text))] = draw.choice([*letters, ""])
        out.append("".join(text))
    out[5] = out[count // 2] = ""
    table = {"id": [f"name {n}" for n in draw.permutation(count)], "name": out, "rank": np.arange(count) % 7}
    pq.write_table(pa.table(table), folder / "in.parquet", row_group_size=700)
    return folder / "in.parquet"


@pytest.mark.promise("docs/how-to/large.md", "Strings are compared with the keys of one part after the other")
@pytest.mark.parametrize("small", [False, True], ids=["one part", "parts"])
@pytest.mark.parametrize(
    "options",
    [{"max_edits": 1}, {"threshold": 0.8, "measure": "indel", "fold_case": True}, {"max_edits": 4}],
    ids=["edits", "similarity", "segments"],
)
def test_strings_on_disk_have_the_pairs_of_those_in_memory(
    options: dict[str, Any], small: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, used = names(tmp_path), dict[str, int]()
    options = {"text": "name", "id": "id", **options}
    expected = answers(la.strings, source, **options)
    assert expected["pairs"].num_rows > 500
    if small:
        monkeypatch.setattr(strings_disk, "PART_KEY_BYTES", 1 << 15)
        monkeypatch.setattr(strings_disk, "MOST_KEY_PARTS", 2)
        monkeypatch.setattr(strings_disk, "STRINGS_PER_TASK", 500)
        monkeypatch.setattr(strings_disk, "pairs_in_memory", lambda _: 1)
        divided = strings_disk._divided
        monkeypatch.setattr(strings_disk, "_divided", lambda *given: used.update(bits=given[2]) or divided(*given))
    work = {"work_dir": tmp_path / "work", "memory": "300MB"}
    found = answers(la.strings, source, **work, **options)
    assert found == expected
    assert used == ({"bits": 2} if small else {})
    for keep in ("longest", "max:rank"):
        one, other = (la.strings.dedup(source, keep=keep, **options, **more) for more in ({}, work))
        assert one.kept.equals(other.kept)
    against = {**options, "against": source}
    assert la.strings.pairs(source, **against, **work).pairs.equals(la.strings.pairs(source, **against).pairs)


def test_the_limit_of_pairs_counts_each_pair_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Strings whose keys are in several parts are found several times."""
    source = names(tmp_path)
    monkeypatch.setattr(strings_disk, "PART_KEY_BYTES", 1 << 15)
    options: dict[str, Any] = {"text": "name", "max_edits": 2, "work_dir": tmp_path / "work"}
    groups = la.strings.groups(source, **options)
    assert groups.found.pairs is not None
    count = len(groups.found.pairs)
    assert la.strings.groups(source, max_pairs=count, **options).groups.equals(groups.groups)
    with pytest.raises(TooManyPairs, match=f"more than {count - 1:,} pairs"):
        la.strings.groups(source, max_pairs=count - 1, **options)


@pytest.mark.promise("docs/how-to/large.md", "the recall is not measured, and a")
def test_an_audit_that_does_not_fit_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listed_rows, "AUDIT_ITEM_BYTES", 1_000_000)
    for kind, source, options in (
        (la.vectors, array(tmp_path), {"max_angle": 10, "method": "lsh"}),
        (la.bits, integers(tmp_path), {"max_bits": 12, "method": "lsh", "recall": 0.8}),
    ):
        found = kind.pairs(source, work_dir=tmp_path / "work", memory="300MB", **options)
        assert found.receipt["recall_measured"] is None
        assert any("the recall was not measured: that takes about" in text for text in found.receipt["warnings"])


def test_vectors_that_are_wrong_are_named_with_their_row(tmp_path: Path) -> None:
    values = points(200)
    values[150, 3] = np.nan
    np.save(tmp_path / "in.npy", values)
    with pytest.raises(InputError, match=r"in\.npy row 150: number 3 is NaN"):
        la.vectors.pairs(tmp_path / "in.npy", max_angle=5, work_dir=tmp_path / "work")
    for more in ({}, {"work_dir": tmp_path / "work"}):
        found = la.vectors.pairs(tmp_path / "in.npy", max_angle=5, on_bad="skip", **more)
        assert found.receipt["counts"]["skipped"] == 1
    np.save(tmp_path / "other.npy", points(50)[:, :9])
    with pytest.raises(UsageError, match=r"vectors of 9 and of 24 numbers"):
        la.vectors.pairs(
            tmp_path / "in.npy", against=tmp_path / "other.npy", max_angle=5, on_bad="skip", work_dir=tmp_path / "w"
        )


@pytest.mark.usefixtures("small_parts")
def test_codes_against_others_and_by_a_policy(tmp_path: Path) -> None:
    source = integers(tmp_path)
    pq.write_table(
        pa.table({"id": [f"other {n}" for n in range(900)], "code": words()[::2][:900]}), tmp_path / "b.parquet"
    )
    options: dict[str, Any] = {"max_bits": 3, "against": tmp_path / "b.parquet"}
    assert answers(la.bits, source, work_dir=tmp_path / "work", **options) == answers(la.bits, source, **options)
    options = {"max_bits": 3, "keep": "max:rank"}
    there = la.bits.dedup(source, work_dir=tmp_path / "work", **options)
    assert there.kept.equals(la.bits.dedup(source, **options).kept)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.promise("docs/how-to/large.md", "Pairs that do not fit into a quarter of the memory stay on disk")
def test_pairs_beyond_the_memory_are_written_as_they_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = integers(tmp_path)
    pq.write_table(pa.table({"code": words()[::2]}), tmp_path / "b.parquet")
    for number, options in enumerate(({"max_bits": 4}, {"max_bits": 4, "against": tmp_path / "b.parquet"})):
        expected = la.bits.pairs(source, **options)
        expected.write(tmp_path / "expected.csv", force=True)
        with monkeypatch.context() as patched:
            patched.setattr(listed_rows, "PAIRS_MEMORY_SHARE", 1 << 40)
            found = la.bits.pairs(source, work_dir=tmp_path / f"work-{number}", memory="300MB", **options)
            assert found.found.streamed is not None
            assert found.receipt["counts"]["pairs"] == expected.receipt["counts"]["pairs"]
            found.write(tmp_path / "found.csv", force=True)
            assert (tmp_path / "found.csv").read_bytes() == (tmp_path / "expected.csv").read_bytes()
            with pytest.raises(UsageError, match="run again"):
                found.rethreshold(2)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.promise("docs/how-to/large.md", "Groups are made from the pairs as they are read")
def test_groups_are_made_from_pairs_beyond_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = integers(tmp_path)
    pq.write_table(pa.table({"code": words()[::2]}), tmp_path / "b.parquet")
    options: dict[str, Any] = {"max_bits": 4}

    def made(**more: Any) -> list[pa.Table]:
        out = [la.bits.groups(source, grouping=one, **options, **more).groups for one in MAKERS]
        for keep in ("first", "last", "max:rank"):
            result = la.bits.dedup(source, keep=keep, **options, **more)
            out += [result.kept, result.removed, result.sizes]
        result = la.bits.dedup(source, against=tmp_path / "b.parquet", **options, **more)
        assert not more or result.found.pairs is None
        return [*out, result.kept, result.removed]

    expected = made()
    monkeypatch.setattr(listed_rows, "PAIRS_MEMORY_SHARE", 1 << 40)
    found = made(work_dir=tmp_path / "work", memory="300MB")
    assert [one.num_rows for one in found] == [one.num_rows for one in expected]
    assert found == expected


KINDS = pytest.mark.parametrize(
    ("kind", "made", "options"),
    [
        (la.bits, integers, {"max_bits": 3}),
        (la.vectors, bytes_of_rows, {"max_angle": 10, "method": "lsh"}),
        (la.strings, names, {"text": "name", "max_edits": 2}),
    ],
    ids=["bits", "vectors", "strings"],
)


@KINDS
@pytest.mark.promise("docs/how-to/large.md", "damaged work files are detected")
def test_damaged_work_files_are_made_again(
    kind: Any, made: Callable[[Path], Path], options: dict[str, Any], tmp_path: Path
) -> None:
    source, work = made(tmp_path), tmp_path / "work"
    expected = kind.pairs(source, work_dir=work, memory="300MB", **options).pairs.combine_chunks()
    files = [file for file in work.rglob("*") if file.is_file() and file.stat().st_size and file.suffix != ".json"]
    assert len(files) >= 3
    for number, file in enumerate(files):
        whole = file.read_bytes()
        middle = len(whole) // 2
        file.write_bytes(
            whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :] if number % 2 else whole[:-1]
        )
        found = kind.pairs(source, work_dir=work, memory="300MB", **options)
        assert found.pairs.combine_chunks() == expected, file.name
        noted = any("is damaged" in note for note in found.receipt["work"]["notes"])
        assert noted or file.name in ("candidates", "sketches.words"), "not needed once the pairs are complete"
        del found


@KINDS
@pytest.mark.promise("docs/how-to/large.md", "`lookalike runs` lists the work folders in the current directory")
def test_complete_pairs_are_reused_within_another_memory(
    kind: Any, made: Callable[[Path], Path], options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The default memory is never the same twice; steps that are not done do not depend on small changes of it."""
    source, work = made(tmp_path), tmp_path / "work"
    expected = kind.pairs(source, work_dir=work, memory="300MB", **options).pairs.combine_chunks()
    monkeypatch.setattr(pair_store.PairStore, "add", None)
    listed = CliRunner().invoke(app, ["runs", "list", str(tmp_path)]).output
    noun = {la.bits: "codes", la.vectors: "vectors", la.strings: "strings"}[kind]
    assert f"all {pq.read_metadata(source).num_rows:,} {noun}" in listed
    found = kind.pairs(source, work_dir=work, memory="40GB", **options)
    assert found.pairs.combine_chunks() == expected


@KINDS
def test_a_full_disk_ends_a_run_that_goes_on_later(
    kind: Any, made: Callable[[Path], Path], options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, left = made(tmp_path), 0
    write_all = work_folder.write_all

    def limited(file: Any, array: Any) -> None:
        nonlocal left
        left -= array.nbytes
        if left < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        write_all(file, array)

    expected = kind.pairs(source, work_dir=tmp_path / "calm", **options).pairs.combine_chunks()
    for room in (1_000, 30_000, 60_000):
        with monkeypatch.context() as patched:
            for module in (checkpoints, pair_store):
                patched.setattr(module, "write_all", limited)
            left = room
            with pytest.raises(OutputError, match=r"^disk full: ") if room < 30_000 else suppress(OutputError):
                kind.pairs(source, work_dir=tmp_path / "work", **options)
    found = kind.pairs(source, work_dir=tmp_path / "work", **options)
    assert found.pairs.combine_chunks() == expected


@pytest.mark.promise("docs/how-to/large.md", "On disk it takes 9 bytes for each code of 64 bits and 16 for each pair")
def test_the_work_folder_holds_the_codes_once(tmp_path: Path) -> None:
    codes = words(count=20_000)
    pq.write_table(pa.table({"code": codes}), tmp_path / "in.parquet")
    found = la.bits.pairs(tmp_path / "in.parquet", max_bits=3, work_dir=tmp_path / "work")
    held = sum(file.stat().st_size for file in (tmp_path / "work").rglob("*") if file.is_file())
    assert 9 * len(codes) < held < 9 * len(codes) + 16 * found.pairs.num_rows + 4_000


def test_what_is_wrong_is_named_with_its_file_and_row(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": ["a", "b", "a", "a"], "code": [1, 2, 3, 4]}), tmp_path / "in.parquet")
    with pytest.raises(DuplicateIds, match=r"the id 'a' occurs 3 times in .*in\.parquet"):
        la.bits.pairs(tmp_path / "in.parquet", work_dir=tmp_path / "work")
    (tmp_path / "in.csv").write_text("code\n" + "0f0f\n" * 5 + "0f0x\n")
    with pytest.raises(InputError, match=r"in\.csv line 7: the code has 'x' at position 3"):
        la.bits.pairs(tmp_path / "in.csv", work_dir=tmp_path / "work")
    (tmp_path / "in.csv").write_text("code\n")
    assert la.bits.pairs(tmp_path / "in.csv", work_dir=tmp_path / "work").pairs.num_rows == 0


# The process kills itself at a moment that its first argument counts: before a commit, after it, or with half of the
# numbers written.
PROGRAM = """
import os, signal, sys
from lookalike.kinds.bits import disk
from lookalike.kinds.strings import disk as strings_disk
from lookalike.kinds.vectors import disk as vectors_disk
from lookalike.runtime.local import checkpoints, code_join, pair_store, work_folder
checkpoints.COMMIT = pair_store.STEP_COMMIT_SECONDS = 0.0
code_join.CodeJoin.chunk_rows, code_join.READ_CODES = 400, 700
disk.pairs_in_memory = vectors_disk.pairs_in_memory = strings_disk.pairs_in_memory = lambda _: 1
strings_disk.PART_KEYS, strings_disk.STRINGS_PER_TASK = 1 << 13, 200
vectors_disk.CANDIDATES_PER_TASK, vectors_disk.room_for = 100, lambda *_: 1 << 20
left = int(sys.argv.pop(1))

def moment():
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

record, write_all = work_folder.CheckpointFolder.record, work_folder.write_all

def recorded(self):
    moment()
    record(self)
    moment()

def written(file, array):
    half = len(array) // 2
    write_all(file, array[:half])
    moment()
    write_all(file, array[half:])

work_folder.CheckpointFolder.record = recorded
checkpoints.write_all = pair_store.write_all = written
from lookalike.cli.main import main
try:
    main()
finally:
    print(-left, file=sys.stderr)
"""


@pytest.mark.promise(
    "README.md", "after a crash or kill at any moment, the same command resumes and writes the same bytes"
)
@pytest.mark.parametrize(
    ("made", "command"),
    [
        (integers, ["bits", "pairs", "--max-bits", "3"]),
        (bytes_of_rows, ["vectors", "pairs", "--max-angle", "10", "--method", "lsh"]),
        (names, ["strings", "pairs", "--text", "name", "--max-edits", "2"]),
    ],
    ids=["bits", "vectors", "strings"],
)
def test_killed_at_any_moment_the_same_command_goes_on(
    made: Callable[[Path], Path], command: list[str], tmp_path: Path
) -> None:
    """Every process is killed a few moments later than the one before; the last one is not."""
    source = made(tmp_path)

    def run(moments: int, output: str, *options: str) -> subprocess.CompletedProcess[str]:
        program = [sys.executable, "-c", PROGRAM, str(moments), *command[:2], str(source), *command[2:]]
        return subprocess.run(
            [*program, "-o", output, *options], cwd=tmp_path, capture_output=True, text=True, check=False
        )

    calm = run(0, "calm.csv")
    assert calm.returncode == 0, calm.stderr
    moments = int(run(0, "whole.csv", "--work-dir", "whole").stderr.splitlines()[-1])
    assert moments > 40
    draw, killed = random.Random(3), 0
    for step in (1, *(draw.randrange(2, moments // 3) for _ in range(3)), 0):
        done = run(step, "out.csv", "--work-dir", "work", "--memory", "300MB")
        killed += done.returncode == -signal.SIGKILL
        assert (tmp_path / "out.csv").exists() == (done.returncode == 0)
        if step and done.returncode:
            listed = CliRunner().invoke(app, ["runs", "list", str(tmp_path)])
            assert "work" in listed.output
    assert killed >= 3
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "calm.csv").read_bytes()
    assert (tmp_path / "whole.csv").read_bytes() == (tmp_path / "calm.csv").read_bytes()


def test_a_run_that_does_not_fit_works_beside_its_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = integers(tmp_path)
    monkeypatch.setattr(memory_limit, "MEMORY_WITHOUT_INPUT", 299_900_000)
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(
        app, ["bits", "groups", str(source), "--max-bits", "3", "-o", "out.csv", "--memory", "300MB"]
    )
    assert done.exit_code == 0, done.output
    assert sorted(os.listdir(tmp_path)) == ["in.parquet", "out.csv", "out.csv.receipt.json"]
    assert '"folder": "out.csv.work"' in (tmp_path / "out.csv.receipt.json").read_text()
