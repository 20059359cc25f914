"""Features of documents on Spark: hashed sets and keys in one pass, and the exact score of pairs of sets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lookalike.core.arrays import F64, I64, U64, Sets
from lookalike.core.arrow import as_arrow
from lookalike.core.candidates import Items
from lookalike.core.exact_duplicates import fingerprints
from lookalike.core.measures import Bar
from lookalike.io.texts import OnBadText, as_texts
from lookalike.kernels import bounds, bucket_pairs, buckets, hashing, prefixes, verify
from lookalike.kinds.documents.features import shingle
from lookalike.kinds.documents.signatures import band_keys, sketch_items
from lookalike.kinds.documents.spec import Job
from lookalike.planning.banding import Plan
from lookalike.runtime.spark.arrow_batches import as_binary, numbers, signed, words
from lookalike.runtime.spark.key_join import Score

TEXT_BYTES_PER_STEP = 4 << 20  # bytes of text that are shingled at a time
SET_SALT = np.uint64(0x5EED)
OF_SETS = "size int, print long, other long, elements binary"
DOCUMENT_FEATURES = f"{OF_SETS}, length long, keys binary, places binary"


@dataclass(frozen=True)
class DocumentKeys:
    """The rule that gives a set its keys: band keys of a plan, or the rarest elements for an exact join (`levels`,
    u8[2**m]: how common elements are)."""

    job: Job
    plan: Plan | None = None
    levels: npt.NDArray[np.uint8] | None = None

    def of(self, sets: Sets) -> tuple[pa.Array, pa.Array]:
        """Compute (keys, places) of each set as binary columns.

        places: position of each element in its prefix; empty for band keys.
        """
        n = len(sets)
        none = as_binary(np.empty(0, np.int32), np.zeros(n + 1, np.int64))
        if self.plan is not None:
            keys = band_words(sets, self.job, self.plan)
            return as_binary(keys.reshape(-1), np.arange(n + 1) * self.plan.bands), none
        if self.levels is None:
            return none, none
        lengths, unused = np.empty(n, np.int64), np.empty(n, np.int64)
        prefixes.prefix_lengths(sets.sizes, *self.job.bar(), lengths, unused)
        ends = np.concatenate([[0], np.cumsum(lengths)])
        out = np.empty(int(ends[-1]), np.uint64)
        bucket_pairs.rarest(sets.elements, sets.offsets[:-1], sets.sizes, lengths, self.levels, out)
        places = np.arange(len(out)) - np.repeat(ends[:-1], lengths)
        return as_binary(out, ends), as_binary(places.astype(np.int32), ends)


def band_words(sets: Sets, job: Job, plan: Plan) -> U64:
    """Compute the band keys, u64[n, bands]; keys of different bands never agree (except by chance, once in 2^64)."""
    signatures = sketch_items(sets.elements, sets.offsets[:-1], sets.sizes, job.recipe())
    keys = band_keys(signatures, plan.bands, plan.rows)
    out = np.empty_like(keys)
    for band in range(plan.bands):
        hashing.mix_all(np.ascontiguousarray(keys[:, band]), np.uint64(band), column := np.empty(len(keys), np.uint64))
        out[:, band] = column
    return out


def read_sets(batch: pa.RecordBatch, job: Job, on_bad_text: OnBadText) -> Iterator[tuple[pa.RecordBatch, Sets, I64]]:
    """Shingle a batch with a column `text` in pieces: yield (rows, sets, lengths of the texts)."""
    pieces = max(1, -(-batch["text"].nbytes // TEXT_BYTES_PER_STEP))
    step = max(1, -(-batch.num_rows // pieces))
    for at in range(0, batch.num_rows, step):
        part = batch.slice(at, step)
        texts, _, _ = as_texts(part["text"], on_bad_text=on_bad_text, where=lambda row: f"row {row} of a batch")
        offsets = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
        yield part, shingle(texts, job.rule), np.diff(offsets)


def features(sets: Sets, lengths: I64, keys: DocumentKeys) -> dict[str, pa.Array]:
    """Return the columns DOCUMENT_FEATURES of sets."""
    words, places = keys.of(sets)
    return {**of_sets(sets), "length": as_arrow(lengths), "keys": words, "places": places}


def of_sets(sets: Sets) -> dict[str, pa.Array]:
    """Return the columns OF_SETS of sets."""
    salted = np.empty_like(sets.elements)
    hashing.mix_all(sets.elements, SET_SALT, salted)
    return {
        "size": as_arrow(sets.sizes.astype(np.int32)),
        "print": signed(fingerprints(sets)),
        "other": signed(fingerprints(Sets(salted, sets.offsets))),
        "elements": as_binary(sets.elements, sets.offsets),
    }


def sets_of(batch: pa.RecordBatch) -> Sets:
    """Decode the sets of a batch of features."""
    elements, starts, sizes = words(batch, "elements")
    ends = np.concatenate([starts[:1], starts + sizes]) if len(starts) else np.zeros(1, np.int64)
    return Sets(elements[ends[0] : ends[-1]], ends - ends[0])


def set_score(job: Job, plan: Plan | None) -> Score:
    """Return a function that scores pairs of sets exactly, with NaN below the threshold.

    After banding, pairs that agree in fewer than plan.cut slots are NaN too. Without job.verify the score is the share
    of agreeing slots.
    """
    bar, recipe = job.bar(), job.recipe()

    def score(left: pa.RecordBatch, right: pa.RecordBatch) -> F64:
        items, one, other = two_sided(left, right)
        out = np.full(len(one), np.nan)
        some = np.arange(len(one))
        if plan is not None:
            values: Any = sketch_items(items.elements, items.starts, items.sizes, recipe).values
            agree = np.empty(len(one), np.int64)
            buckets.agreements(values, one.astype(np.uint32), other.astype(np.uint32), agree)
            some = np.flatnonzero(agree >= plan.cut)
            if not job.verify:
                out[some] = agree[some] / recipe.length
                return out
        out[some] = exact_scores(items, one[some], other[some], bar)
        return out

    return score


def exact_scores(items: Items, left: I64, right: I64, bar: Bar) -> F64:
    """Compute the similarity of items left[i] and right[i], NaN below the threshold."""
    order = np.argsort(left, kind="stable")
    anchors, counts = np.unique(left, return_counts=True)
    overlap = np.empty(len(left), np.int64)
    partners = right[order].astype(np.uint32)
    verify.overlaps(
        items.elements, items.starts, items.sizes, anchors.astype(np.uint32), np.cumsum(counts), partners, *bar, overlap
    )
    similarity = np.empty(len(left))
    bounds.scores(bar.code, overlap, left[order].astype(np.uint32), partners, items.sizes, similarity)
    out = np.empty(len(left))
    out[order] = np.where(overlap >= 0, similarity, np.nan)
    return out


def two_sided(left: pa.RecordBatch, right: pa.RecordBatch) -> tuple[Items, I64, I64]:
    """Collect the distinct sets of two batches; also return the set number of each row of the left and right batch."""
    parts, numbers_of, at = [], [], 0
    for batch in (left, right):
        _, first, number = np.unique(numbers(batch, "item"), return_index=True, return_inverse=True)
        elements, starts, sizes = words(batch, "elements")
        parts.append((elements, starts[first], sizes[first]))
        numbers_of.append(number + at)
        at += len(first)
    elements = np.concatenate([parts[0][0], parts[1][0]])
    starts = np.concatenate([parts[0][1], parts[1][1] + len(parts[0][0])])
    sizes = np.concatenate([parts[0][2], parts[1][2]])
    return Items(elements, starts, sizes, np.full(len(starts), 3, np.uint8)), numbers_of[0], numbers_of[1]
