"""Columns of codes that Spark reads; their common format and length are determined before anything is compared."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lookalike.core.arrow import as_arrow
from lookalike.errors import InputError, UsageError
from lookalike.io.canonical import canonical, converted
from lookalike.kinds.bits.formats import ONE_LENGTH, Form
from lookalike.kinds.bits.source import choose_code, open_codes
from lookalike.runtime.spark.session import quiet
from lookalike.runtime.spark.sources import PLACE, SparkSource, is_read_by_spark, no_row_numbers, open_origin, schema_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CODE_COLUMN = "_lookalike_code"
UNSIGNED_TYPE = pa.decimal128(20, 0)  # the type as which Spark reads unsigned 64-bit integers
SIGNED = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(), pa.uint64(): UNSIGNED_TYPE}


def open_code_rows(
    session: SparkSession, source: Any, code: str | None, id: str | None, form: Form, *, several: bool  # noqa: A002
) -> tuple[SparkSource, Form, int]:  # fmt: skip
    """Return the rows, the format of their codes, and the number of bits of a code (0 if there are none)."""
    if is_read_by_spark(source):
        made = open_origin(session, source, text=code, id=id, several=several, choose=_choose)
        if made.id_column is None and made.placing != "files":
            raise no_row_numbers(made.name)
    else:
        made = _of_memory(session, source, code, id, form)
    shown = {"code": made.text_column, "id": made.id_column, "form": form}
    form, bits = _settle_form(with_codes(made).frame, made.name, form)
    return replace(made, shown=shown), form, bits


def with_codes(rows: SparkSource) -> SparkSource:
    """Return the rows with the codes in the column CODE_COLUMN; unsigned 64-bit integers become signed ones."""
    column = f"`{rows.text_column}`"
    if schema_of(rows.frame).field(rows.text_column).type == UNSIGNED_TYPE:
        column = f"cast(if({column} >= {1 << 63}BD, {column} - {1 << 64}BD, {column}) as long)"
    return replace(rows, frame=rows.frame.selectExpr("*", f"{column} as {CODE_COLUMN}"), text_column=CODE_COLUMN)


def check_widths(origins: Sequence[SparkSource], bits: Sequence[int]) -> None:
    """Raise an error if the codes of two collections have different lengths."""
    filled = [(origin, width) for origin, width in zip(origins, bits, strict=True) if width]
    for origin, width in filled:
        if width != filled[0][1]:
            raise UsageError(
                f"the codes of {origin.name} have {width} bits, those of {origins[0].name} {filled[0][1]}; "
                "expected codes of one length."
            )


def _choose(schema: pa.Schema, wanted: str | None, where: str, *, besides: str | None) -> str:
    plain = [pa.field(one.name, pa.int64() if one.type == UNSIGNED_TYPE else one.type) for one in schema]
    return choose_code(pa.schema(plain), wanted, where, besides=besides)


def _settle_form(frame: DataFrame, name: str, form: Form) -> tuple[Form, int]:
    """Determine the format of the codes of a column and their number of bits, in one pass over text or bytes."""
    kind = frame.schema[CODE_COLUMN].dataType.simpleString()
    sizes = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
    if kind in sizes:
        return form, sizes[kind]
    if form == "int":
        return form, 64
    tests = "min(length(c)) as low, max(length(c)) as high"
    if kind == "string":
        tests += ", bool_or(c like '0x%' or c like '0X%') as some, bool_and(c like '0x%' or c like '0X%') as every"
        tests += ", bool_or(c rlike '[^01]') as hexadecimal"
    row = frame.selectExpr(f"{CODE_COLUMN} as c").where("c is not null").selectExpr(*tests.split(", ")).collect()[0]
    if row["low"] is None:
        return form, 0
    if row["low"] != row["high"] or not row["low"]:
        raise InputError(f"{name}: a code has {row['low']} characters where another has {row['high']}; {ONE_LENGTH}")
    if kind != "string":
        return form, 8 * row["low"]
    if row["some"] and not row["every"]:
        raise InputError(f"{name}: some codes begin with 0x and others do not; expected codes of one form.")
    digits = row["low"] - (2 if row["every"] and row["low"] > 2 else 0)
    if form == "auto":
        form = "hex" if row["hexadecimal"] else "binary"
    return form, digits if form == "binary" else 4 * digits


def _of_memory(session: SparkSession, source: Any, code: str | None, id: str | None, form: Form) -> SparkSource:  # noqa: A002
    if isinstance(source, tuple) and all(isinstance(one, str | os.PathLike) for one in source):
        source = list(source)
    collection = open_codes(source, column=code, id=id, form=form).collection
    table = pa.Table.from_batches([converted(batch, canonical) for batch in collection.rows()])
    types = [SIGNED.get(one.type, pa.binary() if pa.types.is_fixed_size_binary(one.type) else one.type)
             for one in table.schema]  # fmt: skip
    table = table.cast(pa.schema(list(zip(table.column_names, types, strict=True))))
    table = table.append_column(PLACE, as_arrow(np.arange(table.num_rows)))
    with quiet():
        frame = session.createDataFrame(table)
    return SparkSource(collection.name, frame, collection.text_column, collection.id_column, "column", {})
