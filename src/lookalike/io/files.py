"""Paths of input files together with how their text is encoded and their fields are separated."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lookalike.errors import InputError, UsageError

TAB_NAMES = ("tab", "\\t")


@dataclass(frozen=True)
class TextForm:
    """How text files are read. encoding: None for UTF-8, or UTF-16 and UTF-32 that begin with a byte order mark.

    delimiter: one character between the fields of CSV and TSV files; None for the one that the header shows.
    """

    encoding: str | None = None
    delimiter: str | None = None

    @classmethod
    def of(cls, encoding: str | None = None, delimiter: str | None = None) -> TextForm:
        """Check and normalise what a user gave.

        >>> TextForm.of("Latin-1", "tab")
        TextForm(encoding='iso8859-1', delimiter='\\t')
        """
        if encoding is not None:
            try:
                name = codecs.lookup(encoding).name
                encoding = None if name == "utf-8" else name
                "".encode(name)  # some codecs convert between bytes
            except (LookupError, TypeError, ValueError) as error:
                raise UsageError(
                    f"encoding={encoding!r} is not known; expected a name such as latin-1, cp1252, utf-16 or gb18030."
                ) from error
        if delimiter in TAB_NAMES:
            delimiter = "\t"
        if delimiter is not None and (len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n'):
            raise UsageError(f"delimiter={delimiter!r}; expected one ASCII character, such as ';', or tab.")
        return cls(encoding, delimiter)

    @property
    def is_usual(self) -> bool:
        """Whether nothing was given."""
        return self == USUAL_FORM

    def described(self) -> dict[str, str]:
        """Return the entry of a receipt: what was given."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def files(self, paths: Iterable[str | os.PathLike[str]]) -> Files:
        """Return paths of files to be read in this form."""
        return Files(paths, encoding=self.encoding, delimiter=self.delimiter)

    def check(self, name: str, kind: str, binary: Iterable[str]) -> None:
        """Raise UsageError for files of a format that has no encoding, or no delimiter."""
        if not self.is_usual and kind in binary:
            raise UsageError(f"{name} is {kind}, which has no `encoding` or `delimiter`; leave them out.")
        if self.delimiter is not None and kind not in ("CSV", "TSV"):
            raise UsageError(f"{name} is {kind}, which has no `delimiter`; it is for CSV and TSV files.")


USUAL_FORM = TextForm()


def wide_encoding(data: bytes) -> str | None:
    """Return the encoding of text that begins with the byte order mark of UTF-16 or UTF-32, else None.

    >>> wide_encoding("id".encode("utf-16")), wide_encoding(b"id")
    ('UTF-16', None)
    """
    if data.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):  # UTF-32-LE begins like UTF-16-LE
        return "UTF-32"
    return "UTF-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else None


class Files(list[Path]):
    """Files, folders or globs to read, with the encoding of their text and the delimiter of their fields.

    Takes the place of a path in every function that reads text files or tables:
    `la.pairs(la.Files("export.csv", encoding="cp1252", delimiter=";"))`.

    >>> Files("a.csv", encoding="latin-1").form.encoding
    'iso8859-1'
    """

    def __init__(
        self,
        paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        *,
        encoding: str | None = None,
        delimiter: str | None = None,
    ) -> None:
        given = [paths] if isinstance(paths, str | os.PathLike) else paths
        super().__init__(path if isinstance(path, os.PathLike) else Path(path) for path in given)  # type: ignore[misc]
        self.form = TextForm.of(encoding, delimiter)


class GivenPaths(tuple[str, ...]):
    """The paths that the user named, and how their text is read."""

    form = USUAL_FORM


def form_of(source: Any) -> TextForm:
    """Return how the text of a source is read: what was given with `Files`, else the usual."""
    form = getattr(source, "form", None)
    return form if isinstance(form, TextForm) else USUAL_FORM


def refuse_form(source: Any, where: str) -> None:
    """Raise InputError for files with an encoding or a delimiter, which are not read `where` this is called."""
    if not form_of(source).is_usual:
        raise InputError(f"`encoding` and `delimiter` are not read {where}; convert the files to UTF-8 first.")
