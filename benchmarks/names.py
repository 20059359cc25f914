"""The 5 nearest company names by tf-idf of 3-grams, next to sparse_dot_topn: python benchmarks/names.py

--names and --register are the numbers of names to look up and of names that are searched.

Names are generated: words by Zipf's law, places, kinds of trade and legal forms; names to look up are names of the
register with a few edits. Both tools begin with lists of strings. sparse_dot_topn multiplies the matrices that
scikit-learn's TfidfVectorizer makes; its seconds are given with and without that. The scores are compared with those of
lookalike, row by row. One thread each, one process, one run; core seconds. Writes .bench/names.json.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from pathlib import Path
from typing import Any

import numpy as np

from machine import machine, versions

# promise: docs/how-to/nearest.md | 2,000 names in a register of a million take 9.8 core seconds

FORMS = ("Ltd", "Limited", "Inc", "GmbH", "LLC", "Corp", "AG", "Holdings", "& Co", "Group", "plc", "SA")
TRADES = ("Foods", "Systems", "Logistics", "Energy", "Capital", "Media", "Textiles", "Motors", "Software", "Services",
          "Trading", "Consulting", "Properties", "Partners", "Pharma", "Design", "Solutions")  # fmt: skip
PLACES = ("London", "North", "Delta", "Pacific", "Berlin", "Global", "Royal", "First", "Alpine", "Nordic", "United")
PARTS = [c + v + e for c in "bcdfghklmnprstvwz" for v in "aeiou" for e in ("", "n", "r", "s", "l", "x")]
TOP = 5


def make(size: int, searched: int, seed: int = 42) -> tuple[list[str], list[str]]:
    """Return names to look up, and the register in which they are searched."""
    draw = random.Random(seed)
    stems = ["".join(draw.choices(PARTS, k=draw.randint(2, 3))).capitalize() for _ in range(60_000)]
    weights = np.cumsum(1 / (10 + np.arange(len(stems))))
    places = np.searchsorted(weights, np.random.default_rng(seed).random(2 * searched) * weights[-1])

    def name(i: int) -> str:
        words = [stems[places[2 * i]]]
        if draw.random() < 0.5:
            words.append(stems[places[2 * i + 1]])
        if draw.random() < 0.3:
            words.insert(0, draw.choice(PLACES))
        if draw.random() < 0.6:
            words.append(draw.choice(TRADES))
        return " ".join([*words, draw.choice(FORMS)])

    register = [name(i) for i in range(searched)]
    asked = []
    for chosen in draw.sample(register, size):
        letters = list(chosen)
        for _ in range(draw.randint(0, 3)):
            at = draw.randrange(len(letters))
            letters[at : at + draw.randint(0, 1)] = draw.choice("abcdefghijklmnopqrstuvwxyz ")
        asked.append(" ".join("".join(letters).split()))
    return asked, register


def lookalike(asked: list[str], register: list[str]) -> tuple[Any, dict[str, float]]:
    import lookalike as la

    options: Any = {"unit": "char", "k": 3, "bag": True, "weight": "idf", "measure": "cosine", "top": TOP, "threads": 1}
    la.nearest(asked[:100], against=register[:100], **options)  # loads the kernels
    begin = time.process_time()
    result = la.nearest(asked, against=register, **options)
    seconds = {"whole": time.process_time() - begin, **{f"stage {k}": v for k, v in result.receipt["seconds"].items()}}
    scores = np.zeros((len(asked), TOP))
    scores[result.nearest["left"].to_numpy(), result.nearest["rank"].to_numpy() - 1] = result.nearest["similarity"]
    return scores, seconds


def sparse_dot_topn(asked: list[str], register: list[str]) -> tuple[Any, dict[str, float]]:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sparse_dot_topn import sp_matmul_topn

    begin = time.process_time()
    vectorizer = TfidfVectorizer(analyzer="char", ngram_range=(3, 3), lowercase=True, dtype=np.float64)
    both = vectorizer.fit_transform([*asked, *register])
    left, right = both[: len(asked)], both[len(asked) :].T.tocsr()
    made = time.process_time()
    found = sp_matmul_topn(left, right, top_n=TOP, sort=True, n_threads=1)
    end = time.process_time()
    scores = np.zeros((len(asked), TOP))
    for row in range(len(asked)):
        part = found.data[found.indptr[row] : found.indptr[row + 1]]
        scores[row, : len(part)] = part
    return scores, {"whole": end - begin, "vectorizer": made - begin, "product": end - made}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--names", type=int, default=100_000)
    parser.add_argument("--register", type=int, default=1_000_000)
    asked = parser.parse_args()
    names, register = make(asked.names, asked.register)
    ours, seconds = lookalike(names, register)
    print("lookalike", {name: round(value, 2) for name, value in seconds.items()}, flush=True)
    theirs, others = sparse_dot_topn(names, register)
    print("sparse_dot_topn", {name: round(value, 2) for name, value in others.items()}, flush=True)
    equal = float(np.isclose(ours, theirs, atol=1e-9).mean())
    print(f"equal scores: {equal:.6f}")
    out = Path(".bench")
    out.mkdir(exist_ok=True)
    (out / "names.json").write_text(
        json.dumps(
            {
                "names": asked.names, "register": asked.register, "top": TOP, "lookalike": seconds,
                "sparse_dot_topn": others, "equal_scores": equal, "machine": machine(), "versions": versions(),
            },
            indent=1,
        )
    )  # fmt: skip


if __name__ == "__main__":
    main()
