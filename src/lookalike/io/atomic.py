"""Outputs that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from lookalike.errors import OutputError, UsageError
from lookalike.io.paths import KNOWN, kind_of
from lookalike.words import size


def check_output(path: str | os.PathLike[str], *, force: bool, columns: Sequence[str] = ()) -> None:
    """Refuse, before any long work, an output that could not be written in the end.

    A name without an extension is a result folder. `columns`: what the file will hold.

    >>> check_output("pairs.xlsx", force=False)
    Traceback (most recent call last):
    lookalike.errors.UsageError: pairs.xlsx has the unknown extension '.xlsx'. Known: ...
    """
    path = Path(path)
    if str(path) == "-":
        raise UsageError("- (standard output) is no name for an output: pairs and groups go there without -o.")
    if not path.suffix:
        check_folder(path, force=force)
        return
    if kind_of(path) is None:
        raise UsageError(f"{path} has the unknown extension {path.suffix!r}. Known: {KNOWN}.")
    check_place(path, force=force)
    if path.is_dir():
        raise OutputError(f"{path} is a folder; expected a file name.")
    if kind_of(path) == "text lines" and len(columns) > 1:
        raise OutputError(one_column_only(path, columns))


def check_folder(folder: str | os.PathLike[str], *, force: bool) -> None:
    """As `check_output`, for a result folder. `force` replaces only an empty folder or an earlier result."""
    folder = Path(folder)
    check_place(folder, force=force)
    if folder.exists() and not (folder.is_dir() and (not any(folder.iterdir()) or (folder / "receipt.json").exists())):
        raise OutputError(f"{folder} is not a result of lookalike and is not replaced. Use another name.")


def one_column_only(path: Path, columns: Sequence[str]) -> str:
    """The message for a table that a text file cannot hold."""
    lines = " Or read text files line by line, with --lines." if list(columns) == ["id", "text"] else ""
    return (
        f"{path} can hold one column of text, a document a line; this table has the columns {', '.join(columns)}. "
        f"Use .jsonl, .csv or .parquet.{lines}"
    )


def check_place(path: Path, *, force: bool) -> None:
    """Refuse a place without a folder around it that may be written to, or taken already."""
    if not path.absolute().parent.is_dir():
        raise OutputError(f"no such folder: {path.parent}. Make it first, or use another name.")
    if not os.access(path.absolute().parent, os.W_OK):
        raise OutputError(f"the folder {path.parent} cannot be written to. Use another one, or change its permissions.")
    if os.path.lexists(path) and not force:
        raise OutputError(f"{path} exists. Use --force to replace it, or another name.")


@dataclass
class Draft:
    """What is being written. path: its temporary name; nbytes: about how much room it takes, as far as is known."""

    path: Path
    nbytes: int = 0


_drafts: set[Path] = set()


def remove_drafts() -> None:
    """Remove what is being written now: the process ends, and nobody else will."""
    for path in list(_drafts):
        _remove(path)


@contextmanager
def replacing(path: Path, *, force: bool) -> Iterator[Draft]:
    """A draft beside `path`, file or folder, that takes the place of `path` when the block ends well.

    However the block ends, the temporary name is gone afterwards.
    """
    draft = Draft(path.with_name(f".{path.name}.{os.getpid()}.tmp"))
    _drafts.add(draft.path)
    try:
        yield draft
        _flush(draft.path)
        if not force:
            check_place(path, force=False)  # it may have appeared while the work was going on
        if path.is_dir():
            _swap(draft.path, path)
        else:
            os.replace(draft.path, path)
        _flush_entry(path.absolute().parent)
    except (OSError, pa.ArrowException) as error:
        if getattr(error, "errno", None) == errno.ENOSPC:
            message = f"disk full while writing {path} (needed about {size(draft.nbytes)})."
        else:
            reason = getattr(error, "strerror", None) or (str(error).splitlines() or [type(error).__name__])[0]
            message = f"cannot write {path}: {reason.rstrip('.')}."
        raise OutputError(message) from error
    finally:
        _remove(draft.path)
        _drafts.discard(draft.path)


def _flush(path: Path) -> None:
    """Ask the system to put a file, or all files of a folder, on the disk: a rename must not outrun the content."""
    for file in (one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]:
        with open(file, "r+b") as handle:
            os.fsync(handle.fileno())


def _flush_entry(folder: Path) -> None:
    with suppress(OSError):  # not every system lets a folder be opened
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _swap(new: Path, old: Path) -> None:
    """Put a folder in the place of another one; if that fails the old one is there again."""
    aside = new.with_suffix(".old")
    os.rename(old, aside)
    try:
        os.rename(new, old)
    except BaseException:
        os.rename(aside, old)
        raise
    _remove(aside)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink(missing_ok=True)
