"""Forecast of a run from a sample: documents, pairs, candidates, time, memory and disk."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import islice, pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import I64, Sets
from lookalike.core.candidates import Items
from lookalike.core.exact_duplicates import collapse, fingerprints
from lookalike.core.method_choice import Choice
from lookalike.core.trace import Trace
from lookalike.cost_model.costs import SHIPPED, Costs, known_costs
from lookalike.cost_model.scale import Load, reading
from lookalike.io.batch import TextBatch
from lookalike.io.collection import Collection
from lookalike.kinds.documents.answer_size import MIN_SAMPLED_MEMBERS, size_of
from lookalike.kinds.documents.common_shingles import drop_common
from lookalike.kinds.documents.counting_join import LISTED
from lookalike.kinds.documents.features import shingle
from lookalike.kinds.documents.local import BEGIN, planned_for
from lookalike.kinds.documents.planner import SampleJoin, decide, joined, preview, scoring
from lookalike.kinds.documents.prefix_join import POSTINGS_BUDGET_SHARE
from lookalike.kinds.documents.rehearsal import (  # fmt: skip
    Drawn,
    Interval,
    Rehearsal,
    different,
    most_candidates,
    rehearse,
    scaled,
    touched_candidates,
    touched_pairs,
)
from lookalike.kinds.documents.run_resources import (  # fmt: skip
    Range,
    RunSize,
    core_seconds,
    disk,
    elapsed,
    peak_memory,
    within_budget,
)
from lookalike.kinds.documents.spec import Job
from lookalike.planning.banding import Plan
from lookalike.runtime.local.pool import Pool, usable_cores
from lookalike.runtime.local.work_folder import ResourceLimits
from lookalike.runtime.local.workspace import is_large

SAMPLED_POSITIONS = 32  # positions, spread evenly over the collection, at which documents are read
READ_BYTES = 64 << 20  # bytes of text to read; a collection of at most this size is read completely
REHEARSED = 2e9  # nanoseconds that the trial join may take, by the shipped costs


@dataclass(frozen=True)
class Forecast:
    """The expected size and cost of a run.

    documents, bytes: of the whole collection. sampled: documents read, at `places` positions; complete: whether these
    are all documents. exact_copies: the share of exact duplicates in the sample. method, why, pairs, candidates: the
    choice and the counts of the run. An interval is expected to hold in at least nine of ten collections; that of a
    count is a single number if everything was read and joined. crowds: descriptions of the largest groups of
    near-copies.
    core_seconds: processor time; seconds: elapsed time on a machine without other load. memory: bytes of the peak.
    work_folder: whether arrays are stored in files; disk: bytes of these files.
    """

    documents: int
    bytes: int
    sampled: int
    places: int
    complete: bool
    exact_copies: float
    pairs: int
    pairs_interval: tuple[int, int]
    method: str
    why: str
    candidates: int
    candidates_interval: tuple[int, int]
    crowds: list[str]
    seconds: float
    seconds_interval: tuple[float, float]
    core_seconds: float
    core_seconds_interval: tuple[float, float]
    threads: int
    memory: int
    memory_interval: tuple[int, int]
    budget: int
    work_folder: bool
    disk: int
    disk_interval: tuple[int, int]
    warnings: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def sample(collection: Collection) -> Iterator[tuple[int, TextBatch]]:
    """Yield (position number, batch) at positions spread evenly over the collection.

    A single file whose number of rows is unknown before reading is sampled at its beginning.
    """
    known = [reader.rows for reader in collection.readers]
    if None not in known:
        total = sum(rows or 0 for rows in known)
        starts = sorted({total * step // SAMPLED_POSITIONS for step in range(SAMPLED_POSITIONS)})
        for place, (row, end) in enumerate(pairwise([*starts, total])):
            for batch in islice(collection.texts(start=row), 1):
                yield place, replace(batch, texts=batch.texts.slice(0, end - row))  # do not read a document twice
    elif len(known) > 1:
        chosen = sorted({len(known) * step // SAMPLED_POSITIONS for step in range(SAMPLED_POSITIONS)})
        for place, number in enumerate(chosen):
            yield from ((place, batch) for batch in islice(collection.part(number).texts(), 1))
    else:
        yield from ((0, batch) for batch in islice(collection.texts(), SAMPLED_POSITIONS))


@dataclass(frozen=True)
class SampledTexts:
    """The sampled documents. place i64[d]: position at which each was read; places: number of positions; complete:
    whether all documents were read."""

    texts: pa.ChunkedArray
    sets: Sets
    place: I64
    places: int
    complete: bool


def read_texts(collection: Collection, job: Job) -> SampledTexts:
    """Read a small collection completely, and a larger one at positions spread over it."""
    texts: list[pa.Array] = []
    parts: list[Sets] = []
    places: list[I64] = []
    whole = collection.nbytes <= READ_BYTES
    nbytes, complete = 0, whole
    for place, batch in ((0, batch) for batch in collection.texts()) if whole else sample(collection):
        size = batch.texts.nbytes
        few = len(batch) if whole else max(1, int(len(batch) * min(1.0, READ_BYTES / SAMPLED_POSITIONS / max(1, size))))
        part = batch.texts.slice(0, few)
        parts.append(shingle(part, job.rule))
        texts.append(part)
        places.append(np.full(len(part), place))
        nbytes += size
        if whole and nbytes > 2 * READ_BYTES:  # more text than the file sizes suggested
            complete = False
            break
    place_of = np.concatenate([np.empty(0, np.int64), *places])
    text = pa.chunked_array(texts) if texts else pa.chunked_array([], pa.string())
    return SampledTexts(text, _joined(parts), place_of, len(np.unique(place_of)), complete)


def forecast(collection: Collection, job: Job, place: ResourceLimits) -> Forecast:
    """Read a sample, join it by the method that the run would choose, and extrapolate to the whole collection."""
    trace, costs = Trace(), known_costs().costs
    threads = job.threads or usable_cores()
    planned = planned_for(job, trace)
    read = read_texts(collection, job)
    sampled, nbytes, sets = len(read.texts), collection.nbytes, read.sets
    if job.max_share is not None:
        sets = drop_common(sets, job.max_share)[0]
    mean = read.texts.nbytes / max(1, sampled)
    total = sampled if read.complete else max(sampled, collection.rows_hint or round(nbytes / max(1.0, mean)))
    grow = total / max(1, sampled)
    with Pool(threads) as pool:
        classes = collapse(sets, fingerprints(sets))
        firsts = classes.firsts
        items = Items(sets.elements, sets.offsets[firsts], sets.sizes[firsts], np.full(len(classes), 3, np.uint8))
        empty = sampled - len(classes.members)
        known = round((sampled - empty) * grow)
        near = read.places > 1 and not read.complete
        group = read.place if near else np.arange(sampled) % SAMPLED_POSITIONS
        drawn = Drawn(known, classes.numbers, group[classes.members], int(group.max(initial=0)) + 1, near)
        count = different(drawn.number, known)
        seen = preview(items, job.bar(), pool, seed=job.seed)
        size = size_of(classes, seen, -1)
        seen = seen or joined(SampleJoin.of_all(items, job.bar(), pool), job.bar(), pool)
        limit = place.memory if place.stated else 1 << 62
        elements = float(items.sizes.sum()) / max(1, len(items)) * count
        choice = decide(job, count, elements, seen, planned, pool, budget=limit)
        if elements * LISTED > POSTINGS_BUDGET_SHARE * place.memory:
            choice = replace(choice, way="prefixes")
        costed = partial(_nanoseconds, choice, seen, job, planned, pool)
        share = min(1.0, math.sqrt(REHEARSED / max(1.0, costed(len(items), SHIPPED, limit))))
        if share < 1:
            drawn = drawn.thinned(share, job.seed)
        kept, number = np.unique(drawn.number, return_inverse=True)
        drawn = replace(drawn, number=number)
        joined_items = items.take(kept)
        rehearsal = rehearse(joined_items, choice, job, planned, pool)
        pairs, candidates = _scaled(rehearsal, drawn, len(kept), count, sampled / max(1, total))
        if choice.method == "exact" and choice.way == "prefixes" and not candidates.is_exact:
            candidates = candidates.up_to(most_candidates(joined_items, count))
        work = sum(reading(_load(nbytes, total, mean, sampled, len(read.sets.elements)), costs).values())
        work += costed(count, costs, limit) / 1e9
    folder = is_large(nbytes, place.memory)
    signature = job.num_hashes * 4 + planned.bands * 8 if choice.method == "lsh" and planned is not None else 0
    amount = RunSize(
        total, nbytes, len(read.sets.elements) * grow, Range(pairs.value, pairs.low, pairs.high), signature
    )
    core = core_seconds(work, costs)
    seconds = elapsed(core, threads, costs)
    memory = within_budget(peak_memory(amount, threads), place.memory, folder=folder)
    files = disk(amount) if folder else Range(0, 0, 0)
    return Forecast(
        documents=total, bytes=nbytes, sampled=sampled, places=read.places, complete=read.complete,
        exact_copies=1 - len(classes) / len(classes.members) if len(classes) else 0.0,
        pairs=pairs.value, pairs_interval=(pairs.low, pairs.high), method=choice.method, why=choice.why,
        candidates=candidates.value, candidates_interval=(candidates.low, candidates.high),
        crowds=[
            group.words(lambda item: _begin(read.texts, item), grow)
            for group in size.crowds
            if group.size >= MIN_SAMPLED_MEMBERS
        ],
        seconds=seconds.value, seconds_interval=(seconds.low, seconds.high), core_seconds=core.value,
        core_seconds_interval=(core.low, core.high), threads=threads, memory=round(memory.value),
        memory_interval=memory.interval, budget=place.memory, work_folder=folder, disk=round(files.value),
        disk_interval=files.interval,
        warnings=trace.warnings if choice.method == "lsh" else [],
    )  # fmt: skip


def _load(nbytes: int, total: int, mean: float, sampled: int, elements: int) -> Load:
    shingle_bytes = max(1e-9, mean * sampled / max(1, elements))
    return Load(items=max(1, total), mean_bytes=max(1.0, nbytes / max(1, total)), shingle_bytes=shingle_bytes)


def _nanoseconds(
    choice: Choice, seen: SampleJoin, job: Job, plan: Plan | None, pool: Pool, count: int, costs: Costs, budget: int
) -> float:
    """Estimate the cost of the chosen join of `count` items on one core, without reading."""
    grow = count / max(1, len(seen.sample))
    if choice.method != "lsh" or plan is None:
        return seen.exact_way(grow, budget, costs)[1]
    elements = float(seen.sample.sizes.sum()) * grow
    bucket_pairs, candidates = seen.banding(plan, job.recipe(), job.bar(), pool)
    audited = elements * costs.element_audited if job.audit else 0.0
    sketched = elements * costs.element_sketched + count * job.num_hashes * costs.slot
    sketched += count * plan.bands * math.log2(max(2, count)) * costs.key_sorted
    met = bucket_pairs * grow * grow * costs.bucket_pair + scoring(candidates * grow * grow, count, elements, costs)
    return sketched + audited + met


def _scaled(
    rehearsal: Rehearsal, drawn: Drawn, classes: int, count: int, share_read: float
) -> tuple[Interval, Interval]:
    """Extrapolate the pairs of documents and the candidates to the whole run. count: distinct documents of it."""
    sizes = np.bincount(drawn.group, minlength=drawn.groups)
    # One in 1 / share_read positions was read; thinning left the square of its share of the pairs of neighbours.
    neighbours = share_read / max(1e-12, drawn.share) ** 2
    pairs = touched_pairs(drawn, classes, rehearsal.left, rehearsal.right)
    counted = scaled(pairs, sizes, drawn.total, near=drawn.near, neighbours=neighbours)
    firsts = np.unique(drawn.number, return_index=True)[1]
    sizes = np.bincount(drawn.group[firsts], minlength=drawn.groups)
    neighbours = share_read / max(1e-12, classes / max(1, count)) ** 2
    known = (rehearsal.left, rehearsal.right) if isinstance(rehearsal.proposed, int) else rehearsal.proposed
    proposed = touched_candidates(drawn, classes, *known)
    candidates = scaled(proposed, sizes, count, near=drawn.near, neighbours=neighbours)
    if isinstance(rehearsal.proposed, int):  # only the matches and the total are known: candidates may be all pairs
        value = max(candidates.low, round(rehearsal.proposed * (count / max(1, classes)) ** 2))
        whole = classes >= count
        candidates = Interval(value, value if whole else candidates.low, value if whole else count * (count - 1) // 2)
    return counted, candidates


def _joined(parts: list[Sets]) -> Sets:
    sizes = np.concatenate([part.sizes for part in parts]) if parts else np.zeros(0, np.int64)
    elements = np.concatenate([part.elements for part in parts]) if parts else np.zeros(0, np.uint64)
    return Sets(elements, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))


def _begin(texts: pa.ChunkedArray, item: int) -> str:
    begin = " ".join(str(texts[item].as_py())[:200].split())
    return repr(begin[:BEGIN] + ("..." if len(begin) > BEGIN else ""))
