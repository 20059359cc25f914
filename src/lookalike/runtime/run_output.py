"""The interface between engines and kinds of items: what an engine needs of a run's settings, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lookalike.core.arrays import F64, I64, Groups, Pairs, Scale

if TYPE_CHECKING:
    from lookalike.core.exact_duplicates import Classes
    from lookalike.core.judged_groups import Links
    from lookalike.core.method_choice import Choice
    from lookalike.core.recall_audit import Audit
    from lookalike.core.run_options import Grouping
    from lookalike.runtime.local.work_folder import Workspace

OutputKind = Literal["pairs", "components", "stars"]


@dataclass(frozen=True)
class Request:
    """What is asked of a run on disk: what it computes, the groups to make (None for pairs), and the keep policy."""

    want: OutputKind
    grouping: Grouping | None
    keep: str


class RunSpec(Protocol):
    """The settings that all kinds of items share. Implementations are dataclasses, for `dataclasses.replace`."""

    @property
    def noun(self) -> str: ...  # plural name of the items, such as "documents"

    @property
    def scale(self) -> Scale: ...

    @property
    def threshold(self) -> float: ...  # as given by the user: a distance is positive here

    @property
    def max_pairs(self) -> int: ...

    @property
    def verify(self) -> bool: ...

    def words(self) -> str: ...  # description of what was compared, for the summary

    def as_dict(self) -> dict[str, Any]: ...


class Source(Protocol):
    """An input of items, with the parts that a result needs."""

    @property
    def name(self) -> str: ...

    @property
    def columns(self) -> tuple[str, ...]: ...

    def rows(self) -> Iterator[pa.RecordBatch]: ...  # the rows of the input, one per item, in the order of the items

    def describe(self) -> dict[str, Any]: ...  # for the receipt


@runtime_checkable
class ManyRows(Protocol):
    """A source in which an item may come from several input rows, or from none."""

    def given_rows(self) -> Iterator[pa.RecordBatch]: ...  # the rows of the input

    def rows_that_stay(self, stays: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]: ...  # bool[items] to bool[rows]


class Planned(Protocol):
    """The plan of an approximate search: bands and rows, or the corresponding parameters of another family."""

    @property
    def recall_at_threshold(self) -> float: ...

    def as_dict(self) -> dict[str, Any]: ...  # has a readable "shape" unless it has bands and rows


def in_memory() -> Workspace:
    """Return a workspace in memory, without a limit."""
    from lookalike.runtime.local.memory_budget import MemoryBudget
    from lookalike.runtime.local.work_folder import Workspace

    return Workspace(MemoryBudget(1 << 62))


@dataclass(frozen=True)
class ListedRows:
    """The rows that the result of a run on disk holds as items: those in a pair, and those with a copy.

    numbers i64[m]: ascending, those of a second collection after those of the first. counts: rows of each collection.
    """

    numbers: I64
    counts: list[int]


@dataclass(frozen=True)
class StreamedPairs:
    """Pairs that are not held in memory. batches: yields (left ids, right ids, scores), in order."""

    count: int
    batches: Callable[[], Iterator[tuple[pa.Array, pa.Array, F64]]]


@dataclass(frozen=True)
class RunOutput:
    """The result of an engine, in numbers of classes of equal items.

    With two collections, the items of the second are numbered after those of the first.
    ids: one array per collection. split: number of items in the first of two collections; -1 for one collection.
    own: the score of equal items, per class. order: class numbers, from the most to the least preferred to keep.
    preferred: item numbers in this order, if more than one item of a group may stay.
    plan: the plan of an approximate method; None if the result is exact.
    pairs: every verified pair of classes, or None if `groups` was computed without storing pairs, or if they are on
    disk. groups: of classes; with two collections, the match of each item of the first.
    space: the workspace that holds the arrays.
    details: maps (left, right, score) of pairs of items to extra columns of the table of pairs.
    links: the classes that were judged the same or different, None without verdicts.
    listed: the rows that are held as items; None if all rows are items. streamed: the pairs, if they are on disk.
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
    preferred: I64 | None = None
    space: Workspace = field(default_factory=in_memory)
    details: Callable[[I64, I64, F64], dict[str, pa.Array]] | None = None
    links: Links | None = None
    listed: ListedRows | None = None
    streamed: StreamedPairs | None = None

    @property
    def rows(self) -> list[int]:
        """Return the number of rows of each collection."""
        return [len(ids) for ids in self.ids] if self.listed is None else self.listed.counts

    def __len__(self) -> int:
        """Return the number of items in all collections that are held."""
        return sum(len(ids) for ids in self.ids)
