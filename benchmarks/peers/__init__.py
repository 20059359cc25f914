"""One file per peer: from raw Parquet (id, text) to its answer, as its documentation does it.

Each runs as `python -m peers.NAME CORPUS OUT [option]` and writes Parquet: the columns left and right; or one column of
lists, `bucket`, whose members are all paired with one another (the lists are spread out after the clock stops).
All look for Jaccard 0.8 over word 5-shingles with 128 permutations and the bands the peer itself recommends.
"""
