"""Runs that keep their arrays in a work folder give the same bytes as runs in memory, however often they are killed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import lookalike as la
from lookalike.cli.main import app
from lookalike.errors import InputError, OutputError, TooManyPairs
from lookalike.kinds.documents import disk_join
from lookalike.runtime.local import checkpoints, workspace


def corpus(count: int, seed: int = 1) -> pa.Table:
    """Random texts; every fifth is a copy, every fifth a near-copy of an earlier one."""
    draw = random.Random(seed)
    texts: list[str] = []
    for number in range(count):
        words = [f"w{draw.randrange(5000)}" for _ in range(40)]
        if number % 5 == 3:
            words = texts[draw.randrange(number)].split()
        elif number % 5 == 4:
            words = texts[draw.randrange(number)].split()
            words[20] = f"n{number}"
        texts.append(" ".join(words))
    return pa.table({"id": [f"doc {n}" for n in range(count)], "text": texts, "rank": list(range(count))})


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("corpus")
    table = corpus(3000)
    paths = []
    for number in range(3):
        paths.append(folder / f"{number}.parquet")
        pq.write_table(table.slice(number * 1000, 1000), paths[-1], row_group_size=100)
    return paths


def same(one: la.Result, other: la.Result) -> bool:
    return bool(one.pairs.equals(other.pairs)) and bool(one.groups.equals(other.groups))


@pytest.mark.parametrize(
    "options",
    [
        {"method": "lsh"},
        {"exact": True},
        {"method": "dcm"},
        {"method": "folding"},
        {"keep": "max:rank"},
        {"max_share": 0.01},
    ],
)
def test_a_work_folder_changes_nothing(files: list[Path], tmp_path: Path, options: dict[str, Any]) -> None:
    expected = la.groups(files, threshold=0.7, **options)
    found = la.groups(files, threshold=0.7, work_dir=tmp_path / "work", **options)
    assert same(expected, found)
    assert found.receipt["work"]["folder"] == str(tmp_path / "work")
    assert expected.receipt["work"]["folder"] is None


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a join on disk have many parts, and many tasks in each."""
    for name, value in {"PART_ITEMS": 288, "MOST_TASK": 1 << 12, "LEAST_TASK": 1, "PIECE_SHARE": 1 << 20}.items():
        monkeypatch.setattr(disk_join, name, value)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize(
    "options",
    [
        {"measure": "containment", "threshold": 0.9, "method": "auto"},
        {"threshold": 0.7},
        {"threshold": 0.7, "verify": False},
        {"threshold": 0.7, "against": True},
        {"threshold": 0.7, "max_share": 0.01},
    ],
)
def test_pairs_listed_on_disk_are_those_in_memory(files: list[Path], tmp_path: Path, options: dict[str, Any]) -> None:
    """Every candidate is counted once, and every score is the same."""
    given = {"method": "lsh", **options}
    source = files
    if given.pop("against", False):
        source, given["against"] = files[:1], files[1:]
    expected = la.pairs(source, **given)
    found = la.pairs(source, work_dir=tmp_path / "work", **given)
    assert found.pairs.equals(expected.pairs)
    assert found.receipt["counts"] == expected.receipt["counts"]
    assert found.receipt["bucket_sizes"] == expected.receipt["bucket_sizes"]


@pytest.mark.usefixtures("small_parts")
def test_a_join_on_disk_continues_after_its_last_part(
    files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parts that are done are not verified again, and a damaged one is."""
    expected = la.pairs(files, threshold=0.7, method="lsh")
    verified: list[int] = []
    verify = disk_join.DiskJoin._verify

    def count(self: Any, pairs: Any, **options: Any) -> Any:
        verified.append(len(pairs.keys))
        if len(verified) == stop:
            raise KeyboardInterrupt
        return verify(self, pairs, **options)

    monkeypatch.setattr(disk_join.DiskJoin, "_verify", count)
    stop = 0
    la.pairs(files, threshold=0.7, method="lsh", work_dir=tmp_path / "calm")
    whole, stop = sum(verified), len(verified) * 2 // 3
    verified.clear()
    with pytest.raises(KeyboardInterrupt):
        la.pairs(files, threshold=0.7, method="lsh", work_dir=tmp_path / "work", threads=1)
    stop = 0
    parts = sorted(tmp_path.glob("work/run-*/pairs-*.left"))
    assert len(parts) >= 3
    path = parts[0]
    path.write_bytes(bytes(path.stat().st_size))
    verified.clear()
    found = la.pairs(files, threshold=0.7, method="lsh", work_dir=tmp_path / "work", threads=1)
    assert found.pairs.equals(expected.pairs)
    assert 0 < sum(verified) < whole * 2 / 3
    assert any("is damaged and is made again" in note for note in found.receipt["work"]["notes"])


@pytest.mark.promise("docs/how-to/large.md", "and the output was the same")
@pytest.mark.parametrize("command", ["pairs", "groups", "dedup"])
def test_the_memory_budget_changes_no_byte(files: list[Path], tmp_path: Path, command: str) -> None:
    outputs = set()
    for budget in (["--memory", "300MB"], ["--memory", "1GB"], []):
        out = tmp_path / "out.parquet"
        run = CliRunner().invoke(app, [command, *map(str, files), "-t", "0.7", "-o", str(out), "--force", *budget])
        assert run.exit_code == 0, run.output
        outputs.add(out.read_bytes())
    assert len(outputs) == 1


@pytest.mark.promise(
    "docs/how-to/large.md", "The second command finds the sets of `old/` there and reports that it uses them"
)
def test_sets_are_kept_for_the_next_run(files: list[Path], tmp_path: Path) -> None:
    """The incremental way: yesterday's sets serve as the other side of today's run, for any threshold."""
    work = tmp_path / "work"
    la.dedup(files[:2], work_dir=work).done()
    new = la.dedup(files[2], against=files[:2], work_dir=work, threshold=0.6)
    assert any("2,000 documents) are taken from" in note for note in new.receipt["work"]["notes"])
    assert same_removed(new, la.dedup(files[2], against=files[:2], threshold=0.6))
    again = la.pairs(files[2], work_dir=work)
    assert any("1,000 documents) are taken from" in note for note in again.receipt["work"]["notes"])


def same_removed(one: la.Result, other: la.Result) -> bool:
    return bool(one.removed.equals(other.removed))


def test_changed_input_is_noticed(files: list[Path], tmp_path: Path) -> None:
    source = tmp_path / "x.parquet"
    source.write_bytes(files[0].read_bytes())
    la.pairs(source, work_dir=tmp_path / "work").done()
    pq.write_table(corpus(50), source)
    changed = la.pairs(source, work_dir=tmp_path / "work")
    assert changed.receipt["counts"]["documents"] == 50
    assert any("the input has changed. Reading" in note for note in changed.receipt["work"]["notes"])
    other = la.pairs(source, work_dir=tmp_path / "work", k=3)
    assert any("the shingle options differ" in note for note in other.receipt["work"]["notes"])


@pytest.mark.parametrize("name", ["elements", "sizes", "prints", "columns"])
def test_damaged_sets_are_read_again(files: list[Path], tmp_path: Path, name: str) -> None:
    work = tmp_path / "work"
    expected = la.groups(files, work_dir=work)
    expected.done()
    place = next(work.glob("sets-*"))
    data = bytearray((place / name).read_bytes())
    data[len(data) // 2] ^= 255
    (place / name).write_bytes(data)
    found = la.groups(files, work_dir=work)
    assert any("is damaged after" in note for note in found.receipt["work"]["notes"])
    assert same(expected, found)


@pytest.mark.promise("docs/how-to/large.md", "a run works in a folder next to its output")
def test_a_large_run_works_beside_its_output_and_cleans_up(
    files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workspace, "LARGE_INPUT_BYTES", 1000)
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["groups", *map(str, files), "-o", "groups.csv"])
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["groups.csv", "groups.csv.receipt.json"]
    receipt = json.loads((tmp_path / "groups.csv.receipt.json").read_text())
    assert receipt["work"]["folder"] == "groups.csv.work"


def test_tables_in_memory_go_to_a_folder_that_vanishes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace, "LARGE_INPUT_BYTES", 1000)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    table = corpus(300)
    found = la.pairs(table, against=table)
    assert found.receipt["work"]["folder"] is not None
    monkeypatch.setattr(workspace, "LARGE_INPUT_BYTES", 10**9)
    assert found.pairs.equals(la.pairs(table, against=table).pairs)
    del found
    assert list(tmp_path.iterdir()) == []


@pytest.mark.promise("docs/how-to/large.md", "Free some space and run the same command again")
def test_a_full_disk_names_the_file_and_keeps_what_is_done(
    files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "COMMIT", 0.0)
    before, calls = checkpoints.write_all, []

    def full(file: Any, array: Any) -> None:
        calls.append(file)
        if len(calls) > 40:
            raise OSError(28, "No space left on device")
        before(file, array)

    monkeypatch.setattr(checkpoints, "write_all", full)
    monkeypatch.setattr("lookalike.runtime.local.text_pass.TEXT_TASK_BYTES", 1 << 12)
    with pytest.raises(
        OutputError, match=r"^disk full: the work folder .*sets-.* free, at least .* needed\. Make room"
    ):
        la.groups(files, work_dir=tmp_path / "work")
    monkeypatch.setattr(checkpoints, "write_all", before)
    found = la.groups(files, work_dir=tmp_path / "work")
    assert any(note.startswith("going on with") for note in found.receipt["work"]["notes"])
    assert same(found, la.groups(files))


def damaged(files: list[Path], folder: Path) -> list[Path]:
    """The second file has a row group whose pages are not what they were."""
    paths = []
    for number, file in enumerate(files):
        data = bytearray(file.read_bytes())
        if number == 1:
            group = pq.ParquetFile(file).metadata.row_group(6)
            for column in range(group.num_columns):
                start = group.column(column).dictionary_page_offset or group.column(column).data_page_offset
                data[start : start + 40] = b"\xff" * 40
        paths.append(folder / file.name)
        paths[-1].write_bytes(data)
    return paths


def test_a_bad_row_group_is_named_and_what_is_done_is_kept(files: list[Path], tmp_path: Path) -> None:
    paths = damaged(files, tmp_path)
    with pytest.raises(InputError, match=r"1\.parquet row group 6 cannot be read as Parquet: "):
        la.groups(paths)


@pytest.mark.parametrize("work", [False, True])
def test_a_bad_file_can_be_skipped(files: list[Path], tmp_path: Path, work: bool) -> None:
    paths = damaged(files, tmp_path)
    gone = tmp_path / "3.parquet"
    gone.write_bytes(b"PAR1 but no more")
    options: dict[str, Any] = {"work_dir": tmp_path / "work"} if work else {}
    found = la.dedup([*paths, gone], on_bad_file="skip", **options)
    good = pa.concat_tables([pq.read_table(files[0]), pq.read_table(files[1]).slice(0, 600), pq.read_table(files[2])])
    expected = la.dedup(good)
    assert found.receipt["counts"]["documents"] == 2600
    assert found.removed.equals(expected.removed)
    assert found.kept.equals(expected.kept)
    left_out = found.receipt["left_out"]
    assert len(left_out) == 2
    assert any("1.parquet from row 600 on: " in what and "row group 6" in what for what in left_out)
    assert any(what.startswith(f"{gone}: ") for what in left_out)
    if work:
        again = la.dedup([*paths, gone], on_bad_file="skip", **options)
        assert again.kept.equals(expected.kept)
        assert again.receipt["left_out"] == left_out


PROGRAM = """
import sys
from lookalike.runtime.local import checkpoints, text_pass
from lookalike.kinds.documents import disk_join
checkpoints.COMMIT, text_pass.TEXT_TASK_BYTES = 0.0, 1 << 13
disk_join.PART_ITEMS = 1 << 10
from lookalike.cli.main import main
main()
"""


@pytest.mark.promise("docs/how-to/large.md", "Run the same command again. It continues from the last checkpoint")
@pytest.mark.promise("docs/tutorial/first-steps.md", "so the same command gives the same bytes")
@pytest.mark.promise("docs/how-to/large.md", "writes the same bytes as an uninterrupted run")
@pytest.mark.promise("README.md", "the same command resumes and writes the same bytes")
def test_killed_at_any_moment_the_same_command_goes_on(files: list[Path], tmp_path: Path) -> None:
    """kill -9 at random moments, again and again; the answer has the same bytes as that of an undisturbed run."""
    command = [
        sys.executable,
        "-c",
        PROGRAM,
        "dedup",
        *map(str, files),
        "--text",
        "text",
        "-t",
        "0.6",
        "--method",
        "lsh",
    ]
    subprocess.run([*command, "-o", str(tmp_path / "calm.csv")], check=True, capture_output=True)
    begin = time.monotonic()
    disturbed = [*command, "-o", str(tmp_path / "out.csv"), "--work-dir", str(tmp_path / "work")]
    subprocess.run(disturbed, check=True, capture_output=True)
    whole = time.monotonic() - begin
    calm = (tmp_path / "calm.csv").read_bytes()
    assert (tmp_path / "out.csv").read_bytes() == calm
    draw, killed, parts = random.Random(7), 0, set()
    for _ in range(12):
        for path in [*tmp_path.glob("out.*"), *tmp_path.glob("work/*/*")]:
            if draw.random() < 0.5 and path.name != "lookalike.json":
                path.unlink()  # an earlier try left some files, or it did not
        run = subprocess.Popen(disturbed, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(draw.uniform(0.3, 1.0) * whole)
        os.kill(run.pid, signal.SIGKILL)
        killed += run.wait() == -signal.SIGKILL
        parts |= {path.name for path in tmp_path.glob("work/*/*")}
    assert killed >= 3
    subprocess.run([*disturbed, "--force"], check=True, capture_output=True)
    assert (tmp_path / "out.csv").read_bytes() == calm
    assert "elements" in parts


def test_a_million_copies_in_little() -> None:
    """Copies are counted, not paired: groups and dedup are exact, pairs refuse with the number."""
    table = pa.table({"text": ["the same words again and again and again"] * 20_000})
    assert la.dedup(table).removed.num_rows == 19_999
    assert la.groups(table).groups["size"].to_pylist() == [20_000] * 20_000
    with pytest.raises(TooManyPairs, match="at least 199,990,000 pairs"):
        la.pairs(table)


@pytest.mark.parametrize("work", [False, True])
def test_near_copies_that_share_every_bucket(tmp_path: Path, work: bool) -> None:
    template = [f"t{n}" for n in range(80)]
    texts = [" ".join([*template[:40], f"n{n}", *template[40:]]) for n in range(4000)]
    pq.write_table(pa.table({"text": texts}), tmp_path / "near.parquet")
    options: dict[str, Any] = {"work_dir": tmp_path / "work"} if work else {}
    assert la.dedup(tmp_path / "near.parquet", **options).removed.num_rows == 3999
    made = la.groups(tmp_path / "near.parquet", **options)
    assert made.groups.num_rows == 4000
    assert made.receipt["counts"]["candidates"] < 40_000, "not every pair is looked at"


def test_a_footer_in_every_document() -> None:
    draw = random.Random(3)
    footer = " ".join(f"f{n}" for n in range(40))
    texts = [" ".join(f"w{draw.randrange(10**6)}" for _ in range(30)) + " " + footer for _ in range(3000)]
    found = la.pairs([*texts, texts[5] + " more"], threshold=0.8)
    assert found.pairs["left"].to_pylist() == [5]
    assert found.receipt["counts"]["candidates"] < 3000
    made = la.groups([*texts, texts[5] + " more"], threshold=0.8)
    assert made.groups["id"].to_pylist() == [5, 3000]
    assert made.receipt["counts"]["candidates"] < 3000, "buckets are full of what is alike in the footer only"


def test_a_long_document_among_short_ones() -> None:
    long = " ".join(f"w{n}" for n in range(300_000))
    found = la.groups(["a rose is a rose", long, "a rose is a rose", long + " end"], k=2)
    assert found.groups["group"].to_pylist() == [0, 0, 1, 1]


@pytest.mark.promise("docs/how-to/large.md", "`lookalike passages` takes the same `--memory`")
def test_passages_in_a_work_folder(files: list[Path], tmp_path: Path) -> None:
    """The same tables as in memory; tokens are read once, for any length of a passage."""
    work = tmp_path / "work"
    expected = la.passages(files[0], min_tokens=20)
    found = la.passages(files[0], min_tokens=20, work_dir=work)
    assert expected.pairs.num_rows > 100
    assert found.passages.equals(expected.passages)
    assert found.pairs.equals(expected.pairs)
    assert found.receipt["work"]["notes"] == []
    other = la.passages(files[0], min_tokens=30, work_dir=work, against=files[1])
    assert any("the tokens of" in note and "1,000 documents" in note for note in other.receipt["work"]["notes"])
    assert other.passages.equals(la.passages(files[0], min_tokens=30, against=files[1]).passages)
    barred = la.passages(files[0], min_tokens=20, work_dir=work, template=corpus(5)["text"])
    assert barred.passages.equals(la.passages(files[0], min_tokens=20, template=corpus(5)["text"]).passages)
    assert [path.name.partition("-")[0] for path in sorted(work.iterdir())] == ["tokens", "tokens"], "runs are done"
