"""Columns within columns: `meta.text` names the field `text` of the structs in the column `meta`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lookalike.io.names import named_alike
from lookalike.io.reader import RawRows, Reader, ReadLimit, select

FIELD_MARK = "."


def with_nested(readers: Sequence[Reader], names: Sequence[str]) -> list[Reader]:
    """Return the readers, with a further column for each name that is not a column but a field within one."""
    return [_with_nested(reader, names) for reader in readers]


def _with_nested(reader: Reader, names: Sequence[str]) -> Reader:
    fields = {}
    for name in names:
        if reader.schema.get_field_index(name) < 0 and not named_alike(reader.schema, name):
            path = _path(reader.schema, name)
            if path is not None:
                fields[name] = path
    return NestedColumns(reader, fields) if fields else reader


def _path(schema: pa.Schema, name: str) -> tuple[str, ...] | None:
    """Return the names that lead from a column to the field, or None if there is no such field."""
    parts = name.split(FIELD_MARK)
    for cut in range(1, len(parts)):
        root = FIELD_MARK.join(parts[:cut])
        if schema.get_field_index(root) < 0:
            continue
        dtype, rest = schema.field(root).type, parts[cut:]
        for part in rest:
            if not pa.types.is_struct(dtype) or dtype.get_field_index(part) < 0:
                return None
            dtype = dtype.field(dtype.get_field_index(part)).type
        return (root, *rest)
    return None


class NestedColumns(Reader):
    """A reader with fields of structs as further columns. fields: for each further column, the names that lead to it.

    Rows that are written do not have these columns.
    """

    def __init__(self, reader: Reader, fields: dict[str, tuple[str, ...]]) -> None:
        self._reader, self._fields = reader, fields
        self.name = reader.name
        self.schema = pa.schema([*reader.schema, *(_leaf(reader.schema, name, path) for name, path in fields.items())])
        self.paths: Sequence[Path] = reader.paths
        self.lines, self.warnings, self.copied_as = reader.lines, reader.warnings, reader.copied_as

    rows = property(lambda self: self._reader.rows, lambda self, rows: setattr(self._reader, "rows", rows))
    damaged = property(lambda self: self._reader.damaged, lambda self, why: setattr(self._reader, "damaged", why))

    @property
    def limit(self) -> ReadLimit | None:  # type: ignore[override]
        return self._reader.limit

    def batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        return self.batches_from(schema, 0)

    def batches_from(self, schema: pa.Schema, start: int) -> Iterator[pa.RecordBatch]:
        own = [field for field in schema if field.name not in self._fields]
        wanted = [name for name in schema.names if name in self._fields]
        missing = dict.fromkeys(self._fields[name][0] for name in wanted)
        roots = select(self._reader.schema, [name for name in missing if name not in {field.name for field in own}])
        for batch in self._reader.batches_from(pa.schema([*own, *roots]), start):
            values = dict(zip(batch.schema.names, batch.columns, strict=True))
            for name in wanted:
                root, *rest = self._fields[name]
                values[name] = pc.struct_field(values[root], rest)
            yield pa.record_batch(values)

    def settled(self, names: Sequence[str]) -> pa.Schema:
        own = self._reader.settled([name for name in names if name not in self._fields])
        return pa.schema([self.schema.field(name) if name in self._fields else own.field(name) for name in names])

    def size(self, names: Sequence[str]) -> int:
        return self._reader.size(list(dict.fromkeys(self._fields.get(name, (name,))[0] for name in names)))

    def row_schema(self) -> pa.Schema:
        return self._reader.row_schema()

    def raw_rows(self) -> Iterator[RawRows]:
        return self._reader.raw_rows()

    def head(self) -> bytes:
        return self._reader.head()

    def named_files(self) -> dict[str, Path] | None:
        return self._reader.named_files()

    def content(self) -> Any:
        return self._reader.content()

    def expect(self, content: Any) -> None:
        self._reader.expect(content)

    def where(self, row: int) -> str:
        return self._reader.where(row)


def _leaf(schema: pa.Schema, name: str, path: tuple[str, ...]) -> pa.Field:
    field = schema.field(path[0])
    for part in path[1:]:
        field = field.type.field(field.type.get_field_index(part))
    return pa.field(name, field.type)
