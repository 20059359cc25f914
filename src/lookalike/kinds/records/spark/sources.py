"""Sources of records on Spark: tables with their fields and ids, and a reproducible sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lookalike.core.arrow import as_arrow
from lookalike.io.canonical import canonical, converted
from lookalike.io.columns import ROW_NUMBERS, check_column
from lookalike.kinds.records.source import check_plain, is_plain, likely_ids, no_common_column, open_records
from lookalike.runtime.spark.session import quiet
from lookalike.runtime.spark.sources import (
    PLACE,
    SparkSource,
    any_column,
    is_read_by_spark,
    no_row_numbers,
    open_origin,
    schema_of,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FIELDS = "_lookalike_fields"
OVERSAMPLING = 1.2  # factor by which the hash filter selects more rows than the sample needs


class RecordRows(SparkSource):
    """A table of records on Spark. text_column has no meaning before `with_struct`."""

    def describe(self) -> dict[str, Any]:
        return {"name": self.name, "id": self.id_column, "origin": super().describe()["origin"]}

    @property
    def schema(self) -> pa.Schema:
        return schema_of(self.frame)

    def usable(self) -> list[str]:
        """Return the columns that can be fields: those of plain values, not lists."""
        return [field.name for field in self.schema if is_plain(field.type)]

    def with_struct(self, names: Sequence[str]) -> RecordRows:
        """Return the rows with the fields as one struct column; floats that are all whole numbers become integers."""
        from pyspark.sql import functions as F  # noqa: N812

        whole = _whole_numbers(self.frame, [n for n in names if pa.types.is_floating(self.schema.field(n).type)])
        columns = [F.col(f"`{name}`").cast("long") if name in whole else F.col(f"`{name}`") for name in names]
        fields = F.struct(*(column.alias(f"f{at}") for at, column in enumerate(columns)))
        return replace(self, frame=self.frame.withColumn(FIELDS, fields), text_column=FIELDS)

    def sample(self, names: Sequence[str], most: int) -> pa.Table:
        """Return at most `most` rows with these columns, in input order, selected by the hash of their number or id."""
        frame = self.placed()
        by = PLACE if self.placing in ("files", "column") else str(self.id_column)
        count = frame.count()
        chosen = frame.selectExpr(*(f"`{name}`" for name in names), f"`{by}` as _by", f"xxhash64(`{by}`) as _hash")
        if count > most:
            limit = (
                int(-(2**63) + min(1.0, OVERSAMPLING * most / count) * 2**64)
                if OVERSAMPLING * most < count
                else 2**63 - 1
            )
            chosen = chosen.where(f"_hash <= {limit}L").orderBy("_hash", "_by").limit(most)
        return chosen.orderBy("_by").select(*names).toArrow()


def open_rows(session: SparkSession, source: Any, id: str | None, *, several: bool) -> RecordRows:  # noqa: A002
    """Open a table that Spark reads, or one in the memory of Python. The id is guessed as by the local engine."""
    if not is_read_by_spark(source):
        return _of_memory(session, source, id)
    made = open_origin(session, source, text=None, id=id, several=several, choose=any_column)
    if made.id_column is None and id != ROW_NUMBERS and (guessed := _guess_id(made.frame)) is not None:
        if made.placing == "files":
            made = replace(made, id_column=guessed)
        else:
            made = open_origin(session, source, text=None, id=guessed, several=several, choose=any_column)
    if made.id_column is None and made.placing != "files":
        raise no_row_numbers(made.name)
    return RecordRows(**made.__dict__)


def common_fields(opened: Sequence[RecordRows]) -> list[str]:
    """Return the columns that all tables have, without the ids."""
    usable = [[name for name in rows.usable() if name != rows.id_column] for rows in opened]
    shared = [name for name in usable[0] if all(name in names for names in usable)]
    if not shared:
        raise no_common_column(opened)
    return shared


def check_fields(opened: Sequence[RecordRows], names: Sequence[str]) -> None:
    """Raise an error for columns that are missing or do not have plain values."""
    for rows in opened:
        for name in names:
            check_column(rows.schema, name, rows.name)
            check_plain(name, rows.schema.field(name).type, rows.name)


def _whole_numbers(frame: DataFrame, floats: Sequence[str]) -> set[str]:
    """Return those of the float columns that have only whole numbers: one pass, if there are any floats."""
    if not floats:
        return set()
    tests = (f"not isnan(`{name}`) and `{name}` = rint(`{name}`)" for name in floats)
    row = frame.selectExpr(*(f"coalesce(bool_and({test}), true)" for test in tests)).collect()[0]
    return {name for name, whole in zip(floats, row, strict=True) if whole}


def _guess_id(frame: DataFrame) -> str | None:
    """Return a column named id, else one whose name suggests ids and whose values are distinct, else None."""
    schema = schema_of(frame)
    for column in likely_ids([field.name for field in schema if is_plain(field.type)]):
        if column.strip().lower() == "id":
            return column
        counts = "count(1)", f"count(`{column}`)", f"count(distinct `{column}`)"
        rows, full, different = frame.selectExpr(*counts).collect()[0]
        if rows and rows == full == different:
            return column
    return None


def _of_memory(session: SparkSession, source: Any, id: str | None) -> RecordRows:  # noqa: A002
    opened = open_records(source, id=id)
    table = pa.Table.from_batches([converted(batch, canonical) for batch in opened.rows()])
    table = table.append_column(PLACE, as_arrow(np.arange(table.num_rows)))
    with quiet():
        frame = session.createDataFrame(table)
    return RecordRows(opened.name, frame, PLACE, opened.id_column, "column", {})
