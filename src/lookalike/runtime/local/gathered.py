"""Copy chosen sets from a file into memory, in the order of the file."""

from __future__ import annotations

import os

import numpy as np

from lookalike.core.arrays import I64, U64
from lookalike.core.candidates import Items
from lookalike.errors import OutputError

READ_THROUGH_GAP = 256  # elements between two sets that are read rather than skipped: a skip costs a system call
BYTES_PER_ELEMENT = 8


def gathered(items: Items, numbers: I64, file: int) -> Items:
    """Return the items of these numbers, in the same order, with a copy of their sets.

    file: descriptor of a file whose bytes are `items.elements`. Sets that are close together are read together; nothing
    is read through a mapping, so the file does not become part of the memory of the process.
    """
    starts, sizes = items.starts[numbers], items.sizes[numbers]
    order = np.argsort(starts, kind="stable")
    first, last = starts[order], starts[order] + sizes[order]
    new = np.ones(len(order), np.bool_)
    new[1:] = first[1:] > last[:-1] + READ_THROUGH_GAP
    run = np.cumsum(new) - 1
    begin, end = first[new], np.maximum.reduceat(last, np.flatnonzero(new)) if len(order) else last
    place = np.cumsum(end - begin) - (end - begin)  # of each run in the copy
    copy: U64 = np.empty(int((end - begin).sum()), np.uint64)
    view = copy.view(np.uint8).data
    for source, target, count in zip(begin.tolist(), place.tolist(), (end - begin).tolist(), strict=True):
        read_exactly(
            file, view[target * BYTES_PER_ELEMENT : (target + count) * BYTES_PER_ELEMENT], source * BYTES_PER_ELEMENT
        )
    local = np.empty(len(order), np.int64)
    local[order] = place[run] + first - begin[run]
    return Items(copy, local, sizes, items.sides[numbers])


def read_exactly(file: int, target: memoryview, offset: int) -> None:
    """Fill the buffer with the bytes of an open file from `offset` on."""
    done = 0
    while done < len(target):
        count = os.preadv(file, [target[done:]], offset + done)
        if not count:
            raise OutputError("a work file has become shorter while it was in use. Run the same command again.")
        done += count
