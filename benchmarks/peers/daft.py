"""Daft: its normalize, minhash and banding, as its own deduplication guide does; the answer is the buckets.

The guide then links each bucket's members to the smallest and contracts the graph to connected components; that step is
left out here, to Daft's favour, because components cannot be compared with pairs. The bands are those of the guide's
rule (least area of errors), 9 x 13 at 0.8 and 128; the guide wants bands x rows hashes, so 117 are made.
"""

from __future__ import annotations

import sys

import daft
import pyarrow.parquet as pq
from daft import col, lit

BANDS, ROWS = 9, 13


def find(corpus: str, out: str) -> None:
    text = col("text").normalize(remove_punct=True, lowercase=True, nfd_unicode=True, white_space=True)
    signature = text.minhash(num_hashes=BANDS * ROWS, ngram_size=5, seed=42, hash_function="xxhash")
    buckets = (
        daft.read_parquet(corpus)
        .select(col("id"), signature.chunk(ROWS).alias("band"), lit(list(range(BANDS))).alias("number"))
        .explode("band", "number")
        .groupby("number", "band")
        .agg(col("id").list_agg().alias("bucket"))
        .where(col("bucket").length() > 1)
        .select("bucket")
    )
    pq.write_table(buckets.to_arrow(), out)


if __name__ == "__main__":
    find(*sys.argv[1:])
