"""Slow, obvious twins of what finds passages."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from lookalike.core.arrays import ShingleRule
from oracles import TOKENS, folded, half_mix, is_single, mix

CHARS = 0x9E3779B97F4A7C15
Run = tuple[int, int, int]  # token of the left one, token of the right one, length


def placed_words(text: str, rule: ShingleRule) -> list[tuple[int, int, str]]:
    """(start, end, folded word) by the rule of `oracles.words`."""
    out: list[tuple[int, int, str]] = []
    open_word, start, end, after_single = "", 0, 0, False
    for at, char in [*enumerate(text), (len(text), " ")]:
        mark = unicodedata.category(char).startswith("M")
        inside = mark or char == "_" or char.isalnum()
        if not inside or (not mark and (after_single or is_single(char))):
            if open_word:
                out.append((start, end, open_word))
            open_word = ""
            after_single = inside and is_single(char)
        if inside:
            start = start if open_word else at
            open_word += folded(char, rule)
            end = at + 1
    return out


def word_hash(word: str) -> int:
    h = 0
    for char in word:
        h = (h + ord(char)) * CHARS % 2**64
    return half_mix(h) >> 32


def shingle_hashes(tokens: Sequence[int], k: int) -> list[int]:
    out = []
    for i in range(len(tokens) - k + 1):
        h = 0
        for token in tokens[i : i + k]:
            h = (h * TOKENS + token + 1) % 2**64
        out.append(mix(h))
    return out


def winnowed(hashes: Sequence[int], w: int, barred: set[int]) -> list[int]:
    """The last of the least in each window, but for barred ones; without a thinning of what repeats itself."""
    chosen: set[int] = set()
    for start in range(max(1, len(hashes) - w + 1)):
        window = [(hashes[i], -i) for i in range(start, min(start + w, len(hashes))) if hashes[i] not in barred]
        if window:
            chosen.add(-min(window)[1])
    return sorted(chosen)


def repeating(tokens: Sequence[int], k: int, w: int) -> list[tuple[int, int]]:
    """Stretches in which the text repeats itself with a period of at most w, by more than a shingle."""
    return [
        (i, i + 2 * q + k)
        for q in range(1, w + 1)
        for i in range(len(tokens) - 2 * q - k + 1)
        if tokens[i : i + q + k] == tokens[i + q : i + 2 * q + k]
    ]


def maximal_runs(x: Sequence[int], y: Sequence[int], least: int) -> list[Run]:
    """Every run of equal tokens that cannot be made longer on either side."""
    out = []
    for i in range(len(x)):
        for j in range(len(y)):
            if x[i] == y[j] and not (i and j and x[i - 1] == y[j - 1]):
                n = 0
                while i + n < len(x) and j + n < len(y) and x[i + n] == y[j + n]:
                    n += 1
                if n >= least:
                    out.append((i, j, n))
    return out


def bridged(x: Sequence[int], y: Sequence[int], gap: int) -> tuple[int, int, int]:
    """From the start of both, where they differ, on beyond edits: (tokens of x, tokens of y, equal ones) to take."""
    best = (0, 0, 0, 0)  # score, then the answer
    i = j = equal = score = 0
    while score >= best[0] - 2 * gap:
        edits = [(max(a, b), abs(a - b), a < b, a, b) for a in range(gap + 1) for b in range(gap + 1) if a or b]
        usable = [
            e
            for e in edits
            if len(x[i + e[3] : i + e[3] + 2]) == 2 and x[i + e[3] : i + e[3] + 2] == y[j + e[4] : j + e[4] + 2]
        ]
        if not usable:
            break
        size, _, _, a, b = min(usable)
        i, j = i + a, j + b
        n = 0
        while i + n < len(x) and j + n < len(y) and x[i + n] == y[j + n]:
            n += 1
        i, j, equal, score = i + n, j + n, equal + n, score + n - size
        if score > best[0]:
            best = (score, i, j, equal)
    return best[1:]
