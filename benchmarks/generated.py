"""The generated corpus: ASCII prose of Zipf words with planted near-duplicates, the same for the same seed.

Three documents in ten belong to a cluster: edited copies of one original, with similarities to it spread over .5-1, and
some copies word for word. Members of a cluster lie far apart in the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numba import uint64

from compiler import jit, mix

VOCABULARY = 50_000
MEDIAN_WORDS = 191
SHARE_IN_CLUSTERS = 0.3
SHARE_OF_EXACT_COPIES = 0.1
K = 5


@jit
def write_documents(
    original: Any, rate: Any, key: Any, tokens: Any, starts: Any, letters: Any, spelling: Any, out: Any, ends: Any
) -> Any:
    # original i64[d]: which original each document copies; rate f64[d]: edits per word; key u64[d]: its randomness
    # tokens i32[], starts i64[o+1]: words of the originals, 4 * word + mark; letters u8[], spelling i64[v+1]: the words
    # out u8[]: the text; ends i32[d+1]: where each document ends in it
    """Spell out each document, with about rate * words edits: half replace a word, the others delete or insert one."""
    step = uint64(0x9E3779B97F4A7C15)
    words = len(spelling) - 1
    at = 0
    ends[0] = 0
    for d in range(len(original)):
        state = mix(key[d])
        capital = True
        for position in range(starts[original[d]], starts[original[d] + 1]):
            token = tokens[position]
            copies = 1
            if rate[d] > 0.0:
                state += step
                if (mix(state) >> uint64(11)) * 2.0**-53 < rate[d]:
                    state += step
                    choice = mix(state)
                    other = int(words ** ((choice >> uint64(11)) * 2.0**-53)) - 1
                    kind = choice & uint64(3)
                    if kind == uint64(2):
                        continue
                    if kind == uint64(3):
                        copies = 2
                    else:
                        token = 4 * other + token % 4
            for copy in range(copies):
                word = token // 4 if copy == 0 else other
                for letter in range(spelling[word], spelling[word + 1]):
                    byte = letters[letter]
                    out[at] = byte - 32 if capital else byte
                    capital = False
                    at += 1
                mark = token % 4 if copy == copies - 1 else 0
                if mark == 1:
                    out[at] = 44
                    at += 1
                elif mark >= 2:
                    out[at] = 46
                    at += 1
                    capital = True
                out[at] = 10 if mark == 3 else 32
                at += 1
        ends[d + 1] = at


def _vocabulary(random: np.random.Generator) -> tuple[Any, Any]:
    """Distinct lower-case words, the frequent ones short."""
    words: dict[str, None] = {}
    while len(words) < VOCABULARY:
        size = 2 + int(np.log2(1 + len(words)) / 2) + int(random.integers(0, 4))
        words["".join(map(chr, random.integers(97, 123, size)))] = None
    spelling = np.zeros(VOCABULARY + 1, np.int64)
    np.cumsum([len(word) for word in words], out=spelling[1:])
    return np.frombuffer("".join(words).encode(), np.uint8), spelling


def _layout(documents: int, random: np.random.Generator) -> tuple[Any, Any, int]:
    """(the original of each document, its edits per word, number of originals)."""
    clustered = int(documents * SHARE_IN_CLUSTERS)
    sizes = 1 + random.geometric(0.4, clustered)
    sizes[::1000] = 60
    sizes = sizes[np.cumsum(sizes) <= clustered]
    member = np.repeat(np.arange(len(sizes)), sizes)
    first = np.r_[True, member[1:] != member[:-1]] if len(member) else np.zeros(0, bool)
    similarity = random.uniform(0.5, 1.0, len(member))
    similarity[random.random(len(member)) < SHARE_OF_EXACT_COPIES] = 1.0
    similarity[first] = 1.0
    alone = np.arange(documents - len(member)) + len(sizes)
    original = np.concatenate([member, alone])
    # One edit changes the K shingles over it in both documents, so n words with m edits share n - Km of n + Km.
    rate = np.zeros(documents)
    rate[: len(member)] = (1 - similarity) / (1 + similarity) / K
    order = random.permutation(documents)
    return original[order], rate[order], len(sizes) + len(alone)


def generate(
    documents: int, *, seed: int, rows: int, words: int = MEDIAN_WORDS, first: int = 0
) -> Iterator[pa.RecordBatch]:
    """Batches of `rows` documents with the columns id (first, first + 1, ...) and text.

    words: of the median document; none has fewer than 30, or half as many if that is less.
    """
    random = np.random.default_rng(seed)
    letters, spelling = _vocabulary(random)
    original, rate, originals = _layout(documents, random)
    lengths = np.clip(random.lognormal(np.log(words), 0.5, originals), min(30, words // 2), 2000).astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    # floor(V ** uniform) is r with probability ~ 1/r: Zipf's law without a table.
    tokens = (VOCABULARY ** random.random(starts[-1], np.float32)).astype(np.int32) - 1
    marks = random.random(len(tokens), np.float32)
    tokens = 4 * tokens + (marks < 0.12) + (marks < 0.06).astype(np.int32) + (marks < 0.005).astype(np.int32)
    tokens = tokens.astype(np.int32)
    for low in range(0, documents, rows):
        part = slice(low, min(low + rows, documents))
        key = np.arange(part.start, part.stop, dtype=np.uint64) * np.uint64(0x100000001B3) + np.uint64(seed)
        # A copy has at most one inserted word per word; a word has at most 14 letters, a mark and a blank.
        room = int(lengths[original[part]].sum()) * 2 * 16
        out, ends = np.empty(room, np.uint8), np.empty(len(key) + 1, np.int32)
        write_documents(original[part], rate[part], key, tokens, starts, letters, spelling, out, ends)
        text = pa.StringArray.from_buffers(len(key), pa.py_buffer(ends), pa.py_buffer(out[: ends[-1]].copy()))
        yield pa.record_batch({"id": pa.array(np.arange(part.start, part.stop) + first), "text": text})
