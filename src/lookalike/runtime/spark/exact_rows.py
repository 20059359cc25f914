"""Keep rows exact on Spark: the original lines of JSON Lines files, and exact text for values of other tables."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lookalike.errors import BadText, InputError, OutputError
from lookalike.io.canonical import canonical, converted
from lookalike.io.exact_text import NotWritable
from lookalike.io.json_rows import json_lines
from lookalike.io.write import flat_columns
from lookalike.runtime.spark.arrow_batches import mapped

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LINE = "_lookalike_line"  # the line of a JSON Lines file that a row was read from
PARSED = "_lookalike_parsed"
BYTE_ORDER_MARK = "\ufeff"
SHOWN_VALUE = 60  # maximum characters of a value in a message


def read_json_lines(session: SparkSession, urls: list[str], hidden: Sequence[str]) -> DataFrame:
    """Read JSON Lines with the columns that Spark infers, and LINE: each line without its line break.

    hidden: additional columns, as SQL over the metadata of the files. Blank lines are skipped. A carriage return before
    the line break stays part of the line.
    """
    from pyspark.sql import functions as F  # noqa: N812

    schema = session.read.options(mode="FAILFAST").json(urls).schema
    lines = session.read.options(lineSep="\n").text(urls)
    lines = lines.selectExpr(
        f"if(startswith(value, '{BYTE_ORDER_MARK}'), substring(value, 2), value) as {LINE}", *hidden
    )
    lines = lines.where(f"trim(BOTH ' \t\r' FROM {LINE}) != ''")
    failure = "lookalike.errors.InputError: a line of JSON Lines holds a list; expected an object in each line."
    text = F.when(F.ltrim(LINE).startswith("["), F.raise_error(F.lit(failure))).otherwise(F.col(LINE))
    parsed = lines.withColumn(PARSED, F.from_json(text, schema, {"mode": "FAILFAST"}))
    return parsed.select(f"{PARSED}.*", *(name for name in lines.columns))


def with_checked_values(frame: DataFrame, names: Sequence[str], file: str) -> DataFrame:
    """Return the columns `names`; raise InputError at a value that differs from its line. file: the file name column.

    Spark gives a column one type: where a column mixes numbers and text, or large integers and fractions, it changes
    values to fit that type.
    """
    kinds = {field.name: field.dataType.simpleString() for field in frame.schema.fields}

    def stage(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        lines, files = batch[LINE].cast(pa.binary()).to_pylist(), batch[file].to_pylist()
        for line, row, name in zip(lines, batch.select(names).to_pylist(), files, strict=True):
            place = f"a row of {name.rpartition('/')[2]}"
            values = _values(line, place)
            for column in names:
                given, read = _without_nulls(values.get(column)), _without_nulls(row[column])
                if not _is_same(given, read):
                    shown = json.dumps(given, ensure_ascii=False)[:SHOWN_VALUE]
                    raise InputError(
                        f"column {column!r} is {shown} in {place}, but {kinds[column]} on Spark, which changes it. "
                        "Write JSON lines (.jsonl): rows are copied there."
                    )
        yield batch.select(names)

    schema = ", ".join(f"`{name}` {kinds[name]}" for name in names)
    return mapped(frame.select(*(f"`{name}`" for name in names), LINE, file), stage, schema)


def with_valid_text(frame: DataFrame, name: str, *, repair: bool) -> DataFrame:
    """Return columns of text with U+FFFD for bytes that are not UTF-8 (repair), or raise BadText at the first one.

    name: of the input, for the message.
    """
    from pyspark.sql import functions as F  # noqa: N812

    failure = (
        f"lookalike.errors.BadText: {name} is not valid UTF-8. Write the format of the input, to which rows are "
        "copied, or use `on_bad_text='replace'` for U+FFFD instead of such bytes."
    )
    columns = [F.col(f"`{column}`") for column in frame.columns]
    if repair:
        return frame.select(*(F.make_valid_utf8(c).alias(n) for c, n in zip(columns, frame.columns, strict=True)))
    bad = F.raise_error(F.lit(failure))
    return frame.select(
        *(F.when(F.is_valid_utf8(c) | c.isNull(), c).otherwise(bad).alias(n)
          for c, n in zip(columns, frame.columns, strict=True))
    )  # fmt: skip


def as_json_lines(frame: DataFrame, name: str) -> DataFrame:
    """Return each row as a line of JSON (value), as the local engine writes it. name: of the input, for messages."""

    def stage(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        try:
            lines = json_lines(converted(batch, canonical))
        except NotWritable as error:
            raise _refusal(error, name) from error
        yield pa.record_batch({"value": pa.array(lines.decode().split("\n")[:-1], pa.string())})

    return mapped(frame, stage, "value string")


def as_exact_text(frame: DataFrame, name: str) -> DataFrame:
    """Return each column as the text that the local engine writes to CSV. name: of the input, for messages."""

    def stage(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        try:
            columns = flat_columns(converted(batch, canonical))
        except NotWritable as error:
            raise _refusal(error, name) from error
        yield pa.record_batch([column.cast(pa.string()) for column in columns], batch.schema.names)

    return mapped(frame, stage, ", ".join(f"`{column}` string" for column in frame.columns))


def _refusal(error: NotWritable, name: str) -> OutputError:
    return OutputError(f"column {error.column!r} of a row of {name} {error.reason}. Use .parquet.")


def _values(line: bytes, place: str) -> dict[str, Any]:
    try:
        return dict(json.loads(line, object_pairs_hook=_object))
    except UnicodeDecodeError:
        raise BadText(f"{place} is not valid UTF-8. Write JSON lines (.jsonl): rows are copied there.") from None
    except ValueError:
        raise InputError(f"{place} is not one JSON object. Write JSON lines (.jsonl): rows are copied there.") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise InputError("a key is repeated in a JSON object, and a column holds one value. Write JSON lines (.jsonl).")
    return record


def _without_nulls(value: Any) -> Any:
    """Drop nulls, since a table cannot distinguish an absent key from null, nor an object of nulls from null."""
    if isinstance(value, dict):
        members = {key: _without_nulls(member) for key, member in value.items()}
        return {key: member for key, member in members.items() if member is not None} or None
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def _is_same(given: Any, read: Any) -> bool:
    """Compare JSON values with what Spark read; numbers are compared by value, regardless of their type."""
    if isinstance(given, dict) and isinstance(read, dict):
        return given.keys() == read.keys() and all(_is_same(given[key], read[key]) for key in given)
    if isinstance(given, list) and isinstance(read, list):
        return len(given) == len(read) and all(map(_is_same, given, read))
    if isinstance(given, float) and math.isinf(given):
        return False
    return given == read and isinstance(given, bool) == isinstance(read, bool)
