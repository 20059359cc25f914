"""Measure the constants of engines/choice.py on this machine, one core: python benchmarks/costs.py

Two collections of random sets, one of short and one of long ones, tell the cost per element from the cost per item;
one of common elements tells the cost of a pair of postings, and of a triple of the way that counts.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

from lookalike.data import Recipe
from lookalike.engines.choice import Preview
from lookalike.engines.counting import counted_pairs
from lookalike.engines.joins import BandedJoin, exact_pairs, take_prefixes
from lookalike.engines.memory import Keeper
from lookalike.engines.pool import Pool
from lookalike.engines.trace import Trace
from lookalike.engines.work import Space
from lookalike.measures import bar, set_measure
from lookalike.plan import plan
from lookalike.stages.candidates import Items, Postings

BAR = bar(set_measure("jaccard"), 0.8)
PLAN = plan(0.8)
SPACE = Space(Keeper(1 << 40))


def sets(count: int, size: int, common: int = 0) -> Items:
    """Random sets; the first `common` elements are drawn from few, so that they are shared by many sets."""
    rng = np.random.default_rng(1)
    elements = rng.integers(1, 1 << 63, count * size, dtype=np.uint64).reshape(count, size)
    if common:
        elements[:, :common] = rng.integers(1, 50, (count, common), dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    starts, sizes = np.arange(count) * size, np.full(count, size)
    return Items(elements.ravel(), starts, sizes, np.full(count, 3, np.uint8))


def indexed(items: Items, pool: Pool) -> Postings:
    return take_prefixes(items, BAR, pool, SPACE).index_of((0, len(items)), (0, len(items)))


def seconds(work: Callable[[], object]) -> float:
    """The best of three, after one run to load the kernels."""
    work()
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


def main() -> None:
    few, many, recipe = sets(20_000, 200), sets(20_000, 1000), Recipe()
    with Pool(1) as pool:
        short = seconds(lambda: BandedJoin(few, recipe, PLAN, BAR, pool, Trace(), SPACE))
        long = seconds(lambda: BandedJoin(many, recipe, PLAN, BAR, pool, Trace(), SPACE))
        element = (long - short) / (20_000 * 800) * 1e9
        slot = (short * 1e9 / 20_000 - 200 * element) / recipe.length
        index = [seconds(lambda items=items: indexed(items, pool)) * 1e9 for items in (few, many)]
        probes = [len(indexed(items, pool).packed) for items in (few, many)]
        counted = (index[1] - index[0]) / (20_000 * 800)
        crowd = sets(20_000, 20, common=20)
        pairs = indexed(crowd, pool).bucket_pairs()[0]
        alone = seconds(lambda: indexed(crowd, pool))
        listed = [
            seconds(lambda items=items: counted_pairs(items, BAR, pool, Trace(), SPACE, 1 << 40)) * 1e9
            for items in (few, many)
        ]
        shared = seconds(lambda: counted_pairs(crowd, BAR, pool, Trace(), SPACE, 1 << 40)) * 1e9
        posting_pair = (seconds(lambda: exact_pairs(crowd, BAR, pool, Trace(), SPACE, 1 << 40)) - alone) / pairs * 1e9
    for name, value in (
        ("per element sketched", element),
        ("per slot of an item", slot),
        ("per element indexed", counted),
        ("per posting", index[0] / probes[0] - counted * 5),
        ("per pair of postings", posting_pair),
        ("per element listed", (listed[1] - listed[0]) / (20_000 * 800)),
        ("per triple", (shared - listed[0] / 10) / Preview.of_all(crowd, BAR, pool).triples),
    ):
        sys.stdout.write(f"{name:<24} {value:8.2f} ns\n")


if __name__ == "__main__":
    main()
