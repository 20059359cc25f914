"""Find test items of benchmarks in a training set, and take them out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import I64
from lookalike.core.binomial import clopper_pearson
from lookalike.core.formatting import count
from lookalike.core.options import check_values, defaults
from lookalike.core.results import ArrowRows
from lookalike.core.run_options import silent
from lookalike.core.trace import Trace
from lookalike.errors import InputError
from lookalike.io.atomic import check_folder, check_place, replacing
from lookalike.io.read import by_lines, open_collection
from lookalike.io.results import RECEIPT, write_json
from lookalike.io.texts import string_array
from lookalike.io.write import write_table
from lookalike.kinds.scrub.item_matches import NEAR_WORDS, BenchmarkItems, ItemMatch, ItemSearch
from lookalike.kinds.scrub.items_page import SHOWN_ITEMS, SharedWords, page_of_items
from lookalike.kinds.scrub.kernels import cuts as cuts_kernel
from lookalike.kinds.scrub.kernels.windows import NONE
from lookalike.kinds.scrub.local import Scrubbed
from lookalike.kinds.scrub.options import ONE_MACHINE, DecontaminateOptions
from lookalike.kinds.scrub.repeats import NO_PIECES, CutList
from lookalike.kinds.scrub.spec import ScrubJob
from lookalike.kinds.scrub.tokens import (
    SCRUB_MEMORY_PER_TEXT_BYTE,
    U8,
    ScrubTokens,
    read_tokens,
    token_ranges,
    tokens_recipe,
)
from lookalike.runtime.engine_choice import only_local
from lookalike.runtime.local.memory_needs import read_limit
from lookalike.runtime.local.pool import Pool, usable_cores
from lookalike.runtime.local.work_folder import ResourceLimits, Workspace
from lookalike.runtime.local.workspace import open_workspace
from lookalike.runtime.receipt import peak_memory, source_warnings, versions, work_summary

DECONTAMINATE_DEFAULTS = defaults(DecontaminateOptions)
SEARCH_OPTIONS = ("min_tokens", "near", "question", "answer", "remove")  # options of the search itself
QUOTED_ITEM = 300  # characters of an item in the table of matches


@dataclass(frozen=True, kw_only=True)
class Contamination(ArrowRows):
    """The result of `decontaminate`.

    table: for each benchmark and field the items, those that are contaminated, and their share with its 95 % interval.
    matches: each contaminated item with each document that holds it. receipt: the request and the counts.
    """

    table: pa.Table
    matches: pa.Table
    receipt: dict[str, Any]
    cleaned: Scrubbed
    worst: list[SharedWords]

    def to_arrow(self) -> pa.Table:
        """Return the table of benchmarks."""
        return self.table

    @property
    def worst_share(self) -> float:
        """The largest share of contaminated items of a benchmark and field."""
        return max(self.table["share"].to_pylist(), default=0.0)

    def write(self, path: str | Path, *, removed: str | Path | None = None, force: bool = False) -> Path:
        """Write the training set without the documents or spans; `undo_scrub` restores it from the table `removed`."""
        return self.cleaned.write(path, removed=removed, force=force)

    def save(self, folder: str | Path, *, force: bool = False) -> Path:
        """Write all tables, and receipt.json, into a new folder, which appears when it is complete.

        kept.parquet and removed.parquet are the training set and what was removed of it.
        """
        folder = Path(folder)
        check_folder(folder, force=force)
        with replacing(folder, force=force) as draft:
            draft.path.mkdir()
            self.cleaned.write(draft.path / "kept.parquet", removed=draft.path / "removed.parquet")
            write_table(self.table, draft.path / "benchmarks.parquet")
            write_table(self.matches, draft.path / "matches.parquet")
            write_json(self.receipt, draft.path / RECEIPT)
        return folder

    def report(self, path: str | Path, *, force: bool = False) -> Path:
        """Write a page with the table of benchmarks and the worst matches, items and documents side by side."""
        path = Path(path)
        check_place(path, force=force)
        page = page_of_items(self.table, self.worst, self.matches.num_rows, self.cleaned.collection, self.receipt)
        with replacing(path, force=force) as draft:
            draft.nbytes += len(page)
            draft.path.write_text(page, encoding="utf-8", errors="replace")
        return path

    def done(self) -> None:
        """Delete the checkpoints and temporary files of the run."""
        self.cleaned.done()

    def __repr__(self) -> str:
        counts = self.receipt["counts"]
        return f"<Contamination: {count(counts['contaminated'], 'items')} in {count(counts['matches'], 'matches')}>"


def run(source: Any, benchmarks: Any, given: dict[str, Any]) -> Contamination:
    """Search the items of benchmarks in a training set. given: the options of `decontaminate`."""
    progress = given.pop("progress", silent)
    columns = {name: given.pop(name, None) for name in ("text", "id")} | {
        "lines": by_lines(given.pop("lines", False), alone=True)
    }
    own = {name: given.pop(name, DECONTAMINATE_DEFAULTS[name]) for name in SEARCH_OPTIONS}
    only_local(given, "scrub and decontaminate", ONE_MACHINE)
    check_values(DecontaminateOptions, own)
    place = ResourceLimits.of(given)
    job = ScrubJob(min_tokens=own["min_tokens"], threads=given.pop("threads", None))
    limit = read_limit(place, SCRUB_MEMORY_PER_TEXT_BYTE)
    items = read_items(benchmarks, job, own["question"], own["answer"])
    collection = open_collection(source, **columns, limit=limit)
    trace = Trace(progress)
    about = {"wants": "decontaminate", "compared": job.words(), "job": job.min_tokens}
    space = open_workspace([collection], [()], tokens_recipe(job), about, place)
    with space, Pool(job.threads or usable_cores(), space.keeper.look) as pool:
        read = read_tokens(collection, job, None, pool, trace, space)
        with trace.stage("match"):
            matches, cuts = _search(read, items, job, own["near"], own["remove"], pool, space)
    matched = _matches(matches, read, items)
    table = _table(items, matched)
    trace.add(
        items=len(items), contaminated=len(set(matched["number"].to_pylist())), matches=matched.num_rows,
        documents_cut=len(set(matched["document"].to_pylist())),
    )  # fmt: skip
    receipt = {
        "asked": "decontaminate", "inputs": [{**collection.describe(), "rows": len(read)}], "items": job.noun,
        "compared": f"runs of {job.min_tokens} words, or {own['near']:g} of the {NEAR_WORDS}-word shingles of an item",
        "job": own, "recall_at_threshold": 1.0, "recall_measured": None, "benchmarks": table.to_pylist(),
        "counts": trace.counts, "seconds": trace.seconds,
        "peak_memory_mb": round(peak_memory() / 1e6), "left_out": [],
        "warnings": [*source_warnings([collection]), *trace.warnings], "work": work_summary(space),
        "versions": versions(),
    }  # fmt: skip
    cleaned = Scrubbed(job=job, collection=collection, read=read, cuts=cuts, receipt=receipt, space=space)
    result = Contamination(
        table=table, matches=matched.drop_columns("number"), receipt=receipt, cleaned=cleaned,
        worst=_worst(matches, read, items),
    )  # fmt: skip
    if place.beside is None:
        result.done()
    return result


def read_items(benchmarks: Any, job: ScrubJob, question: str | None, answer: str | None) -> BenchmarkItems:
    """Read the items of all benchmarks into memory. benchmarks: a source, a list of paths, or sources by name."""
    if isinstance(benchmarks, Mapping):
        sources = dict(benchmarks)
    elif isinstance(benchmarks, list | tuple) and benchmarks and isinstance(benchmarks[0], Path):
        sources = {str(path): path for path in benchmarks}
    else:
        sources = {str(benchmarks) if isinstance(benchmarks, str | Path) else "benchmark": benchmarks}
    names: list[str] = []
    fields: list[str] = []
    ids: list[Any] = []
    texts: list[str] = []
    for name, source in sources.items():
        columns: list[str | None] = [one for one in (question, answer) if one]
        for column in columns or [None]:
            collection = open_collection(source, text=column, lines=None)
            if collection.is_tokens:
                raise InputError(
                    f"column {collection.text_column!r} of the benchmark {name} holds lists; expected texts. "
                    "Name another one with `question`."
                )
            before = len(texts)
            for batch in collection.texts():
                texts += batch.texts.to_pylist()
                first = batch.first_row
                ids += map(str, range(first, first + len(batch)) if batch.ids is None else batch.ids.to_pylist())
            if len(texts) == before:
                raise InputError(f"the benchmark {name} has no rows; expected test items.")
            names += [name] * (len(texts) - before)
            fields += [collection.text_column] * (len(texts) - before)
    ranges = token_ranges(string_array(texts, pa.large_string()), job)
    return BenchmarkItems(names, fields, ids, texts, ranges.tokens, ranges.offsets)


def _search(
    read: ScrubTokens, items: BenchmarkItems, job: ScrubJob, near: float, remove: str, pool: Pool, space: Workspace
) -> tuple[list[ItemMatch], CutList]:
    """Return the matches and the cuts. Spans are searched again after they are cut, because a cut joins two texts."""
    search = ItemSearch.of(items, job.min_tokens, near, space.keeper)
    gone = space.array((len(read.tokens),), np.uint8)
    gone[:] = 0
    states = np.zeros(len(read), np.uint8)
    found: list[ItemMatch] = []
    while True:
        here = search.matches(read, gone, pool)
        found += here
        if not here or remove == "documents":
            break
        for first, last in (window for match in here for window in match.windows):
            gone[first : last + 1] = cuts_kernel.CUT
    documents = sorted({match.document for match in found})
    for document in documents if remove == "documents" else ():
        states[document] = cuts_kernel.DROPPED
        gone[read.offsets[document] : read.offsets[document + 1]] = cuts_kernel.CUT
    return found, CutList(_pieces(read, gone, documents), states)


def _pieces(read: ScrubTokens, gone: U8, documents: Sequence[int]) -> I64:
    """Return the stretches of tokens that are cut from these documents."""
    made: list[I64] = [NO_PIECES]
    for document in documents:
        start, end = read.offsets[document : document + 2]
        edges = np.flatnonzero(np.diff(gone[start:end].astype(np.int8), prepend=0, append=0)) + start
        firsts, ends = edges[::2], edges[1::2]
        none = np.full(len(firsts), NONE)
        made.append(np.stack([firsts, ends - firsts, none, np.zeros_like(firsts)], 1))
    return np.concatenate(made)


def _worst(found: Sequence[ItemMatch], read: ScrubTokens, items: BenchmarkItems) -> list[SharedWords]:
    """Return the worst matches for the page."""
    first = {(match.item, match.document): match for match in reversed(found)}
    best = sorted(first.values(), key=lambda match: (-match.share, -match.longest, match.item, match.document))
    out = []
    for match in best[:SHOWN_ITEMS]:
        start = int(read.offsets[match.document])
        words = [(a - start, b - start) for a, b in match.windows]
        name = f"{items.names[match.item]}, {items.fields[match.item]}, {items.ids[match.item]}"
        shown = read.ids[match.document].as_py()
        text = items.texts[match.item]
        out.append(SharedWords(name, text, str(shown), match.document, words, match.longest, match.share))
    return out


def _matches(found: Sequence[ItemMatch], read: ScrubTokens, items: BenchmarkItems) -> pa.Table:
    """Return the table of matches; the worst first."""
    first = {(match.item, match.document): match for match in reversed(found)}
    best = sorted(first.values(), key=lambda match: (-match.share, -match.longest, match.item, match.document))
    numbers = [match.item for match in best]
    documents = pa.array([match.document for match in best], pa.int64())
    return pa.table(
        {
            "benchmark": pa.array([items.names[number] for number in numbers], pa.string()),
            "item": pa.array([items.ids[number] for number in numbers], pa.string()),
            "field": pa.array([items.fields[number] for number in numbers], pa.string()),
            "document": read.ids.take(documents),
            "longest_run": pa.array([match.longest for match in best], pa.int64()),
            "share": pa.array([match.share for match in best], pa.float64()),
            "item_text": pa.array([items.texts[number][:QUOTED_ITEM] for number in numbers], pa.string()),
            "number": pa.array(numbers, pa.int64()),
        }
    )


def _table(items: BenchmarkItems, matched: pa.Table) -> pa.Table:
    """Return the table of benchmarks."""
    bad = set(matched["number"].to_pylist())
    sizes = np.diff(items.offsets)
    rows = []
    for name, field in dict.fromkeys(zip(items.names, items.fields, strict=True)):
        mine = [k for k in range(len(items)) if (items.names[k], items.fields[k]) == (name, field)]
        searched = [k for k in mine if sizes[k] >= NEAR_WORDS]
        hits = sum(k in bad for k in searched)
        low, high = clopper_pearson(hits, len(searched)) if searched else (0.0, 1.0)
        rows.append(
            {
                "benchmark": name,
                "field": field,
                "items": len(mine),
                "too_short": len(mine) - len(searched),
                "contaminated": hits,
                "share": hits / max(1, len(searched)),
                "low": low,
                "high": high,
            }
        )
    return pa.Table.from_pylist(rows)
