"""datasketch: MinHash.bulk over token sets made in Python, then MinHashLSH asked for the candidates of each.

Its own rule gives 9 x 13 bands at 0.8 and 128 permutations.
"""

from __future__ import annotations

import sys

from datasketch import MinHash, MinHashLSH

from peers.shingles import documents, shingles, write_neighbours


def find(corpus: str, out: str) -> None:
    index = MinHashLSH(threshold=0.8, num_perm=128)
    everyone: list[int] = []
    sketches: list[MinHash] = []
    for ids, texts in documents(corpus):
        everyone += ids
        sketches += MinHash.bulk([[s.encode() for s in shingles(text)] for text in texts], num_perm=128)
    with index.insertion_session() as session:
        for number, sketch in zip(everyone, sketches, strict=True):
            session.insert(number, sketch, check_duplication=False)
    write_neighbours(everyone, [index.query(sketch) for sketch in sketches], out)


if __name__ == "__main__":
    find(*sys.argv[1:])
