"""Find the boundaries of the records of a CSV file, by the rules of Arrow's parser.

A quote is special only at the start of a field; two quotes inside a quoted field are an escaped quote; the rest of the
field after the closing quote is literal. A record ends at LF, CR or CR LF outside of quotes. Blank lines are skipped.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit

LF, CR, QUOTE = np.uint8(10), np.uint8(13), np.uint8(34)


@jit
def records(data: Any, delimiter: int, is_end: bool, starts: Any, ends: Any) -> int:
    """Find the complete records of `data`, which must begin at the start of a record. Returns their number.

    data u8[n]; is_end: nothing follows, so the last record needs no line break; starts, ends i64[m], out: start of each
    record, and its end after the line break. m: at least n // 2 + 1.
    """
    n = len(data)
    mark = np.uint8(delimiter)
    is_special = np.zeros(256, np.bool_)  # bytes that end a field
    is_special[mark] = is_special[LF] = is_special[CR] = True
    count = i = 0
    while i < n:
        if data[i] == LF or data[i] == CR:  # a blank line
            i += 1
            continue
        start = i
        done = False
        while not done:  # a field
            if i < n and data[i] == QUOTE:
                i += 1
                while i < n:
                    if data[i] == QUOTE:
                        if i + 1 >= n or data[i + 1] != QUOTE:
                            break
                        i += 1
                    i += 1
                if i + 1 >= n and not is_end:
                    return count  # the next byte decides
                i += 1
            while i < n and not is_special[data[i]]:
                i += 1
            if i >= n:
                if not is_end:
                    return count
                i = n
                done = True
            elif data[i] != mark:
                if data[i] == CR:
                    if i + 1 == n and not is_end:
                        return count  # LF may follow
                    if i + 1 < n and data[i + 1] == LF:
                        i += 1
                done = True
                i += 1
            else:
                i += 1
        starts[count] = start
        ends[count] = i
        count += 1
    return count
