"""The options of `pairs`, `groups` and `dedup` of strings."""

from __future__ import annotations

from typing import Annotated, Literal

from lookalike.core import run_options as shared
from lookalike.core.options import SIMILARITY_PANEL, Option, changed
from lookalike.core.shingle_options import FoldCase, StripAccents

Measure = Literal["levenshtein", "indel"]
DEFAULT_EDITS = 2
MeasureOption = Annotated[
    Measure,
    Option("levenshtein", "Edits: insert, delete and replace (levenshtein), or insert and delete only (indel).",
           panel=SIMILARITY_PANEL),
]  # fmt: skip
CaseOption = Annotated[
    bool,
    changed(FoldCase, default=False, panel=SIMILARITY_PANEL, reason="an edit distance compares letters as they are"),
]
AccentsOption = Annotated[bool, changed(StripAccents, panel=SIMILARITY_PANEL)]
StringColumn = Annotated[str | None, changed(shared.Text, help="Column of the strings.")]


class StringOptions(shared.SparkOptions, total=False):
    """The options of `pairs`, `groups` and `dedup`."""

    max_edits: Annotated[
        int | None,
        Option(None, "Largest number of edits between two strings.", unset=f"{DEFAULT_EDITS}, without `threshold`",
               flags=("-d", "--max-edits"), panel=SIMILARITY_PANEL,
               reason="a number of edits, where others have a similarity"),
    ]  # fmt: skip
    threshold: Annotated[
        float | None,
        Option(None, "Lowest similarity, instead of `max_edits`: 1 - edits / length of the longer string (indel: / sum "
               "of both lengths).", unset="`max_edits` decides", flags=("-t", "--threshold"),
               panel=SIMILARITY_PANEL, range="(0, 1]"),
    ]  # fmt: skip
    measure: MeasureOption
    fold_case: CaseOption
    strip_accents: AccentsOption
    text: StringColumn
    id: shared.Id
    max_pairs: shared.MaxPairs
    on_bad_text: shared.OnBadTextOption
    verdicts: shared.Verdicts
    threads: shared.Threads
    memory: shared.Memory
    work_dir: shared.WorkDir
    beside: shared.Beside
    progress: shared.ProgressOption


class StringNearestOptions(shared.NearestOptions, total=False):
    """The options of `nearest`."""

    by_similarity: Annotated[
        bool,
        Option(False, "Order by similarity, not by edits: 1 - edits / length of the longer string (indel: / sum of "
               "both lengths).", panel=SIMILARITY_PANEL),
    ]  # fmt: skip
    at_least: Annotated[float | None, changed(
        shared.AtLeast, help="Lowest similarity of a neighbour, with `by_similarity`.", range="[0, 1]"
    )]  # fmt: skip
    at_most: Annotated[float | None, changed(shared.AtMost, help="Largest number of edits of a neighbour.")]
    measure: MeasureOption
    fold_case: CaseOption
    strip_accents: AccentsOption
    text: StringColumn
    id: shared.Id
    on_bad_text: shared.OnBadTextOption
