"""One pass over the texts that computes tokens with their character ranges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.arrays import I64
from lookalike.core.trace import Trace
from lookalike.errors import UsageError
from lookalike.io.collection import Collection
from lookalike.kinds.passages.source_code import check_language, place_code
from lookalike.kinds.passages.spec import PassageJob
from lookalike.kinds.passages.tokens import WHOLE_WORDS, PositionedTokens, place_words
from lookalike.runtime.local.pool import Pool
from lookalike.runtime.local.text_pass import FeaturePass, extract_features, ids_of
from lookalike.runtime.local.work_folder import Workspace

DTYPES: dict[str, Any] = {"tokens": np.uint32, "starts": np.uint32, "ends": np.uint32, "sizes": np.int64}
TOKEN_MEMORY_PER_TEXT_BYTE = 8.0  # bytes of memory for each byte of text during tokenisation
STEM = 6  # letters of a word that are compared in the search for rewordings, so that most inflections are equal
DECIDES = ("language", "comments", "fold_case", "strip_accents", "reworded")  # options that determine the tokens

NO_TEXTS = "passages needs text columns, because offsets are reported in characters. Choose another column."


@dataclass(frozen=True)
class Read:
    """The tokens of all documents of one or two collections. authors: the author of each document, or None; split:
    number of documents of the first collection."""

    placed: PositionedTokens
    ids: list[pa.ChunkedArray]
    authors: pa.ChunkedArray | None
    split: int

    def rivals(self, split: int) -> I64:
        """Return i64[n, 2]: collection and author of each document, -1 for none.

        Documents of the same collection, or of the same author, are not compared.
        """
        out = np.full((len(self.placed), 2), -1, np.int64)
        if split >= 0:
            out[:, 0] = np.arange(len(out)) >= split
        if self.authors is not None:
            codes = pc.dictionary_encode(self.authors.combine_chunks()).indices
            out[:, 1] = pc.fill_null(codes, -1).to_numpy(zero_copy_only=False)
        return out


def tokens_recipe(job: PassageJob) -> FeaturePass:
    """Define the feature pass that turns texts into tokens with their character ranges."""
    options = {name: value for name, value in job.as_dict().items() if name in DECIDES}

    def make(texts: pa.Array, ids: pa.Array) -> dict[str, Any]:
        placed = _placed(texts, ids, job)
        return {"tokens": placed.tokens, "starts": placed.starts, "ends": placed.ends, "sizes": placed.sizes}

    return FeaturePass("tokens", options, DTYPES, "tokens", make, TOKEN_MEMORY_PER_TEXT_BYTE)


def authors_of(collections: Sequence[Collection], author: str | None) -> list[tuple[str, ...]]:
    """List the extra columns to read from each collection; references may lack the column of authors."""
    wanted: list[tuple[str, ...]] = []
    for number, collection in enumerate(collections):
        missing = author is None or (number > 0 and author not in collection.columns)
        wanted.append(() if author is None or missing else (author,))
    return wanted


def read_places(
    collections: Sequence[Collection], job: PassageJob, pool: Pool, trace: Trace, space: Workspace, *,
    author: str | None = None,
) -> Read:  # fmt: skip
    """Tokenise every text, in order; texts are released batch by batch."""
    if job.language is not None:
        check_language(job.language)
    if any(collection.is_tokens for collection in collections):
        raise UsageError(NO_TEXTS)
    found = extract_features(collections, authors_of(collections, author), tokens_recipe(job), pool, trace, space)
    ids = ids_of(collections, found)
    offsets = np.concatenate([[0], np.cumsum(found.numbers["sizes"])]).astype(np.int64)
    placed = PositionedTokens(found.numbers["tokens"], found.numbers["starts"], found.numbers["ends"], offsets)
    trace.add(documents=len(placed), empty=int((placed.sizes == 0).sum()), tokens=len(placed.tokens))
    authors = [_authors(table, author) for table in found.columns] if author is not None else []
    return Read(
        placed, ids, pa.chunked_array([a for one in authors for a in one.chunks]) if authors else None, len(ids[0])
    )


def _authors(table: pa.Table, author: str) -> pa.ChunkedArray:
    """Return the authors of the documents of a collection as text; null if it has no such column."""
    if author not in table.column_names:
        return pa.chunked_array([pa.nulls(table.num_rows, pa.string())])
    try:
        return table[author].cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise UsageError(f"the column of authors holds {table[author].type}; expected text or numbers.") from None


def _placed(texts: pa.Array, names: pa.Array, job: PassageJob) -> PositionedTokens:
    """Tokenise a batch of texts."""
    if job.language is None:
        letters = STEM if job.reworded else WHOLE_WORDS
        return place_words(texts, fold_case=job.fold_case, strip_accents=job.strip_accents, letters=letters)
    return place_code(texts, names.to_pylist(), job.language, comments=job.comments)
