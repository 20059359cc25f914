"""Calibrate the cost model to this machine by running each stage on small synthetic collections.

Measuring short items and long items separates the cost per element from the cost per item. Times are processor times
of this process, so other load on the machine has little effect.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lookalike.core.arrays import U64, Pairs, Recipe, Sets, ShingleRule
from lookalike.core.candidates import Band, Candidates, Items, Postings
from lookalike.core.exact_duplicates import collapse, fingerprints
from lookalike.core.measures import bar, set_measure
from lookalike.core.trace import Trace
from lookalike.core.verification import verified
from lookalike.cost_model.costs import Costs
from lookalike.io.read import open_collection
from lookalike.kinds.documents.audit import audit
from lookalike.kinds.documents.banding import BandedJoin
from lookalike.kinds.documents.counting_join import counted_pairs
from lookalike.kinds.documents.features import shingle
from lookalike.kinds.documents.planner import SampleJoin
from lookalike.kinds.documents.prefix_join import take_prefixes
from lookalike.kinds.documents.spec import Job
from lookalike.planning.banding import plan
from lookalike.runtime.local.memory_budget import MemoryBudget
from lookalike.runtime.local.pool import Pool
from lookalike.runtime.local.work_folder import Workspace

THRESHOLD = bar(set_measure("jaccard"), 0.8)
JOB = Job()
PLAN = plan(0.8)
UNBOUNDED = Workspace(MemoryBudget(1 << 40))
LARGE_FACTOR = 32  # factor on the number of items where only a large collection shows the cost of sorting
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST_RUN = "import lookalike as la; la.pairs(['a rose is a rose is a rose'] * 3, method='lsh')"

Say = Callable[[str], object]


def calibrate(say: Say = lambda what: None, *, scale: float = 1.0) -> Costs:
    """Measure the costs of this machine, in about a minute on one core.

    The costs of Spark are measured if it is installed, otherwise the shipped values are used. scale: factor on the
    amount of work; say: called with the name of each step.
    """
    made: dict[str, float] = {}
    count = max(200, round(20_000 * scale))
    with Pool(1) as pool:
        for what, measured in (
            ("starting", _start),
            ("fresh memory", lambda: _memory(LARGE_FACTOR * count)),
            ("reading and shingling", lambda: _texts(count)),
            ("sketching", lambda: _sketches(count, pool)),
            ("buckets", lambda: _buckets(count)),
            ("verifying and auditing", lambda: _pairs(count, pool)),
            ("the exact join", lambda: _exact(count, pool)),
        ):
            say(what)
            made |= measured()
    if find_spec("pyspark") is not None:
        from lookalike.kinds.documents.spark.calibration import spark_costs

        say("Spark")
        made |= spark_costs(count)
    return Costs(**{name: round(max(0.001, value), 3) for name, value in made.items()})


def seconds(work: Callable[[], object]) -> float:
    """Measure processor time in seconds: the minimum of three runs, after one run to load the kernels."""
    work()
    times = []
    for _ in range(3):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return min(times)


def random_sets(count: int, size: int, *, common: int = 0) -> Items:
    """Generate random sets; the first `common` elements come from a small universe and are shared by many sets."""
    rng = np.random.default_rng(1)
    elements = rng.integers(1, 1 << 63, count * size, dtype=np.uint64).reshape(count, size)
    if common:
        elements[:, :common] = rng.integers(1, 50, (count, common), dtype=np.uint64) * GOLDEN
    starts, sizes = np.arange(count) * size, np.full(count, size)
    return Items(elements.ravel(), starts, sizes, np.full(count, 3, np.uint8))


def random_texts(count: int, words: int) -> pa.Array:
    """Generate texts from a vocabulary of words of two to ten letters, with skewed word frequencies as in prose."""
    rng = np.random.default_rng(2)
    vocabulary = np.array(["".join(map(chr, rng.integers(97, 123, 2 + at % 9))) for at in range(20_000)])
    chosen = vocabulary[(20_000 ** rng.random((count, words))).astype(np.int64) - 1]
    return pa.array([" ".join(row) for row in chosen.tolist()], pa.large_string())


def _start() -> dict[str, float]:
    """Measure the start of a new process; the second process finds its kernels compiled."""
    taken = 0.0
    for _ in range(2):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", FIRST_RUN], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"start": taken}


def _memory(count: int) -> dict[str, float]:
    """Measure the cost of newly allocated memory: the first write to blocks that are kept, minus a second write."""
    held: list[U64] = []
    times: list[float] = []
    for _ in range(2):
        begin = time.process_time()
        for at in range(16):
            if len(held) <= at:
                held.append(np.empty(8 * count, np.uint64))
            held[at].fill(1)
        times.append(time.process_time() - begin)
    return {"byte_kept": (times[0] - times[1]) / (16 * 64 * count) * 1e9}


def _texts(count: int) -> dict[str, float]:
    short, long, rule = random_texts(4 * count, 20), random_texts(count, 200), ShingleRule()
    with tempfile.TemporaryDirectory(prefix="lookalike-") as folder:
        file = Path(folder) / "x.parquet"
        pq.write_table(pa.table({"text": long}), file, compression="zstd", row_group_size=5000)
        read = seconds(lambda: sum(len(batch.texts) for batch in open_collection(file).texts()))
    taken = [seconds(partial(shingle, texts, rule)) for texts in (short, long)]
    lengths = [_text_bytes(texts) for texts in (short, long)]
    byte, item = _two(taken, lengths, [len(short), len(long)])
    sets = shingle(long, rule)
    printed = seconds(lambda: fingerprints(sets))
    few = random_sets(LARGE_FACTOR * count, 2)
    many = Sets(few.elements, np.arange(LARGE_FACTOR * count + 1) * 2)
    prints = fingerprints(many)
    collapsed = seconds(lambda: collapse(many, prints))
    return {
        "byte_read": read / lengths[1] * 1e9,
        "byte_shingled": byte,
        "item_shingled": item,
        "element_printed": printed / len(sets.elements) * 1e9,
        "item_collapsed": collapsed / len(many) * 1e9,
    }


def _sketches(count: int, pool: Pool) -> dict[str, float]:
    few, many, recipe = random_sets(count, 200), random_sets(count, 1000), Recipe()
    taken = [
        seconds(partial(BandedJoin, items, recipe, PLAN, THRESHOLD, pool, Trace(), UNBOUNDED)) for items in (few, many)
    ]
    element, item = _two(taken, [200 * count, 1000 * count], [count, count])
    return {"element_sketched": element, "slot": item / recipe.length}


def _buckets(count: int) -> dict[str, float]:
    """Measure the cost of sorting with distinct keys, and the cost of a bucket pair with buckets of 32 items."""
    rng = np.random.default_rng(3)
    n = LARGE_FACTOR * count
    keys = rng.integers(1, 1 << 63, (n, 1), dtype=np.uint64)
    crowded = keys[np.arange(n) // 32 * 32]
    values = rng.integers(0, 1 << 32, (n, PLAN.num_hashes), dtype=np.uint32)
    items = Items(np.zeros(1, np.uint64), np.zeros(n, np.int64), np.full(n, 200), np.full(n, 3, np.uint8))

    def scan(keys: np.ndarray[tuple[int, int], np.dtype[np.uint64]]) -> None:
        band = Band.sort(keys, 0)
        for block in band.blocks(1 << 13):
            for _ in band.candidates(block, items, keys, values, PLAN.cut, THRESHOLD):
                pass

    alone, together = seconds(lambda: scan(keys)), seconds(lambda: scan(crowded))
    return {
        "key_sorted": alone / (n * np.log2(n)) * 1e9,
        "bucket_pair": (together - alone) / (n * 31 / 2) * 1e9,
    }


def _pairs(count: int, pool: Pool) -> dict[str, float]:
    """Measure verification on pairs of a set and a copy with every tenth element changed, which are read completely."""
    size = 200
    items = random_sets(count, size)
    none = Pairs(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    audited = seconds(partial(audit, items, none, PLAN, JOB, pool, Trace()))
    sets = np.sort(items.elements.reshape(count, size), axis=1)
    sets[1::2] = sets[0::2]
    sets[1::2, ::10] += np.uint64(1)
    items = Items(np.sort(sets, axis=1).ravel(), items.starts, items.sizes, items.sides)
    anchors, partners = np.arange(0, count, 2, dtype=np.uint32), np.arange(1, count, 2, dtype=np.uint32)
    pairs = Candidates(anchors, np.arange(1, len(anchors) + 1), partners)
    checked = seconds(lambda: verified(items, pairs, THRESHOLD))
    once = Candidates(anchors[:1], np.array([len(partners)]), partners)
    template = Items(
        items.elements, np.zeros(count, np.int64), items.sizes, items.sides
    )  # all items share the elements of the first
    scanned = seconds(lambda: verified(template, once, THRESHOLD))
    return {
        "element_verified": checked / (len(pairs) * 2 * size) * 1e9,
        "element_scanned": scanned / (len(once) * size) * 1e9,
        "element_audited": audited / (count * size) * 1e9,
    }


def _exact(count: int, pool: Pool) -> dict[str, float]:
    few, many, crowd = random_sets(count, 200), random_sets(count, 1000), random_sets(count, 20, common=20)

    def indexed(items: Items) -> Postings:
        return take_prefixes(items, THRESHOLD, pool, UNBOUNDED).index_of((0, len(items)), (0, len(items)))

    def counted(items: Items) -> object:
        return counted_pairs(items, THRESHOLD, pool, Trace(), UNBOUNDED, 1 << 40)

    index = [seconds(partial(indexed, items)) * 1e9 for items in (few, many)]
    element = (index[1] - index[0]) / (count * 800)
    listed = [seconds(partial(counted, items)) * 1e9 for items in (few, many)]
    postings = indexed(crowd)

    def visit() -> int:
        blocks = postings.blocks(1 << 13)
        return sum(len(piece) for block in blocks for piece in postings.candidates(block))

    return {
        "element_indexed": element,
        "posting": index[0] / len(indexed(few).packed) - element * 5,
        "posting_visited": seconds(visit) / max(1, postings.visits()) * 1e9,
        "element_listed": (listed[1] - listed[0]) / (count * 800),
        "triple": (seconds(lambda: counted(crowd)) * 1e9 - listed[0] / 10)
        / SampleJoin.of_all(crowd, THRESHOLD, pool).triples,
    }


def _two(taken: list[float], ones: list[int], others: list[int]) -> tuple[float, float]:
    """Solve for the nanoseconds of each of two operations from two measurements with different counts."""
    solved = np.linalg.solve(np.array([ones, others], np.float64).T, np.array(taken) * 1e9)
    return float(solved[0]), float(solved[1])


def _text_bytes(texts: pa.Array) -> int:
    return int(np.frombuffer(texts.buffers()[1], np.int64)[len(texts)])
