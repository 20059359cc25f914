"""Results as folders: one Parquet file for each table, and the receipt."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lookalike.errors import InputError
from lookalike.io.atomic import check_folder, check_place, replacing
from lookalike.io.canonical import converted, for_parquet, parquet_type, retyped
from lookalike.io.json_rows import json_document
from lookalike.io.reader import nbytes_of, reading

RECEIPT = "receipt.json"


def write_json(obj: Any, path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Write one JSON value, indented, under any name; whole or not at all."""
    path = Path(path)
    check_place(path, force=force)
    text = json_document(obj)
    with replacing(path, force=force) as draft:
        draft.nbytes = len(text)
        draft.path.write_bytes(text)


def write_folder(
    tables: Mapping[str, pa.Table], receipt: Mapping[str, Any], folder: str | os.PathLike[str], *, force: bool = False
) -> None:
    """Write NAME.parquet for each table, and receipt.json. The folder appears when all of it is on the disk.

    `force` replaces an earlier result or an empty folder, never a folder with anything else in it.
    """
    folder = Path(folder)
    check_folder(folder, force=force)
    text = json_document(dict(receipt))
    with replacing(folder, force=force) as draft:
        draft.nbytes = len(text) + sum(nbytes_of(table) for table in tables.values())
        draft.path.mkdir()
        for name, table in tables.items():
            batches = [converted(batch, for_parquet) for batch in table.to_batches()]
            table = pa.Table.from_batches(batches, retyped(table.schema, parquet_type))
            pq.write_table(table, draft.path / f"{name}.parquet", compression="zstd")
        (draft.path / RECEIPT).write_bytes(text)


def read_json(file: Path) -> dict[str, Any]:
    """A receipt, as `write_json` wrote it."""
    try:
        receipt: dict[str, Any] = json.loads(file.read_bytes())
    except ValueError as error:
        raise InputError(f"{file} is not valid JSON ({error}).") from error
    return receipt


def read_folder(
    folder: str | os.PathLike[str], names: Collection[str] | None = None
) -> tuple[dict[str, pa.Table], dict[str, Any]]:
    """The tables by name (sorted), all or those of these `names`, and the receipt, as `write_folder` wrote them."""
    folder = Path(folder)
    if not (folder / RECEIPT).is_file():
        raise InputError(f"{folder} is not a result folder: it has no {RECEIPT}.")
    receipt = read_json(folder / RECEIPT)
    tables = {}
    for file in sorted(folder.glob("*.parquet")):
        if names is not None and file.stem not in names:
            continue
        with reading(str(file), "Parquet"):
            # One file, no partitions: the names of folders above must not become columns.
            tables[file.stem] = pq.read_table(file, partitioning=None)
    return tables, receipt
