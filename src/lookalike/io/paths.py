"""Resolve paths, folders and globs to input files and their kind."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lookalike.errors import InputError, MissingInput, nearest
from lookalike.io.addresses import KNOWN_SCHEMES, address_of, name_in_address, shown

FORMATS = {
    ".parquet": "Parquet",
    ".arrow": "Arrow",
    ".feather": "Arrow",
    ".ipc": "Arrow",
    ".jsonl": "JSON lines",
    ".ndjson": "JSON lines",
    ".json": "JSON lines",
    ".csv": "CSV",
    ".tsv": "TSV",
    ".txt": "text lines",
}
ONLY_READ = {".warc": "a web archive", ".wet": "a web archive"}
PAGES = (".html", ".htm", ".xhtml")
BINARY = ("Parquet", "Arrow")
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
SNIFFED_BYTES = 4096  # bytes of a file with an unknown extension that are checked for binary content
KNOWN = f"{', '.join(FORMATS)} (text formats also with {' or '.join(COMPRESSIONS)})"
TEXT_LINES, TEXT_FILES = "text lines", "text files"
# How files that are not tables are read: by the rule for documents (auto), each file as one document (files), line by
# line (lines), or for items other than documents (table), only named .txt files, line by line.
TextReading = Literal["auto", "files", "lines", "table"]


@dataclass(frozen=True)
class InputFiles:
    """Files of one kind, in reading order. ids: the id of each document if each file is one; else empty."""

    kind: str
    files: tuple[Path, ...]
    ids: tuple[str, ...] = ()


def kind_of(path: str | os.PathLike[str]) -> str | None:
    """Return the format that the extension indicates, or None.

    >>> kind_of("a/corpus.jsonl.gz"), kind_of("corpus.PARQUET"), kind_of("corpus.parquet.gz"), kind_of("notes.md")
    ('JSON lines', 'Parquet', None, None)
    """
    name = _name(path).lower()
    bare = name.removesuffix(".gz").removesuffix(".zst")
    kind = (FORMATS | ONLY_READ).get(os.path.splitext(bare)[1])
    return None if kind in BINARY and bare != name else kind


def is_page(path: str | os.PathLike[str]) -> bool:
    """Return whether the extension indicates an HTML page.

    >>> is_page("a/index.html"), is_page("INDEX.HTM.gz"), is_page("notes.md")
    (True, True, False)
    """
    return os.path.splitext(_name(path).lower().removesuffix(".gz").removesuffix(".zst"))[1] in PAGES


def _name(path: str | os.PathLike[str]) -> str:
    """Return the file name; that of an address is without its query."""
    address = address_of(path)
    return os.path.basename(path) if address is None else name_in_address(address)


class FolderPath(type(Path())):  # type: ignore[misc]  # only concrete paths have subclasses before Python 3.12
    """A path that was given with a slash at its end: a folder, even if its name looks like one of a file.

    >>> FolderPath("out.d").suffix, FolderPath("out.d").name
    ('', 'out.d')
    """

    suffix = ""


def is_written(path: str | os.PathLike[str]) -> bool:
    """Return whether the extension indicates a format that can be written.

    >>> is_written("a.jsonl.gz"), is_written("a.warc.gz"), is_written("a.xlsx")
    (True, False, False)
    """
    return kind_of(path) in FORMATS.values()


def readable(path: str | os.PathLike[str]) -> str:
    """Return a path as text that can be printed and stored: bytes that are not UTF-8 become \\xNN.

    >>> readable(os.fsdecode(b"caf\\xe9.txt"))
    'caf\\\\xe9.txt'
    """
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def compression_of(path: str | os.PathLike[str]) -> str | None:
    """Return the compression that the extension indicates, or None.

    >>> compression_of("corpus.csv.zst"), compression_of("corpus.csv")
    ('zstd', None)
    """
    return COMPRESSIONS.get(os.path.splitext(_name(path))[1].lower())


def find(given: Sequence[str | os.PathLike[str]], *, text: TextReading = "table") -> InputFiles:
    """Find the files behind paths, folders and globs. All must be of one kind.

    A folder or glob with only data files is a data set of these files. Otherwise each of its files is a document, whose
    id is its path inside the folder (preceded by the folder if several paths are given). A single file is a document,
    too, unless it is a data file; "auto" reads a text file that is the only path line by line.
    """
    inputs: list[tuple[str, InputFiles]] = []
    for item in given:
        path, name = Path(item), os.fspath(item)
        if (address := address_of(item)) is not None:
            part = _at_address(address, _of_single(text, item, len(given)), several=len(given) > 1)
            inputs.append((shown(address), _as_lines(part) if text == "lines" else part))
            continue
        if not name:
            raise InputError("an empty path came; expected a file, a folder or a glob.")
        if path.is_dir():
            part = _group(_walk(path), path, name, several=len(given) > 1)
        elif path.exists():
            part = _single(path, name, _of_single(text, item, len(given)))
        elif glob.has_magic(name):
            base = fixed_part(path)
            files = [Path(match) for match in glob.glob(name, recursive=True) if os.path.isfile(match)]
            part = _group(files, base, name, several=len(given) > 1)
        else:
            raise _missing(path, name)
        inputs.append((name, _as_lines(part) if text == "lines" else part))
    first_name, first = inputs[0]
    for name, part in inputs:
        if part.kind != first.kind:
            raise InputError(
                f"{first_name} is {first.kind} and {name} is {part.kind}; give files of one kind, or run once for each."
            )
    return InputFiles(
        first.kind, tuple(f for _, p in inputs for f in p.files), tuple(i for _, p in inputs for i in p.ids)
    )


def _of_single(text: TextReading, item: str | os.PathLike[str], given: int) -> TextReading:
    """Return how to read a text file: "auto" reads one that is the only input line by line, but not an HTML page."""
    return "lines" if text == "auto" and given == 1 and not is_page(item) else text


def _as_lines(part: InputFiles) -> InputFiles:
    return InputFiles(TEXT_LINES, part.files) if part.kind == TEXT_FILES else part


def _at_address(address: str, text: TextReading, *, several: bool) -> InputFiles:
    from lookalike.io.opening import remote_path
    from lookalike.io.remote import files_at

    listed = files_at(address)
    if listed is None:
        path = remote_path(address)
        path.exists()  # raises for a file that is not there
        return _single(path, str(path), text)
    base, found = listed
    return _group_of({name[len(base) + 1 :]: remote_path(name) for name in found}, shown(base), shown(address), several)


def _single(path: Path, name: str, text: TextReading) -> InputFiles:
    if address_of(name) is None and not path.is_file():
        raise InputError(f"{name} is not a regular file; save the stream to a file first.")
    kind = kind_of(path)
    if kind not in (None, TEXT_LINES) or (kind == TEXT_LINES and text == "table"):
        return InputFiles(str(kind), (path,))
    if kind is None and text == "table":
        raise InputError(f"{name} has the unknown extension {path.suffix!r}. Known: {KNOWN}.")
    if kind is None:
        _check_text(path, name)
    return InputFiles(TEXT_LINES, (path,)) if text == "lines" else InputFiles(TEXT_FILES, (path,), (path.as_posix(),))


def _check_text(path: Path, name: str) -> None:
    """Raise InputError for a file with an unknown extension and binary content, such as .xlsx, .pdf or .npy."""
    from lookalike.io.opening import open_file

    with suppress(OSError), open_file(path) as file:
        if compression_of(path) is None and b"\0" in file.read(SNIFFED_BYTES):
            raise InputError(f"{name} is not a text file. Known extensions: {KNOWN}; anything else must be UTF-8 text.")


def _group(files: list[Path], base: Path, name: str, *, several: bool) -> InputFiles:
    return _group_of({file.relative_to(base).as_posix(): file for file in files}, base.as_posix(), name, several)


def _group_of(inside: dict[str, Path], base: str, name: str, several: bool) -> InputFiles:
    """Return the files of a folder or glob. inside: by their path within `base`; name: as the user gave it."""
    inside = dict(sorted(inside.items()))
    files = list(inside.values())
    if not files:
        raise InputError(f"no files in the folder {name}." if Path(base) == Path(name) else f"no files match {name}.")
    kinds = {file: kind_of(file) for file in files}
    # Spark and Hive write _SUCCESS and similar files next to their data files.
    data = [file for file in files if kinds[file] not in (None, TEXT_LINES)]
    other = [file for file in files if kinds[file] in (None, TEXT_LINES) and not file.name.startswith("_")]
    if data and not other:
        if different := [file for file in data if kinds[file] != kinds[data[0]]]:
            raise InputError(
                f"{name} holds {kinds[data[0]]} ({data[0].name}) and {kinds[different[0]]} ({different[0].name}); "
                "give a glob for files of one kind."
            )
        return InputFiles(str(kinds[data[0]]), tuple(data))
    if binary := [file for file in data if kinds[file] in BINARY]:
        raise InputError(
            f"{name} holds {kinds[binary[0]]} ({binary[0].name}) and other files ({other[0].name}); "
            f"give a glob such as *{binary[0].suffix}."
        )
    prefix = f"{base}/" if several else ""
    return InputFiles(TEXT_FILES, tuple(files), tuple(prefix + path for path in inside))


def _walk(folder: Path) -> list[Path]:
    files = []
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        files += [Path(parent, name) for name in names if not name.startswith(".")]
    return [file for file in files if file.is_file()]


def fixed_part(pattern: Path) -> Path:
    """Return the leading folders of a glob that hold no wildcard."""
    fixed = Path()
    for part in pattern.parts[:-1]:
        if glob.has_magic(part):
            break
        fixed /= part
    return fixed


def _missing(path: Path, name: str) -> InputError:
    if name == "-":
        return InputError("- (standard input) cannot be read; save the stream to a file first.")
    if address := re.match(r"([a-z][a-z0-9+.-]+):/", name, re.IGNORECASE):
        return InputError(
            f"{address[1]}://{name[address.end() :].lstrip('/')} is an address of an unknown kind; "
            f"expected {KNOWN_SCHEMES}, or `engine='spark'`, which reads the addresses that Spark knows."
        )
    beside = sorted(os.listdir(path.parent)) if path.parent.is_dir() else []
    return MissingInput(f"no such file: {name}.{nearest(path.name, beside)}")
