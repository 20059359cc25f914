"""Slow, obvious twins of the fast code: plain strings, sets and integers, written from the rules, not from the kernels.

Constants stand here once more, so that a changed one is seen.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from fractions import Fraction
from itertools import combinations
from math import fsum, isfinite, sqrt
from typing import Any

from lookalike.core.arrays import ShingleRule

CHARS, TOKENS = 0x9E3779B97F4A7C15, 0xA0761D6478BD642F
P61 = 2**61 - 1
NOTHING = 2**32 - 1
MEASURES = ("jaccard", "containment", "dice", "cosine", "overlap")
ACCENTS = ((0x300, 0x36F), (0x1AB0, 0x1AFF), (0x1DC0, 0x1DFF), (0x20D0, 0x20FF), (0xFE20, 0xFE2F))
SINGLE_NAMES = (
    "CJK UNIFIED IDEOGRAPH",
    "CJK COMPATIBILITY IDEOGRAPH",
    "HIRAGANA",
    "KATAKANA",
    "HALFWIDTH KATAKANA",
    "HENTAIGANA",
)
SINGLE_OTHERS = "々〆〇〡〢〣〤〥〦〧〨〩〸〹〺〻"

# text


def is_single(char: str) -> bool:
    """A Han ideograph or kana: a word by itself."""
    return char.isalnum() and (char in SINGLE_OTHERS or unicodedata.name(char, "").startswith(SINGLE_NAMES))


def folded(char: str, rule: ShingleRule) -> str:
    """What the character counts as: nothing, itself, or up to three others."""
    if rule.strip_accents:
        parts = unicodedata.normalize("NFD", char)
        bare = "".join(part for part in parts if not any(low <= ord(part) <= high for low, high in ACCENTS))
        char = char if bare == parts else unicodedata.normalize("NFC", bare)
    return char.casefold() if rule.fold_case else char


def words(text: str, rule: ShingleRule) -> list[str]:
    """Runs of alphanumerics, marks and underscores; Han and kana one by one, with the marks that follow."""
    out, after_single = [""], False
    for char in text:
        mark = unicodedata.category(char).startswith("M")
        if not (mark or char == "_" or char.isalnum()):
            out.append("")
            after_single = False
        elif mark or not (after_single or is_single(char)):
            out[-1] += folded(char, rule)
        else:
            out.append(folded(char, rule))
            after_single = is_single(char)
    return [word for word in out if word]


def squeezed(text: str, rule: ShingleRule) -> str:
    return " ".join(text.split()) if rule.squeeze_space else text


def tokens(text: str, rule: ShingleRule) -> list[str] | list[int]:
    """What a shingle is made of: words, lines or characters (strings), or bytes (numbers)."""
    if rule.normalize != "none":
        text = unicodedata.normalize(rule.normalize, text)
    if rule.unit == "word":
        return words(text, rule)
    if rule.unit == "byte":
        return list(text.encode())
    if rule.unit == "line":
        lines = ["".join(folded(char, rule) for char in line) for line in text.split("\n")]
        return [squeezed(line, rule) for line in lines if line.strip()]
    if rule.ignore_punctuation:
        text = "".join(char for char in text if unicodedata.category(char)[0] not in "PS")
    return list(squeezed("".join(folded(char, rule) for char in text), rule))


def runs(tokens: Sequence[Any], k: int) -> list[tuple[Any, ...]]:
    """Every k tokens in a row, or all of a shorter document."""
    k = min(k, len(tokens))
    return [tuple(tokens[i : i + k]) for i in range(len(tokens) - k + 1)] if tokens else []


def shingles(tokens: Sequence[Any], rule: ShingleRule) -> set[Any]:
    """The set of runs, or, for a bag, of runs with the number of their occurrence."""
    seen = Counter(runs(tokens, rule.k))
    return {(run, i) for run, count in seen.items() for i in range(count)} if rule.bag else set(seen)


# hashes, in integers of any size cut to 64 bits


def half_mix(x: int) -> int:
    x ^= x >> 32
    x = x * 0xD6E8FEB86659FD93 % 2**64
    return x ^ x >> 29


def mix(x: int) -> int:
    x = half_mix(x) * 0xE7037ED1A0B428DB % 2**64
    return x ^ x >> 32


def token_hash(token: str | int, unit: str) -> int:
    """Of a word, line, character or byte of text, or of a token that the user brings."""
    if unit == "token" and isinstance(token, int):
        return mix(token % 2**64 ^ mix(1))
    if isinstance(token, int) or unit == "char":
        return (token if isinstance(token, int) else ord(token)) + 1
    h = 0 if unit == "word" else CHARS
    for c in [byte + 1 for byte in token.encode()] if unit == "token" else map(ord, token):
        h = (h + c) * CHARS % 2**64
    return half_mix(h)


def shingle_hash(run: Sequence[Any], rule: ShingleRule) -> int:
    h = 0
    for token in run:
        h = (h * TOKENS + token_hash(token, rule.unit)) % 2**64
    return mix(h) >> 64 - rule.hash_bits or 1


def elements(tokens: Sequence[Any], rule: ShingleRule) -> list[int]:
    """The hashes of the shingles, sorted; of a bag, the hash of a further occurrence is made from the first's."""
    seen = Counter(shingle_hash(run, rule) for run in runs(tokens, rule.k))
    if not rule.bag:
        return sorted(seen)
    further = [(x + i * TOKENS) % 2**64 for x, count in seen.items() for i in range(1, count)]
    return sorted([*seen, *(mix(x) >> 64 - rule.hash_bits or 1 for x in further)])


# signatures


def fast_similarity_sketch(elements: Collection[int], length: int, seed: int) -> list[int]:
    """In round i each element gets a bin and a value; a bin keeps the least of the first round that reaches it."""
    bins: dict[int, tuple[int, int]] = {}
    for i in range(2 * length if elements else 0):
        salt = mix((seed + i * CHARS) % 2**64)
        hashes = [mix(e ^ salt) for e in elements]
        places = [(h % 2**32 * length >> 32 if i < length else i - length, (i, h >> 32)) for h in hashes]
        for where, value in places:
            bins[where] = min(bins.get(where, value), value)
        if len(bins) == length:
            break
    values = [value ^ number * 0x9E3779B1 % 2**32 for number, value in (bins[b] for b in range(len(bins)))]
    return [value if value != NOTHING else 0 for value in values] or [NOTHING] * length


def minhash(elements: Iterable[int], length: int, seed: int) -> list[int]:
    """min over x of ((a x + b) mod p) mod 2^32, for `length` functions."""
    words = [mix(i ^ mix(seed)) for i in range(2 * length)]
    functions = [(words[j] % (P61 - 1) + 1, words[length + j] % P61) for j in range(length)]
    return [min(((a * x + b) % P61 % 2**32 for x in elements), default=NOTHING) for a, b in functions]


def band_key(values: Sequence[int]) -> int:
    h = 0xD6E8FEB86659FD93
    for value in values:
        h = (h + value) * CHARS % 2**64
        h ^= h >> 32
    return half_mix(h)


# joins


def reaches(measure: str, shared: int, a: int, b: int, threshold: Fraction) -> bool:
    """True where sets of a and b elements that share some are similar enough, in integers; none shared is never."""
    num, den = threshold.numerator, threshold.denominator
    if measure == "cosine":
        return shared > 0 and (shared * den) ** 2 >= num**2 * a * b
    twice = {"jaccard": 2 * (a + b - shared), "containment": 2 * min(a, b), "dice": a + b, "overlap": 2}[measure]
    return shared > 0 and 2 * shared * den >= num * twice


def similarity(measure: str, shared: int, a: int, b: int) -> float:
    whole = {"jaccard": a + b - shared, "containment": min(a, b), "dice": (a + b) / 2, "overlap": 1}
    return shared / (sqrt(a * b) if measure == "cosine" else whole[measure])


def join(
    sets: Sequence[set[Any]], measure: str, threshold: Fraction, wanted: Callable[[int, int], bool] = lambda i, j: True
) -> dict[tuple[int, int], float]:
    """Every pair (i < j) at or above the threshold, with its similarity."""
    out = {}
    for i, j in combinations(range(len(sets)), 2):
        shape = len(sets[i] & sets[j]), len(sets[i]), len(sets[j])
        if wanted(i, j) and reaches(measure, *shape, threshold):
            out[i, j] = similarity(measure, *shape)
    return out


# groups


def components(pairs: Iterable[tuple[int, int]], order: Sequence[int]) -> list[int]:
    """For each item the member of its connected component that comes first in the order."""
    group = {item: {item} for item in order}
    for i, j in pairs:
        both = group[i] | group[j]
        group |= dict.fromkeys(both, both)
    return [min(group[item], key=order.index) for item in range(len(order))]


def stars(pairs: dict[tuple[int, int], float], order: Sequence[int]) -> dict[int, tuple[int, float]]:
    """In the order, an item joins the kept item most like it (the first among equals) or is kept: (whom, how like)."""
    out: dict[int, tuple[int, float]] = {}
    both = pairs | {(j, i): s for (i, j), s in pairs.items()}
    for item in order:
        kept = [other for other in out if out[other][0] == other and (item, other) in both]
        best = max(kept, key=lambda other: both[item, other], default=item)  # the first of equals: dicts keep order
        out[item] = (best, both.get((item, best), 1.0))
    return out


def cliques(pairs: dict[tuple[int, int], float], order: Sequence[int]) -> dict[int, tuple[int, float]]:
    """In the order, join the group all of whose members match, by the highest least similarity: (founder, score)."""
    both = pairs | {(j, i): s for (i, j), s in pairs.items()}
    members: dict[int, list[int]] = {}  # by founder, in the order of founding
    out: dict[int, tuple[int, float]] = {}
    for item in order:
        fits = [first for first, group in members.items() if all((item, other) in both for other in group)]
        best = max(fits, key=lambda first: min(both[item, other] for other in members[first]), default=item)
        members.setdefault(best, []).append(item)
        out[item] = (best, both.get((item, best), 1.0))
    return out


def stars_of_sets(
    sets: Sequence[set[Any]], pairs: dict[tuple[int, int], float], order: Sequence[int]
) -> dict[int, tuple[int, float]]:
    """Stars where equal sets stay together: a copy goes where the most preferred of its like goes, or joins it."""
    firsts = {frozenset(sets[i]): i for i in reversed(order)}
    first = {i: firsts[frozenset(sets[i])] if sets[i] else i for i in order}
    alone = {(i, j): s for (i, j), s in pairs.items() if first[i] == i and first[j] == j}
    made = stars(alone, [i for i in order if first[i] == i])
    return {i: made[first[i]] for i in order}


def without_common(sets: Sequence[set[int]], share: Fraction) -> list[set[int]]:
    """The sets without the elements that more than this share of the sets that are not empty hold."""
    count = Counter(e for s in sets for e in s)
    limit = share * sum(1 for s in sets if s)
    return [{e for e in s if count[e] <= limit} for s in sets]


# bits and strings


def bits_apart(a: int, b: int) -> int:
    return (a ^ b).bit_count()


def edits_apart(a: str, b: str, *, replace: bool) -> int:
    """The textbook's table, cell by cell; `replace`: whether one letter may be put for another."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row = row, [i]
        for j, y in enumerate(b, 1):
            cheapest = min(before[j], row[-1]) + 1
            if x == y or replace:
                cheapest = min(cheapest, before[j - 1] + (x != y))
            row.append(cheapest)
    return row[-1]


def subsequences(text: str, gone: int) -> set[str]:
    """All that remains of a text after `gone` deletions."""
    return {"".join(kept) for kept in combinations(text, len(text) - gone)} if gone <= len(text) else set()


# series


def windows_near(
    series: Sequence[Sequence[Sequence[float]]], window: int, within: float, zone: int, split: int = -1
) -> list[tuple[float, int, int, int, int]]:
    """All (distance, left series, start, right series, start) of z-normalised windows, nearest first.

    series[s][c]: a column of values; split: series before it are compared with the others only, -1 for all.
    """

    def shape(s: int, i: int) -> list[float] | None:
        out: list[float] = []
        for column in series[s]:
            values = list(column[i : i + window])
            if not all(isfinite(value) for value in values) or max(values) == min(values):
                return None
            mean = fsum(values) / window
            deviation = sqrt(fsum((value - mean) ** 2 for value in values) / window)
            out += [(value - mean) / deviation for value in values]
        return out

    places = [(s, i) for s in range(len(series)) for i in range(len(series[s][0]) - window + 1)]
    shapes = {place: shape(*place) for place in places}
    found = []
    for (s, i), (t, j) in combinations(places, 2):
        one, other = shapes[s, i], shapes[t, j]
        if one is None or other is None or (s == t and j - i < zone) or (split >= 0 and not s < split <= t):
            continue
        if (distance := sqrt(fsum((a - b) ** 2 for a, b in zip(one, other, strict=True)))) <= within:
            found.append((distance, s, i, t, j))
    return sorted(found)


def without_overlaps(found: Sequence[tuple[float, int, int, int, int]], zone: int) -> list[Any]:
    """The pairs, nearest first, without those less than `zone` away on both sides from one that was kept."""
    kept: list[Any] = []
    for pair in found:
        _, s, i, t, j = pair
        if not any((s, t) == (u, v) and abs(i - k) < zone and abs(j - m) < zone for _, u, k, v, m in kept):
            kept.append(pair)
    return kept
