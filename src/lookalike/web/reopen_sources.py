"""Reopen the input of a run from its description in the receipt."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from lookalike.errors import InputError, LookalikeError
from lookalike.io.array_files import ARRAY_FILES
from lookalike.io.columns import ROW_NUMBERS
from lookalike.io.contents import Contents, contents_of
from lookalike.io.files import Files
from lookalike.io.origin import differs
from lookalike.io.paths import fixed_part
from lookalike.io.pictures import open_pictures
from lookalike.io.read import open_collection
from lookalike.io.vectors import open_vectors
from lookalike.kinds.baskets.formats import BasketRule, open_baskets
from lookalike.kinds.bits.source import open_codes
from lookalike.kinds.faces.source import open_faces
from lookalike.kinds.records.source import open_records

Described = dict[str, Any]


def reopen(described: Described, *, paths: Sequence[str] | None = None) -> Contents:
    """Open the contents of an input that a receipt describes, from its original location or from other `paths`.

    InputError, in one line, if the input was in memory, no longer exists, or has changed, as judged by the number, the
    sizes and the modification times of its files. The change is not checked if `paths` are given.
    """
    then: dict[str, Any] = described.get("origin") or {}
    name = described["name"]
    if not then and paths is None:
        raise InputError(f"{name} was given from memory, not from files, so what the items hold cannot be shown.")
    given = list(paths) if paths is not None else [str(Path(then["folder"], path)) for path in then["paths"]]
    for path in given:
        if not Path(path).exists() and not glob.glob(path, recursive=True):
            raise InputError(f"{path} is not there any more, so what the items hold cannot be shown.")
    try:
        files = Files(given, encoding=then.get("encoding"), delimiter=then.get("delimiter"))
        source = _opened(described, files)
    except LookalikeError as error:
        raise InputError(f"{name} cannot be opened again: {error}") from error
    if paths is None and (change := differs(then, source.describe()["origin"])):
        raise InputError(f"{name} has changed since the run ({change}), so what the items hold is not shown.")
    contents = contents_of(source)
    assert contents is not None  # all sources that `_opened` returns have contents
    named = len(given) > 1 or (described.get("lines") is False and Path(given[0]).is_file())
    return _Renamed(contents, then["paths"], given) if named and paths is None else contents


def _opened(described: Described, paths: list[Path]) -> Any:
    if "code" in described:
        return open_codes(paths, column=described["code"], id=described["id"] or ROW_NUMBERS)
    if "form" in described:
        return open_baskets(paths, BasketRule(**described["rule"]))
    if "broken" in described:
        return open_pictures(paths)
    if "vectors" in described:
        column, key = described["vectors"], described["id"]
        if key is None and paths[0].suffix.lower() not in ARRAY_FILES:
            key = ROW_NUMBERS
        if column.endswith(" blocks"):
            return open_faces(paths, grid=column.removesuffix(" blocks"))
        plain = column in ("vector", "") or ", " in column  # the usual names are detected, custom ones passed on
        return open_vectors(paths, column=None if plain else column, id=key)
    if "text" in described:
        return open_collection(
            paths, text=described["text"], id=described["id"] or ROW_NUMBERS, on_bad_text="replace", on_bad_file="skip",
            lines=described.get("lines"), markup=described.get("html") == "markup",
        )  # fmt: skip
    return open_records(paths, id=described["id"] or ROW_NUMBERS, on_bad_text="replace")


class _Renamed:
    """Contents of named files or several folders, with ids that begin with the path that the run was given."""

    def __init__(self, contents: Contents, named: Sequence[str], found: Sequence[str]) -> None:
        self._contents = contents
        self._names = [(_prefix(one), _prefix(other)) for one, other in zip(found, named, strict=True)]

    def ids(self) -> pa.ChunkedArray | None:
        ids = self._contents.ids()
        if ids is None or not pa.types.is_string(ids.type):
            return ids
        return pa.chunked_array([pa.array([self._renamed(name) for name in ids.to_pylist()], pa.string())])

    def take(self, rows: Any) -> dict[int, dict[str, Any]]:
        return self._contents.take(rows)

    def _renamed(self, name: str) -> str:
        for found, named in self._names:
            if f"{name}/".startswith(found):
                return (named + name.removeprefix(found)) if name.startswith(found) else named.removesuffix("/")
        return name


def _prefix(path: str) -> str:
    return (fixed_part(Path(path)) if glob.has_magic(path) else Path(path)).as_posix() + "/"
