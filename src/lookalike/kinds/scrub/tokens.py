"""Turn texts into the tokens among which repeats are searched, with their byte ranges in the text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lookalike.core.arrays import I64
from lookalike.core.token_hashes import strings
from lookalike.core.trace import Trace
from lookalike.errors import UsageError
from lookalike.io.collection import Collection
from lookalike.kernels import unicode
from lookalike.kinds.scrub.kernels import tokens as kernel
from lookalike.kinds.scrub.spec import ScrubJob
from lookalike.runtime.local.pool import Pool
from lookalike.runtime.local.text_pass import FeaturePass, extract_features, ids_of
from lookalike.runtime.local.work_folder import Workspace

U8 = npt.NDArray[np.uint8]
UNIT_CODES = {"word": kernel.WORD_UNIT, "char": kernel.CHARACTER_UNIT, "byte": kernel.BYTE_UNIT}
SEGMENT_CODES = {
    "token": kernel.NO_SEGMENTS, "sentence": kernel.SENTENCES, "line": kernel.AT_LINES,
    "paragraph": kernel.AT_PARAGRAPHS,
}  # fmt: skip
TOKEN_OPTIONS = ("min_tokens", "unit", "level", "at", "protect", "fold_case")  # options that the tokens depend on
TOKEN_DTYPES = {"word": np.uint32, "char": np.uint32, "byte": np.uint8}
SCRUB_MEMORY_PER_TEXT_BYTE = 24.0  # bytes of memory for each byte of a text while it is divided into tokens


@dataclass(frozen=True)
class TokenRanges:
    """The tokens of some texts. tokens: hashes; starts, ends: i64, byte range of each in its text; flags: u8;
    offsets: i64[n+1], first token of each text."""

    tokens: npt.NDArray[Any]
    starts: I64
    ends: I64
    flags: U8
    offsets: I64


@dataclass(frozen=True)
class ScrubTokens:
    """The tokens of all documents. ids: of the documents; extra: the column that `keep` reads, if any."""

    tokens: npt.NDArray[Any]
    flags: U8
    offsets: I64
    ids: pa.ChunkedArray
    extra: Mapping[str, pa.ChunkedArray]

    def __len__(self) -> int:
        return len(self.offsets) - 1


def token_ranges(texts: pa.Array, job: ScrubJob) -> TokenRanges:
    """Divide texts (large_string) into tokens with their byte ranges. Linear in the text; runs without the GIL.

    >>> ranges = token_ranges(pa.array(["To be, or not"], pa.large_string()), ScrubJob())
    >>> [*zip(ranges.starts.tolist(), ranges.ends.tolist())]
    [(0, 2), (3, 5), (7, 9), (10, 13)]
    """
    data, offsets = strings(texts)
    room = int(offsets[-1] - offsets[0]) // (2 if job.level == "span" and job.unit == "word" else 1) + len(texts) + 1
    span = job.level == "span"
    out = np.empty(room, TOKEN_DTYPES[job.unit] if span else np.uint64)
    starts, ends, flags = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.uint8)
    where = np.empty(len(texts) + 1, np.int64)
    tables = unicode.tables(job.fold_case, False)
    if span:
        segments = kernel.AT_CHARACTERS if job.unit == "byte" and job.at == "token" else SEGMENT_CODES[job.at]
        kernel.all_tokens(
            data, offsets, UNIT_CODES[job.unit], segments, job.min_tokens, tables, out, starts, ends, flags, where
        )
    else:
        kernel.all_line_tokens(
            data, offsets, job.level == "paragraph", job.min_tokens, tables, out, starts, ends, flags, where
        )
    n = int(where[-1])
    ranges = TokenRanges(out[:n], starts[:n], ends[:n], flags[:n], where)
    if job.protect is not None:
        for row, spans in enumerate(protected_ranges(texts.to_pylist(), job)):
            for begin, end in spans:
                kernel.protect(ranges.flags, ranges.starts, ranges.ends, where[row], where[row + 1], begin, end)
    return ranges


def protected_ranges(texts: Sequence[str], job: ScrubJob) -> Iterator[list[tuple[int, int]]]:
    """Yield the byte ranges of each text that `protect` matches."""
    pattern = job.pattern()
    for text in texts:
        yield [] if pattern is None else _in_bytes(text, [match.span() for match in pattern.finditer(text)])


def _in_bytes(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Convert ranges of characters, in order, to ranges of bytes; empty ranges are omitted.

    >>> _in_bytes("aéb", [(1, 2), (2, 3)])
    [(1, 3), (3, 4)]
    """
    if text.isascii():
        return [span for span in spans if span[0] < span[1]]
    out, at, nbytes = [], 0, 0
    for start, end in spans:
        first = nbytes + len(text[at:start].encode())
        nbytes, at = first + len(text[start:end].encode()), end
        if start < end:
            out.append((first, nbytes))
    return out


def tokens_recipe(job: ScrubJob) -> FeaturePass:
    """Define the feature pass that turns texts into tokens."""
    options = {name: value for name, value in job.as_dict().items() if name in TOKEN_OPTIONS}

    def make(texts: pa.Array, ids: pa.Array) -> dict[str, Any]:
        ranges = token_ranges(texts, job)
        return {"tokens": ranges.tokens, "flags": ranges.flags, "sizes": np.diff(ranges.offsets)}

    dtype = TOKEN_DTYPES[job.unit] if job.level == "span" else np.uint64
    dtypes = {"tokens": dtype, "flags": np.uint8, "sizes": np.int64}
    return FeaturePass("scrub-tokens", options, dtypes, "tokens", make, SCRUB_MEMORY_PER_TEXT_BYTE)


def read_tokens(
    collection: Collection, job: ScrubJob, column: str | None, pool: Pool, trace: Trace, space: Workspace
) -> ScrubTokens:
    """Read the tokens of every document, in order. column: an additional column to read."""
    if collection.is_tokens:
        raise UsageError("scrub needs texts, not token lists: it cuts text. Choose another column.")
    extra = [(column,) if column else ()]
    found = extract_features([collection], extra, tokens_recipe(job), pool, trace, space)
    (ids,) = ids_of([collection], found)
    numbers = found.numbers
    offsets = np.concatenate([[0], np.cumsum(numbers["sizes"])]).astype(np.int64)
    table = found.columns[0]
    columns = {column: table[column]} if column and column in table.column_names else {}
    is_span = job.protect is not None and job.level == "span" and len(numbers["flags"]) > 0
    if is_span and bool(np.all(numbers["flags"] & kernel.WALL)):
        raise UsageError(f"protect {job.protect!r} matches all of the text, so that nothing could be removed.")
    trace.add(documents=len(offsets) - 1, empty=int((np.diff(offsets) == 0).sum()), tokens=len(numbers["tokens"]))
    return ScrubTokens(numbers["tokens"], numbers["flags"], offsets, ids, columns)
