"""Estimate the memory that a run needs, and refuse a run that needs more than its budget."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

import numpy as np
import pyarrow as pa

from lookalike.core.formatting import size
from lookalike.errors import TooManyPairs, UsageError
from lookalike.io.reader import ReadLimit
from lookalike.runtime.local.memory_budget import MemoryBudget
from lookalike.runtime.local.work_folder import ResourceLimits
from lookalike.runtime.run_output import OutputKind

# Bytes of peak resident memory, not less than `python benchmarks/scale/memory_needs.py` measures;
# tests/laws/test_memory_budget.py fails if they are too small for its inputs.
MEMORY_WITHOUT_INPUT = 200_000_000  # the interpreter, numba, Arrow, and batches of text in progress
PER_DOCUMENT = 150  # per document: ids, order, classes
PER_PAIR = 100  # per verified pair until it is in a group or in the table of pairs
PER_TOKEN = 10  # per token of the texts in which passages are searched
PER_BYTE_READ = 4  # per byte of a record or page while it is read
ADVISED_MULTIPLE = 50_000_000  # advised sizes are multiples of this

RAISE_LIMIT = "raise `max_pairs`"


def check_memory(keeper: MemoryBudget, needed: float, what: Callable[[], str]) -> None:
    """Raise UsageError if work exceeds a firm budget. needed: bytes beyond MEMORY_WITHOUT_INPUT; what: gives a name.

    >>> check_memory(MemoryBudget(400_000_000, firm=True), 420e6, lambda: "one document of 50 MB")
    Traceback (most recent call last):
    lookalike.errors.UsageError: one document of 50 MB needs about 620 MB of memory, more than `memory=400 MB`. ...
    """
    total = MEMORY_WITHOUT_INPUT + needed
    if keeper.firm and total > keeper.budget:
        raise UsageError(
            f"{what()} needs about {total / 1e6:,.0f} MB of memory, more than `memory={keeper.budget / 1e6:,.0f} MB`. "
            f"Allow `memory={advised(total)}`."
        )


def read_limit(place: ResourceLimits, growth: float) -> ReadLimit | None:
    """Return the size limit above which readers refuse a record; None if the user set no budget.

    growth: bytes of memory per byte of a text while its features are computed. A record that can be read may still be
    refused at that step; an error states the memory for both.
    """
    if not place.stated:
        return None

    def refuse(what: str, nbytes: int) -> NoReturn:
        check_memory(
            MemoryBudget(place.memory, firm=True), per_byte(growth) * nbytes, lambda: f"{what} ({size(nbytes)})"
        )
        raise AssertionError("the limit is below the budget")

    return ReadLimit(int((place.memory - MEMORY_WITHOUT_INPUT) / PER_BYTE_READ), refuse)


def per_byte(growth: float) -> float:
    """Return the bytes of memory per byte of a long text: the next text is read while its features are computed."""
    return growth + PER_BYTE_READ


def advised(nbytes: float) -> str:
    """Round a size up to a multiple of ADVISED_MULTIPLE, in the format of the option `memory`.

    >>> advised(620e6), advised(1.01e9)
    ('650MB', '1050MB')
    """
    return f"{-(-int(nbytes) // ADVISED_MULTIPLE) * ADVISED_MULTIPLE // 10**6}MB"


def longest(texts: pa.Array) -> tuple[int, int]:
    """Return the index of the longest text or token list in a batch, and its approximate number of bytes."""
    if not len(texts):
        return 0, 0
    lengths = np.diff(np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1])
    at = int(lengths.argmax())
    return at, texts.slice(at, 1).nbytes


def most_pairs(keeper: MemoryBudget, documents: int, max_pairs: int) -> int:
    """Return the maximum number of verified pairs of a run: `max_pairs`, or fewer if a firm budget requires it."""
    if not keeper.firm:
        return max_pairs
    left = keeper.budget - MEMORY_WITHOUT_INPUT - PER_DOCUMENT * documents
    return max(1, min(max_pairs, left // PER_PAIR))


def fewer_pairs(want: OutputKind, *, cross: bool, method: str, more: str = RAISE_LIMIT) -> str:
    """Return advice against too many pairs, given the requested output and the method.

    cross: the pairs are between two collections. more: how to allow more pairs.

    >>> fewer_pairs("stars", cross=False, method="exact")
    "Use `method='lsh'`, which groups near-copies without listing their pairs, raise the threshold, drop ..."
    """
    advice = ["raise the threshold", "drop boilerplate with `max_share`", f"or {more}."]
    if want == "pairs" and not cross:
        advice.insert(0, "ask for dedup or for groups (components or stars) instead")
    elif not cross and method != "lsh":
        advice.insert(0, "use `method='lsh'`, which groups near-copies without listing their pairs")
    sentence = ", ".join(advice)
    return sentence[0].upper() + sentence[1:]


def too_many(
    count: int,
    limit: int,
    max_pairs: int,
    keeper: MemoryBudget,
    *,
    want: OutputKind,
    cross: bool,
    method: str,
    sure: bool,
) -> TooManyPairs:
    """Return the error for more pairs than `limit`.

    count: a lower bound of the number of pairs if `sure`, otherwise an estimate. want, cross, method: as in
    `fewer_pairs`.
    """
    more = "allow more memory" if limit < max_pairs else RAISE_LIMIT
    if sure:
        bound = f"fit into `memory={size(keeper.budget)}`" if limit < max_pairs else f"`max_pairs={max_pairs:,}`"
        begin = f"more than {count:,} pairs are within the threshold, more than {bound}"
    else:
        need = size(MEMORY_WITHOUT_INPUT + PER_PAIR * count)
        memory = f"need about {need} of memory, more than `memory={size(keeper.budget)}`"
        bound = memory if limit < max_pairs else f"are far more than `max_pairs={max_pairs:,}`"
        begin = f"about {count:,} pairs are to be expected, which {bound}"
    return TooManyPairs(f"{begin}. {fewer_pairs(want, cross=cross, method=method, more=more)}")


# Bytes of memory per byte of a text while it is shingled: the text, its hashed tokens, a hash table of its shingles.
MEMORY_PER_TEXT_BYTE = {"word": 10.0, "char": 46.0, "byte": 48.0, "line": 6.0, "token": 10.0}
