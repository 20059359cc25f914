"""Core seconds of runs with and without the audit of their recall, per kind.

Prints the median of the runs, with the caches of the compiled code warm.

    python benchmarks/audit_cost.py [KIND ...]
"""

from __future__ import annotations

import gzip
import os
import sys
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc

import lookalike as la
from shared_data import place

REPEATS = 3
Run = Callable[..., Any]


def documents() -> Iterator[tuple[str, Run]]:
    rng = np.random.default_rng(3)
    texts = []
    for number in range(50_000):
        words = [f"w{word}" for word in rng.integers(0, 20_000, 120)]
        texts.append(" ".join(words))
        if number % 8 == 0:
            texts.append(" ".join(word if rng.random() > 0.01 else "x" for word in words))
    for command in (la.pairs, la.groups, la.dedup):
        yield (
            f"documents, {command.__name__}",
            lambda command=command, **k: command(texts, threshold=0.6, method="lsh", **k),
        )


def baskets() -> Iterator[tuple[str, Run]]:
    rng = np.random.default_rng(4)
    rows: list[Any] = []
    for number in range(30_000):
        items = rng.zipf(1.3, 30) % 50_000
        rows.append(items)
        if number % 6 == 0:
            rows.append(np.where(rng.random(30) < 0.9, items, rng.integers(0, 50_000, 30)))
    table = pa.table({"basket": np.repeat(np.arange(len(rows)), 30), "item": np.concatenate(rows)})
    yield "baskets, items of Zipf frequencies", lambda **k: la.baskets.pairs(table, threshold=0.5, method="lsh", **k)


def vectors() -> Iterator[tuple[str, Run]]:
    rng = np.random.default_rng(5)
    centres = rng.standard_normal((15_000, 64))
    values = np.concatenate([centres, centres[:5000] + 0.15 * rng.standard_normal((5000, 64))]).astype(np.float32)
    for bound in ({"max_angle": 15.0}, {"max_distance": 2.0}):
        yield (
            f"vectors, {next(iter(bound))}",
            lambda bound=bound, **k: la.vectors.pairs(values, method="lsh", **bound, **k),
        )


def bits() -> Iterator[tuple[str, Run]]:
    rng = np.random.default_rng(6)
    codes = rng.integers(0, 1 << 63, (40_000, 4), dtype=np.uint64)
    near = codes[:8000].copy()
    near[:, 0] ^= np.uint64(0b1011)
    table = np.concatenate([codes, near]).view(np.uint8)
    yield "bits", lambda **k: la.bits.pairs(table, max_bits=40, method="lsh", **k)


def records() -> Iterator[tuple[str, Run]]:
    folder = place("er-clean-clean")
    for name, files, mark in (("abt-buy", ("D2_abt", "D2_buy"), "|"), ("dblp-acm", ("D4_dblp", "D4_acm"), "%")):
        options = pc.ParseOptions(delimiter=mark)
        texts = (gzip.decompress((folder / f"{file}.csv.gz").read_bytes()) for file in files)
        left, right = (pc.read_csv(pa.py_buffer(text), parse_options=options) for text in texts)
        yield f"records, {name}", lambda left=left, right=right, **k: la.records.pairs(left, against=right, **k)


KINDS = {made.__name__: made for made in (documents, baskets, vectors, bits, records)}


def core_seconds(run: Callable[[], Any]) -> float:
    before = os.times()
    run()
    after = os.times()
    return after.user + after.system - before.user - before.system


def main(kinds: list[str]) -> None:
    print(f"{'run':36}{'audited':>10}{'not':>10}{'share':>8}")
    for kind in kinds or list(KINDS):
        for name, run in KINDS[kind]():
            run(audit=50)
            audited, plain = (
                median(core_seconds(lambda options=options, run=run: run(**options)) for _ in range(REPEATS))
                for options in ({}, {"audit": 0})
            )
            print(f"{name:36}{audited:10.2f}{plain:10.2f}{(audited - plain) / audited:8.0%}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
