"""What `dedup` keeps is what came in: byte for byte in the same format, value for value in another, or one refusal."""

from __future__ import annotations

import csv
import datetime
import decimal
import gzip
import io
import json
import math
import random
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike as la
from dedup_runs import DEDUPS, row_of
from lookalike.errors import InputError, OutputError
from lookalike.io.delimited import records_of
from lookalike.result import Result
from snippets import in_process

TEXTS = ["red green blue", "ten nine eight seven", 'Ann\'s "own", text', "line\nbreak é 東", "4 5 6"]
NUMBERS = st.sampled_from([1, -0.0, 1.5, 2**53 + 1, 2**63, 10**30, 1e-7, 0.1])
SCALARS = st.none() | st.booleans() | NUMBERS | st.text(max_size=4)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
KEYS = st.text(max_size=3).filter(lambda key: not key.strip().lower().endswith(("id", "key")))  # rows have numbers
LINE_BREAKS = st.sampled_from(["\n", "\r\n", "\n\n", "\n \r\n"])


@st.composite
def json_rows(draw: st.DrawFn) -> tuple[list[bytes], str]:
    """(lines with their own break, what is between them)."""
    line_break = draw(LINE_BREAKS)
    rows = []
    # Two that differ come first: records need a column that tells them apart.
    for chosen in [0, 1, *draw(st.lists(st.integers(0, len(TEXTS) - 1), max_size=5))]:
        row = row_of(TEXTS[chosen], chosen)
        row |= draw(st.dictionaries(KEYS, VALUES, max_size=3))
        line = json.dumps(row, ensure_ascii=draw(st.booleans()), separators=(",", draw(st.sampled_from([":", " : "]))))
        rows.append(line.encode("utf-8", "surrogatepass"))
    return rows, line_break


def first_break(between: str) -> bytes:
    return b"\r\n" if between.startswith("\r\n") else b"\n"


def kept_rows(result: Result, count: int) -> list[int]:
    removed = set(result.removed["id"].to_pylist())
    return [row for row in range(count) if row not in removed]


@pytest.mark.promise("docs/reference/formats.md", "kept rows are the bytes of the input")
@pytest.mark.parametrize("kind", DEDUPS)
@settings(max_examples=20, deadline=None)
@given(data=json_rows(), packed=st.booleans(), ends=st.booleans(), mark=st.booleans())
def test_json_lines_are_kept_byte_for_byte(
    kind: str, data: tuple[list[bytes], str], packed: bool, ends: bool, mark: bool, tmp_path_factory: Any
) -> None:
    rows, between = data
    whole = (b"\xef\xbb\xbf" if mark else b"") + between.encode().join(rows) + (between.encode() if ends else b"")
    folder = tmp_path_factory.mktemp("rows")
    source = folder / ("a.jsonl.gz" if packed else "a.jsonl")
    source.write_bytes(gzip.compress(whole) if packed else whole)
    result = DEDUPS[kind](source)
    result.write(folder / "b.jsonl")
    kept = kept_rows(result, len(rows))
    expected = [rows[row] + (first_break(between) if row < len(rows) - 1 or ends else b"") for row in kept]
    assert (folder / "b.jsonl").read_bytes() == (b"\xef\xbb\xbf" if mark else b"") + b"".join(expected)
    assert len(kept) == len({json.loads(row)["code"] for row in rows})


@pytest.mark.promise("docs/reference/formats.md", "integers above 2⁵³ next to fractions")
@pytest.mark.promise("docs/reference/formats.md", "the run stops and names the line and the column")
@settings(max_examples=60, deadline=None)
@given(data=json_rows(), extension=st.sampled_from(["parquet", "arrow"]))
def test_json_lines_in_a_table_keep_their_values_or_are_refused(
    data: tuple[list[bytes], str], extension: str, tmp_path_factory: Any
) -> None:
    rows, between = data
    folder = tmp_path_factory.mktemp("rows")
    (folder / "a.jsonl").write_bytes(between.encode().join(rows))
    result = la.dedup(folder / "a.jsonl", text="text", k=1)
    output = folder / f"b.{extension}"
    try:
        result.write(output)
    except (InputError, OutputError) as error:
        if not re.search(r"a\.jsonl line |no child field to Parquet", str(error)) or output.exists():
            raise
        return
    table = pq.read_table(output) if extension == "parquet" else pa.ipc.open_file(output).read_all()
    expected = [json.loads(rows[row]) for row in kept_rows(result, len(rows))]
    assert [without_nulls(row) for row in table.to_pylist()] == [without_nulls(row) for row in expected]


def without_nulls(value: Any) -> Any:
    """A table cannot tell a key that is absent from null, nor an object of nulls from null."""
    if isinstance(value, dict):
        members = {key: without_nulls(member) for key, member in value.items()}
        return {key: member for key, member in members.items() if member is not None} or None
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


FIELDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)


@pytest.mark.promise("docs/reference/formats.md", "record with line breaks inside of quotes is one row")
@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.tuples(st.sampled_from(TEXTS), FIELDS, FIELDS), min_size=1, max_size=6),
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
    ending=st.sampled_from(["\n", "\r\n"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    mark=st.booleans(),
)
def test_csv_is_kept_byte_for_byte(
    rows: list[tuple[str, str, str]], delimiter: str, ending: str, quoting: Any, mark: bool, tmp_path_factory: Any
) -> None:
    lines = [line_of(row, delimiter, ending, quoting) for row in [("text", "one", "two"), *rows]]
    head = (b"\xef\xbb\xbf" if mark else b"") + lines[0]
    folder = tmp_path_factory.mktemp("rows")
    name = "tsv" if delimiter == "\t" else "csv"
    (folder / f"a.{name}").write_bytes(head + ending.encode().join(lines[1:]))  # blank lines between
    result = la.strings.dedup(folder / f"a.{name}", text="text", max_edits=0)
    result.write(folder / f"b.{name}.gz")
    kept = kept_rows(result, len(rows))
    assert gzip.decompress((folder / f"b.{name}.gz").read_bytes()) == head + b"".join(lines[1 + row] for row in kept)
    result.write(folder / "b.parquet")
    values = [tuple(value or "" for value in row.values()) for row in pq.read_table(folder / "b.parquet").to_pylist()]
    assert values == [rows[row] for row in kept]


def line_of(row: tuple[str, ...], delimiter: str, ending: str, quoting: Any) -> bytes:
    text = io.StringIO(newline="")
    if any("\r" in field for field in row):  # which the standard library does not quote by itself
        quoting = csv.QUOTE_ALL
    csv.writer(text, delimiter=delimiter, lineterminator=ending, quoting=quoting).writerow(row)
    return text.getvalue().encode()


def units_of(text: str, per_second: int) -> int:
    """The number of units since 1970 of an ISO 8601 time, by the standard library and in whole numbers."""
    match = re.fullmatch(r"(.{10}.\d\d:\d\d:\d\d)(?:\.(\d+))?([+-].*)?", text)
    assert match is not None
    moment = datetime.datetime.fromisoformat(match[1] + (match[3] or "+00:00"))
    seconds = (moment - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)) // datetime.timedelta(seconds=1)
    return seconds * per_second + int((match[2] or "0").ljust(9, "0")) * per_second // 10**9


def parsed(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value


INSTANTS = st.integers(-(2**62), 2**62)
SPECIAL = st.sampled_from([0.1, -0.0, 1e300, float("nan"), float("-inf"), 5e-324])
BYTES = st.sampled_from([b"", b"a,b", b'"', b"\xc3\xa9", b"\xff", b"\r\n", b"\0"])
DECIMALS = st.decimals(-999, 999, places=3)
# Name: type, values (times as numbers of units), what a value of JSON or a field of CSV means.
TYPES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any], Callable[[Any], Any]]] = {
    "int64": (pa.int64(), st.sampled_from([-(2**63), 2**53 + 1, 2**63 - 1]), int),
    "uint64": (pa.uint64(), st.sampled_from([0, 2**64 - 1]), int),
    "float64": (pa.float64(), SPECIAL, float),
    "float32": (pa.float32(), st.floats(width=32), lambda v: np.float32(v).item()),
    "bool": (pa.bool_(), st.booleans(), parsed),
    "string": (pa.string(), FIELDS, str),
    "category": (pa.dictionary(pa.int8(), pa.string()), FIELDS, str),
    "binary": (pa.binary(), BYTES, lambda v: v.encode("utf-8", "surrogateescape")),
    "ns": (pa.timestamp("ns"), INSTANTS, lambda v: units_of(v, 10**9)),
    "zoned": (pa.timestamp("us", "Europe/Berlin"), INSTANTS, lambda v: units_of(v, 10**6)),
    "date": (pa.date32(), st.integers(-800_000, 3_000_000), lambda v: units_of(f"{v} 00:00:00", 1) // 86400),
    "time": (pa.time64("ns"), st.integers(0, 86400 * 10**9 - 1), lambda v: units_of(f"1970-01-01 {v}", 10**9)),
    "duration": (pa.duration("ns"), INSTANTS, lambda v: int(decimal.Decimal(v).scaleb(9))),
    "decimal": (pa.decimal128(20, 3), DECIMALS, decimal.Decimal),
    "times": (pa.list_(pa.timestamp("ns")), st.lists(INSTANTS, max_size=2), lambda v: [units_of(u, 10**9) for u in parsed(v)]),
    "struct": (pa.struct([("f", pa.float64())]), st.fixed_dictionaries({"f": SPECIAL}), parsed),
    "map": (pa.map_(pa.string(), pa.float64()), st.lists(st.tuples(FIELDS, SPECIAL), max_size=2), lambda v: [tuple(u) for u in parsed(v)]),
}  # fmt: skip
YEARS = {"zoned": 86400 * 10**6, "date": 1}  # units in a day, for what may be outside of the years 1 to 9999


def is_writable(name: str, value: Any, form: str) -> bool:
    if value is None:
        return True
    if name in YEARS:
        return 1 <= value // YEARS[name] + 719_163 <= 3_652_059
    if name == "binary":
        return form == "csv" or value != b"\xff"
    if name in ("float64", "float32"):
        return form == "csv" or math.isfinite(value)
    numbers = [value["f"]] if name == "struct" else [number for _, number in value] if name == "map" else []
    return all(map(math.isfinite, numbers))


@pytest.mark.promise("docs/reference/formats.md", "values read back as they were")
@settings(max_examples=150, deadline=None)
@given(data=st.data(), given=st.sampled_from(["parquet", "arrow"]), form=st.sampled_from(["jsonl", "csv"]))
def test_tables_as_text_keep_their_values_or_are_refused(
    data: st.DataObject, given: str, form: str, tmp_path_factory: Any
) -> None:
    names = data.draw(st.lists(st.sampled_from(list(TYPES)), min_size=1, max_size=4, unique=True))
    count = data.draw(st.integers(1, 4))
    rows = {name: data.draw(st.lists(st.none() | TYPES[name][1], min_size=count, max_size=count)) for name in names}
    columns = {name: pa.array(values, TYPES[name][0]) for name, values in rows.items()}
    table = pa.table({"text": TEXTS[:count], **columns})
    folder = tmp_path_factory.mktemp("rows")
    source, output = folder / f"a.{given}", folder / f"b.{form}"
    if given == "parquet":
        pq.write_table(table, source)
    else:
        with pa.ipc.new_file(source, table.schema) as file:
            file.write_table(table)
    result = la.strings.dedup(source, text="text", max_edits=0, id="none")
    bad = [row for row in range(count) if not all(is_writable(name, rows[name][row], form) for name in names)]
    if bad:
        with pytest.raises(OutputError, match=rf"column .* of .*a\.{given} row [{bad[0]}-{bad[-1]}] "):
            result.write(output)
        assert not output.exists()
        return
    result.write(output)
    if form == "jsonl":
        back = [json.loads(line) for line in output.read_text().split("\n")[:-1]]
    else:
        options = pv.ConvertOptions(
            column_types=dict.fromkeys(table.column_names, pa.binary()), null_values=[""],
            strings_can_be_null=True, quoted_strings_can_be_null=False,
        )  # fmt: skip
        read = pv.read_csv(output, parse_options=pv.ParseOptions(newlines_in_values=True), convert_options=options)
        fields = [[row[name] for name in read.column_names] for row in read.to_pylist()]
        texts = [
            [None if field is None else field.decode("utf-8", "surrogateescape") for field in row] for row in fields
        ]
        back = [dict(zip(read.column_names, row, strict=True)) for row in texts]
    for name in names:
        meaning = [None if row[name] is None else TYPES[name][2](row[name]) for row in back]
        assert repr(meaning) == repr(rows[name])


@settings(max_examples=15, deadline=None)
@given(items=st.lists(FIELDS, min_size=1, max_size=6), extension=st.sampled_from(["jsonl", "csv", "parquet"]))
def test_an_index_exports_the_items_that_were_added(items: list[str], extension: str, tmp_path_factory: Any) -> None:
    folder = tmp_path_factory.mktemp("index")
    output = folder / f"all.{extension}"
    for kind, options in (("strings", {"threshold": 1}), ("documents", {"threshold": 0.5, "k": 1})):
        with la.Index.create(folder / kind, kind=kind, **options) as index:
            index.add(items, ids=[f"i{number}" for number in range(len(items))])
            index.export(output, force=True)
        rows: list[tuple[str, str]]
        if extension == "csv":
            with open(output, newline="", encoding="utf-8") as file:
                rows = [(row["id"], row["item"]) for row in csv.DictReader(file)]
        elif extension == "jsonl":
            rows = [(row["id"], row["item"]) for row in map(json.loads, output.read_text().split("\n")[:-1])]
        else:
            rows = [(row["id"], row["item"]) for row in pq.read_table(output).to_pylist()]
        assert rows == [(f"i{number}", item) for number, item in enumerate(items)]


ON_SPARK = pytest.mark.xdist_group("spark")
ODD_LINES = [
    b'{"text":"red green blue", "n": 1.5}\r\n',
    b'{"text" : "ten nine eight","n":9007199254740993,"z":null}\n',
    b"\n",
    '{"n":"abc","text":"red green blue","é":{"a":[1,"1"]}}\n'.encode(),
    b'{"text":"4 5 6","n":-0.0}',
]


def lines_of(folder: Path) -> list[bytes]:
    """The lines of all parts that Spark wrote, in any order."""
    return sorted(line for part in folder.glob("part-*") for line in part.read_bytes().splitlines(keepends=True))


@ON_SPARK
@pytest.mark.promise("docs/how-to/spark.md", "Kept rows of JSON Lines are the lines of the input")
@pytest.mark.promise("docs/how-to/spark.md", "the run stops with the column and the file where")
@pytest.mark.promise("docs/how-to/spark.md", "Parts of JSON Lines have the extension of the folder")
def test_spark_keeps_json_lines_byte_for_byte(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.jsonl").write_bytes(b"\xef\xbb\xbf" + b"".join(ODD_LINES))
    result = la.strings.dedup("a.jsonl", text="text", max_edits=0, engine="spark")
    result.write(result.kept, "b.jsonl")
    result.write(result.kept, f"{tmp_path.as_uri()}/c.ndjson")  # a URL, as of an object store
    for output in ("b.jsonl", "c.ndjson"):
        assert lines_of(tmp_path / output) == sorted([ODD_LINES[0], ODD_LINES[1], ODD_LINES[4] + b"\n"])
        assert {part.suffix for part in Path(output).glob("part-*")} == {Path(output).suffix}
    assert la.pairs("b.jsonl", text="text").receipt["counts"]["documents"] == 3
    for write in (lambda name: result.write(result.kept, f"{name}.parquet"),
                  lambda name: result.write(result.kept, f"{name}.csv"), result.save):  # fmt: skip
        before = sorted(tmp_path.iterdir())
        with pytest.raises(
            InputError, match=r"column 'n' is .* in a row of a\.jsonl, but string on Spark, which changes it"
        ):
            write("refused")
        assert sorted(tmp_path.iterdir()) == before
    result.write(result.removed, "removed.jsonl")
    assert [json.loads(line) for line in lines_of(tmp_path / "removed.jsonl")] == [
        {"id": 2, "kept": 0, "distance": 0.0}
    ]
    result.done()


@ON_SPARK
def test_spark_keeps_the_lines_of_baskets(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Baskets that are texts with separators, by the command, between two files."""
    monkeypatch.chdir(tmp_path)
    Path("a.jsonl").write_bytes(b"".join(ODD_LINES))
    Path("other.jsonl").write_bytes(b'{"text": "6 5 4"}\n')
    asked = "--item text --separator ' ' -t 1 --against other.jsonl --engine spark -q"
    done = in_process(f"lookalike baskets dedup a.jsonl {asked} -o b.jsonl --removed removed.csv")
    assert done.code == 0, done.err
    assert lines_of(tmp_path / "b.jsonl") == sorted(ODD_LINES[at] for at in (0, 1, 3))
    assert set(lines_of(tmp_path / "removed.csv")) == {b"id,kept,similarity\n", b"3,0,1.0\n"}


@contextmanager
def small_splits(session: Any, nbytes: int) -> Iterator[None]:
    """Let Spark divide files into splits of this many bytes."""
    name = "spark.sql.files.maxPartitionBytes"
    before = session.conf.get(name)
    session.conf.set(name, str(nbytes))
    try:
        yield
    finally:
        session.conf.set(name, before)


def odd_csv(seed: int, count: int, delimiter: str) -> list[bytes]:
    """The header and the records of a CSV: long texts with line breaks and quotes, all ways of quoting."""
    draw = random.Random(seed)
    ending, pieces = draw.choice(["\n", "\r\n"]), ["red", delimiter, '"', "\n", "\r\n", "\r", " é ", "x" * 40]
    lines = [line_of(("text", "one", "one"), delimiter, ending, csv.QUOTE_MINIMAL)]
    for number in range(count):
        one = "".join(draw.choices(pieces, k=draw.choice([0, 1, 5, 30])))
        row = (f"{number % (count * 2 // 3)}", one, draw.choice(["", "1.50", 'a"b']))
        quoting = draw.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])
        lines.append(line_of(row, delimiter, ending, quoting))
    return lines


@ON_SPARK
@pytest.mark.promise("docs/how-to/spark.md", "Kept rows of CSV and TSV are the bytes of the input")
@pytest.mark.promise("docs/how-to/spark.md", "delimiters, repeated column names and empty fields mean the same there")
@pytest.mark.parametrize(("seed", "name", "delimiter"), [(1, "csv", ";"), (2, "tsv", "\t")])
def test_spark_keeps_csv_byte_for_byte(spark: Any, tmp_path: Path, seed: int, name: str, delimiter: str) -> None:
    """Two files in splits that begin within records; the answer, the rows and the values of the local engine."""
    header, *records = odd_csv(seed, 60, delimiter)
    files = [tmp_path / f"{part}.{name}" for part in "ab"]
    files[0].write_bytes(b"\xef\xbb\xbf" + header + b"".join(records[:35]))
    files[1].write_bytes(b"\n" + header + b"".join(records[35:]).rstrip(b"\r\n"))
    local = la.strings.dedup(files, text="text", max_edits=0)
    local.write(tmp_path / f"local.{name}")
    local.write(tmp_path / "local.parquet")
    with small_splits(spark, 400):
        result = la.strings.dedup(files, text="text", max_edits=0, engine="spark")
        result.write(result.kept, tmp_path / f"spark.{name}")
        result.write(result.kept, tmp_path / "spark.parquet")
        assert sorted(result.removed.toArrow().to_pylist(), key=str) == sorted(local.removed.to_pylist(), key=str)
    result.done()
    parts = [part.read_bytes() for part in (tmp_path / f"spark.{name}").glob("part-*")]
    assert {part[: len(header)] for part in parts} == {header}
    kept = [records[row] for row in kept_rows(local, len(records))]
    expected = [record.removesuffix(b"\n") + b"\n" for record in kept]
    expected[-1] = kept[-1].removesuffix(b"\n").removesuffix(b"\r") + b"\n"  # it came without a line break
    rows = {part: records_of(part[len(header) :], delimiter, at_start=False, is_end=True) for part in parts}
    written = [
        row.data[start:end]
        for row in rows.values() for start, end in zip(row.starts.tolist(), row.ends.tolist(), strict=True)
    ]  # fmt: skip
    assert sorted(written) == sorted(expected)
    assert sum(map(len, parts)) == sum(map(len, expected)) + len(parts) * len(header)  # and nothing else
    tables = [pq.ParquetFile(tmp_path / "local.parquet").read(), pq.read_table(tmp_path / "spark.parquet")]
    values = [sorted(zip(*(column.to_pylist() for column in table.columns), strict=True), key=str) for table in tables]
    assert values[0] == values[1]
    assert tables[1].column_names == ["text", "one#2", "one#3"]
    found = la.strings.pairs(sorted((tmp_path / f"spark.{name}").glob("part-*")), text="text", max_edits=0, id="none")
    assert found.receipt["counts"]["strings"] == len(kept)


@ON_SPARK
@pytest.mark.promise("docs/how-to/spark.md", "Refused are records with more or fewer fields than the header")
def test_spark_refuses_csv_that_it_cannot_keep(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    refused = {
        (b"text,n\na b,1\nc d\n",): r"a record of .*a0\.csv has 1 columns, expected 2: 'c d'\. Are quotes missing",
        (b"text,n\na,1\n", b"n,text\n1,a\n"): r"a1\.csv has the columns n, text; the first file has text, n\. Give all",
        (b"",): r"a0\.csv is empty; expected a header line",
    }
    for files, message in refused.items():
        names = [Path(f"a{number}.csv") for number in range(len(files))]
        for name, data in zip(names, files, strict=True):
            name.write_bytes(data)
        with pytest.raises(InputError, match=message):
            _ = la.strings.dedup(names, text="text", max_edits=0, engine="spark").kept
    Path("a0.csv").write_bytes(b"text,n\na,\xff\nb,2\na,\xff")
    result = la.strings.dedup("a0.csv", text="text", max_edits=0, engine="spark")
    result.write(result.kept, "bytes.csv")
    assert set(lines_of(Path("bytes.csv"))) == {b"text,n\n", b"a,\xff\n", b"b,2\n"}
    with pytest.raises(InputError, match=r"a0\.csv is not valid UTF-8\. Write the format of the input"):
        result.write(result.kept, "b.parquet")
    result.done()


@ON_SPARK
def test_commands_of_both_engines_write_the_same_rows(spark: Any, tmp_path: Path, monkeypatch: Any) -> None:
    """-o FILE, -o FOLDER and --removed, with ids, of CSV and Parquet."""
    monkeypatch.chdir(tmp_path)
    table = pa.table({"id": ["x", "y", "z"], "text": ["a b", "a b", "c"], "n": ["1.50", None, "007"]})
    pq.write_table(table, "a.parquet")
    pv.write_csv(table, "a.csv")
    for form in ("csv", "parquet"):
        read = {}
        for engine in ("local", "spark"):
            asked = f"lookalike strings dedup a.{form} --text text -d 0 -q --engine {engine}"
            for output in (f"{engine}-{form}", f"{engine}.{form} --removed {engine}-gone.{form}"):
                done = in_process(f"{asked} -o {output}")
                assert done.code == 0, done.err
            kept = pq.read_table(f"{engine}-{form}/kept.parquet").to_pylist()
            outputs = [Path(f"{engine}.{form}"), Path(f"{engine}-gone.{form}")]
            read[engine] = [sorted(kept, key=str), *map(values_in, outputs)]
            for row in read[engine][2]:
                row["distance"] = float(row["distance"])
        assert read["local"] == read["spark"]
        assert [row["id"] for row in read["local"][0]] == ["x", "z"]
        assert read["local"][2][0]["id"] == "y"


def values_in(path: Path) -> list[dict[str, Any]]:
    """The rows of a file, or of the parts in a folder, in the order of their ids."""
    parts = sorted(path.glob("part-*")) if path.is_dir() else [path]
    if path.suffix == ".parquet":
        rows = [row for part in parts for row in pq.read_table(part).to_pylist()]
    else:
        rows = [row for part in parts for row in csv.DictReader(part.read_text().splitlines())]
    return sorted(rows, key=lambda row: str(row["id"]))


@ON_SPARK
def test_spark_writes_tables_as_text_that_reads_back(spark: Any, tmp_path: Path) -> None:
    table = pa.table(
        {
            "text": ["red", "ten"],
            "time": pa.array([1, None], pa.timestamp("us")),
            "sum": pa.array([decimal.Decimal("1.10"), None], pa.decimal128(20, 2)),
            "ratio": [0.1, float("nan")],
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    result = la.strings.dedup(tmp_path / "a.parquet", text="text", max_edits=0, engine="spark", id="none")
    result.write(result.kept, tmp_path / "b.csv")
    assert sorted({row for row in lines_of(tmp_path / "b.csv") if not row.startswith(b"text")}) == [
        b"red,1970-01-01 00:00:00.000001,1.10,0.1\n", b"ten,,,nan\n"
    ]  # fmt: skip
    with pytest.raises(
        OutputError, match=r"column 'ratio' of a row of .*a\.parquet is or holds NaN or infinity.* Use \.parquet\."
    ):
        result.write(result.kept, tmp_path / "b.jsonl")
    assert not (tmp_path / "b.jsonl").exists()
