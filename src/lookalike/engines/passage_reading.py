"""One pass over the texts to tokens with their places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.data import I64
from lookalike.engines.growing import Growing
from lookalike.engines.passage_job import PassageJob
from lookalike.engines.pool import Pool
from lookalike.engines.reading import TASK_BYTES
from lookalike.engines.trace import Trace
from lookalike.errors import UsageError
from lookalike.io.collection import Collection
from lookalike.stages.arrow import as_arrow
from lookalike.stages.code import check_language, place_code
from lookalike.stages.places import Placed, place_words


@dataclass(frozen=True)
class Read:
    """All documents of one or two collections. authors: the author of each, or None; split: documents of the first."""

    placed: Placed
    ids: list[pa.ChunkedArray]
    authors: pa.ChunkedArray | None
    split: int

    def rivals(self, split: int) -> I64:
        """i64[n, 2]: camp and author of each document, -1 for none. Documents of one camp are not compared."""
        out = np.full((len(self.placed), 2), -1, np.int64)
        if split >= 0:
            out[:, 0] = np.arange(len(out)) >= split
        if self.authors is not None:
            codes = pc.dictionary_encode(self.authors.combine_chunks()).indices
            out[:, 1] = pc.fill_null(codes, -1).to_numpy(zero_copy_only=False)
        return out


def read_places(
    collections: Sequence[Collection], job: PassageJob, pool: Pool, trace: Trace, *, author: str | None = None
) -> Read:
    """The tokens of every text, in order; texts are let go batch by batch."""
    if job.language is not None:
        check_language(job.language)
    tokens, starts, ends = (Growing(np.uint32) for _ in range(3))
    sizes = Growing(np.int64)
    ids: list[pa.ChunkedArray] = []
    authors: list[pa.Array] = []
    split = done = 0
    total = sum(c.rows_hint or 0 for c in collections) if all(c.rows_hint for c in collections) else None
    trace.add(bytes=0, null_texts=0, bad_texts=0)
    with trace.stage("read") as report:
        for number, collection in enumerate(collections):
            mine: list[pa.Array] = []
            extra = () if author is None or (number and author not in collection.columns) else (author,)
            batches = _tasks(collection, extra, mine, authors, trace)
            for piece in pool.map(lambda task: _placed(*task, job), batches):
                for column, values in ((tokens, piece.tokens), (starts, piece.starts), (ends, piece.ends)):
                    column.append(values)
                sizes.append(piece.sizes)
                done += len(piece)
                report(done, total)
            ids.append(pa.chunked_array(mine) if mine else pa.chunked_array([], pa.int64()))
            if collection.id_column is not None:
                collection.check_ids(ids[-1])
            split = split if number else done
    offsets = np.concatenate([[0], np.cumsum(sizes.finish())]).astype(np.int64)
    placed = Placed(tokens.finish(), starts.finish(), ends.finish(), offsets)
    trace.add(documents=len(placed), empty=int((placed.sizes == 0).sum()), tokens=len(placed.tokens))
    return Read(placed, ids, pa.chunked_array(authors) if authors else None, split)


def _tasks(
    collection: Collection, extra: tuple[str, ...], ids: list[pa.Array], authors: list[pa.Array], trace: Trace
) -> Iterator[tuple[pa.Array, pa.Array]]:
    """(texts, ids) in slices of about TASK_BYTES; ids and authors are set aside on the way."""
    if collection.is_tokens:
        raise UsageError("passages need texts, not token lists: a place is told in characters. Choose another column.")
    for batch in collection.texts(extra):
        names = batch.ids
        if names is None:
            names = as_arrow(np.arange(batch.first_row, batch.first_row + len(batch.texts)))
        ids.append(names)
        authors += [_as_text(batch.extra[name]) for name in extra] or [pa.nulls(len(batch), pa.string())]
        trace.add(null_texts=batch.null_texts, bad_texts=batch.bad_texts, bytes=batch.texts.nbytes)
        step = max(1, TASK_BYTES * len(batch.texts) // max(1, batch.texts.nbytes))
        for at in range(0, len(batch.texts), step):
            yield batch.texts.slice(at, step), names.slice(at, step)


def _as_text(column: pa.Array) -> pa.Array:
    try:
        return column.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise UsageError(f"the column of authors holds {column.type}; expected text or numbers.") from None


def _placed(texts: pa.Array, names: pa.Array, job: PassageJob) -> Placed:
    """One task: texts to tokens."""
    if job.language is None:
        return place_words(texts, fold_case=job.fold_case, strip_accents=job.strip_accents)
    return place_code(texts, names.to_pylist(), job.language, comments=job.comments)
