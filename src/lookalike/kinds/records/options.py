"""The options of `pairs`, `groups`, `dedup`, `preview` and `explain` of records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

from lookalike.core import run_options as shared
from lookalike.core.options import RUN_PANEL, SIMILARITY_PANEL, Option, changed

FIELDS_PANEL = "Fields"
WeightsBy = Literal["auto", "learned", "equal", "em"]


class RecordRunOptions(TypedDict, total=False):
    """The options of every function of records."""

    threshold: Annotated[
        float | None,
        changed(shared.Threshold, default=None, unset="found from the data",
                reason="how similar two records of one entity are depends on the data"),
    ]  # fmt: skip
    neighbours: Annotated[
        int,
        Option(10, "Largest number of candidates that are selected for each record.", panel=SIMILARITY_PANEL,
               range="[1, inf)"),
    ]  # fmt: skip
    blocking: Annotated[
        str | None,
        Option(None, "exact:COL,COL: compare all pairs with an equal value in one of these columns, and no others.",
               unset="by words, values, phonetic codes and bands", panel=SIMILARITY_PANEL, local_only=True),
    ]  # fmt: skip
    audit: shared.Audit
    fields: Annotated[
        Sequence[str] | None,
        Option(None, "Columns to compare.", unset="all but the ids", flags=("--field",), panel=FIELDS_PANEL,
               command_help="Column to compare (repeatable).", command_type=list[str] | None),
    ]  # fmt: skip
    settings: Annotated[
        Any,
        Option(None, "Fields, comparisons, weights and threshold: a RecordRules, or the path of a TOML file.",
               unset="inferred", panel=FIELDS_PANEL,
               command_help="Fields, comparisons, weights and threshold from a TOML file.", command_type=Path | None),
    ]  # fmt: skip
    weights: Annotated[
        WeightsBy,
        Option("auto", "Weights of the fields: learned from the data, equal, em (match weights of Fellegi and Sunter, "
               "by expectation maximisation), or auto (the model that fits the table).", panel=FIELDS_PANEL),
    ]  # fmt: skip
    seed: Annotated[int, changed(shared.Seed, panel=RUN_PANEL)]
    id: Annotated[str | None, changed(shared.Id, unset="guessed, else row numbers")]
    max_pairs: shared.MaxPairs
    on_bad_text: Annotated[
        shared.OnBadText,
        changed(shared.OnBadTextOption, help="What to do with values that are not UTF-8: stop, replace the bad bytes "
                "by U+FFFD, or skip (take the value as missing)."),
    ]  # fmt: skip
    threads: shared.Threads
    progress: shared.ProgressOption


class RecordOptions(RecordRunOptions, shared.SparkOptions, total=False):
    """The options of `pairs`, `groups` and `dedup`."""

    verdicts: shared.Verdicts
    memory: shared.MemoryLimitOption


OneToOne = Annotated[bool, Option(
    False, "Give each record at most one partner, in the assignment with the highest sum of scores.",
    panel=SIMILARITY_PANEL,
)]  # fmt: skip


GivenPairs = Annotated[
    Any,
    Option(None, "Path or table of pairs (left, right, similarity) to use instead of a search.", unset="search",
           panel=SIMILARITY_PANEL, command_type=Path | None, local_only=True),
]  # fmt: skip
Unique = Annotated[
    str | Sequence[str],
    Option((), "Names of the sources without duplicates, whose rows are never merged with each other; all for every "
           "source.", unset="none", panel=SIMILARITY_PANEL, command_type=list[str] | None,
           command_help="A source without duplicates: one row per entity at most (repeatable; all: every one)."),
]  # fmt: skip
Survive = Annotated[
    Mapping[str, Any] | None,
    Option(None, "Survivorship rule of each column.", unset="most_frequent", panel=SIMILARITY_PANEL,
           command_type=list[str] | None,
           command_help="COL=RULE (repeatable; *=RULE for all others): most_frequent, longest, shortest, first, last, "
           "fullest, max, min, all, newest:COL, oldest:COL, with:COL, priority:SOURCE,SOURCE, priority:COL=a,b; in "
           "RULE/RULE, the second one decides ties."),
]  # fmt: skip
Previous = Annotated[
    Any,
    Option(None, "Members of the previous run, whose entities keep their ids.", unset="none",
           command_type=Path | None),
]  # fmt: skip


class RecordPairOptions(TypedDict, total=False):
    """The further options of `pairs`."""

    one_to_one: OneToOne


class RecordGroupsOptions(TypedDict, total=False):
    """The further options of `groups`."""

    pairs: GivenPairs


class MergeOptions(TypedDict, total=False):
    """The further options of `merge`."""

    unique: Unique
    survive: Survive
    previous: Previous
    pairs: GivenPairs
    grouping: shared.GroupingOption
    memory: shared.MemoryLimitOption
