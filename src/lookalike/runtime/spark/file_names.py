"""Names of files as the user writes them, and as Spark does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import unquote


def plain(path: str) -> str:
    """Normalise a file name, which Spark writes in several ways.

    >>> plain("file:///data/a%20b.parquet"), plain("s3://bucket/a.parquet")
    ('/data/a b.parquet', 's3://bucket/a.parquet')
    """
    path = unquote(path)
    return "/" + path.removeprefix("file:").lstrip("/") if path.startswith("file:") else path


def spark_url(path: str) -> str:
    """Return a path or URL as Spark expects it."""
    return path if "://" in path else Path(path).absolute().as_uri().replace("%2A", "*")


def in_order(files: Iterable[str], paths: Sequence[str]) -> list[str]:
    """Sort plain file names by the path that matches them, then by name."""
    roots = [plain(spark_url(path)).partition("*")[0] for path in paths]

    def order(file: str) -> tuple[int, str]:
        return next((at for at, root in enumerate(roots) if file.startswith(root)), len(roots)), file

    return sorted(files, key=order)
