"""Whether a run works in memory or in a work folder."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lookalike.io.collection import Collection
from lookalike.runtime.local.memory_budget import MemoryBudget
from lookalike.runtime.local.text_pass import FeaturePass
from lookalike.runtime.local.work_folder import ResourceLimits, Workspace, digest

RUN_MEMORY_WITHOUT_TEXT, RUN_MEMORY_PER_TEXT_BYTE = (
    400_000_000,
    1.6,
)  # bytes of memory for a run on no text, and for each byte of text
LARGE_INPUT_BYTES = 2_000_000_000  # bytes of text from which on a run is long enough to be kept safe in a work folder


def is_large(nbytes: int, budget: int, growth: float = RUN_MEMORY_PER_TEXT_BYTE) -> bool:
    """Whether a run on so many bytes of text needs a work folder: for its memory, or to keep long work safe."""
    return RUN_MEMORY_WITHOUT_TEXT + growth * nbytes > budget or nbytes > LARGE_INPUT_BYTES


def open_workspace(
    collections: Sequence[Collection], extra: Sequence[Sequence[str]], recipe: FeaturePass, asked: Mapping[str, Any],
    place: ResourceLimits, *, growth: float = RUN_MEMORY_PER_TEXT_BYTE,
) -> Workspace:  # fmt: skip
    """Where the run keeps its arrays: in memory if they are few; else, or where it is wished, in a work folder.

    extra: columns that are set aside of each collection. asked: everything beside the input that decides the answer.
    """
    large = is_large(sum(collection.nbytes or 0 for collection in collections), place.memory, growth)
    steady = all(collection.has_files for collection in collections)
    if not large and (place.folder is None or not steady):
        return Workspace(MemoryBudget(place.memory, firm=place.stated))
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
        made = [digest(recipe.about(one, names)) for one, names in zip(collections, extra, strict=False)]
        about = {"holds": "run", **asked, recipe.holds: made}
        space.run = space.place(folder / f"run-{digest(about)}", about)
    return space
