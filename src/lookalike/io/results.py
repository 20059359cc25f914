"""Read and write result folders: one Parquet file per table, and the receipt."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lookalike.errors import InputError
from lookalike.io import disk
from lookalike.io.atomic import check_folder, check_place, draft_of, replacing
from lookalike.io.canonical import converted, for_parquet, parquet_type, retyped
from lookalike.io.json_rows import json_document
from lookalike.io.origin import hashed, sha256_of
from lookalike.io.reader import nbytes_of, reading

RECEIPT = "receipt.json"
UNSEALED = "0" * 64  # replaces the seal while the receipt is hashed


def write_json(obj: Any, path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Write a value as indented JSON, under any file name, atomically."""
    path = Path(path)
    check_place(path, force=force)
    text = json_document(obj)
    with replacing(path, force=force) as draft:
        draft.nbytes = len(text)
        with disk.open_file(draft.path, "wb") as file:
            file.write(text)


def sealed(receipt: Mapping[str, Any], outputs: Mapping[str, Path], *, with_inputs: bool = True) -> bytes:
    """Return a receipt as JSON with the SHA-256 of each output and input, and as its seal that of the receipt itself.

    outputs: the files by the names that they will have. To check the seal, replace it by 64 zeros and hash the file.
    """
    files = {name: {"bytes": file.stat().st_size, "sha256": sha256_of(file)} for name, file in outputs.items()}
    inputs = {"inputs": [hashed(source) for source in receipt["inputs"]]} if with_inputs and "inputs" in receipt else {}
    text = json_document({**receipt, **inputs, "outputs": files, "seal": UNSEALED})
    digest = hashlib.sha256(text).hexdigest().encode()
    before, _, after = text.rpartition(UNSEALED.encode())
    return before + digest + after


def _files_of(name: str, output: Path) -> dict[str, Path]:
    """Return the files of an output by their names in a receipt; a table of Spark is a folder of files."""
    if not output.is_dir():
        return {name: output}
    files = [file for file in sorted(output.rglob("*")) if file.is_file() and file.name[0] not in "._"]
    return {f"{name}/{file.relative_to(output).as_posix()}": file for file in files}


def write_receipt(
    receipt: Mapping[str, Any], path: Path, outputs: Collection[Path], *, force: bool = False, with_inputs: bool = True
) -> None:
    """Write the receipt of output files that were written before, with their hashes and those of the inputs."""
    check_place(path, force=force)
    files = {name: file for output in outputs for name, file in _files_of(output.name, draft_of(output)).items()}
    text = sealed(receipt, files, with_inputs=with_inputs)
    with replacing(path, force=force) as draft:
        draft.nbytes = len(text)
        with disk.open_file(draft.path, "wb") as file:
            file.write(text)


def write_folder(
    tables: Mapping[str, pa.Table], receipt: Mapping[str, Any], folder: str | os.PathLike[str], *, force: bool = False
) -> None:
    """Write NAME.parquet for each table, and receipt.json. The folder appears when it is completely on disk.

    `force` replaces an earlier result or an empty folder, never a folder with other content.
    """
    folder = Path(folder)
    check_folder(folder, force=force)
    with replacing(folder, force=force) as draft:
        draft.nbytes = sum(nbytes_of(table) for table in tables.values())
        draft.path.mkdir()
        for name, table in tables.items():
            batches = [converted(batch, for_parquet) for batch in table.to_batches()]
            table = pa.Table.from_batches(batches, retyped(table.schema, parquet_type))
            pq.write_table(table, draft.path / f"{name}.parquet", compression="zstd")
        outputs = {f"{name}.parquet": draft.path / f"{name}.parquet" for name in tables}
        (draft.path / RECEIPT).write_bytes(sealed(receipt, outputs))


def read_json(file: Path) -> dict[str, Any]:
    """Read a receipt that `write_json` wrote."""
    try:
        receipt = json.loads(file.read_bytes())
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file} is not valid JSON ({error}).") from error
    if not isinstance(receipt, dict):
        raise InputError(f"{file} is no JSON object; expected the receipt of a result.")
    return receipt


def read_folder(
    folder: str | os.PathLike[str], names: Collection[str] | None = None
) -> tuple[dict[str, pa.Table], dict[str, Any]]:
    """Return the tables by name (sorted; only `names`, if given) and the receipt, as written by `write_folder`."""
    folder = Path(folder)
    if not (folder / RECEIPT).is_file():
        raise InputError(f"{folder} is not a result folder: it has no {RECEIPT}.")
    receipt = read_json(folder / RECEIPT)
    tables = {}
    for file in sorted(folder.glob("*.parquet")):
        if names is not None and file.stem not in names:
            continue
        with reading(str(file), "Parquet"):
            # One file, no partitions: the names of parent folders must not become columns.
            tables[file.stem] = pq.read_table(file, partitioning=None)
    return tables, receipt
