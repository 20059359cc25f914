"""Describe where a source comes from, to detect changes, for receipts and for opening it again."""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from lookalike.core import formatting
from lookalike.io.addresses import shown
from lookalike.io.files import GivenPaths, form_of


def given_paths(source: Any) -> tuple[str, ...]:
    """Return the paths that the user named as a source, unchanged; empty for data in memory.

    >>> given_paths([Path("a.csv"), Path("b.csv")]), given_paths(["a text", "another"])
    (('a.csv', 'b.csv'), ())
    """
    if isinstance(source, str | os.PathLike):
        return (shown(source),)
    if isinstance(source, list | tuple) and any(isinstance(item, os.PathLike) for item in source):
        given = GivenPaths(shown(item) for item in source)
        given.form = form_of(source)
        return given
    return ()


def origin(given: Sequence[str], files: Iterable[Path]) -> dict[str, Any] | None:
    """Return the paths, the folder they are relative to, and the number, total size and last change of their files;
    also their encoding and delimiter, if these were given.

    None without paths. A missing file counts as empty.
    """
    if not given:
        return None
    count = nbytes = newest = 0
    for file in files:
        count += 1
        try:
            known = file.stat()
        except OSError:
            continue
        nbytes += known.st_size
        newest = max(newest, known.st_mtime_ns)
    return {
        "paths": list(given), "folder": os.getcwd(), "files": count, "bytes": nbytes, "newest": newest,
        **form_of(given).described(),
    }  # fmt: skip


def sha256_of(file: Path) -> str:
    with file.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def hashed(source: dict[str, Any]) -> dict[str, Any]:
    """Return the receipt's entry of an input with the SHA-256 of its file; of several, of their sorted hashes.

    Inputs that are no local files, or that changed since, get none.
    """
    known = source.get("origin")
    if not known:
        return source
    try:
        files = [file for path in known["paths"] for file in _files(Path(known["folder"]) / path)]
        hashes = sorted(map(sha256_of, files)) if len(files) == known["files"] else []
    except OSError:
        return source
    if differs(known, origin(known["paths"], files)):
        return source
    whole = hashes[0] if len(hashes) == 1 else hashlib.sha256("\n".join(hashes).encode()).hexdigest()
    return {**source, "origin": {**known, "sha256": whole}}


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        inside = (file for file in path.rglob("*") if file.is_file())
        return [file for file in inside if not any(part.startswith(".") for part in file.relative_to(path).parts)]
    return [path] if path.is_file() else [Path(name) for name in glob.glob(str(path))]


def differs(then: dict[str, Any], now: dict[str, Any] | None) -> str | None:
    """Describe in a few words how an input has changed; None if it has not.

    >>> differs({"files": 1, "bytes": 9, "newest": 5}, {"files": 1, "bytes": 9, "newest": 6})
    'it was written to since'
    """
    if now is None:
        return "it is no longer a file"
    if then["files"] != now["files"]:
        return f"it had {formatting.count(then['files'], 'files')}, now {now['files']:,}"
    if then["bytes"] != now["bytes"]:
        return f"it had {then['bytes']:,} bytes, now {now['bytes']:,}"
    return "it was written to since" if then["newest"] != now["newest"] else None
