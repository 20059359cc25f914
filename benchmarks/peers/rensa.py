"""rensa: R-MinHash sketches of token sets made in Python, then its LSH index asked for the candidates of each.

The third argument is the number of bands. Its deduplicator takes 8 (x 16 rows) at 0.8; 16 x 8 finds more. Its quicker
"rho" sketches are left out: they only say which documents have a duplicate, not which one.
"""

from __future__ import annotations

import sys

from rensa import RMinHash, RMinHashLSH

from peers.shingles import documents, shingles, write_neighbours


def find(corpus: str, out: str, bands: str = "8") -> None:
    index = RMinHashLSH(0.8, 128, int(bands))
    everyone: list[int] = []
    sketches: list[RMinHash] = []
    for ids, texts in documents(corpus):
        everyone += ids
        sketches += RMinHash.from_token_sets(list(map(shingles, texts)), 128, 42)
    index.insert_pairs(list(zip(everyone, sketches, strict=True)))
    write_neighbours(everyone, index.query_all(sketches), out)


if __name__ == "__main__":
    find(*sys.argv[1:])
