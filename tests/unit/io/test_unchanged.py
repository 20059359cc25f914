"""An input that changes while a run reads it, and rows that no table can hold."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import lookalike as la
from dedup_runs import DEDUPS, row_of
from lookalike.errors import InputChanged, InputError
from lookalike.io.write import write_table

TEXTS = ["red green blue", "ten nine eight", "red green blue", "left right up"]
OTHER = ["red green blue", "ten nine eight", "red green blue", "left right up?"]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def table(texts: list[str]) -> pa.Table:
    return pa.Table.from_pylist([row_of(text, len(text)) for text in texts])


CHANGES = {"shorter": TEXTS[:3], "other rows": OTHER, "longer": [*TEXTS, "one more row"]}


@pytest.mark.promise("docs/reference/formats.md", "stops with the name of the file, and nothing is written")
@pytest.mark.parametrize("extension", ["jsonl", "jsonl.gz", "parquet", "arrow"])
@pytest.mark.parametrize("kind", DEDUPS)
@pytest.mark.parametrize("change", CHANGES)
def test_an_input_that_changes_between_the_passes_is_refused(extension: str, kind: str, change: str) -> None:
    name = f"a.{extension}"
    write_table(table(TEXTS), name)
    result = DEDUPS[kind](name)
    write_table(table(CHANGES[change]), name, force=True)
    for output in ("b.jsonl", "b.parquet"):
        with pytest.raises(InputChanged, match=rf"^a\.{extension} has changed since it was first read; nothing was wr"):
            result.write(output)
    assert os.listdir() == [name]


@pytest.mark.parametrize("extension", ["csv", "tsv.gz", "txt"])
@pytest.mark.parametrize("change", CHANGES)
def test_files_of_text_that_change_are_refused_too(extension: str, change: str) -> None:
    write_table(pa.table({"text": TEXTS}), f"a.{extension}")
    result = la.dedup(f"a.{extension}", k=1)
    write_table(pa.table({"text": CHANGES[change]}), f"a.{extension}", force=True)
    for output in ("b.jsonl", f"b.{extension}"):
        with pytest.raises(InputChanged):
            result.write(output)


def test_a_text_file_or_an_array_that_changes_is_refused() -> None:
    Path("many").mkdir()
    for number, text in enumerate(TEXTS):
        Path(f"many/{number}.md").write_text(text)
    result = la.dedup("many", k=1)
    Path("many/1.md").write_text("ten nine seven")
    with pytest.raises(InputChanged, match=r"^many has changed"):
        result.write("b.jsonl")
    np.save("a.npy", np.float32([[1, 2], [3, 4]]))
    result = la.vectors.dedup("a.npy", max_distance=0.1)
    np.save("a.npy", np.float32([[1, 2], [3, 5]]))
    with pytest.raises(InputChanged, match=r"^a\.npy has changed"):
        result.write("b.jsonl")


@pytest.mark.promise("docs/reference/formats.md", "even if its size and time are what they were")
def test_a_file_of_the_same_size_and_time_is_read_again_on_resume() -> None:
    write_table(pa.table({"text": TEXTS}), "a.jsonl")
    first = la.dedup("a.jsonl", k=1, work_dir="w")
    assert first.removed["id"].to_pylist() == [2]
    stat = os.stat("a.jsonl")
    swapped = [TEXTS[0], "red blue green", TEXTS[2], TEXTS[3]]
    write_table(pa.table({"text": swapped}), "a.jsonl", force=True)
    os.utime("a.jsonl", ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert os.stat("a.jsonl").st_size == stat.st_size
    second = la.dedup("a.jsonl", k=1, work_dir="w")
    assert second.removed["id"].to_pylist() == [1, 2]
    assert any("the input has changed" in note for note in second.receipt["work"]["notes"])


def test_keys_of_their_own_in_every_row_take_memory_that_grows_with_the_input() -> None:
    rows = [{"text": f"text number {n}", f"key{n}": n, "deep": {f"k{n}": 1}} for n in range(30_000)]
    Path("a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    before = pa.total_allocated_bytes()
    pool = pa.default_memory_pool()
    result = la.dedup("a.jsonl", k=1)
    result.write("b.jsonl")
    assert Path("b.jsonl").read_bytes() == Path("a.jsonl").read_bytes()
    assert (pool.max_memory() or 0) - before < 400_000_000
    with pytest.raises(InputError, match=r"^a\.jsonl has [0-9,]+ different keys; a table would need a column for each"):
        result.write("b.parquet")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('{"text": "b c", "n": 9007199254740993}', "line 2: column 'n': 9007199254740993, among numbers with a frac"),
        (
            '{"text": "b c", "n": "abc"}',
            "line 2: column 'n' is a string, unlike the lines before; a table has one type",
        ),
        ('{"text": "b c", "n": 1e400}', "line 2: column 'n': a number is beyond the numbers of 64 bits"),
        (
            '{"text": "b c", "n": 18446744073709551616}',
            "line 2: column 'n': 18446744073709551616 is beyond the numbers",
        ),
        ('{"text": "b c", "\\ud800": 1}', r"line 2: the key '\\ud800' is not valid Unicode"),
        ('{"text": "b c", "n": 1, "n": 2}', "line 2: the key 'n' is repeated in an object"),
        ('{"text": "b c", "l": ["\\ud800"]}', "line 2: column 'l': a string in it is not valid Unicode"),
    ],
)
def test_a_row_that_a_table_cannot_hold_is_refused_by_name(row: str, message: str) -> None:
    Path("a.jsonl").write_text('{"text": "a b", "n": 1.5}\n' + row)
    result = la.dedup("a.jsonl", k=1)
    for output in ("b.parquet", "b.csv"):
        with pytest.raises(InputError, match=rf"^a\.jsonl {message}.*Write JSON lines \(\.jsonl\)"):
            result.write(output)
        assert not Path(output).exists()
    result.write("b.jsonl")
    assert Path("b.jsonl").read_bytes() == Path("a.jsonl").read_bytes()


def test_files_whose_types_have_no_common_value_are_refused() -> None:
    write_table(pa.table({"text": ["a b"], "n": [2**53 + 1]}), "a.parquet")
    write_table(pa.table({"text": ["c d"], "n": [0.5]}), "b.parquet")
    result = la.dedup([Path("a.parquet"), Path("b.parquet")], k=1)
    with pytest.raises(InputError, match=r"^a\.parquet: column 'n' is int64 here and double with the other files"):
        result.write("c.parquet")


def test_several_files_become_one_under_the_first_header() -> None:
    Path("a.csv").write_bytes(b"text,n\r\na b,1\r\na b,2")
    Path("b.csv").write_bytes(b"text,n\nc d,3\na b,4\n")
    la.dedup([Path("a.csv"), Path("b.csv")], k=1, keep="last").write("c.csv")
    assert Path("c.csv").read_bytes() == b"text,n\r\nc d,3\na b,4\n"
    la.dedup([Path("a.csv"), Path("b.csv")], k=1, keep="first", threshold=1.0).write("d.csv")
    assert Path("d.csv").read_bytes() == b"text,n\r\na b,1\r\nc d,3\n"
    Path("b.csv").write_bytes(b"n,text\n3,c d\n")  # another order: written again, value for value
    la.dedup([Path("a.csv"), Path("b.csv")], k=1).write("e.csv")
    assert Path("e.csv").read_text() == '"text","n"\n"a b","1"\n"c d","3"\n'


def test_bytes_that_are_no_utf8_are_repaired_only_on_wish() -> None:
    Path("a.jsonl").write_bytes(b'{"text": "a \xff", "n": 1.50}\n{"text": "c d"}\n')
    la.dedup("a.jsonl", k=1, on_bad_text="skip").write("b.jsonl")
    assert Path("b.jsonl").read_bytes() == Path("a.jsonl").read_bytes()
    la.dedup("a.jsonl", k=1, on_bad_text="replace").write("c.jsonl")
    assert Path("c.jsonl").read_text() == '{"text": "a \ufffd", "n": 1.50}\n{"text": "c d"}\n'
