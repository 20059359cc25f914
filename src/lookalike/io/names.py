"""Make column names unique if those of the input are repeated or empty."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pyarrow as pa

ORIGINAL_NAME_KEY = b"lookalike:name"  # field metadata: the name in the input, if that is repeated or empty


def with_unique_names(schema: pa.Schema) -> pa.Schema:
    """Make the names of the fields unique: a repeated or empty name gets the position of its column, from 1.

    >>> fields = [pa.field(name, pa.string()) for name in ("name", "note", "note", "")]
    >>> with_unique_names(pa.schema(fields)).names
    ['name', 'note#2', 'note#3', '#4']
    """
    names = unique_names(schema.names)
    if names == schema.names:
        return schema
    fields = [
        field if field.name == name else field.with_name(name).with_metadata({ORIGINAL_NAME_KEY: field.name.encode()})
        for field, name in zip(schema, names, strict=True)
    ]
    return pa.schema(fields)


def unique_names(names: Sequence[str]) -> list[str]:
    """Return the names, with their position added to those that are repeated or empty."""
    counts = Counter(names)
    if not counts[""] and len(counts) == len(names):
        return list(names)
    taken, out = set(names), []
    for position, name in enumerate(names, 1):
        unique = name
        if not name or counts[name] > 1:
            unique = f"{name}#{position}"
            while unique in taken:
                unique += "#"
        taken.add(unique)
        out.append(unique)
    return out


def name_in_input(field: pa.Field) -> str:
    """Return the name of this column in the input."""
    stored = (field.metadata or {}).get(ORIGINAL_NAME_KEY)
    return str(field.name if stored is None else stored.decode())


def with_input_names(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the batch with the column names of the input, including repeated and empty ones."""
    names = [name_in_input(field) for field in batch.schema]
    if names == batch.schema.names:
        return batch
    fields = [
        pa.field(name, field.type, field.nullable, _other_metadata(field))
        for name, field in zip(names, batch.schema, strict=True)
    ]
    return pa.record_batch(batch.columns, schema=pa.schema(fields, batch.schema.metadata))


def named_alike(schema: pa.Schema, name: str) -> list[str]:
    """Return the unique names of the columns that are called `name` in the input, if their names were changed."""
    return [field.name for field in schema if field.name != name and name_in_input(field) == name]


def _other_metadata(field: pa.Field) -> dict[bytes, bytes] | None:
    return {key: value for key, value in (field.metadata or {}).items() if key != ORIGINAL_NAME_KEY} or None
