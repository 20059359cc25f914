"""A writer that says what was acknowledged, line by line, until it is killed: python killed_writer.py PLACE SEED."""

from __future__ import annotations

import random
import sys

import lookalike as la
from lookalike.index import compaction, folder, writer


def main(place: str, seed: int) -> None:
    folder.MAX_RECENT_ITEMS, folder.FLUSHED = (
        8,
        30,
    )  # small parts, so that segments, flushes and compactions all happen often
    writer.SEGMENT_BYTES, compaction.BIG = 5000, 1 << 40
    draw = random.Random(seed)
    known: list[str] = []
    with la.Index.open(place) as index:
        number = seed * 1_000_000
        while True:
            what = draw.random()
            if what < 0.7 or not known:
                ids = [f"i{number + i}" for i in range(draw.choice([1, 2, 5, 40]))]
                number += len(ids)
                texts = [f"text {one} " + " ".join(f"{one}w{j}" for j in range(20)) for one in ids]
                print("adding", *ids, flush=True)
                index.add(texts, ids=ids)
                print("added", *ids, flush=True)
                known += ids
            elif what < 0.9:
                gone = draw.sample(known, min(3, len(known)))
                print("removing", *gone, flush=True)
                index.remove(gone)
                print("removed", *gone, flush=True)
                known = [one for one in known if one not in gone]
            else:
                index.groups()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
