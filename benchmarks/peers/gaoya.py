"""gaoya: index all documents and ask for the neighbours of each, both on all cores; it splits and shingles itself.

Without given bands it derives 21 x 6 from 128 hashes at 0.8, and it drops neighbours whose signatures agree in less
than 0.8 of the hashes.
"""

from __future__ import annotations

import sys

from gaoya.minhash import MinHashStringIndex

from peers.shingles import documents, write_neighbours


def find(corpus: str, out: str) -> None:
    index = MinHashStringIndex(
        hash_size=32,
        jaccard_threshold=0.8,
        num_bands=None,
        band_size=None,
        num_hashes=128,
        analyzer="word",
        lowercase=True,
        ngram_range=(5, 5),
        id_container="smallvec",
    )
    for ids, texts in documents(corpus):
        index.par_bulk_insert_docs(ids, texts)
    everyone: list[int] = []
    neighbours: list[list[int]] = []
    for ids, texts in documents(corpus):
        everyone += ids
        neighbours += index.par_bulk_query(texts)
    write_neighbours(everyone, neighbours, out)


if __name__ == "__main__":
    find(*sys.argv[1:])
