"""Time, memory and disk of a run, from its size: estimates with intervals.

The factors come from the generated corpora of the half `development` of `benchmarks/forecasts.py`. The intervals are
the range of measured over estimated values there, so that they also contain what the estimates leave out: the file
format, the cost of ids and outputs, and other load on the machine, which shares its caches.
"""

from __future__ import annotations

from dataclasses import dataclass

from lookalike.cost_model.costs import Costs

WORK_FACTOR, LEAST_WORK, MOST_WORK = 1.8, 0.8, 3.6  # core seconds of a run, as multiples of the unit costs
LEAST_START, MOST_START = 0.6, 2.0  # of the start of the process, the same
# Bytes of peak memory without a work folder: the interpreter and libraries; per shingle of a document; per document;
# per pair. Texts in progress: bytes per byte of text, with a limit for each thread.
PROGRAM_MEMORY, MEMORY_PER_SHINGLE, MEMORY_PER_DOCUMENT, MEMORY_PER_PAIR, TEXT_MEMORY_PER_BYTE, MOST_TEXT_PER_THREAD = (
    115e6,
    11.2,
    100,
    100,
    3.5,
    35e6,
)
LEAST_MEMORY, MOST_MEMORY = 0.75, 1.6  # of the estimate without PROGRAM_MEMORY, which is nearly constant
PROGRAM_RANGE = 0.85, 1.15
BUDGET_USED, LEAST_BUDGET_USED = 0.75, 0.5  # of the memory budget of a run in a work folder
DISK_PER_SHINGLE, DISK_PER_DOCUMENT = 8, 50  # bytes of the files of a work folder, without signatures
LEAST_DISK, MOST_DISK = 0.85, 1.3


@dataclass(frozen=True)
class Range:
    """An estimate with an interval that is expected to hold in at least nine of ten runs."""

    value: float
    low: float
    high: float

    @property
    def interval(self) -> tuple[int, int]:
        return round(self.low), round(self.high)


@dataclass(frozen=True)
class RunSize:
    """The size of a run. pairs: with its limits; signature_bytes: per document, 0 without signatures."""

    documents: float
    bytes: float
    shingles: float
    pairs: Range
    signature_bytes: float


def core_seconds(work: float, costs: Costs) -> Range:
    """Return the processor time. work: seconds by the unit costs."""
    return Range(
        costs.start + WORK_FACTOR * work,
        LEAST_START * costs.start + LEAST_WORK * work,
        MOST_START * costs.start + MOST_WORK * work,
    )


def elapsed(core: Range, threads: int, costs: Costs) -> Range:
    """Return the elapsed time on a machine without other load: from all work on all threads to all work on one."""
    return Range(costs.start + max(0.0, core.value - costs.start) / threads, core.low / threads, core.high)


def peak_memory(size: RunSize, threads: int) -> Range:
    """Return the peak of resident memory of a run without a work folder."""
    texts = min(TEXT_MEMORY_PER_BYTE * size.bytes, MOST_TEXT_PER_THREAD * threads)
    own = (
        MEMORY_PER_SHINGLE * size.shingles
        + MEMORY_PER_DOCUMENT * size.documents
        + size.signature_bytes * size.documents
        + texts
    )
    value, low, high = (own + MEMORY_PER_PAIR * pairs for pairs in (size.pairs.value, size.pairs.low, size.pairs.high))
    return Range(
        PROGRAM_MEMORY + value,
        PROGRAM_RANGE[0] * PROGRAM_MEMORY + LEAST_MEMORY * low,
        PROGRAM_RANGE[1] * PROGRAM_MEMORY + MOST_MEMORY * high,
    )


def within_budget(peak: Range, budget: float, *, folder: bool) -> Range:
    """Return the memory of a run that keeps to a budget. folder: its arrays are in files."""
    if folder:
        used = BUDGET_USED * budget
        return Range(min(used, peak.value), min(LEAST_BUDGET_USED * budget, peak.low), budget)
    return Range(min(peak.value, budget), min(peak.low, budget), min(peak.high, budget))


def disk(size: RunSize) -> Range:
    """Return the most bytes of the files of a work folder."""
    value = DISK_PER_SHINGLE * size.shingles + (DISK_PER_DOCUMENT + size.signature_bytes) * size.documents
    return Range(value, LEAST_DISK * value, MOST_DISK * value)
