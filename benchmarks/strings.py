"""All pairs of words within 2 edits, and within insert/delete distance 3: python benchmarks/strings.py [--slow]

100,000 words: those of codespell's list of misspellings and their corrections (LOOKALIKE_DATA, default ../shared/data),
filled up with words that one or two edits make of these; where the list is missing, words of random syllables instead.
"""

from __future__ import annotations

import gzip
import os
import random
import sys
from functools import partial
from pathlib import Path
from typing import Any

from race import race

LETTERS = "abcdefghijklmnopqrstuvwxyz"
SYLLABLES = [c + v + e for c in "bcdfghklmnprstvw" for v in "aeiou" for e in ("", "n", "r", "s", "t")]


def make(size: int) -> list[str]:
    """Different words, in a random order."""
    draw = random.Random(42)
    listed = Path(os.environ.get("LOOKALIKE_DATA", "../shared/data")) / "misspellings" / "codespell-dictionary.txt.gz"
    words: dict[str, None] = {}
    if listed.exists():
        with gzip.open(listed, "rt") as file:
            for line in file:
                wrong, _, right = line.strip().partition("->")
                words.update(dict.fromkeys([wrong, *(word.strip() for word in right.split(",") if word.strip())]))
    else:
        sys.stderr.write(f"{listed} is missing: words of random syllables are taken (set LOOKALIKE_DATA).\n")
        while len(words) < size * 3 // 4:
            words["".join(draw.choices(SYLLABLES, k=draw.randint(2, 5)))] = None
    known = list(words)
    while len(words) < size:
        word = list(draw.choice(known))
        for _ in range(draw.randint(1, 2)):
            at = draw.randrange(len(word) + 1)
            word[at : at + draw.randint(0, 1)] = draw.choice(LETTERS)
        words["".join(word)] = None
    chosen = list(words)
    draw.shuffle(chosen)
    return chosen[:size]


def lookalike(words: list[str], *, measure: Any, most: int) -> Any:
    import lookalike as la

    found = la.strings.pairs(words, measure=measure, max_edits=most).pairs
    return found["left"].to_numpy(), found["right"].to_numpy()


def rapidfuzz(words: list[str], *, measure: str, most: int, block: int = 500) -> Any:
    """cdist on all cores, a block of rows at a time; above the cutoff it stops early."""
    import numpy as np
    from rapidfuzz import distance, process

    scorer = distance.Levenshtein.distance if measure == "levenshtein" else distance.Indel.distance
    left, right = [], []
    for at in range(0, len(words), block):
        table = process.cdist(
            words[at : at + block], words[at:], scorer=scorer, score_cutoff=most, dtype=np.uint8, workers=-1
        )
        rows, columns = np.nonzero(table <= most)
        keep = rows < columns
        left.append(rows[keep] + at)
        right.append(columns[keep] + at)
    return np.concatenate(left), np.concatenate(right)


def symspell(words: list[str], *, most: int) -> Any:
    """Each word looked up among all; true Levenshtein distance, all results."""
    import numpy as np
    from symspellpy import SymSpell, Verbosity
    from symspellpy.editdistance import DistanceAlgorithm, EditDistance

    index = SymSpell(most, 10, distance_comparer=EditDistance(DistanceAlgorithm.LEVENSHTEIN_FAST))
    for word in words:
        index.create_dictionary_entry(word, 1)
    number = {word: i for i, word in enumerate(words)}
    left, right = [], []
    for i, word in enumerate(words):
        for near in index.lookup(word, Verbosity.ALL, max_edit_distance=most):
            left.append(i)
            right.append(number[near.term])
    return np.array(left), np.array(right)


TOOLS = {
    "Levenshtein 2": {
        "lookalike": partial(lookalike, measure="levenshtein", most=2),
        "RapidFuzz cdist": partial(rapidfuzz, measure="levenshtein", most=2),
        "symspellpy": partial(symspell, most=2),
    },
    "insert/delete 3": {
        "lookalike": partial(lookalike, measure="indel", most=3),
        "RapidFuzz cdist": partial(rapidfuzz, measure="indel", most=3),
    },
}

if __name__ == "__main__":
    race("strings", __file__, make, TOOLS, slow={"symspellpy"}, size=100_000, truth=lambda _: "lookalike")
