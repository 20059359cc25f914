"""Make the corpora, as Parquet files with the columns id (0, 1, ...) and text; a file that exists is not made again.

    python benchmarks/corpora.py generated --documents 200000 --seed 42 --folder .bench/corpora
    python benchmarks/corpora.py real --folder .bench/corpora [--root FOLDER ...]

Prints one line of JSON: path, name, documents, bytes of text.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq

ROWS_PER_GROUP = 20_000
PROSE = (".txt", ".md", ".rst", ".html", ".xml", ".json", ".toml", ".cfg", ".yaml", ".css")
CODE = (".py", ".pyi", ".pyx", ".pxd", ".js", ".ts", ".c", ".h", ".cpp", ".hpp")
SMALLEST, LARGEST = 200, 200_000
MOST_DOCUMENTS, MOST_BYTES = 57_000, 222_000_000


def text_files(roots: Iterable[Path]) -> list[tuple[str, int]]:
    """(path, bytes) of the files that look like text, each real file once, in the order of their paths."""
    found: dict[str, int] = {}
    for root in roots:
        for folder, folders, names in os.walk(root.resolve()):
            # Not our own files: they change from run to run, and with them the corpus would.
            folders[:] = [name for name in folders if name != "__pycache__" and not name.startswith("lookalike")]
            for name in names:
                path = os.path.join(folder, name)
                if name.endswith(PROSE + CODE) and not os.path.islink(path):
                    found[path] = os.path.getsize(path)
    return sorted((path, size) for path, size in found.items() if SMALLEST <= size <= LARGEST)


def default_roots() -> list[Path]:
    """The standard library and the packages this interpreter can import."""
    paths = [sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *sys.path[1:]]
    return [Path(path) for path in dict.fromkeys(paths) if path and os.path.isdir(path)]


def read_files(files: list[tuple[str, int]]) -> Iterator[pa.RecordBatch]:
    """Batches of the files that are valid UTF-8, until there are enough of them."""
    texts: list[str] = []
    number, size = 0, 0
    for path, _ in files:
        try:
            text = Path(path).read_bytes().decode("utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        texts.append(text)
        size += len(text.encode())
        full = number + len(texts) >= MOST_DOCUMENTS or size >= MOST_BYTES
        if len(texts) == ROWS_PER_GROUP or full:
            yield pa.record_batch({"id": pa.array(range(number, number + len(texts))), "text": pa.array(texts)})
            number, texts = number + len(texts), []
        if full:
            return
    if texts:
        yield pa.record_batch({"id": pa.array(range(number, number + len(texts))), "text": pa.array(texts)})


def write(batches: Iterable[pa.RecordBatch], path: Path) -> None:
    """Write one row group per batch, zstd, under a passing name until it is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    passing = path.with_suffix(".part")
    schema = pa.schema({"id": pa.int64(), "text": pa.string()})
    with pq.ParquetWriter(passing, schema, compression="zstd") as writer:
        for batch in batches:
            writer.write_batch(batch, row_group_size=len(batch))
    passing.replace(path)


def describe(path: Path) -> dict[str, Any]:
    """What the table of results says about a corpus."""
    size = 0
    for batch in pq.ParquetFile(path).iter_batches(columns=["text"], batch_size=ROWS_PER_GROUP):
        offsets = pa.compute.binary_length(batch.column(0))
        size += pa.compute.sum(offsets).as_py()
    meta = pq.read_metadata(path)
    return {
        "name": path.stem,
        "path": str(path),
        "documents": meta.num_rows,
        "text_bytes": size,
        "row_groups": meta.num_row_groups,
        "file_bytes": path.stat().st_size,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=["generated", "real"])
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--words", type=int, help="of the median generated document")
    parser.add_argument("--first", type=int, default=0, help="id of the first generated document")
    parser.add_argument("--root", type=Path, action="append", help="folder of text files; may be repeated")
    parser.add_argument("--folder", type=Path, default=Path(".bench/corpora"))
    given = parser.parse_args()
    if given.kind == "generated":
        marks = "".join(f"-{name}{value}" for name in ("words", "first") if (value := getattr(given, name)))
        path = given.folder / f"generated-{given.documents}-seed{given.seed}{marks}.parquet"
        if not path.exists():
            from generated import MEDIAN_WORDS, generate

            words = given.words or MEDIAN_WORDS
            made = generate(given.documents, seed=given.seed, rows=ROWS_PER_GROUP, words=words, first=given.first)
            write(made, path)
    else:
        files = text_files(given.root or default_roots())
        mark = hashlib.sha256(json.dumps([files, MOST_DOCUMENTS, MOST_BYTES]).encode()).hexdigest()[:8]
        path = given.folder / f"real-{mark}.parquet"
        if not path.exists():
            write(read_files(files), path)
    print(json.dumps(describe(path)))


if __name__ == "__main__":
    main()
