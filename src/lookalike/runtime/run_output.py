"""What an engine finds, whatever the items are, and what it must know of the question."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lookalike.core.arrays import F64, I64, Groups, Pairs, Scale
from lookalike.core.exact_duplicates import Classes
from lookalike.core.method_choice import Choice
from lookalike.core.recall_audit import Audit
from lookalike.runtime.local.memory_budget import MemoryBudget
from lookalike.runtime.local.work_folder import Workspace

OutputKind = Literal["pairs", "components", "stars"]


class RunSpec(Protocol):
    """What every job has, of documents as of any other kind of item. A dataclass, so that it can be replaced."""

    @property
    def noun(self) -> str: ...  # what the items are called, in the plural

    @property
    def scale(self) -> Scale: ...

    @property
    def threshold(self) -> float: ...  # as the user gave it: a distance is positive here

    @property
    def max_pairs(self) -> int: ...

    @property
    def verify(self) -> bool: ...

    def words(self) -> str: ...  # what was compared, for the summary

    def as_dict(self) -> dict[str, Any]: ...


class Source(Protocol):
    """Where items come from: what a result needs of it."""

    @property
    def name(self) -> str: ...

    @property
    def columns(self) -> tuple[str, ...]: ...

    def rows(self) -> Iterator[pa.RecordBatch]: ...  # the user's rows, one per item, in the order of the items

    def describe(self) -> dict[str, Any]: ...  # for the receipt


@runtime_checkable
class ManyRows(Protocol):
    """A source whose items may have several of the user's rows each, or none."""

    def given_rows(self) -> Iterator[pa.RecordBatch]: ...  # the user's rows

    def rows_that_stay(self, stays: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]: ...  # of them, by bool[items]


class Planned(Protocol):
    """What was planned for an approximate answer: bands and rows, or whatever the kind of item has."""

    @property
    def recall_at_threshold(self) -> float: ...

    def as_dict(self) -> dict[str, Any]: ...  # with a line for people, shape, unless it has bands and rows


@dataclass(frozen=True)
class RunOutput:
    """The answer in numbers of classes of equal items; of two collections, the second's items come after the first's.

    ids: one array per collection. split: items of the first of two collections; -1 for one.
    own: the score of equal items, class by class. order: classes, the best to keep first.
    plan: of the bands, or the like; None where the answer is exact.
    pairs: every verified pair of classes, or None where `groups` was made without writing them down.
    space: what the arrays live in.
    details: (left, right, score) of pairs of items to further columns of the table of pairs.
    """

    ids: list[pa.ChunkedArray]
    split: int
    classes: Classes
    own: F64
    order: I64
    choice: Choice
    plan: Planned | None = None
    pairs: Pairs | None = None
    groups: Groups | None = None
    audit: Audit | None = None
    space: Workspace = field(default_factory=lambda: Workspace(MemoryBudget(1 << 62)))
    details: Callable[[I64, I64, F64], dict[str, pa.Array]] | None = None

    def __len__(self) -> int:
        """How many items there are in all."""
        return sum(len(ids) for ids in self.ids)
