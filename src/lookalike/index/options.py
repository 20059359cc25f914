"""The options of a new index: those of the kinds, without values, so that each kind has its own defaults."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypedDict

from lookalike.core import run_options as shared
from lookalike.core.options import SIMILARITY_PANEL, Option, changed, without_value
from lookalike.core.shingle_options import HashBits, Normalize, ShingleLength, ShingleUnit
from lookalike.kinds.baskets.options import BasketSourceOptions
from lookalike.kinds.documents.options import DocumentOptions
from lookalike.kinds.faces.options import FaceOptions
from lookalike.kinds.images.options import Hash, ImageOptions
from lookalike.kinds.passages.options import PassageOptions


class IndexOptions(TypedDict, total=False):
    """The options of all kinds of an index; `Index.create` refuses those that its kind does not have."""

    threshold: Annotated[
        float | None,
        Option(None, "How near items must be to match: a similarity (documents, sets, baskets, records), degrees "
               "(vectors), bits (bits), edits (strings), bits of a hash (images), a share of the measurements "
               "(faces), or of the words of the shorter text (passages).",
               unset="documents, sets and passages 0.8, baskets 0.5, vectors 10, bits 8, strings 2, images 10, faces "
               "0.5, records from the sample", flags=("-t", "--threshold"), panel=SIMILARITY_PANEL),
    ]  # fmt: skip
    recall: Annotated[float | None, changed(shared.Recall, default=None, unset="0.99; faces 0.95")]
    measure: Annotated[
        str | None,
        Option(None, "jaccard, dice or cosine (documents, sets, baskets); angle, cosine or distance (vectors); "
               "levenshtein or indel (strings).", unset="the first of these", panel=SIMILARITY_PANEL),
    ]  # fmt: skip
    dimensions: Annotated[
        int | None,
        Option(
            None, "Numbers of a vector, or measurements of a face.", unset="needed for vectors", panel=SIMILARITY_PANEL
        ),
    ]
    bits: Annotated[int | None, Option(None, "Bits of a code.", unset="needed for bits", panel=SIMILARITY_PANEL)]
    sample: Annotated[
        Any,
        Option(None, "Records to learn fields, weights and threshold from, or faces to choose the keys by; they are "
               "not added.", unset="needed for records and faces", panel=SIMILARITY_PANEL, command_type=Path | None),
    ]  # fmt: skip
    settings: Annotated[
        Any,
        Option(
            None,
            "Rules for records: a RecordRules, or the path of a TOML file.",
            unset="learned from the sample",
            panel=SIMILARITY_PANEL,
            command_type=Path | None,
            command_help="Rules for records from a TOML file.",
        ),
    ]
    unit: ShingleUnit
    k: ShingleLength
    bag: Annotated[bool | None, without_value(DocumentOptions, "bag")]
    fold_case: Annotated[bool | None, without_value(DocumentOptions, "fold_case")]
    normalize: Annotated[Normalize | None, without_value(DocumentOptions, "normalize")]
    strip_accents: Annotated[bool | None, without_value(DocumentOptions, "strip_accents")]
    ignore_punctuation: Annotated[bool | None, without_value(DocumentOptions, "ignore_punctuation")]
    squeeze_space: Annotated[bool | None, without_value(DocumentOptions, "squeeze_space")]
    hash_bits: Annotated[HashBits | None, without_value(DocumentOptions, "hash_bits")]
    num_hashes: Annotated[int | None, without_value(DocumentOptions, "num_hashes")]
    bands: Annotated[int | None, without_value(DocumentOptions, "bands")]
    rows: Annotated[int | None, without_value(DocumentOptions, "rows")]
    seed: Annotated[int | None, without_value(DocumentOptions, "seed")]
    hashes: Annotated[list[Hash] | tuple[Hash, ...] | None, without_value(ImageOptions, "hashes")]
    crops: Annotated[bool | None, without_value(ImageOptions, "crops")]
    min_likeness: Annotated[float | None, without_value(ImageOptions, "min_likeness")]
    tolerance: Annotated[float | None, without_value(FaceOptions, "tolerance")]
    grid: Annotated[str | tuple[int, int] | None, without_value(FaceOptions, "grid")]
    set: Annotated[str | None, without_value(BasketSourceOptions, "set")]
    item: Annotated[str | None, without_value(BasketSourceOptions, "item")]
    separator: Annotated[str | None, without_value(BasketSourceOptions, "separator")]
    min_tokens: Annotated[int | None, without_value(PassageOptions, "min_tokens")]
    fields: Annotated[
        Sequence[str] | None,
        Option(None, "Columns of records to compare.", unset="all but the ids", flags=("--field",),
               panel=SIMILARITY_PANEL, command_type=list[str] | None),
    ]  # fmt: skip
