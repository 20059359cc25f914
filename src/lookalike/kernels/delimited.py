"""Where the records of a CSV file begin and end, by the rules of Arrow's parser.

A quote counts only at the start of a field; two quotes inside of a quoted field are one; after the closing quote the
rest of the field is taken as it is. A record ends at LF, CR or CR LF outside of quotes. A blank line is no record.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit

LF, CR, QUOTE = np.uint8(10), np.uint8(13), np.uint8(34)


@jit
def records(data: Any, delimiter: int, is_end: bool, starts: Any, ends: Any) -> int:
    """Find the complete records of `data`, which begins where a record begins. Returns how many there are.

    data u8[n]; is_end: nothing follows, so that the last record needs no line break; starts, ends i64[m]: where each
    record begins and, behind its line break, ends. m: at least the number of CR and LF in data, and one more.
    """
    n = len(data)
    mark = np.uint8(delimiter)
    is_special = np.zeros(256, np.bool_)  # what ends a field
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
