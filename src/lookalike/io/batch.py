"""A batch of documents, and the re-cutting of batches to a target size."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from lookalike.io.reader import TARGET_BYTES, spans_by_bytes


@dataclass(frozen=True, kw_only=True)
class TextBatch:
    """The texts and ids of consecutive rows.

    texts: large_string, or large_list of large_string or int64 (tokens), without nulls. ids: string or int64, or None
    for row numbers. extra: the requested extra columns. null_texts, bad_texts: number of rows without text, and with
    text that is not UTF-8. first_row: number of the first row within the collection.
    """

    texts: pa.Array
    ids: pa.Array | None
    extra: dict[str, pa.Array]
    null_texts: int
    bad_texts: int
    first_row: int

    def __len__(self) -> int:
        return len(self.texts)


def resized(batches: Iterable[TextBatch]) -> Generator[TextBatch, None, None]:
    """Re-cut the rows into batches of about TARGET_BYTES: small batches are joined, large ones are split."""
    waiting: list[TextBatch] = []
    nbytes = 0
    for batch in batches:
        for piece in _cut(batch):
            if waiting and piece.texts.nbytes >= TARGET_BYTES:  # joining it with others would copy it
                yield _joined(waiting)
                waiting, nbytes = [], 0
            waiting.append(piece)
            nbytes += piece.texts.nbytes
            if nbytes >= TARGET_BYTES // 2:
                yield _joined(waiting)
                waiting, nbytes = [], 0
    if waiting:
        yield _joined(waiting)


def _cut(batch: TextBatch) -> Iterator[TextBatch]:
    if batch.texts.nbytes <= 2 * TARGET_BYTES:
        yield batch
        return
    for start, end in spans_by_bytes(
        len(batch), lambda start, end: int(batch.texts.slice(start, end - start).nbytes), 2 * TARGET_BYTES
    ):
        count = end - start
        yield TextBatch(
            texts=batch.texts.slice(start, count),
            ids=None if batch.ids is None else batch.ids.slice(start, count),
            extra={name: column.slice(start, count) for name, column in batch.extra.items()},
            # Only the sums are used, so the first piece carries them.
            null_texts=0 if start else batch.null_texts,
            bad_texts=0 if start else batch.bad_texts,
            first_row=batch.first_row + start,
        )


def _joined(batches: list[TextBatch]) -> TextBatch:
    if len(batches) == 1:
        return batches[0]
    ids = [batch.ids for batch in batches if batch.ids is not None]
    return TextBatch(
        texts=pa.concat_arrays([batch.texts for batch in batches]),
        ids=pa.concat_arrays(ids) if ids else None,
        extra={name: pa.concat_arrays([batch.extra[name] for batch in batches]) for name in batches[0].extra},
        null_texts=sum(batch.null_texts for batch in batches),
        bad_texts=sum(batch.bad_texts for batch in batches),
        first_row=batches[0].first_row,
    )
