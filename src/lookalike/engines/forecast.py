"""What a run would come to: documents, pairs, candidates, time, memory and disk, foretold from a sample."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from itertools import islice, pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.data import Sets
from lookalike.engines.bands import BandedJoin
from lookalike.engines.choice import SAMPLE, decide, preview
from lookalike.engines.costs import known_costs
from lookalike.engines.job import Job
from lookalike.engines.local import BEGIN, planned_for
from lookalike.engines.memory import Keeper
from lookalike.engines.pool import Pool, usable_cores
from lookalike.engines.scale import Candidates, Load, banding, reading
from lookalike.engines.size import CROWD, size_of
from lookalike.engines.spaces import BASE, GROWTH, is_large
from lookalike.engines.trace import Trace
from lookalike.engines.work import Space
from lookalike.io.batch import TextBatch
from lookalike.io.collection import Collection
from lookalike.stages.candidates import Items
from lookalike.stages.duplicates import collapse, fingerprints
from lookalike.stages.features import shingle

PLACES = 32  # spread over the collection, at which documents are read
ENOUGH = 24 << 20  # bytes of text
FEW = 4 * SAMPLE  # documents


@dataclass(frozen=True)
class Forecast:
    """documents and bytes of all; sampled: documents read; places: at how many places. exact_copies: a share of the
    sample, so that there are at least so many among all. pairs: foretold; candidates: of the way that was chosen.
    crowds: the largest, in words. work_folder: whether arrays go to files; disk: bytes of them."""

    documents: int
    bytes: int
    sampled: int
    places: int
    exact_copies: float
    pairs: int
    method: str
    why: str
    candidates: int
    crowds: list[str]
    seconds: float
    threads: int
    memory: int
    budget: int
    work_folder: bool
    disk: int
    warnings: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def sample(collection: Collection) -> Iterator[tuple[int, TextBatch]]:
    """(number of the place, a batch) at places spread evenly; of one file whose rows only reading tells, its head."""
    known = [reader.rows for reader in collection.readers]
    if None not in known:
        total = sum(rows or 0 for rows in known)
        starts = sorted({total * step // PLACES for step in range(PLACES)})
        for place, (row, end) in enumerate(pairwise([*starts, total])):
            for batch in islice(collection.texts(start=row), 1):
                yield place, replace(batch, texts=batch.texts.slice(0, end - row))  # no document twice
    elif len(known) > 1:
        chosen = sorted({len(known) * step // PLACES for step in range(PLACES)})
        for place, number in enumerate(chosen):
            yield from ((place, batch) for batch in islice(collection.part(number).texts(), 1))
    else:
        yield from ((0, batch) for batch in islice(collection.texts(), PLACES))


def forecast(collection: Collection, job: Job, budget: int) -> Forecast:
    """Read a sample, join it, and reckon what all would cost."""
    trace = Trace()
    threads = job.threads or usable_cores()
    planned = planned_for(job, trace)
    costs = known_costs().costs
    texts: list[pa.Array] = []
    parts: list[Sets] = []
    places = set()
    for place, batch in sample(collection):
        some = batch.texts.slice(0, max(1, FEW // PLACES))
        parts.append(shingle(some, job.rule))
        texts.append(some)
        places.add(place)
        if sum(part.nbytes for part in texts) > ENOUGH:
            break
    with Pool(threads) as pool:
        sets = _joined(parts)
        classes = collapse(sets, fingerprints(sets))
        firsts = classes.firsts
        items = Items(sets.elements, sets.offsets[firsts], sets.sizes[firsts], np.full(len(classes), 3, np.uint8))
        sampled = sum(len(part) for part in texts)
        nbytes = collection.nbytes
        mean = sum(part.nbytes for part in texts) / max(1, sampled)
        total = collection.rows_hint or max(sampled, round(nbytes / max(1.0, mean)))
        grow = total / max(1, sampled)
        seen = preview(items, job.bar(), pool, seed=job.seed)
        choice = decide(job, len(items), float(items.sizes.sum()), seen, planned, pool, budget=budget)
        size = size_of(classes, seen, -1)
        pairs_of_items = size.expected * grow * grow
        load = Load(
            items=max(1, total), mean_bytes=max(1.0, nbytes / max(1, total)),
            copies=1 - max(1, len(classes)) / max(1, sampled),
            shingle_bytes=max(1e-9, mean * sampled / max(1, len(sets.elements))),
        )  # fmt: skip
        candidates, work = 0.0, sum(reading(load, costs).values())
        if seen is not None:
            whole = grow * seen.grow
            if choice.method == "lsh" and planned is not None:
                join = BandedJoin(seen.sample, job.recipe(), planned, job.bar(), pool, Trace(), Space(Keeper(budget)))
                candidates = sum(band.bucket_pairs()[0] for band in join.bands()) * whole * whole
                checked = min(candidates, pairs_of_items)  # few others pass the check of their signatures
                met = Candidates(candidates, 0.0, candidates, checked, pairs_of_items, checked)
                work += sum(banding(load, planned, met, costs, audit=job.audit > 0).values())
            else:
                candidates = seen.postings.bucket_pairs()[0] * whole * whole
                work += choice.seconds.get(choice.method, 0.0) * grow + candidates * costs.posting_visited / 1e9
    text = pa.chunked_array(texts) if texts else pa.chunked_array([], pa.string())
    memory = int(BASE + GROWTH * nbytes)
    folder = is_large(nbytes, budget)
    elements = len(sets.elements) * grow
    return Forecast(
        documents=total, bytes=nbytes, sampled=sampled, places=len(places),
        exact_copies=1 - len(classes) / len(classes.members) if len(classes) else 0.0,
        pairs=round(pairs_of_items), method=choice.method, why=choice.why, candidates=round(candidates),
        crowds=[crowd.words(lambda item: _begin(text, item), grow) for crowd in size.crowds if crowd.size >= CROWD],
        seconds=costs.start + work / threads, threads=threads,
        memory=min(memory, budget) if folder else memory, budget=budget,
        work_folder=folder, disk=round(8 * elements + total * 4 * job.num_hashes * 2) if folder else 0,
        warnings=trace.warnings if choice.method == "lsh" else [],
    )  # fmt: skip


def _joined(parts: list[Sets]) -> Sets:
    sizes = np.concatenate([part.sizes for part in parts]) if parts else np.zeros(0, np.int64)
    elements = np.concatenate([part.elements for part in parts]) if parts else np.zeros(0, np.uint64)
    return Sets(elements, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))


def _begin(texts: pa.ChunkedArray, item: int) -> str:
    begin = " ".join(str(texts[item].as_py())[:200].split())
    return repr(begin[:BEGIN] + ("..." if len(begin) > BEGIN else ""))
