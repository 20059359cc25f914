"""Create or open the store of an index: a folder, or a database given by its URL."""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path
from typing import Any

from lookalike.errors import OutputError, UsageError
from lookalike.index import manifest
from lookalike.index import settings as about
from lookalike.index.folder import FolderStore
from lookalike.index.store import Store
from lookalike.io import disk
from lookalike.io.atomic import check_place, replacing


def create(place: str | PathLike[str], settings: dict[str, Any]) -> Store:
    """Create an empty store with these settings."""
    whole = {"format": about.FORMAT, **settings}
    if _is_database(place):
        from lookalike.index.postgres import PostgresStore

        return PostgresStore.create(str(place), whole)
    folder = _folder(place)
    if os.path.lexists(folder):
        raise OutputError(f"{folder} exists. Add to it, or use another name.")
    check_place(folder, force=False)
    with replacing(folder, force=False) as draft:
        disk.system.make_folder(draft.path, 0o777)
        manifest.create(draft.path)
        about.write(draft.path, whole)
    return FolderStore(folder, whole, read_only=False)


def open(place: str | PathLike[str], *, read_only: bool) -> Store:  # noqa: A001  (as the method of the index)
    """Open the store at this place."""
    if _is_database(place):
        from lookalike.index.postgres import PostgresStore

        store = PostgresStore.open(str(place), read_only=read_only)
        about.check_format(store.place, store.settings)
        return store
    folder = _folder(place)
    return FolderStore(folder, about.read(folder), read_only=read_only)


def shown(place: str) -> str:
    """Return the name of a place without the password that a URL may contain."""
    if not _is_database(place):
        return place
    from lookalike.index.connections import DatabaseAddress

    return DatabaseAddress.of(place).shown


def _is_database(place: str | PathLike[str]) -> bool:
    return isinstance(place, str) and place.startswith(("postgresql://", "postgres://"))


def _folder(place: str | PathLike[str]) -> Path:
    text = os.fspath(place)
    if "://" in text:
        raise UsageError(f"{text.split('://')[0]}:// is not a place for an index; expected a folder or postgresql://.")
    return Path(text)
