"""Outputs: whole or not at all, never over something else unasked."""

from __future__ import annotations

import errno
import gzip
import math
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lookalike.errors import OutputError, UsageError
from lookalike.io import write
from lookalike.io.atomic import check_folder, check_output
from lookalike.io.leftovers import hidden_name
from lookalike.io.paths import KNOWN
from lookalike.io.read import open_collection
from lookalike.io.write import write_table

TABLE = pa.table({"id": [1, 2], "text": ["a", None]})
TEXTS = pa.table({"text": ["a", ""]})
FORMATS = ["a.parquet", "a.arrow", "a.jsonl", "a.jsonl.gz", "a.jsonl.zst", "a.csv", "a.tsv.gz", "a.txt"]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def table_for(name: str) -> pa.Table:
    return TEXTS if name.endswith(".txt") else TABLE


@pytest.mark.parametrize("name", FORMATS)
def test_tables_batches_and_readers_give_the_same_file(name: str) -> None:
    table = table_for(name)
    sources = [table, table.to_reader(), iter(table.to_batches()), table.to_batches()[0]]
    contents = set()
    for source in sources:
        write_table(source, name, force=True)
        contents.add(Path(name).read_bytes())
    assert len(contents) == 1
    assert os.listdir() == [name]


def test_a_folder_that_cannot_be_written_to_is_refused_before_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("locked").mkdir()
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "locked" and access(path, mode))
    for name in ("locked/a.csv", "locked/result"):
        with pytest.raises(OutputError) as caught:
            check_output(name, force=True)
        expected = "the folder locked cannot be written to. Use another one, or change its permissions."
        assert str(caught.value) == expected


def test_what_the_text_formats_look_like() -> None:
    write_table(TABLE, "a.jsonl")
    write_table(TABLE, "a.csv")
    write_table(TABLE, "a.tsv.gz")
    write_table(TEXTS, "a.txt")
    assert Path("a.jsonl").read_text() == '{"id": 1, "text": "a"}\n{"id": 2, "text": null}\n'
    assert Path("a.csv").read_text() == '"id","text"\n1,"a"\n2,\n'
    assert gzip.decompress(Path("a.tsv.gz").read_bytes()) == b'"id"\t"text"\n1\t"a"\n2\t\n'
    assert Path("a.txt").read_text() == "a\n\n"


def test_parquet_keeps_types_and_gathers_batches_into_row_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "ROW_GROUP_BYTES", 2000)
    table = pa.table({"n": range(1000), "when": pa.array(range(1000), pa.timestamp("ns"))})
    write_table(iter(table.to_batches(max_chunksize=10)), "a.parquet")
    assert pq.read_table("a.parquet") == table
    metadata = pq.ParquetFile("a.parquet").metadata
    assert 5 <= metadata.num_row_groups <= 10
    assert metadata.row_group(0).column(0).compression == "ZSTD"


@pytest.mark.parametrize("name", FORMATS)
def test_no_rows(name: str) -> None:
    write_table(table_for(name).schema.empty_table(), name)
    assert [batch.num_rows for batch in open_collection(name).rows()] == [0]


def test_csv_holds_lists_as_json_and_any_text() -> None:
    table = pa.table(
        {
            "text": pa.array(["a"], pa.string_view()),
            "tags": [["x", "é"]],
            "raw": [b"b\xff"],
            "word": pa.array(["w"]).dictionary_encode(),
            "none": pa.nulls(1),
        }
    )
    write_table(table, "a.csv")
    assert Path("a.csv").read_bytes() == (
        '"text","tags","raw","word","none"\n"a","[""x"", ""é""]","b'.encode() + b'\xff","w",\n'
    )


@pytest.mark.parametrize("name", FORMATS)
def test_an_output_that_exists_is_refused_without_force(name: str) -> None:
    Path(name).write_text("precious")
    for attempt in (lambda: check_output(name, force=False), lambda: write_table(table_for(name), name)):
        with pytest.raises(OutputError) as caught:
            attempt()
        assert str(caught.value) == f"{name} exists. Use `force` to replace it, or another name."
    assert Path(name).read_text() == "precious"
    check_output(name, force=True)
    write_table(table_for(name), name, force=True)
    assert Path(name).read_bytes() != b"precious"


def test_places_that_cannot_work_are_refused_before_the_work() -> None:
    Path("out.csv").mkdir()
    Path("home").mkdir()
    Path("home/letters").write_text("precious")
    cases: list[tuple[str, bool, type[Exception], str]] = [
        (
            "a.xlsx",
            False,
            UsageError,
            f"a.xlsx has the unknown extension '.xlsx'. Known: {KNOWN}. "
            "A name without an extension, or with a slash at its end, is a folder for all tables of a result.",
        ),
        ("-", True, UsageError, "- (standard output) is no name for an output: pairs and groups go there without -o."),
        ("no/a.csv", False, OutputError, "no such folder: no. Create it first (mkdir -p), or use another name."),
        ("out.csv", True, OutputError, "out.csv is a folder; expected a file name."),
        ("home", False, OutputError, "home exists. Use `force` to replace it, or another name."),
        ("home", True, OutputError, "home is not a result of lookalike and is not replaced. Use another name."),
    ]
    for name, force, error, message in cases:
        with pytest.raises(error) as caught:
            check_output(name, force=force)
        assert str(caught.value) == message
    check_output("new.csv", force=False)
    check_output("new", force=False)
    check_folder("new", force=False)


def test_a_table_needs_an_extension() -> None:
    with pytest.raises(UsageError) as caught:
        write_table(TABLE, "a")
    assert str(caught.value) == f"a has no extension. Known: {KNOWN}."


def test_text_files_hold_one_column_without_line_breaks() -> None:
    message = (
        "a.txt can hold one column of text, a document a line; this table has the columns id, text. "
        "Use .jsonl, .csv or .parquet. Or read text files line by line, with `lines`."
    )
    for attempt in (
        lambda: check_output("a.txt", force=False, columns=["id", "text"]),
        lambda: write_table(TABLE, "a.txt"),
    ):
        with pytest.raises(OutputError) as caught:
            attempt()
        assert str(caught.value) == message
    check_output("a.txt", force=False, columns=["text"])
    assert os.listdir() == []


NAN = float("nan")
UNWRITABLE = [
    ("a.txt", ["a", "b\nc"], "has a line break, but each line is a document. Use .jsonl, .parquet or .arrow."),
    ("a.txt", ["a", "b\r"], "has a line break, but each line is a document. Use .jsonl, .parquet or .arrow."),
    ("a.txt", ["a", None], "is null, which a text file cannot tell from an empty line. Use .jsonl, .parquet or .arrow."),
    ("a.csv", [1, None], "is null, which is a blank line with one column only. Use .parquet or .arrow."),
    ("a.csv", [[], [NAN]], "is or holds NaN or infinity, which JSON does not have. Use .parquet or .arrow."),
    ("a.tsv", pa.array([0, 2**60], pa.timestamp("s")), "is outside the years 1 to 9999. Use .parquet or .arrow."),
    ("a.csv", pa.array([0, -(2**31)], pa.date32()), "is outside the years 1 to 9999. Use .parquet or .arrow."),
    ("a.jsonl", [None, NAN], "is or holds NaN or infinity, which JSON does not have. Use .parquet or .arrow."),
    ("a.jsonl", [{}, {"a": [1.0, -math.inf]}], "is or holds NaN or infinity, which JSON does not have. "),
    ("a.jsonl", [b"a", b"b\xff"], "is not UTF-8 (byte 0xff at position 1). Use .parquet or .arrow."),
    ("a.jsonl", [[b"a"], [b"b\xff"]], "is not UTF-8 (byte 0xff at position 1). Use .parquet or .arrow."),
    ("a.jsonl", pa.array([[b"a"], [b"\xff"]]).cast(pa.list_(pa.binary())).view(pa.list_(pa.string())), "is not UTF-8 ("),
    ("a.jsonl", pa.array([[0, 1], [0, 2**60]], pa.list_(pa.timestamp("s", "Asia/Tokyo"))), "is outside the years"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "values", "reason"), UNWRITABLE, ids=lambda value: str(value)[:20])
def test_a_value_that_would_not_read_back_is_refused(name: str, values: Any, reason: str) -> None:
    batch = pa.record_batch({"x": values})
    with pytest.raises(OutputError) as caught:
        write_table(iter([batch.slice(0, 1), batch]), name, where="in.parquet row {}".format)
    assert str(caught.value).startswith(f"{name}: column 'x' of in.parquet row 2 {reason}")
    assert os.listdir() == []


def failing(error: BaseException) -> Iterator[pa.RecordBatch]:
    yield from TEXTS.to_batches()
    raise error


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("bug"), SystemExit(1)], ids=repr)
def test_after_a_failure_there_is_nothing(name: str, error: BaseException) -> None:
    with pytest.raises(type(error)):
        write_table(failing(error), name)
    assert os.listdir() == []


@pytest.mark.parametrize("name", FORMATS)
def test_after_a_failure_the_old_file_is_still_there(name: str) -> None:
    Path(name).write_text("precious")
    with pytest.raises(KeyboardInterrupt):
        write_table(failing(KeyboardInterrupt()), name, force=True)
    assert (os.listdir(), Path(name).read_text()) == ([name], "precious")


def test_a_file_that_appears_meanwhile_is_not_replaced() -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        yield from TABLE.to_batches()
        Path("a.csv").write_text("precious")

    with pytest.raises(OutputError, match=r"^a\.csv exists\. Use `force`"):
        write_table(batches(), "a.csv")
    assert (os.listdir(), Path("a.csv").read_text()) == (["a.csv"], "precious")


class Full:
    """A file on a disk without room."""

    def __init__(self, *arguments: Any, **options: Any) -> None: ...

    def __enter__(self) -> Full:
        return self

    def __exit__(self, *error: object) -> None: ...

    def write(self, data: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    write_table = write_batch = write


@pytest.mark.parametrize(
    ("name", "writer"),
    [
        ("a.parquet", "lookalike.io.write.pq.ParquetWriter"),
        ("a.csv", "lookalike.io.write.pv.CSVWriter"),
        ("a.arrow", "lookalike.io.write.pa.ipc.new_file"),
        ("a.jsonl", "lookalike.io.write.pa.output_stream"),
        ("a.jsonl.gz", "lookalike.io.write.gzip.GzipFile"),
        ("a.txt", "lookalike.io.write.pa.output_stream"),
    ],
)
def test_a_full_disk_is_said_to_be_full(name: str, writer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, Full)
    table = pa.table({"text": ["x" * 999_995]})
    for source in (table, iter(table.to_batches())):
        with pytest.raises(OutputError) as caught:
            write_table(source, name)
        assert str(caught.value) == f"disk full while writing {name} (needed about 1.0 MB)."
        assert os.listdir() == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
@pytest.mark.parametrize("name", [name for name in FORMATS if not name.endswith((".gz", ".zst"))])
def test_arrow_tells_us_about_a_full_disk(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = pa.output_stream
    # Through a link: a writer that removes what it could not write must not reach the device itself.
    os.symlink("/dev/full", "full")
    monkeypatch.setattr("lookalike.io.write.pa.output_stream", lambda path, **options: opened("full", **options))
    with pytest.raises(OutputError, match=f"^disk full while writing {name} "):
        write_table(table_for(name), name)
    assert os.listdir() == ["full"]


def test_other_failures_of_the_system_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: object, **options: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr("lookalike.io.write.pa.output_stream", refuse)
    with pytest.raises(OutputError) as caught:
        write_table(TABLE, "a.csv")
    assert str(caught.value) == "cannot write a.csv: Permission denied."


SLOW_WRITER = """
import sys, time
import pyarrow as pa
from lookalike.io.write import write_table

def batches():
    yield pa.record_batch({"text": ["x" * 1000] * 1000})
    print("writing", flush=True)
    time.sleep(60)

write_table(batches(), sys.argv[1])
"""


@pytest.mark.parametrize("name", ["a.parquet", "a.jsonl"])
def test_a_process_killed_while_writing_leaves_no_output(name: str) -> None:
    for blow in (signal.SIGINT, signal.SIGKILL):
        process = subprocess.Popen(
            [sys.executable, "-c", SLOW_WRITER, name],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert process.stdout is not None
        with process.stdout as output:
            assert output.readline() == b"writing\n"
        process.send_signal(blow)
        process.wait(30)
        assert not Path(name).exists()
        # Nobody can tidy up after SIGKILL; what stays is hidden and says whose it is, so that the next run can remove it.
        assert os.listdir() == ([] if blow == signal.SIGINT else [hidden_name(Path(name), "tmp", process.pid).name])
    write_table(pa.table({"text": ["x"]}), name)
    assert os.listdir() == [name]
