"""Read inputs with Spark and number their rows: in the order of the input if it has one, else by id."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import I64
from lookalike.core.arrow import as_arrow
from lookalike.errors import InputError, LookalikeError, UsageError
from lookalike.io.canonical import canonical, converted
from lookalike.io.collection import check_one_form
from lookalike.io.columns import check_column, choose_id, choose_text
from lookalike.io.files import refuse_form
from lookalike.io.origin import origin
from lookalike.io.paths import FORMATS, TEXT_LINES, kind_of
from lookalike.io.read import open_collection
from lookalike.io.texts import kind_of_text
from lookalike.runtime.spark.arrow_batches import Batches, mapped_whole, numbers
from lookalike.runtime.spark.delimited import DelimitedFiles, HiddenColumns, read_delimited
from lookalike.runtime.spark.exact_rows import LINE, read_json_lines
from lookalike.runtime.spark.file_names import in_order, plain, spark_url
from lookalike.runtime.spark.job_errors import root_cause, translated_errors
from lookalike.runtime.spark.session import quiet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILE, START_COLUMN, ROW_COLUMN, PLACE = "_lookalike_file", "_lookalike_start", "_lookalike_row", "_lookalike_place"
HIDDEN = (FILE, START_COLUMN, ROW_COLUMN, PLACE, LINE)
HIDDEN_OF_CSV = HiddenColumns(line=LINE, file=FILE, start=START_COLUMN, row=ROW_COLUMN)
READERS: dict[str, tuple[str, dict[str, Any]]] = {
    "Parquet": ("parquet", {}),
    "ORC": ("orc", {}),
    "JSON lines": ("json", {}),
    "CSV": ("csv", {}),
    "TSV": ("csv", {}),
    TEXT_LINES: ("text", {}),
}
EXTENSIONS = {**{ending: kind for ending, kind in FORMATS.items() if kind in READERS}, ".orc": "ORC"}
IN_FILE = 40  # bits of a row's place within its file; the file number is in the bits above
Placing = Literal["files", "column", "ids", "sorted ids"]


class Choose(Protocol):
    """Chooses the column that is compared: the requested one, or the usual one."""

    def __call__(self, schema: pa.Schema, wanted: str | None, where: str, *, besides: str | None) -> str: ...


class PathArguments(tuple[str, ...]):
    """Paths and URLs as the user typed them: pathlib would remove a slash from s3://."""


class RowOffsets(Protocol):
    """Maps each block of a file, (file, start of the block), to the place of its first row."""

    def __getitem__(self, block: tuple[str, int], /) -> int: ...


@dataclass(frozen=True)
class SparkSource:
    """Rows that Spark reads. frame: the user's columns and the hidden ones; placing: the source of the row numbers.

    bases: the place of the first row for each (file, start); empty unless placing is "files".
    id_column: None if rows are identified by their place. given: local paths as the user named them; files: the files
    that these match; both are empty for other inputs. shown: the columns in the receipt, if not text and id. csv: the
    files, if they are CSV or TSV, in which all values are strings.
    """

    name: str
    frame: DataFrame
    text_column: str
    id_column: str | None
    placing: Placing
    bases: RowOffsets
    csv: DelimitedFiles | None = None
    given: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    shown: Mapping[str, Any] = field(default_factory=dict)
    by_line: bool | None = None  # True if each line of text files is an item

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name in self.frame.columns if name not in HIDDEN)

    @property
    def is_tokens(self) -> bool:
        return kind_of_text(schema_of(self.frame).field(self.text_column).type) != "text"

    @property
    def id_type(self) -> str:
        """The Spark type of the ids: long or string."""
        if self.id_column is None:
            return "long"
        return "long" if pa.types.is_integer(schema_of(self.frame).field(self.id_column).type) else "string"

    def describe(self) -> dict[str, Any]:
        """Return the receipt's entry for the input, in the form of the local engine, from which it can be reopened."""
        columns = self.shown or {"text": self.text_column, "id": self.id_column, "lines": self.by_line}
        return {"name": self.name, **columns, "origin": origin(self.given, map(Path, self.files))}

    def check(self, column: str) -> None:
        """Raise an error unless the column exists."""
        check_column(schema_of(self.frame.select(*self.columns)), column, self.name)

    def compared(self, column: str) -> Any:
        """Return a column to order rows by. Columns of numbers in CSV are cast (takes one pass)."""
        from pyspark.sql import functions as F  # noqa: N812

        values = F.col(f"`{column}`")
        if self.csv is None:
            return values
        number = values.try_cast("double")
        words = self.frame.where(values.isNotNull() & number.isNull()).limit(1).count()
        return values if words else number

    @property
    def has_lines(self) -> bool:
        """True if the rows are lines of JSON Lines files, or records of CSV or TSV files."""
        return self.csv is not None or LINE in self.frame.columns

    @property
    def lines(self) -> DataFrame:
        """The frame with LINE, if `has_lines`."""
        return self.frame if self.csv is None else self.csv.rows(lines=True)

    def placed(self, *, lines: bool = False) -> DataFrame:
        """Return all rows with all their columns, and PLACE: the number that identifies them in the rest of the run.

        lines: include LINE and FILE, if the rows have them.
        """
        if self.placing != "files":
            return self.frame
        lines = lines and self.has_lines
        frame, bases = self.lines if lines else self.frame, self.bases
        names = [*self.columns, *((LINE, FILE) if lines else ())]
        visible = frame.select(*(f"`{name}`" for name in names)).schema

        def work(batches: Batches) -> Batches:
            for batch, place in places(batches, bases):
                yield pa.record_batch([*(batch[name] for name in names), as_arrow(place)], [*names, PLACE])

        from pyspark.sql.types import LongType, StructType

        return mapped_whole(frame, work, StructType([*visible.fields]).add(PLACE, LongType()))


def no_row_numbers(name: str, parameter: str = "id") -> UsageError:
    """Return the error for rows without an id; parameter: the parameter that names the column of ids."""
    return UsageError(f"{name} has no column of ids, and rows of Spark have no numbers; give `{parameter}=COLUMN`.")


def places(batches: Batches, bases: RowOffsets) -> Iterator[tuple[pa.RecordBatch, I64]]:
    """Yield each batch of a partition with the places of its rows.

    A place is the base of the row's file block plus the number of rows before it in the block. Batches come in the
    order in which Spark reads the files; `bases` determines the order of the files.
    """
    current: tuple[str, int] | None = None
    seen = 0
    for batch in batches:
        starts = _changes(batch)
        counts = np.diff(starts, append=batch.num_rows)
        out = np.empty(batch.num_rows, np.int64)
        for start, count in zip(starts.tolist(), counts.tolist(), strict=True):
            block = (plain(batch[FILE][start].as_py()), batch[START_COLUMN][start].as_py())
            seen = seen if block == current else 0
            current = block
            within = (
                numbers(batch, ROW_COLUMN)[start : start + count]
                if ROW_COLUMN in batch.schema.names
                else seen + np.arange(count)
            )
            out[start : start + count] = bases[block] + within
            seen += count
        yield batch, out


def _changes(batch: pa.RecordBatch) -> I64:
    """Return the rows of a batch at which a new block of a file begins."""
    names = batch[FILE].dictionary_encode().indices.to_numpy()
    starts = numbers(batch, START_COLUMN)
    new = np.zeros(batch.num_rows, np.bool_)
    new[:1] = True
    new[1:] = (names[1:] != names[:-1]) | (starts[1:] != starts[:-1])
    return np.flatnonzero(new)


def open_origins(
    session: SparkSession,
    sources: Sequence[Any],
    *,
    text: str | None,
    id: str | None,  # noqa: A002
    choose: Choose = choose_text,
    several: bool = False,
    lines: bool | None = None,
) -> list[SparkSource]:
    """Open one collection, or two if the second source is not None. lines: as for `open_collection`."""
    given = [source for source in sources if source is not None]
    several = several or len(given) > 1
    origins = [
        open_origin(session, one, text=text, id=id, several=several, choose=choose, lines=lines) for one in given
    ]
    check_one_form({origin.is_tokens for origin in origins})
    return origins


def open_origin(
    session: SparkSession,
    source: Any,
    *,
    text: str | None,
    id: str | None,  # noqa: A002  (the user's word)
    several: bool = False,
    choose: Choose = choose_text,
    lines: bool | None = True,
) -> SparkSource:
    """Open a collection: a DataFrame, paths or URLs that Spark reads, the name of a table, or data in memory.

    several: the collection is one of two, so the ids of both must fit one numbering. choose: selects the column that is
    compared; documents are texts or token lists. lines: read text files line by line, the only way in which Spark reads
    them; None allows that for a single file only.
    """
    from pyspark.sql import DataFrame

    refuse_form(source, "on Spark")
    if isinstance(source, DataFrame):
        return _of_frame(source, "the DataFrame", text, id, several, choose)
    if is_read_by_spark(source):
        paths = [source] if isinstance(source, str | os.PathLike) else source
        return _of_paths(session, [os.fspath(one) for one in paths], text, id, several, choose, lines)
    return _of_memory(session, source, text, id)


def any_column(schema: pa.Schema, wanted: str | None, where: str, *, besides: str | None) -> str:
    """Return the first column, for kinds of items that choose the compared columns later."""
    if not schema.names:
        raise InputError(f"{where} has no columns; expected a table with rows.")
    return str(schema.names[0])


def is_read_by_spark(source: Any) -> bool:
    """Return True for a DataFrame, paths, URLs or the name of a table; False for data held by Python."""
    from pyspark.sql import DataFrame

    if isinstance(source, DataFrame | PathArguments | str | os.PathLike):
        return True
    if not isinstance(source, list | tuple) or not source:
        return False
    return all(isinstance(one, os.PathLike) for one in source)


def _of_frame(
    frame: DataFrame,
    name: str,
    text: str | None,
    id: str | None,  # noqa: A002
    several: bool,
    choose: Choose,
) -> SparkSource:
    schema = schema_of(frame)
    id_column = choose_id(schema, id, name)
    text_column = choose(schema, text, name, besides=id_column)
    if id_column is None and choose is choose_text:
        raise no_row_numbers(name)
    whole = id_column is not None and pa.types.is_integer(schema.field(id_column).type) and not several
    return SparkSource(name, frame, text_column, id_column, "ids" if whole else "sorted ids", {})


def _of_memory(session: SparkSession, source: Any, text: str | None, id: str | None) -> SparkSource:  # noqa: A002
    collection = open_collection(source, text=text, id=id)
    table = pa.Table.from_batches([converted(batch, canonical) for batch in collection.rows()])
    table = table.append_column(PLACE, as_arrow(np.arange(table.num_rows)))
    with quiet():
        frame = session.createDataFrame(table)
    return SparkSource(collection.name, frame, collection.text_column, collection.id_column, "column", {})


def _of_paths(
    session: SparkSession,
    paths: list[str],
    text: str | None,
    id: str | None,  # noqa: A002
    several: bool,
    choose: Choose,
    lines: bool | None,
) -> SparkSource:
    name = paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
    if len(paths) == 1 and "/" not in paths[0] and not os.path.exists(paths[0]) and session.catalog.tableExists(name):
        return _of_frame(session.table(name), f"the table {name}", text, id, several, choose)
    kinds = {path: _kind(session, path, lines) for path in paths}
    if len(set(kinds.values())) > 1:
        one, other = paths[0], next(path for path in paths if kinds[path] != kinds[paths[0]])
        raise InputError(f"{one} is {kinds[one]} and {other} is {kinds[other]}; give files of one kind.")
    kind = kinds[paths[0]]
    if kind == TEXT_LINES and (lines is False or (lines is None and len(paths) > 1)):
        raise _no_text_files(name)
    form, options = READERS[kind]
    hidden = [f"_metadata.file_path as {FILE}", f"_metadata.file_block_start as {START_COLUMN}"]
    urls, csv = [spark_url(path) for path in paths], None
    try:
        if kind == "JSON lines":
            frame = read_json_lines(session, urls, hidden)
        elif form == "csv":
            csv = _delimited(session, paths, kind)
            frame = csv.rows()
        else:
            frame = session.read.format(form).options(**options).load(urls)
    except LookalikeError:
        raise
    except Exception as error:  # Spark raises many types
        raise InputError(f"Spark cannot read {name} as {kind}: {root_cause(str(error))}") from error
    if kind == TEXT_LINES:
        frame = frame.withColumnRenamed("value", "text")
    schema = schema_of(frame)
    id_column = choose_id(schema, id, name)
    text_column = choose(schema, text, name, besides=id_column)
    if kind == "Parquet":  # its rows have numbers, independent of blocks
        hidden = [hidden[0], f"cast(0 as long) as {START_COLUMN}", f"_metadata.row_index as {ROW_COLUMN}"]
    if FILE not in frame.columns:
        frame = frame.selectExpr("*", *hidden)
    files = in_order({plain(file) for file in (frame if csv is None else csv.lines).inputFiles()}, paths)
    with translated_errors():
        bases = _bases(frame, files, dense=id_column is None) if csv is None else _dense(csv.counts, files)
    near = not any("://" in path for path in paths)
    return SparkSource(
        name, frame, text_column, id_column, "files", bases, csv,
        given=tuple(paths) if near else (), files=tuple(sorted(files)) if near else (),
        by_line=True if kind == TEXT_LINES else None,
    )  # fmt: skip


def _delimited(session: SparkSession, paths: list[str], kind: str) -> DelimitedFiles:
    urls = [spark_url(path) for path in paths]
    found = in_order({plain(file) for file in session.read.text(urls).inputFiles()}, paths)
    with translated_errors():
        return read_delimited(session, urls, [spark_url(file) for file in found], kind, HIDDEN_OF_CSV)


def _bases(frame: DataFrame, files: list[str], *, dense: bool) -> RowOffsets:
    """Return the place of the first row of each file block: dense (after counting all rows), or with gaps."""
    if not dense:
        return SparseRowOffsets({file: number for number, file in enumerate(files)})
    counted = frame.groupBy(FILE, START_COLUMN).count().collect()
    return _dense({(row[FILE], row[START_COLUMN]): row["count"] for row in counted}, files)


def _dense(counts: Mapping[tuple[str, int], int], files: Sequence[str]) -> RowOffsets:
    """Return the place of the first row of each (file, start), given the number of rows of each."""
    number = {file: at for at, file in enumerate(files)}
    blocks = sorted((number[plain(file)], start, count) for (file, start), count in counts.items())
    ends = np.cumsum([count for _, _, count in blocks]).tolist()
    return {(files[at], start): end - count for (at, start, count), end in zip(blocks, ends, strict=True)}


@dataclass(frozen=True)
class SparseRowOffsets:
    """Row offsets with gaps: the byte offset of a block serves as its first row, as a row takes at least one byte."""

    files: dict[str, int]

    def __getitem__(self, block: tuple[str, int]) -> int:
        return (self.files[block[0]] << IN_FILE) + block[1]


def _no_text_files(name: str) -> InputError:
    return InputError(
        f"{name}: text files are a document each, which Spark does not read; give `lines=True` to read their "
        "lines, or a table such as Parquet or JSON Lines."
    )


def _kind(session: SparkSession, path: str, lines: bool | None) -> str:
    """Return the format (Parquet, CSV, ...) by the extension of a file, or of the first data file in a folder."""
    kind = _by_name(path)
    system, entries = reached(session, path)
    if not entries:
        raise InputError(f"no such file, folder or table: {path}.")
    if kind == TEXT_LINES and not lines and (len(entries) > 1 or entries[0].isDirectory() or "*" in path):
        raise _no_text_files(path)
    if kind is not None:
        return kind
    for status in entries:
        inside = system.listFiles(status.getPath(), True)
        while inside.hasNext():
            name = inside.next().getPath().getName()
            if not name.startswith(("_", ".")) and (kind := _by_name(name)) and kind != TEXT_LINES:
                return kind
    raise InputError(f"{path} holds no data files that Spark reads by extension: {', '.join(EXTENSIONS)}.")


def reached(session: SparkSession, path: str) -> tuple[Any, Any]:
    """Return (Hadoop file system of a path or URL, the files found there); raise InputError if it cannot be reached."""
    jvm: Any = session._jvm
    where = jvm.org.apache.hadoop.fs.Path(path if "://" in path else "file://" + os.path.abspath(path))
    try:
        system = where.getFileSystem(session._jsparkSession.sessionState().newHadoopConf())
        return system, system.globStatus(where)
    except Exception as error:  # from py4j
        raise InputError(f"Spark cannot reach {path}: {root_cause(str(error))}") from error


def _by_name(path: str) -> str | None:
    kind = "ORC" if path.lower().endswith(".orc") else kind_of(path)
    return kind if kind in READERS else None


def schema_of(frame: DataFrame) -> pa.Schema:
    """Return the Arrow schema of the frame, without the hidden columns."""
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(frame.select(*(name for name in frame.columns if name not in HIDDEN)).schema)
