"""The memory limit of a run that holds all its items in memory: refused beforehand, or stopped at the limit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

from lookalike.core.formatting import size
from lookalike.errors import TooManyPairs, UsageError
from lookalike.runtime.local.memory_budget import MemoryBudget, resident
from lookalike.runtime.local.memory_needs import MEMORY_WITHOUT_INPUT, PER_PAIR, advised, check_memory
from lookalike.runtime.local.work_folder import ResourceLimits


class RowJob(Protocol):
    """The specification of a run, a dataclass with a limit on pairs."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def max_pairs(self) -> int: ...


Job = TypeVar("Job", bound=RowJob)
UNBOUNDED_BYTES = 1 << 62
STOP_ABOVE = 1.05  # a run that holds this multiple of its limit is stopped


@dataclass(frozen=True)
class InputNeed:
    """The bytes of memory that a kind needs for its input.

    row, byte: per item and per byte of its columns, where the number of items is known before they are read. text_byte:
    per byte of a file whose rows are not known. libraries: of the modules that only this kind loads.
    """

    noun: str
    row: float
    byte: float = 0.0
    text_byte: float = 4.0
    libraries: float = 0.0


class MemoryLimit:
    """Refuses work that needs more than the limit, and stops work that turns out to need more.

    >>> limit = MemoryLimit(ResourceLimits(400_000_000, stated=True))
    >>> limit.check(300e6, "2,000,000 codes")
    Traceback (most recent call last):
    lookalike.errors.UsageError: 2,000,000 codes needs about 500 MB of memory, more than `memory=400 MB`. ...
    """

    def __init__(self, place: ResourceLimits | None = None) -> None:
        """place: None for no limit."""
        stated = place is not None and place.stated
        self.keeper = MemoryBudget(place.memory if stated and place else UNBOUNDED_BYTES, firm=stated)
        self.need = 0.0  # bytes of the input, once they are known
        if stated:
            self.keeper.watch()

    @classmethod
    def of(cls, options: dict[str, Any]) -> MemoryLimit:
        """Take the option `memory` out of the options."""
        return cls(ResourceLimits.of({"memory": options.pop("memory", None)}))

    def check(self, needed: float, what: str) -> None:
        """Raise UsageError if work needs more. needed: bytes besides those of every run."""
        self.need = max(self.need, needed)
        check_memory(self.keeper, needed, lambda: what)

    def check_input(self, sources: Sequence[Any], need: InputNeed) -> None:
        """Raise UsageError before anything is read if the input needs more."""
        if self.keeper.firm:
            self.check(*needed_for(sources, need))

    def check_files(self, paths: Sequence[str], need: InputNeed) -> None:
        """As `check_input`, by the sizes of the files and of those in folders."""
        if self.keeper.firm:
            roots = [Path(path) for path in paths]
            files = [file for root in roots for file in (root.rglob("*") if root.is_dir() else [root])]
            nbytes = sum(file.stat().st_size for file in files if file.is_file())
            self.check(need.text_byte * nbytes, f"a run on an input of {size(nbytes)}")

    def look(self) -> None:
        """Release what can be released; raises UsageError if the process still holds more than the limit."""
        self.keeper.look()
        if self.keeper.firm and resident() > STOP_ABOVE * self.keeper.budget:
            raise UsageError(
                f"the run was stopped: it holds {size(resident())}, more than `memory={size(self.keeper.budget)}`. "
                f"Allow `memory={advised(2 * self.keeper.budget)}` or more."
            )

    def max_pairs(self, max_pairs: int) -> int:
        """Return the largest number of pairs that fit, at most `max_pairs`."""
        if not self.keeper.firm:
            return max_pairs
        return max(1, min(max_pairs, int((self.keeper.budget - MEMORY_WITHOUT_INPUT - self.need) / PER_PAIR)))

    @contextmanager
    def within(self, job: Job) -> Iterator[Job]:
        """Yield the job with no more pairs than fit; the error for more names the memory if it is the limit."""
        limit = self.max_pairs(job.max_pairs)
        try:
            yield job if limit == job.max_pairs else replace(job, max_pairs=limit)
        except TooManyPairs as error:
            if limit == job.max_pairs:
                raise
            raise TooManyPairs(
                f"more than {limit:,} pairs are to be expected, more than fit into "
                f"`memory={size(self.keeper.budget)}`. Ask for nearer pairs, or allow more memory."
            ) from error


UNLIMITED = MemoryLimit()


def needed_for(sources: Sequence[Any], need: InputNeed) -> tuple[float, str]:
    """Return the bytes that a run on these sources needs if all of it is in memory, and the words for it."""
    rows, nbytes, known = 0, 0, True
    for source in sources:
        for count, size_of_part in measured_parts(source):
            known = known and count is not None
            rows, nbytes = rows + (count or 0), nbytes + size_of_part
    needed = need.row * rows + need.byte * nbytes if known else need.text_byte * nbytes
    what = f"{rows:,} {need.noun}" if known else f"an input of {size(nbytes)}"
    return needed + need.libraries, f"a run on {what}"


def works_on_disk(sources: Sequence[Any], need: InputNeed, place: ResourceLimits) -> bool:
    """Return whether a run works in a folder: on request, or because its input does not fit into memory.

    Only inputs in files can be read again after an interruption; others stay in memory.
    """
    if not all(source.has_files for source in sources):
        return False
    return place.folder is not None or MEMORY_WITHOUT_INPUT + needed_for(sources, need)[0] > place.memory


def measured_parts(source: Any) -> Iterator[tuple[int | None, int]]:
    """Yield the number of rows (None if only reading tells) and bytes of each file, table or array of a source."""
    if files := getattr(source, "files", ()):
        yield len(files), 0
        return
    for part in getattr(source, "parts", ()):
        values = getattr(part, "values", None)
        if values is not None:
            yield len(values), 4 * values.size
        elif (reader := getattr(part, "reader", None)) is not None:
            yield reader.rows, reader.size(part.numbers)
        else:
            yield len(part.files), 0
    for reader in getattr(source, "readers", ()) if not getattr(source, "parts", ()) else ():
        yield reader.rows, reader.size(reader.schema.names)
