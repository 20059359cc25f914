"""Standard input and output as data, and inputs that are pipes: each passes through a private temporary folder."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

from lookalike.cli.options import Names
from lookalike.core.options import Option
from lookalike.errors import InputError, LookalikeError, OutputError, UsageError

STANDARD_STREAM = "-"  # names standard input or standard output
Format = Literal["jsonl", "csv", "tsv", "text", "parquet", "arrow"]
FORMAT_EXTENSIONS = {"text": "txt"}  # of a format, if not its name
FORMAT_MARKS = ((b"PAR1", "parquet"), (b"ARROW1", "arrow"), (b"{", "jsonl"))  # how the content of a format begins
UNMARKED = ("jsonl", "csv", "tsv", "text")
COMPRESSION_MARKS = ((b"\x1f\x8b", ".gz"), (b"\x28\xb5\x2f\xfd", ".zst"))


class StreamOptions(TypedDict, total=False):
    """The options of commands that read standard input and write standard output."""

    output: Annotated[
        Path | None,
        Option(None, "Where to write, by extension; a folder for all tables; - for standard output, all rows.",
               unset="standard output", flags=("-o", "--output")),
    ]  # fmt: skip
    format: Annotated[
        Format | None,
        Option(None, "Format of standard output (-), and of standard input and pipes that do not show theirs.",
               unset="that of the input, for pairs and groups tsv"),
    ]  # fmt: skip


class Streams:
    """The streams of a command.

    folder: where they are kept while the command runs; it is removed at its end. names: what messages call these files.
    """

    def __init__(self, form: str | None) -> None:
        self.form = form
        self.names: dict[str, str] = {}
        self.folder: Path | None = None

    def files(self, names: list[str]) -> list[str]:
        """Return the inputs, with a temporary file in place of standard input and of each pipe."""
        files = [self._spooled(name, number) if _is_stream(name) else name for number, name in enumerate(names)]
        return names.like(files) if isinstance(names, Names) else files

    def target(self, output: Path | None, inputs: list[str], usual: str | None) -> Path | None:
        """Return where to write. For -, a temporary file in the format given, the `usual` one, or that of the input."""
        if output is None or str(output) != STANDARD_STREAM:
            return output
        from lookalike.io.paths import kind_of

        if form := self.form or usual:
            return self._place() / f"output.{FORMAT_EXTENSIONS.get(form, form)}"
        if kind_of(inputs[0]) is None:
            raise UsageError("`-o -` does not say in which format to write. Give `format`, for example `format=jsonl`.")
        name = Path(inputs[0].removesuffix(".gz").removesuffix(".zst"))
        return self._place() / f"output{name.suffix}"

    def send(self, file: Path) -> None:
        """Write a finished file to standard output."""
        sys.stdout.flush()
        with open(file, "rb") as source:
            shutil.copyfileobj(source, sys.stdout.buffer, 1 << 20)
        sys.stdout.buffer.flush()

    def _place(self) -> Path:
        if self.folder is None:
            from lookalike.io.leftovers import in_use

            self.folder = Path(tempfile.mkdtemp(prefix="lookalike-"))  # only its owner may look into it
            in_use.add(self.folder)  # removed if the command is stopped
        return self.folder

    def _spooled(self, name: str, number: int) -> str:
        """Copy a stream to a file, and return its path."""
        draft = self._place() / ("standard-input" if name == STANDARD_STREAM else f"pipe-{number}")
        with _reports_disk_full(draft), open(draft, "wb") as file:
            if name == STANDARD_STREAM:
                shutil.copyfileobj(sys.stdin.buffer, file, 1 << 20)
            else:
                with open(name, "rb") as pipe:
                    shutil.copyfileobj(pipe, file, 1 << 20)
        path = str(draft.rename(draft.with_name(f"{draft.name}.{self._extension(draft, name)}")))
        self.names[path] = "standard input" if name == STANDARD_STREAM else name
        return path

    def _extension(self, draft: Path, name: str) -> str:
        with open(draft, "rb") as file:
            start = file.read(64).lstrip()
        compression = next((suffix for magic, suffix in COMPRESSION_MARKS if start.startswith(magic)), "")
        shown = next((form for magic, form in FORMAT_MARKS if start.startswith(magic)), None)
        form = "text" if self.form == "text" and shown == "jsonl" else shown or self.form
        if form is None or (shown is None and form not in UNMARKED):
            what = "standard input" if name == STANDARD_STREAM else name
            raise InputError(f"{what} does not show its format. Give `format`, for example `format=csv`.")
        return FORMAT_EXTENSIONS.get(form, form) + compression


@contextmanager
def _reports_disk_full(draft: Path) -> Iterator[None]:
    """Raise OutputError that names the folder of temporary files where it has no room for a stream."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        raise OutputError(
            f"disk full: the stream does not fit into {draft.parent.parent}, the folder of temporary files. Set TMPDIR "
            "to a folder on another disk, or save the stream to a file."
        ) from error


def _is_stream(name: str) -> bool:
    return name == STANDARD_STREAM or (os.path.exists(name) and not os.path.isfile(name) and not os.path.isdir(name))


@contextmanager
def streams(options: dict[str, Any], *inputs: list[str] | None) -> Iterator[Streams]:
    """Take the option out of `options`, and yield the streams of a command; their folder is removed afterwards."""
    names = [name for given in inputs for name in given or ()]
    if names.count(STANDARD_STREAM) > 1:
        raise UsageError("standard input (-) can be read once; give a file for the other input.")
    if options.get("engine") == "spark" and any(map(_is_stream, names)):
        raise UsageError("standard input and pipes are read on one machine; on Spark give paths.")
    opened = Streams(options.pop("format"))
    try:
        yield opened
    except LookalikeError as error:  # which names the copy of a stream
        for file, name in opened.names.items():
            error.args = tuple(one.replace(file, name) if isinstance(one, str) else one for one in error.args)
        raise
    finally:
        if opened.folder is not None:
            from lookalike.io.leftovers import in_use

            shutil.rmtree(opened.folder, ignore_errors=True)
            in_use.discard(opened.folder)
