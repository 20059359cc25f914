"""Tokens of texts with their byte ranges: words, code points, bytes, lines or paragraphs, and where segments begin.

A flag byte of each token has a bit for the start of a segment, for protected text, and for words that touch the token
before them, which happens only next to ideographs and kana.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.hashing import CHARS, half_mix, mix
from lookalike.kernels.tokens import code_point, folded
from lookalike.kernels.unicode import ALONE, KIND, MARK, OTHER, SPACE

MARKED, WALL, AFTER_WORD, TOUCHING = np.uint8(1), np.uint8(2), np.uint8(4), np.uint8(8)  # bits of a flag byte
CONTINUED, TEXT_START = np.uint8(16), np.uint8(32)  # a byte that continues a character; the first token of a document
WORD_UNIT, CHARACTER_UNIT, BYTE_UNIT, LINE_UNIT, PARAGRAPH_UNIT = 0, 1, 2, 3, 4  # unit of a token
NO_SEGMENTS, SENTENCES, AT_LINES, AT_PARAGRAPHS, AT_CHARACTERS = 0, 1, 2, 3, 4  # unit of a segment
ZERO, HALF, LF, ONE = np.uint64(0), np.uint64(32), np.uint8(10), np.uint64(1)


@jit
def narrow_hash(h: Any) -> Any:  # u64 -> u32
    """Compute the 32-bit hash of a word from the sum over its characters."""
    return np.uint32(half_mix(h) >> HALF)


@jit
def words(data: Any, start: int, end: int, tables: Any, out: Any, starts: Any, ends: Any, flags: Any) -> int:
    """Write the hash (u32), byte range (i64) and flags (u8) of each word of data[start:end]; return their number.

    Positions are relative to `start`. The words are those of `kernels.tokens`.
    """
    _, classes, folds, multi = tables
    n = 0
    h = ZERO
    alone = previous_alone = False
    first = last = 0
    previous_end = -1
    i = start
    while i <= end:
        at = i
        if i < end:
            point, i = code_point(data, i, end)
            kind = classes[point] & KIND
        else:
            point, i, kind = 0, end + 1, OTHER
        if kind == OTHER or kind == ALONE or (alone and kind != MARK):
            if h != ZERO:
                out[n] = narrow_hash(h)
                starts[n] = first - start
                ends[n] = last - start
                flags[n] = 0
                if first == previous_end:
                    if alone and not previous_alone:
                        flags[n] = AFTER_WORD
                    elif not alone:
                        flags[n] = TOUCHING
                previous_end = last
                previous_alone = alone
                n += 1
            h = ZERO
            alone = kind == ALONE
        if kind != OTHER:
            if h == ZERO:
                first = at
            h = folded(h, point, folds, multi)
            last = i
    return n


@jit
def characters(data: Any, start: int, end: int, out: Any, starts: Any, ends: Any, flags: Any) -> int:
    """Write the code point (u32), byte range and flags of each character. Arguments as in `words`."""
    n = 0
    i = start
    while i < end:
        starts[n] = i - start
        point, i = code_point(data, i, end)
        out[n] = np.uint32(point)
        ends[n] = i - start
        flags[n] = 0
        n += 1
    return n


@jit
def plain_bytes(data: Any, start: int, end: int, out: Any, starts: Any, ends: Any, flags: Any) -> int:
    """Write the value, byte range and flags of each byte. Arguments as in `words`."""
    for i in range(end - start):
        out[i] = data[start + i]
        starts[i] = i
        ends[i] = i + 1
        flags[i] = CONTINUED if data[start + i] & 0xC0 == 0x80 else np.uint8(0)
    return int(end - start)


@jit
def is_blank(data: Any, start: int, end: int, classes: Any) -> bool:
    """Return whether data[start:end] holds nothing but white space."""
    i = start
    while i < end:
        point, i = code_point(data, i, end)
        if classes[point] & SPACE == 0:
            return False
    return True


@jit
def line_end(data: Any, start: int, end: int) -> int:
    """Return the position after the next line break at or after `start`, or `end`."""
    i = start
    while i < end:
        i += 1
        if data[i - 1] == LF:
            return int(i)
    return int(end)


@jit
def word_count(data: Any, start: int, end: int, classes: Any) -> int:
    """Return the number of words in data[start:end]."""
    n = 0
    is_open = alone = False
    i = start
    while i < end:
        point, i = code_point(data, i, end)
        kind = classes[point] & KIND
        if kind == OTHER:
            is_open = alone = False
        elif kind == ALONE or (alone and kind != MARK) or not is_open:
            n += 1
            is_open = True
            alone = kind == ALONE
    return n


@jit
def lines(
    data: Any, start: int, end: int, paragraphs: bool, least: int, tables: Any, out: Any, starts: Any, ends: Any,
    flags: Any,
) -> int:  # fmt: skip
    """Write the hash (u64), byte range and flags of each line, or paragraph with the blank lines after it.

    Lines that are blank or have fewer than `least` words are protected. White space at the end of a line, and blank
    lines after a paragraph, do not count.
    """
    classes = tables[1]
    n = 0
    i = start
    while i < end:
        first = i
        h = CHARS
        blank = True
        words_here = 0
        while i < end:  # the lines of the token
            after = line_end(data, i, end)
            if is_blank(data, i, after, classes):
                i = after
                if not paragraphs or blank:
                    break
                while i < end:
                    after = line_end(data, i, end)
                    if not is_blank(data, i, after, classes):
                        break
                    i = after
                break
            blank = False
            words_here += word_count(data, i, after, classes)
            last = after
            while last > i and (data[last - 1] == LF or data[last - 1] == 13 or data[last - 1] == 32):
                last -= 1
            for j in range(i, last):
                h = half_mix((h + np.uint64(data[j]) + ONE) * CHARS)
            h = half_mix((h + np.uint64(257)) * CHARS)
            i = after
            if not paragraphs:
                break
        out[n] = mix(h)
        starts[n] = first - start
        ends[n] = i - start
        flags[n] = WALL if blank or words_here < least else np.uint8(0)
        n += 1
    return n


@jit
def is_terminator(point: int) -> bool:
    """Return whether the code point ends a sentence: . ! ? and their fullwidth, ideographic and Devanagari forms."""
    return (
        point == 46 or point == 33 or point == 63 or point == 0x2026 or point == 0x3002 or point == 0xFF01
        or point == 0xFF1F or point == 0xFF0E or point == 0x0964 or point == 0x061F or point == 0x06D4
    )  # fmt: skip


@jit
def is_closer(point: int) -> bool:
    """Return whether the code point may stand between the end of a sentence and the next one: quotes, brackets."""
    return (
        point == 34 or point == 39 or point == 41 or point == 93 or point == 0x201D or point == 0x2019
        or point == 0xBB or point == 0x300D or point == 0x300F or point == 0xFF09
    )  # fmt: skip


@jit
def segment_starts(data: Any, start: int, end: int, unit: int, classes: Any, out: Any) -> int:
    """Write the byte positions, relative to `start`, at which segments of the text begin; return their number.

    unit: SENTENCES, AT_LINES, AT_PARAGRAPHS or AT_CHARACTERS. A segment begins with a character that is not white
    space, except a character. out i64[at least bytes + 1].
    """
    n = 0
    waiting = True  # the next character that is not white space begins a segment
    ended = wide = False  # a terminator was read; it needs no white space after it
    newlines = 0
    i = start
    while i < end:
        at = i
        point, i = code_point(data, i, end)
        if unit == AT_CHARACTERS:
            out[n] = at - start
            n += 1
            continue
        space = (classes[point] & SPACE) != 0
        if point == 10:
            newlines += 1
            if unit == AT_LINES or newlines > 1:
                waiting = True
        if space:
            if unit == SENTENCES and ended:
                waiting = True
            continue
        newlines = 0
        if unit == SENTENCES and ended and wide and not is_closer(point) and not is_terminator(point):
            waiting = True
        if waiting:
            out[n] = at - start
            n += 1
            waiting = ended = wide = False
        if unit == SENTENCES:
            if is_terminator(point):
                ended = True
                wide = wide or point > 0x2FFF
            elif not is_closer(point):
                ended = wide = False
    return n


@jit
def mark_segments(segments: Any, count: int, starts: Any, flags: Any, tokens: int) -> None:
    """Flag the first token of each segment, and move its start to that of the segment.

    segments i64[count], ascending; starts i64[tokens]; flags u8[tokens].
    """
    s = 0
    for t in range(tokens):
        begin = -1
        while s < count and segments[s] <= starts[t]:
            begin = segments[s]
            s += 1
        if begin >= 0:
            flags[t] |= MARKED
            starts[t] = begin


@jit
def all_tokens(
    data: Any, offsets: Any, unit: int, segments: int, least: int, tables: Any, out: Any, starts: Any, ends: Any,
    flags: Any, out_offsets: Any,
) -> None:  # fmt: skip
    """Tokenise every document.

    data u8[bytes]; offsets i64[n+1]; unit: WORD_UNIT to BYTE_UNIT; segments: NO_SEGMENTS to AT_CHARACTERS; tables
    kernels.unicode.FoldingTables; out u32; starts, ends i64; flags u8, each [bytes + n + 1]; out_offsets i64[n+1].
    """
    at = 0
    out_offsets[0] = 0
    longest = 0
    if segments != NO_SEGMENTS:
        for d in range(len(offsets) - 1):
            longest = max(longest, offsets[d + 1] - offsets[d])
    scratch = np.empty(longest + 1, np.int64)
    for d in range(len(offsets) - 1):
        first, last = offsets[d], offsets[d + 1]
        if unit == WORD_UNIT:
            n = words(data, first, last, tables, out[at:], starts[at:], ends[at:], flags[at:])
        elif unit == CHARACTER_UNIT:
            n = characters(data, first, last, out[at:], starts[at:], ends[at:], flags[at:])
        else:
            n = plain_bytes(data, first, last, out[at:], starts[at:], ends[at:], flags[at:])
        if segments != NO_SEGMENTS:
            count = segment_starts(data, first, last, segments, tables[1], scratch)
            mark_segments(scratch, count, starts[at:], flags[at:], n)
        if n:
            flags[at] |= TEXT_START
        at += n
        out_offsets[d + 1] = at


@jit
def all_line_tokens(
    data: Any, offsets: Any, paragraphs: bool, least: int, tables: Any, out: Any, starts: Any, ends: Any, flags: Any,
    out_offsets: Any,
) -> None:  # fmt: skip
    """Divide every document into lines or paragraphs. Arguments as in `all_tokens`, with out u64."""
    at = 0
    out_offsets[0] = 0
    for d in range(len(offsets) - 1):
        n = lines(
            data, offsets[d], offsets[d + 1], paragraphs, least, tables, out[at:], starts[at:], ends[at:], flags[at:]
        )
        if n:
            flags[at] |= TEXT_START
        at += n
        out_offsets[d + 1] = at


@jit
def protect(flags: Any, starts: Any, ends: Any, first: int, last: int, begin: int, end: int) -> None:
    """Flag the tokens first to last - 1 of a document that overlap the bytes begin to end - 1 of its text."""
    for t in range(first, last):
        if starts[t] < end and ends[t] > begin:
            flags[t] |= WALL


@jit
def character_positions(data: Any, start: int, positions: Any, out: Any) -> None:
    """out[i] = number of characters before byte positions[i] (i64, ascending) of the text that starts at `start`."""
    count = 0
    at = start
    for p in range(len(positions)):
        while at < start + positions[p]:
            count += (data[at] & 0xC0) != 0x80
            at += 1
        out[p] = count
