"""Damage to the files of an index, and what is asked of it afterwards."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import lookalike as la
from index_kinds import SAMPLES
from lookalike.errors import LookalikeError
from lookalike.index import folder


def make(place: Path, kind: str) -> None:
    """An index with segments, removed items, recent items, groups and merges."""
    sample = SAMPLES[kind]
    items = sample.items(60, 5)
    small, folder.MAX_RECENT_ITEMS = folder.MAX_RECENT_ITEMS, 8
    try:
        with la.Index.create(place, kind=kind, **sample.options) as index:
            for low in (0, 20):
                index.add(items[low : low + 20], ids=[f"i{number}" for number in range(low, low + 20)])
            index.remove(["i3", "i25"])
            index.groups()
            for number in range(40, 60):
                index.add([items[number]], ids=[f"i{number}"])
            index.remove(["i41"])
    finally:
        folder.MAX_RECENT_ITEMS = small


def answers(place: Path, kind: str) -> Any:
    """All that can be asked, or the message of the error."""
    items = SAMPLES[kind].items(60, 5)
    ids = [f"i{number}" for number in range(60)]
    try:
        with la.Index.open(place, read_only=True) as index:
            return (
                index.query(items), list(index), len(index), [one in index for one in ids],
                [index.item(one) for one in index], index.groups().to_pylist(), index.merges().to_pylist(),
            )  # fmt: skip
    except LookalikeError as error:
        return str(error)


def changed(place: Path, kind: str) -> Any:
    """The answers after changes, or the message of the error."""
    items = SAMPLES[kind].items(70, 5)
    try:
        with la.Index.open(place) as index:
            index.add(items[60:], ids=[f"n{number}" for number in range(10)])
            index.remove(["i7", "i50", "n2"])
            index.compact()
    except LookalikeError as error:
        return str(error)
    return answers(place, kind)


def damage(place: Path, draw: random.Random) -> str:
    """Flip a bit of one file, cut it, or empty a stretch of it; what was done."""
    files = sorted(path for path in place.iterdir() if path.stat().st_size and path.suffix != ".lock")
    path = draw.choice(files)
    data = bytearray(path.read_bytes())
    at, how = draw.randrange(len(data)), draw.choice(["flip", "flip", "flip", "cut", "zeros"])
    if how == "flip":
        data[at] ^= 1 << draw.randrange(8)
    elif how == "cut":
        del data[at:]
    else:
        data[at : at + 200] = bytes(len(data[at : at + 200]))
    path.write_bytes(data)
    return f"{path.name}: {how} at {at}"
