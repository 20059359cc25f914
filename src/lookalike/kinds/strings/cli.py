"""Command-line options of `lookalike strings pairs`, `groups` and `dedup`."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

from lookalike.cli import options as o
from lookalike.cli.kind_commands import KindCommands
from lookalike.cli.open_texts import open_strings


class EditMeasureChoice(Enum):
    levenshtein = "levenshtein"
    indel = "indel"


def string_options(
    text: Annotated[str | None, o.option(o.RUN, help="Column of the strings.")] = None,
    id: o.Id = None,  # noqa: A002
    max_edits: Annotated[
        int | None,
        o.option(
            o.WHAT, "-d", "--max-edits", help="Edits that may lead from one string to the other (2 unless given).",
            show_default=False,
        ),
    ] = None,
    min_similarity: Annotated[
        float | None,
        o.option(
            o.WHAT, "-s", "--min-similarity",
            help="Instead: 1 - edits / the longer length (indel: / both lengths), at least.",
        ),
    ] = None,
    measure: Annotated[
        EditMeasureChoice,
        o.option(o.WHAT, help="levenshtein (insert, delete, replace) or indel (insert and delete only)."),
    ] = EditMeasureChoice.levenshtein,
    fold_case: Annotated[
        bool, o.option(o.WHAT, "--fold-case/--keep-case", help="Ignore upper and lower case.")
    ] = False,
    strip_accents: Annotated[
        bool, o.option(o.WHAT, "--strip-accents", help="Ignore accents of Latin, Greek and Cyrillic letters.")
    ] = False,
    max_pairs: o.MaxPairs = 100_000_000,
    on_bad_text: Annotated[
        o.OnBadTextChoice, o.option(o.RUN, help="What to do with text that is not UTF-8.")
    ] = o.OnBadTextChoice.error,
    threads: o.Threads = None,
    engine: o.Where = o.Engine.local,
    master: o.Master = None,
    spark_conf: o.SparkConf = None,
) -> None:  # fmt: skip
    """Declare the options of strings pairs, groups and dedup; this function is never called."""


STRINGS = KindCommands(
    "strings",
    "lookalike.kinds.strings.api",
    string_options,
    open_strings,
    score="distance",
    near="near, within the bound,",
)
