"""Decide whether a run works in memory or in a work folder."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lookalike.io.collection import Collection
from lookalike.runtime.local.kept_features import KeptInput
from lookalike.runtime.local.memory_budget import MemoryBudget
from lookalike.runtime.local.text_pass import FeaturePass
from lookalike.runtime.local.work_folder import ResourceLimits, Workspace, digest

# Bytes of memory of a run without text, and per byte of text.
RUN_MEMORY_WITHOUT_TEXT, RUN_MEMORY_PER_TEXT_BYTE = 400_000_000, 1.6
LARGE_INPUT_BYTES = 2_000_000_000  # bytes of text above which a run is so long that it needs checkpoints


def is_large(nbytes: int, budget: int, growth: float = RUN_MEMORY_PER_TEXT_BYTE) -> bool:
    """Return whether a run on `nbytes` of text needs a work folder, for its memory or for checkpoints of long work."""
    return RUN_MEMORY_WITHOUT_TEXT + growth * nbytes > budget or nbytes > LARGE_INPUT_BYTES


def open_workspace(
    collections: Sequence[Collection], extra: Sequence[Sequence[str]], recipe: FeaturePass, asked: Mapping[str, Any],
    place: ResourceLimits, *, growth: float = RUN_MEMORY_PER_TEXT_BYTE,
) -> Workspace:  # fmt: skip
    """Open the workspace of a run: in memory for small inputs; in a work folder for large ones or on request.

    extra: columns of each collection that are stored. asked: everything that the result depends on, except the input.
    """
    large = is_large(sum(collection.nbytes or 0 for collection in collections), place.memory, growth)
    steady = all(collection.has_files for collection in collections)
    if not large and (place.folder is None or not steady):
        return Workspace(MemoryBudget(place.memory, firm=place.stated))
    return open_work_folder(collections, extra, recipe, asked, place)


def open_work_folder(
    collections: Sequence[Collection], extra: Sequence[Sequence[str]], recipe: FeaturePass, asked: Mapping[str, Any],
    place: ResourceLimits,
) -> Workspace:  # fmt: skip
    """Open the workspace of a run that works in a folder, as in `open_workspace`."""
    steady = all(collection.has_files for collection in collections)
    made = [recipe.about(one, names) for one, names in zip(collections, extra, strict=False)]
    return _in_folder({"holds": "run", **asked, recipe.holds: [digest(one) for one in made]}, place, steady=steady)


def open_kept_workspace(inputs: Sequence[KeptInput], asked: Mapping[str, Any], place: ResourceLimits) -> Workspace:
    """Open the work folder of a run whose inputs are files. asked: as in `open_workspace`."""
    about = {"holds": "run", **asked, inputs[0].holds: [digest(one.about) for one in inputs]}
    return _in_folder(about, place, steady=True)


def _in_folder(about: dict[str, Any], place: ResourceLimits, *, steady: bool) -> Workspace:
    """Open the workspace in the folder of the user, next to the output, or in a temporary folder."""
    folder = place.folder or (place.beside if steady else None)
    passing = [] if place.folder is not None and steady else [folder] if folder else []
    if folder is None:
        folder = Path(tempfile.mkdtemp(prefix="lookalike-", dir=place.folder))
        passing = [folder]
    space = Workspace(MemoryBudget(place.memory, firm=place.stated), folder, passing=passing)
    space.keeper.watch()
    if passing and not steady:
        weakref.finalize(space, shutil.rmtree, folder, ignore_errors=True)
    if steady:
        space.run = space.place(folder / f"run-{digest(about)}", about)
    return space
