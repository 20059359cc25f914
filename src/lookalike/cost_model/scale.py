"""Cost model of a banding run, on one machine or on a Spark cluster; docs/explanation/scale.md derives it."""

from __future__ import annotations

import math
import warnings
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from lookalike.cost_model.costs import Costs
from lookalike.errors import RecallWarning, UsageError
from lookalike.planning.amplification import and_of
from lookalike.planning.banding import Plan, plan
from lookalike.runtime.local.workspace import RUN_MEMORY_WITHOUT_TEXT, is_large
from lookalike.runtime.spark.limits import MAX_BROADCAST_SETS, MAX_TASKS

SHINGLE_BYTES = {"word": 8.0, "char": 1.0, "byte": 1.0, "line": 40.0}  # bytes of text per shingle
# Compressed bytes on disk per row of each shuffle, without the elements of the set that the row contains.
PRINT_ROW, KEY_ROW, PAIR_ROW, SET_ROW, EDGE_ROW = 31.0, 14.5, 8.5, 24.0, 9.0
ROUNDS = 5  # large-star and small-star rounds until the components converge
PARTITION = 32e6  # shuffle bytes per task
JAVA, WORKER, SORT = 1.0e9, 0.45e9, 0.3e9  # bytes of memory: Java process of an executor; Python worker; sort buffer
BUSY = 0.75  # utilisation of the cores of a cluster, below 1 because stages wait for their last task
MEMORY_PER_ITEM = 60  # bytes of memory per item on one machine, in addition to its set and its signature
ON_DISK = 0.5  # bytes of compressed Parquet per byte of text
MAX_UNLIKE_PAIRS_PER_ITEM = 10  # warn above this number of unrelated pairs that share a bucket, per item


@dataclass(frozen=True, kw_only=True)
class Load:
    """The size and composition of a collection.

    copies: fraction of the items that are exact copies of another; partners: mean number of near duplicates at or above
    the threshold per item, with uniformly distributed similarities (of the same density below the threshold);
    background: the similarity of two unrelated items; shingle_bytes: bytes of text per distinct shingle.
    """

    items: float
    mean_bytes: float
    copies: float = 0.05
    partners: float = 0.4
    background: float = 0.02
    shingle_bytes: float = SHINGLE_BYTES["word"]

    def __post_init__(self) -> None:
        for name, value in (("items", self.items), ("mean_bytes", self.mean_bytes)):
            if not (math.isfinite(value) and value >= 1):
                raise UsageError(f"{name} is {value:g}; expected a number from 1 on, for example 1e9.")
        for name, value in (("copies", self.copies), ("background", self.background)):
            if not 0 <= value < 1:
                raise UsageError(f"{name} is {value:g}; expected a share from 0 on and below 1.")
        if not (math.isfinite(self.partners) and self.partners >= 0):
            raise UsageError(f"partners is {self.partners:g}; expected a number from 0 on.")

    @property
    def bytes(self) -> float:
        return self.items * self.mean_bytes

    @property
    def elements(self) -> float:
        """Mean number of shingles per item."""
        return max(1.0, self.mean_bytes / self.shingle_bytes)

    @property
    def classes(self) -> float:
        """Number of distinct items, at least 1."""
        return max(1.0, self.items * (1 - self.copies))


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """A Spark cluster. cores: per executor; bandwidth: network bytes per second of each executor."""

    executors: int
    cores: int = 4
    bandwidth: float = 500e6

    def __post_init__(self) -> None:
        for name, value in (("executors", self.executors), ("cores", self.cores)):
            if value < 1:
                raise UsageError(f"{name} is {value}; expected at least 1.")
        if not (math.isfinite(self.bandwidth) and self.bandwidth > 0):
            raise UsageError(f"bandwidth is {self.bandwidth:g}; expected bytes a second, for example 500e6.")


@dataclass(frozen=True, kw_only=True)
class Machine:
    """One machine. memory: limit in bytes, if there is one."""

    threads: int = 1
    memory: float | None = None


ONE_CORE = Machine()


@dataclass(frozen=True)
class CandidateCounts:
    """Expected numbers of candidate pairs.

    related, unrelated: distinct pairs that share a bucket; met: the same, counted once for each band in which they
    share a bucket; checked: pairs whose signatures agree enough (Plan.cut) to be scored; matches: pairs at or above the
    threshold; found: matches that share a bucket.
    """

    related: float
    unrelated: float
    met: float
    checked: float
    matches: float
    found: float

    @property
    def total(self) -> float:
        return self.related + self.unrelated


def candidates(load: Load, made: Plan) -> CandidateCounts:
    """Estimate the numbers of candidate pairs.

    The similarities of related pairs are uniformly distributed, with `partners` per item at or above the threshold.
    All pairs count as unrelated, at the background similarity.
    """
    n, above = load.classes, max(1e-9, 1 - made.threshold)
    density = n / 2 * load.partners / above  # related pairs for each unit of similarity
    pairs = n * (n - 1) / 2
    found = above - made.false_negative_area
    return CandidateCounts(
        related=density * (made.false_positive_area + found),
        unrelated=pairs * made.probability(load.background),
        met=density * made.bands / (made.rows + 1) + pairs * made.bands * and_of(load.background, made.rows),
        checked=density * max(found, 1 - made.cut / made.num_hashes),
        matches=density * above,
        found=density * found,
    )


def reading(load: Load, costs: Costs) -> dict[str, float]:
    """Estimate the core seconds to read, shingle and collapse equal items. The hashed sets stay in memory."""
    elements = load.items * load.elements
    shingled = load.bytes * costs.byte_shingled + load.items * costs.item_shingled
    return {
        "read": load.bytes * costs.byte_read / 1e9,
        "shingle": (shingled + elements * costs.element_printed + 8 * elements * costs.byte_kept) / 1e9,
        "collapse": load.items * costs.item_collapsed / 1e9,
    }


def banding(load: Load, made: Plan, met: CandidateCounts, costs: Costs, *, audit: bool = True) -> dict[str, float]:
    """Estimate the core seconds from sets to verified pairs. Slots (4 bytes) and keys (8 bytes) stay in memory."""
    n, elements = load.classes, load.classes * load.elements
    kept = n * (4 * made.num_hashes + 8 * made.bands) * costs.byte_kept
    return {
        "sketch": (elements * costs.element_sketched + n * made.num_hashes * costs.slot + kept) / 1e9,
        "buckets": (n * made.bands * math.log2(max(2.0, n)) * costs.key_sorted + met.met * costs.bucket_pair) / 1e9,
        "verify": met.checked * 2 * load.elements * costs.element_verified / 1e9,
        "audit": elements * costs.element_audited / 1e9 if audit else 0.0,
    }


@dataclass(frozen=True)
class Shuffle:
    """Number of rows and bytes that a shuffle moves between executors."""

    rows: float
    bytes: float


def shuffled(load: Load, made: Plan, met: CandidateCounts) -> dict[str, Shuffle]:
    """Estimate the rows and bytes of each shuffle.

    Both sets of each candidate pair are shuffled to it. If these are too many to broadcast (MAX_BROADCAST_SETS), all
    sets are shuffled once before, for the join with the pairs.
    """
    n, size = load.classes, SET_ROW + 8 * load.elements
    edges = met.found * 2 * 2 * ROUNDS  # each edge in both directions, in two steps per round
    sets = 2 * met.total + (load.items if 2 * met.total > MAX_BROADCAST_SETS else 0.0)
    return {
        "equal items": Shuffle(load.items, load.items * PRINT_ROW),
        "keys": Shuffle(n * made.bands, n * made.bands * KEY_ROW),
        "candidates": Shuffle(met.met, met.met * PAIR_ROW),
        "sets": Shuffle(sets, sets * size),
        "components": Shuffle(edges, edges * EDGE_ROW),
    }


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """The estimated cost of a run.

    cpu: core seconds of each step; shuffle: rows and bytes of each shuffle; seconds: elapsed time; memory, disk: bytes,
    per executor if there is a cluster; tasks: of the largest shuffle; cores: in total.
    """

    load: Load
    plan: Plan
    candidates: CandidateCounts
    cluster: Cluster | None
    cpu: dict[str, float]
    shuffle: dict[str, Shuffle]
    seconds: float
    cores: int
    memory: float
    disk: float
    tasks: int
    costs: str
    warnings: list[str] = field(default_factory=list)

    @property
    def cpu_hours(self) -> float:
        return sum(self.cpu.values()) / 3600

    @property
    def shuffle_bytes(self) -> float:
        return sum(one.bytes for one in self.shuffle.values())

    @property
    def recall(self) -> float:
        """Expected recall over matches whose similarities are uniformly distributed above the threshold."""
        return self.candidates.found / self.candidates.matches if self.candidates.matches else 1.0

    def as_dict(self) -> dict[str, Any]:
        derived = ("cpu_hours", "shuffle_bytes", "recall")
        return asdict(self) | {"plan": self.plan.as_dict()} | {name: getattr(self, name) for name in derived}


def estimate(
    load: Load, costs: Costs, where: Cluster | Machine = ONE_CORE, *, threshold: float = 0.8, recall: float = 0.99,
    num_hashes: int = 128, about: str = "given",
) -> Estimate:  # fmt: skip
    """Estimate the cost of a run on a cluster or on one machine. about: origin of the unit costs, in words."""
    made, said = _planned(threshold, recall, num_hashes)
    met = candidates(load, made)
    if met.unrelated > MAX_UNLIKE_PAIRS_PER_ITEM * load.classes:
        said.append(_flood(load, made, met))
    cpu = reading(load, costs) | banding(load, made, met, costs)
    known = partial(Estimate, load=load, plan=made, candidates=met, costs=about, warnings=said)
    if isinstance(where, Machine):
        memory, threads = where.memory, where.threads
        held = load.items * (8 * load.elements + MEMORY_PER_ITEM) + load.classes * (
            4 * made.num_hashes + 8 * made.bands
        )
        wanted = RUN_MEMORY_WITHOUT_TEXT + held
        allowed = wanted if memory is None else memory
        large = is_large(int(load.bytes), 1 << 62 if memory is None else int(memory))
        disk = load.items * (8 * load.elements + 4 * made.num_hashes + 8 * made.bands) if large else 0.0
        if large:  # memory-mapped files: all is written, and each band reads the keys of all bands
            walked = load.classes * 8 * made.bands * made.bands
            cpu |= {"files": (disk + walked) * costs.byte_kept / 1e9}
        seconds = costs.start + sum(cpu.values()) / threads
        return known(
            cluster=None, cpu={"start": costs.start, **cpu}, shuffle={}, seconds=seconds, cores=threads,
            memory=min(wanted, allowed), disk=disk, tasks=0,
        )  # fmt: skip
    cluster, travels = where, shuffled(load, made, met)
    kept = load.items * (8 * load.elements + 8 * made.bands + PRINT_ROW)  # output of one pass over the texts
    total, rows = sum(one.bytes for one in travels.values()), travels["sets"].rows + travels["components"].rows
    cores = cluster.executors * cluster.cores
    # Text is sent to Python, and its output back to Java. Sets and edges are single rows for Java, all else are blocks.
    cpu |= {
        "cross over": (load.bytes + kept + total) * costs.byte_crossing / 1e9,
        "shuffle": (rows * costs.row_shuffled + total * costs.byte_shuffled) / 1e9,
    }
    network = (ON_DISK * load.bytes + total) / (cluster.executors * cluster.bandwidth)
    return known(
        cluster=cluster, cpu=cpu, shuffle=travels, seconds=sum(cpu.values()) / (cores * BUSY) + network,
        cores=cores, memory=JAVA + cluster.cores * (WORKER + SORT), disk=(kept + total) / cluster.executors,
        tasks=min(MAX_TASKS, max(cores, math.ceil(max(one.bytes for one in travels.values()) / PARTITION))),
    )  # fmt: skip


def _planned(threshold: float, recall: float, num_hashes: int) -> tuple[Plan, list[str]]:
    """Return the plan and the texts of its recall warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RecallWarning)
        made = plan(threshold, recall=recall, num_hashes=num_hashes)
    return made, [str(one.message) for one in caught]


def _flood(load: Load, made: Plan, met: CandidateCounts) -> str:
    """Word the warning about too many unrelated candidates, with a number of hashes that avoids them."""
    begin = (
        f"{met.unrelated / load.classes:,.0f} pairs of unlike items for each item share a bucket "
        f"(background {load.background:g}, {made.shape})"
    )
    for hashes in (256, 512, 1024):
        if hashes > made.num_hashes:
            other, _ = _planned(made.threshold, made.recall, hashes)
            if candidates(load, other).unrelated <= MAX_UNLIKE_PAIRS_PER_ITEM * load.classes:
                return f"{begin}; `num_hashes={hashes}` ({other.shape}) would leave few."
    return f"{begin}; raise the threshold, or take longer shingles."
