"""Check every byte of an index folder: the checksums, and the consistency of the stored arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lookalike.core.token_hashes import token_hashes
from lookalike.errors import DamagedIndex
from lookalike.index.kernels import lookup
from lookalike.index.segment_file import AnyArray
from lookalike.index.segments import Segment


@dataclass
class Checked:
    """The result of `Index.check`. damages: one line for each damage; unprotected: files that have no checksums."""

    items: int
    bytes: int = 0
    damages: list[str] = field(default_factory=list)
    unprotected: list[str] = field(default_factory=list)

    @property
    def is_sound(self) -> bool:
        return not self.damages

    def attempt(self, look: Callable[[], Any]) -> None:
        """Run a check and record the DamagedIndex that it raises."""
        try:
            look()
        except DamagedIndex as error:
            self.damages.append(str(error))


def check_segment(segment: Segment) -> None:
    """Verify all checksums of a segment and the consistency of its arrays; DamagedIndex says what is wrong."""
    file = segment.file
    file.check()
    rows = np.arange(len(segment))
    items, keys, key_rows = (file.all(name) for name in ("items", "keys", "key_rows"))
    directory = file.all("directory")
    expected = np.empty_like(directory)
    lookup.fill_directory(keys, np.uint64(64 - (len(directory) - 1).bit_length() + 1), expected)
    tests = {
        "items are not in order": np.all(items[1:] > items[:-1]),
        "keys are not in order": len(keys) == len(key_rows) and np.all(keys[1:] >= keys[:-1]),
        "keys lead to rows that are not there": np.all(key_rows < len(segment)),
        "the directory of the keys is wrong": np.array_equal(directory, expected),
        "offsets of features are wrong": _are_ends(file.all("feature_ends"), file.count("features")),
    }
    if "ids" not in file:
        tests["offsets of ids are wrong"] = _are_ends(file.all("id_ends"), file.count("id_letters"))
    for what, is_right in tests.items():
        if not is_right:
            raise file.damaged(what)
    id_rows = file.all("id_rows").astype(np.int64)
    if not np.array_equal(np.sort(id_rows), rows) or not np.array_equal(
        token_hashes(segment.ids(rows))[id_rows], file.all("id_hash")
    ):
        raise file.damaged("ids do not lead to their rows")
    if "raw" in file:
        frames = file.all("frame_rows")
        if not _are_ends(frames, len(segment)) or not _are_ends(file.all("frame_ends"), file.count("raw")):
            raise file.damaged("offsets of stored items are wrong")
        for number in range(len(frames) - 1):
            segment.frame(number)


def _are_ends(ends: AnyArray, count: int) -> bool:
    """Return whether these offsets begin with 0, end with `count` and never decrease."""
    return bool(len(ends) > 0 and ends[0] == 0 and ends[-1] == count and np.all(ends[1:] >= ends[:-1]))
