"""What a run on so many items would cost, on one machine or on a cluster; docs/explanation/scale.md derives it."""

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

SHINGLE_BYTES = {"word": 8.0, "char": 1.0, "byte": 1.0, "line": 40.0}  # of text for each shingle
# Bytes of a row of each shuffle as it lies on the disk, compressed, beside the keys or the set that it carries.
PRINT_ROW, KEY_ROW, PAIR_ROW, SET_ROW, EDGE_ROW = 31.0, 14.5, 8.5, 24.0, 9.0
ROUNDS = 5  # of large and small stars, until components are settled
PARTITION = 32e6  # bytes of a shuffle that one task should take
JAVA, WORKER, SORT = 1.0e9, 0.45e9, 0.3e9  # bytes: an executor's Java process; a Python worker; the room of a sort
BUSY = 0.75  # share of the time in which the cores of a cluster work: stages wait for their last task
MEMORY_PER_ITEM = 60  # bytes of memory for each item on one machine, beside its set and its signature
ON_DISK = 0.5  # bytes of compressed Parquet for each byte of text
MAX_UNLIKE_PAIRS_PER_ITEM = 10  # pairs of unlike items in one bucket, for each item, that are too many


@dataclass(frozen=True, kw_only=True)
class Load:
    """The items. copies: share that equals another one; partners: near copies, at or above the threshold, that an
    item has on average, their similarities spread evenly (and as densely below it); background: the similarity of
    two items that have nothing to do with one another; shingle_bytes: of text for each different shingle."""

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
        """Shingles of one item, on average."""
        return max(1.0, self.mean_bytes / self.shingle_bytes)

    @property
    def classes(self) -> float:
        """Different items."""
        return max(1.0, self.items * (1 - self.copies))


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """executors, each with so many cores and bytes a second to the others."""

    executors: int
    cores: int = 4
    bandwidth: float = 500e6

    def __post_init__(self) -> None:
        for name, value in (("executors", self.executors), ("cores", self.cores)):
            if value < 1:
                raise UsageError(f"{name} is {value}; expected at least 1.")
        if not (math.isfinite(self.bandwidth) and self.bandwidth > 0):
            raise UsageError(f"bandwidth is {self.bandwidth:g}; expected bytes a second, for example 500e6.")


@dataclass(frozen=True)
class CandidateCounts:
    """How many pairs meet. related, unrelated: different pairs; met: over all bands, each as often as it meets;
    checked: those whose signatures agree enough (Plan.cut) to be scored; matches: pairs at or above the threshold;
    found: those of them that meet."""

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
    """Related pairs lie evenly over the similarities, `partners` of each item at or above the threshold; unrelated
    ones are all pairs, at the similarity of the background."""
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
    """Core seconds until every item is a set, equal ones told. The hashed sets stay in memory."""
    elements = load.items * load.elements
    shingled = load.bytes * costs.byte_shingled + load.items * costs.item_shingled
    return {
        "read": load.bytes * costs.byte_read / 1e9,
        "shingle": (shingled + elements * costs.element_printed + 8 * elements * costs.byte_kept) / 1e9,
        "collapse": load.items * costs.item_collapsed / 1e9,
    }


def banding(load: Load, made: Plan, met: CandidateCounts, costs: Costs, *, audit: bool = True) -> dict[str, float]:
    """Core seconds from sets to verified pairs. Slots of 4 bytes and keys of 8 stay in memory."""
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
    """Rows that travel between executors, and their bytes."""

    rows: float
    bytes: float


def shuffled(load: Load, made: Plan, met: CandidateCounts) -> dict[str, Shuffle]:
    """What travels, shuffle by shuffle. Both sets of each candidate pair travel to it; where they are not few, all sets
    travel once before, to where pairs look them up."""
    n, size = load.classes, SET_ROW + 8 * load.elements
    edges = met.found * 2 * 2 * ROUNDS  # each in both directions, in two steps a round
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
    """cpu: core seconds of each step; shuffle: what travels in each; seconds: by the clock. memory and disk are bytes,
    of one executor where there is a cluster. tasks: of the largest shuffle. cores: in all."""

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
        """Over matches that are spread evenly above the threshold."""
        return self.candidates.found / self.candidates.matches if self.candidates.matches else 1.0

    def as_dict(self) -> dict[str, Any]:
        derived = ("cpu_hours", "shuffle_bytes", "recall")
        return asdict(self) | {"plan": self.plan.as_dict()} | {name: getattr(self, name) for name in derived}


def estimate(
    load: Load, costs: Costs, *, threshold: float = 0.8, recall: float = 0.99, num_hashes: int = 128,
    cluster: Cluster | None = None, threads: int = 1, memory: float | None = None, about: str = "given",
) -> Estimate:  # fmt: skip
    """The whole model. memory: what one machine may use; about: where the costs come from."""
    made, said = _planned(threshold, recall, num_hashes)
    met = candidates(load, made)
    if met.unrelated > MAX_UNLIKE_PAIRS_PER_ITEM * load.classes:
        said.append(_flood(load, made, met))
    cpu = reading(load, costs) | banding(load, made, met, costs)
    known = partial(Estimate, load=load, plan=made, candidates=met, costs=about, warnings=said)
    if cluster is None:
        held = load.items * (8 * load.elements + MEMORY_PER_ITEM) + load.classes * (
            4 * made.num_hashes + 8 * made.bands
        )
        wanted = RUN_MEMORY_WITHOUT_TEXT + held
        allowed = wanted if memory is None else memory
        large = is_large(int(load.bytes), 1 << 62 if memory is None else int(memory))
        disk = load.items * (8 * load.elements + 4 * made.num_hashes + 8 * made.bands) if large else 0.0
        if large:  # mapped files: all is written, and the keys of all bands pass by once for each band
            walked = load.classes * 8 * made.bands * made.bands
            cpu |= {"files": (disk + walked) * costs.byte_kept / 1e9}
        seconds = costs.start + sum(cpu.values()) / threads
        return known(
            cluster=None, cpu={"start": costs.start, **cpu}, shuffle={}, seconds=seconds, cores=threads,
            memory=min(wanted, allowed), disk=disk, tasks=0,
        )  # fmt: skip
    travels = shuffled(load, made, met)
    kept = load.items * (8 * load.elements + 8 * made.bands + PRINT_ROW)  # what one pass over the texts makes
    total, rows = sum(one.bytes for one in travels.values()), travels["sets"].rows + travels["components"].rows
    cores = cluster.executors * cluster.cores
    # The text goes over to Python, and what it makes back. Sets and edges are rows to Java, all else are blocks.
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
    """The plan, and what is not as wished, in words."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RecallWarning)
        made = plan(threshold, recall=recall, num_hashes=num_hashes)
    return made, [str(one.message) for one in caught]


def _flood(load: Load, made: Plan, met: CandidateCounts) -> str:
    """Too many pairs of unlike items: how many hashes would help."""
    begin = (
        f"{met.unrelated / load.classes:,.0f} pairs of unlike items for each item share a bucket "
        f"(background {load.background:g}, {made.shape})"
    )
    for hashes in (256, 512, 1024):
        if hashes > made.num_hashes:
            other, _ = _planned(made.threshold, made.recall, hashes)
            if candidates(load, other).unrelated <= MAX_UNLIKE_PAIRS_PER_ITEM * load.classes:
                return f"{begin}; --num-hashes {hashes} ({other.shape}) would leave few."
    return f"{begin}; raise the threshold, or take longer shingles."
