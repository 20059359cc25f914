"""Write outputs atomically: they appear complete or not at all."""

from __future__ import annotations

import errno
import os
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from lookalike.core.formatting import size
from lookalike.errors import OutputError, UsageError, listed
from lookalike.io import disk
from lookalike.io.addresses import address_of, shown
from lookalike.io.leftovers import clear_leftovers, clear_marks, hidden_name, in_use, is_unfinished, mark_set, remove
from lookalike.io.paths import KNOWN, is_written, kind_of


def check_output(path: str | os.PathLike[str], *, force: bool, columns: Sequence[str] = ()) -> None:
    """Raise an error, before any long work, for an output that could not be written.

    A name without an extension is a result folder. `columns`: the columns that the file will hold.

    >>> check_output("pairs.xlsx", force=False)
    Traceback (most recent call last):
    lookalike.errors.UsageError: pairs.xlsx has the unknown extension '.xlsx'. Known: ...
    """
    path = path if isinstance(path, Path) else Path(path)
    if str(path) == "-":
        raise UsageError("- (standard output) is no name for an output: pairs and groups go there without -o.")
    if not path.suffix:
        check_folder(path, force=force)
        return
    if not is_written(path):
        raise UsageError(
            f"{path} has the unknown extension {path.suffix!r}. Known: {KNOWN}. "
            "A name without an extension, or with a slash at its end, is a folder for all tables of a result."
        )
    check_place(path, force=force)
    if address_of(path) is None and path.is_dir():
        raise OutputError(f"{path} is a folder; expected a file name.")
    if kind_of(path) == "text lines" and len(columns) > 1:
        raise OutputError(one_column_only(path, columns))


def check_folder(folder: str | os.PathLike[str], *, force: bool) -> None:
    """Check a result folder, like `check_output`. `force` replaces only an empty folder or an earlier result."""
    folder = Path(folder)
    if (address := address_of(folder)) is not None:
        check_remote_folder(address, force=force)
        return
    check_place(folder, force=force)
    if folder.exists() and not (folder.is_dir() and (not any(folder.iterdir()) or (folder / "receipt.json").exists())):
        raise OutputError(f"{folder} is not a result of lookalike and is not replaced. Use another name.")


def one_column_only(path: Path, columns: Sequence[str]) -> str:
    """Return the message for a table that a text file cannot hold."""
    lines = " Or read text files line by line, with `lines`." if list(columns) == ["id", "text"] else ""
    return (
        f"{path} can hold one column of text, a document a line; this table has the columns {listed(columns)}. "
        f"Use .jsonl, .csv or .parquet.{lines}"
    )


def check_place(path: Path, *, force: bool) -> None:
    """Raise OutputError if the parent folder is missing or not writable, or if the path exists and `force` is not set.

    An address is checked likewise. Temporary files that a killed process left for this path are removed. An output of a
    set that such a process did not complete may be replaced.
    """
    if (address := address_of(path)) is not None:
        check_remote_output(address, force=force)
        return
    if not path.absolute().parent.is_dir():
        raise OutputError(f"no such folder: {path.parent}. Create it first (mkdir -p), or use another name.")
    if not os.access(path.absolute().parent, os.W_OK):
        raise OutputError(f"the folder {path.parent} cannot be written to. Use another one, or change its permissions.")
    clear_leftovers(path)
    if os.path.lexists(path) and not force and not is_unfinished(path):
        raise _exists(str(path))


LAST_FILE = "receipt.json"  # of a result folder: it is uploaded last, so that without it there is no result

UPLOAD_PREFIX = "lookalike-upload-"  # of the temporary folder of an output before it is uploaded


@dataclass
class Draft:
    """An output that is being written. path: its temporary name; nbytes: its approximate size, as far as known."""

    path: Path
    nbytes: int = 0


_held: ContextVar[dict[Path, Path | None] | None] = ContextVar("_held", default=None)  # output to its finished draft
_renaming = threading.RLock()
_published: list[Path] = []


def stop_writing() -> list[Path]:
    """Remove unfinished outputs when the process ends. Return the outputs of `together` that are published."""
    with _renaming:
        for path in list(in_use):
            remove(path)
    return _published


@contextmanager
def together(paths: Iterable[Path], *, force: bool) -> Iterator[None]:
    """Publish the outputs that the block writes to these paths together at its end, so that none appears alone.

    If the process is killed between two renames, a later run may replace those outputs without `force`.
    """
    if _held.get() is not None:  # part of a larger set
        yield
        return
    held: dict[Path, Path | None] = dict.fromkeys(paths)
    before = _held.set(held)
    drafts: dict[Path, Path] = {}
    try:
        yield
        drafts = {path: draft for path, draft in held.items() if draft is not None}
        for path in [path for path in drafts if address_of(path) is not None]:
            _send(drafts.pop(path), path, force=force)
        with _clear_errors(" and ".join(map(str, drafts))), _renaming:
            _publish(drafts, force=force)
            _published.extend(drafts)
    finally:
        _held.reset(before)
        for draft in filter(None, held.values()):
            _discard(draft)


def draft_of(path: Path) -> Path:
    """Return where an output is now: its finished draft within `together`, or the output itself."""
    return (_held.get() or {}).get(path) or path


@contextmanager
def replacing(path: Path, *, force: bool) -> Iterator[Draft]:
    """Yield a draft next to `path`, a file or folder, that replaces `path` if the block succeeds.

    The temporary name is always removed at the end of the block, or within `together`, at the end of its block.
    """
    draft = Draft(_draft_path(path))
    held = _held.get()
    try:
        with _clear_errors(str(path), draft):
            yield draft
            _flush(draft.path)
            if held is not None and path in held:
                held[path] = draft.path
            elif address_of(path) is not None:
                _send(draft.path, path, force=force)
            else:
                _publish({path: draft.path}, force=force)
    finally:
        if held is None or held.get(path) != draft.path:
            _discard(draft.path)


@contextmanager
def _clear_errors(what: str, draft: Draft | None = None) -> Iterator[None]:
    """Convert file errors of the operating system and Arrow to OutputError."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        if getattr(error, "errno", None) == errno.ENOSPC:
            needed = f" (needed about {size(draft.nbytes)})" if draft is not None else ""
            message = f"disk full while writing {what}{needed}."
        else:
            reason = getattr(error, "strerror", None) or (str(error).splitlines() or [type(error).__name__])[0]
            message = f"cannot write {what}: {reason.rstrip('.')}."
        raise OutputError(message) from error


def _publish(drafts: Mapping[Path, Path], *, force: bool) -> None:
    """Rename finished drafts to their final names. drafts: output to draft."""
    with _renaming:
        if not force:
            for path in drafts:
                check_place(path, force=False)  # it may have appeared during the run
        folders = {path.absolute().parent for path in drafts}
        marks = mark_set(drafts) if len(drafts) > 1 else []
        for mark in marks:
            _flush(mark)
            disk.sync_folder(mark.absolute().parent)
        for path, draft in drafts.items():
            if path.is_dir():
                _swap(draft, path)
            else:
                disk.system.replace(draft, path)
        for folder in folders:
            disk.sync_folder(folder)
        for mark in marks:
            _discard(mark)
        for path in drafts:
            clear_marks(path)


def _draft_path(path: Path) -> Path:
    """Return a new hidden name next to `path`; for an address, a name in a private temporary folder."""
    if address_of(path) is None:
        draft = hidden_name(path, "tmp")
        in_use.add(draft)
        return draft
    folder = Path(tempfile.mkdtemp(prefix=UPLOAD_PREFIX))
    in_use.add(folder)
    return folder / path.name


def _send(draft: Path, path: Path, *, force: bool) -> None:
    """Upload a finished draft to its address. Not under the lock: Ctrl-C ends an upload, which then leaves nothing."""
    from lookalike.io.stores import upload

    address = str(address_of(path))
    if draft.is_dir():
        files = sorted((file for file in draft.rglob("*") if file.is_file()), key=lambda file: file.name == LAST_FILE)
        for file in files:
            upload(file, f"{address.rstrip('/')}/{file.relative_to(draft).as_posix()}")
    else:
        if not force:
            check_remote_output(address, force=False)  # it may have appeared during the run
        upload(draft, address)
    _published.append(path)


def check_remote_output(address: str, *, force: bool) -> None:
    """Raise OutputError for an address that cannot be written to, or that exists, unless `force` is set."""
    from lookalike.io.stores import exists_at

    if exists_at(address) and not force:
        raise _exists(shown(address))


def _exists(name: str) -> OutputError:
    return OutputError(f"{name} exists. Use `force` to replace it, or another name.")


def check_remote_folder(address: str, *, force: bool) -> None:
    """Raise OutputError for a result folder at an address that exists, unless `force` is set."""
    check_remote_output(f"{address.rstrip('/')}/{LAST_FILE}", force=force)


def _discard(path: Path) -> None:
    is_upload = path.parent in in_use and path.parent.name.startswith(UPLOAD_PREFIX)
    for one in (path, path.parent) if is_upload else (path,):
        remove(one)
        in_use.discard(one)


def _flush(path: Path) -> None:
    """Flush a file, or all files of a folder, to disk, so that a rename does not precede the content."""
    for file in (entry for entry in path.rglob("*") if entry.is_file()) if path.is_dir() else [path]:
        disk.sync_file(file)


def _swap(new: Path, old: Path) -> None:
    """Replace a folder by another one; the old folder is restored on failure."""
    aside = hidden_name(old, "old")
    in_use.add(aside)
    try:
        disk.system.rename(old, aside)
        try:
            disk.system.rename(new, old)
        except BaseException:
            disk.system.rename(aside, old)
            raise
        remove(aside)
    finally:
        in_use.discard(aside)
