"""An input that changes while it is compared: its rows are never mixed with those that were compared."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lookalike as la
from dedup_runs import DEDUPS, row_of
from lookalike.errors import InputChanged
from lookalike.io.columnar import ParquetFile
from lookalike.io.jsonlines import JsonLines

WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
TEXTS = [" ".join(WORDS), " ".join(reversed(WORDS)), " ".join(word[::-1] for word in WORDS)]
BEFORE, AFTER = [0, 1, 0, 2, 1], {"other rows": [0, 0, 1, 2, 1], "fewer rows": [0, 1, 0]}


def rows(order: list[int]) -> list[dict[str, Any]]:
    return [{"id": place, "label": "ab"[one % 2], **row_of(TEXTS[one], one)} for place, one in enumerate(order)]


def write(path: Path, order: list[int]) -> None:
    """Write the rows; the time of the file is always the same."""
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows(order)))
    else:
        pq.write_table(pa.Table.from_pylist(rows(order)), path)
    os.utime(path, (1e9, 1e9))


def written(result: Any, path: Path) -> bytes:
    result.write(path, force=True)
    return path.read_bytes()


def answer(result: Any, _: Path) -> bytes:
    return repr(result.to_arrow().to_pylist()).encode()


def page(result: Any, path: Path) -> bytes:
    result.report(path.with_suffix(".html"), force=True)
    return path.with_suffix(".html").read_bytes()


Run = tuple[Callable[[Path], Any], Callable[[Any, Path], bytes]]
RUNS: dict[str, Run] = {f"{kind} dedup": (run, written) for kind, run in DEDUPS.items()} | {
    "faces dedup": (lambda path: la.faces.dedup(path, column="vector", audit=0), written),
    "scrub": (lambda path: la.scrub(path, text="text", min_tokens=5), written),
    "decontaminate": (lambda path: la.decontaminate(path, [{"question": TEXTS[0]}], text="text"), written),
    "records merge": (lambda path: la.records.merge(path, fields=["text"], threshold=0.9), answer),
    "records pairs": (lambda path: la.records.pairs(path, threshold=0.5, audit=0), answer),
    "passages": (lambda path: la.passages(path, text="text", min_tokens=5), page),
    "stories": (lambda path: la.stories(path, text="text", min_tokens=5), answer),
    "nearest": (lambda path: la.nearest(path, text="text", k=1), answer),
    "classify": (lambda path: la.classify(path, text="text", label="label", against=path), answer),
}


@pytest.fixture
def first_reading(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Calls `armed["change"]` after the first complete reading of a file."""
    armed: dict[str, Any] = {}

    def watch(reader: type, name: str) -> None:
        read = getattr(reader, name)

        def watched(self: Any, *given: Any) -> Iterator[Any]:
            yield from read(self, *given)
            if change := armed.pop("change", None):
                change()

        monkeypatch.setattr(reader, name, watched)

    for reader in (JsonLines, ParquetFile):
        watch(reader, "batches")
    watch(JsonLines, "raw_rows")
    return armed


@pytest.mark.promise("docs/reference/formats.md", "stops with the name of the file, and nothing is written")
@pytest.mark.parametrize("change", AFTER)
@pytest.mark.parametrize("extension", ["jsonl", "parquet"])
@pytest.mark.parametrize("kind", RUNS)
def test_what_was_not_compared_is_not_written(
    kind: str, extension: str, change: str, tmp_path: Path, first_reading: dict[str, Any]
) -> None:
    run, finish = RUNS[kind]
    source, output = tmp_path / f"in.{extension}", tmp_path / f"out.{extension}"
    write(source, BEFORE)
    right = finish(run(source), output)
    output.unlink(missing_ok=True)
    for when in ("between two readings", "before the rows are written"):
        write(source, BEFORE)
        noticed = None
        try:
            if when == "between two readings":
                first_reading["change"] = lambda: write(source, AFTER[change])
            result = run(source)
            if when != "between two readings" or first_reading.pop("change", None):
                write(source, AFTER[change])
            found = finish(result, output)
        except InputChanged as error:
            noticed = error
        if noticed is None:
            assert found == right, when
        else:
            assert source.name in str(noticed)
            assert not output.exists()
