"""Read inputs into the work folder, from which a run resumes: one checkpoint folder for each input."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lookalike.core.formatting import count
from lookalike.runtime.local.checkpoints import CheckpointWriter, FeatureChunk
from lookalike.runtime.local.pool import Pool
from lookalike.runtime.local.work_folder import ABOUT, CheckpointFolder, Workspace, digest, read_json

Counted = Callable[[int, Mapping[str, int]], None]


@dataclass(frozen=True)
class KeptInput:
    """An input that is read into a checkpoint folder.

    holds: name of the features. about: everything that they depend on; about["files"] is None for an input that another
    process cannot read again. nbytes: approximate size. pieces: yields the features from a row on. state, restore: what
    is known from reading, as JSON. noun: of the items.
    """

    name: str
    holds: str
    about: Mapping[str, Any]
    nbytes: int
    pieces: Callable[[int], Iterator[FeatureChunk]]
    state: Callable[[], Mapping[str, Any]]
    restore: Callable[[Mapping[str, Any]], None]
    noun: str = "documents"


def keep_features(
    inputs: Sequence[KeptInput], dtypes: Mapping[str, Any], pool: Pool, space: Workspace, counted: Counted
) -> list[CheckpointWriter]:
    """Extract the features of all inputs into the work folder, resuming from existing checkpoints.

    counted: called with the number of rows of each chunk and its counts.
    """
    all_kept = []
    for one in inputs:
        kept = CheckpointWriter(_place(one, space), dtypes, pool, space, one.nbytes, noun=one.noun)
        all_kept.append(kept)
        one.restore(kept.state())
        counted(kept.rows, kept.counts)
        if kept.complete:
            where, what = kept.place.path, f"the {one.holds} of {one.name} ({count(kept.rows, one.noun)})"
            space.notes.append(f"{what} are taken from {where}.")
            continue
        if kept.rows:
            space.notes.append(f"going on with {one.name} after {count(kept.rows, one.noun)}.")
        with kept:
            for piece in one.pieces(kept.rows):
                kept.append(piece, one.state)
                counted(len(piece), piece.counts)
            kept.end(one.state())
    return all_kept


def _place(one: KeptInput, space: Workspace) -> CheckpointFolder:
    """Open the checkpoint folder of an input; adds a note if there are outdated features of the same input."""
    assert space.folder is not None
    about = one.about
    if about["files"] is None:  # a table in memory cannot be identified in a later run
        return space.place(Path(tempfile.mkdtemp(prefix=f"{one.holds}-", dir=space.folder)), about)
    path = space.folder / f"{one.holds}-{digest(about)}"
    if not path.exists():
        for other in sorted(space.folder.glob(f"{one.holds}-*")):
            known = read_json(other / ABOUT) or {}
            if known.get("name") == one.name:
                options = "the shingle options differ" if one.noun == "documents" else "the options differ"
                words = {"files": "the input has changed", "options": options}
                changed = [words.get(what, f"{what} differs") for what in about if known.get(what) != about[what]]
                space.notes.append(f"{other} cannot be reused: {' and '.join(changed)}. Reading {one.name} again.")
    return space.place(path, about)
