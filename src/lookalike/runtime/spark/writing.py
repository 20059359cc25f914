"""Write DataFrames as folders of part files, on this machine or to any URL that Spark can write to."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lookalike.errors import OutputError, UsageError
from lookalike.io.atomic import check_folder, check_place, replacing
from lookalike.io.json_rows import json_document
from lookalike.io.paths import kind_of
from lookalike.io.results import RECEIPT, sealed
from lookalike.runtime.spark.exact_rows import as_exact_text, as_json_lines
from lookalike.runtime.spark.job_errors import root_cause

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameWriter, SparkSession

    from lookalike.runtime.spark.delimited import DelimitedFiles

JSON_OPTIONS = {"ignoreNullFields": False}
CSV_WRITE_OPTIONS = {"header": True, "escape": '"', "ignoreLeadingWhiteSpace": False, "ignoreTrailingWhiteSpace": False}
FORMATS: dict[str, tuple[str, dict[str, Any]]] = {
    ".parquet": ("parquet", {}),
    ".orc": ("orc", {}),
    ".jsonl": ("json", JSON_OPTIONS),
    ".ndjson": ("json", JSON_OPTIONS),
    ".json": ("json", JSON_OPTIONS),
    ".csv": ("csv", CSV_WRITE_OPTIONS),
    ".tsv": ("csv", {**CSV_WRITE_OPTIONS, "sep": "\t"}),
}


def is_url(path: str) -> bool:
    """Return True for a URL such as s3://bucket/x, also after pathlib removed a slash (s3:/bucket/x).

    >>> is_url("s3:/bucket/x"), is_url("pairs.parquet"), is_url("file:///tmp/x")
    (True, False, True)
    """
    return re.match(r"[a-zA-Z][a-zA-Z0-9+.-]+:/", path) is not None


def as_url(path: str) -> str:
    """Restore the slashes after the scheme of a URL, of which pathlib removes one."""
    return re.sub(r"^([a-zA-Z][a-zA-Z0-9+.-]+):/+", r"\1://" + ("/" if path.startswith("file:") else ""), path)


def check_target(path: str, *, force: bool) -> None:
    """Raise an error, before any long work, for an output that Spark could not write."""
    ending = os.path.splitext(path)[1].lower()
    if ending and ending not in FORMATS:
        raise UsageError(f"{path} has the unknown extension {ending!r}. Spark writes {', '.join(FORMATS)}.")
    if is_url(path):
        return
    if not ending:
        check_folder(path, force=force)
    else:
        check_place(Path(path), force=force)
        if Path(path).is_file():
            raise OutputError(f"{path} is a file; Spark writes a folder of parts. Remove it, or use another name.")


def check_reached(session: SparkSession, url: str) -> None:
    """Raise OutputError, before any long work, for a URL that Spark cannot reach."""
    jvm: Any = session._jvm
    where = jvm.org.apache.hadoop.fs.Path(url)
    try:
        where.getFileSystem(session._jsparkSession.sessionState().newHadoopConf()).exists(where)
    except Exception as error:  # from py4j
        raise OutputError(f"Spark cannot write to {url}: {root_cause(str(error))}") from error


def write_frame(frame: DataFrame, path: str, *, force: bool) -> str:
    """Write a folder of part files; on this machine it appears complete or not at all."""
    check_target(path, force=force)
    form, options = FORMATS[os.path.splitext(path)[1].lower() or ".parquet"]
    return _save(frame.write.format(form).options(**options), frame.sparkSession, path, force=force)


@dataclass(frozen=True)
class KeptLines:
    """Kept rows as the lines or records that they were read from (value). csv: their files if these are CSV or TSV."""

    frame: DataFrame
    csv: DelimitedFiles | None

    def for_output(self, path: str) -> DataFrame | None:
        """Return the lines of an output that has the format of the input; None for other outputs."""
        kind = "JSON lines" if self.csv is None else self.csv.header.kind
        if kind != kind_of(path):
            return None
        return self.frame if self.csv is None else self.csv.with_header(self.frame)


def write_rows(
    frame: DataFrame, given: KeptLines | None, name: str, path: str, *, force: bool, repair: bool = False
) -> str:
    """Write rows of an input without changing their values. given: the same rows as they were read, if known.

    name: of the input, for messages. repair: replace bytes that are not UTF-8 in lines by U+FFFD.
    """
    check_target(path, force=force)
    form, _ = FORMATS[os.path.splitext(path)[1].lower() or ".parquet"]
    lines = None if given is None else given.for_output(path)
    if lines is not None and repair:
        lines = lines.selectExpr("make_valid_utf8(value) as value")
    if lines is None and form == "csv":
        return write_frame(as_exact_text(frame, name), path, force=force)
    if lines is None and form == "json":
        lines = as_json_lines(frame, name)
    if lines is None:
        return write_frame(frame, path, force=force)
    return _save(lines.write.format("text").options(lineSep="\n"), frame.sparkSession, path, force=force)


def _save(writer: DataFrameWriter, session: SparkSession, path: str, *, force: bool) -> str:
    """Let Spark write the parts to a path or a URL; parts of lines get the extension of the folder's name."""
    if is_url(path):
        writer.mode("overwrite" if force else "error").save(as_url(path))
        _name_parts(session, as_url(path))
        return as_url(path)
    with replacing(Path(path), force=force) as draft:
        url = draft.path.absolute().as_uri()
        writer.save(url)
        _name_parts(session, url, os.path.splitext(path)[1])
    return path


def _name_parts(session: SparkSession, url: str, ending: str | None = None) -> None:
    """Rename parts of lines, which Spark names .txt or .json, so that readers recognise them by extension."""
    ending = os.path.splitext(url)[1] if ending is None else ending
    if FORMATS.get(ending.lower(), ("",))[0] not in ("json", "csv"):
        return
    jvm: Any = session._jvm
    folder = jvm.org.apache.hadoop.fs.Path(url)
    system = folder.getFileSystem(session._jsparkSession.sessionState().newHadoopConf())
    for status in system.listStatus(folder):
        stem, old = os.path.splitext(status.getPath().getName())
        if stem.startswith("part-") and old != ending:
            system.rename(status.getPath(), jvm.org.apache.hadoop.fs.Path(folder, stem + ending))


def write_result(
    tables: Mapping[str, DataFrame], receipt: Callable[[], dict[str, Any]], folder: str, *, force: bool
) -> str:
    """Write each table as a folder NAME.parquet of part files, and receipt.json next to them."""
    check_target(folder, force=force)
    if is_url(folder):
        for name, frame in tables.items():
            write_frame(frame, f"{as_url(folder)}/{name}.parquet", force=force)
        session = next(iter(tables.values())).sparkSession
        receipt_frame = session.createDataFrame([(json_document(receipt()).decode(),)], "value string").coalesce(1)
        receipt_frame.write.mode("overwrite" if force else "error").text(f"{as_url(folder)}/{RECEIPT}")
        return as_url(folder)
    with replacing(Path(folder), force=force) as draft:
        draft.path.mkdir()
        for name, frame in tables.items():
            frame.write.parquet((draft.path / f"{name}.parquet").absolute().as_uri())
        parts = [file for file in sorted(draft.path.rglob("*.parquet")) if file.is_file()]
        outputs = {file.relative_to(draft.path).as_posix(): file for file in parts}
        (draft.path / RECEIPT).write_bytes(sealed(receipt(), outputs, with_inputs=False))
    return folder
