"""How long must shingles be on real text? The measured probability of a chance match next to n / 20^k.

python benchmarks/shingle_length.py    (reads LOOKALIKE_DATA; fails if a figure in the docs is off)
"""

from __future__ import annotations

import gzip

import lookalike as la
from shared_data import place

# promise: docs/choosing.md | it takes 11 characters, or 3 words, to get below 1 %
# promise: docs/choosing.md | a document of n characters holds a given shingle with probability n / 20^k


def main() -> None:
    with gzip.open(place("minhash-articles") / "articles_1000.train.gz", "rt", encoding="utf-8") as lines:
        texts = [line.split(" ", 1)[1] for line in lines]
    survey = la.suggest_k(texts)
    for one in survey.lengths:
        formula = "" if one.by_formula is None else f"{one.by_formula:.6f}"
        print(f"{one.unit:<5}{one.k:>3}  {one.measured:.6f}  {formula}")
    measured = {(one.unit, one.k): one for one in survey.lengths}
    assert survey.characters == 1578, survey.characters
    assert round(measured["char", 5].measured, 2) == 0.12
    assert round(measured["char", 5].by_formula or 0, 4) == 0.0005
    assert (survey.best("char"), survey.best("word")) == (11, 3)


if __name__ == "__main__":
    main()
