"""Options that runs of several kinds of items have in common: each is declared here, once, with its default."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

from lookalike.core.options import (
    CLUSTER_PANEL,
    LARGEST_SEED,
    SIGNATURES_PANEL,
    SIMILARITY_PANEL,
    Option,
    changed,
)
from lookalike.errors import UsageError

Progress = Callable[[str, int, int | None], None]  # stage, done, total (None: unknown)
RowMethod = Literal["auto", "lsh", "exact"]  # for vectors, bit codes and faces
Grouping = Literal["components", "stars", "cliques"]
OnBadFile = Literal["error", "skip"]
OnBadText = Literal["error", "replace", "skip"]
OnBadItem = Literal["error", "skip"]
NEIGHBOURS = "a whole number of neighbours, 1 or more"
SHARE = "a share above 0 and at most 1"  # what options between 0 and 1 expect


def silent(_stage: str, _done: int, _total: int | None) -> None:
    """Ignore progress; the default callback."""


# Parameters of pairs, groups and dedup.
Against = Annotated[Any, Option(
    None, "Another collection: find the pairs between it and the first.", unset="pairs within one collection",
    panel=SIMILARITY_PANEL, command_help="Another collection: find the pairs between it and INPUT (repeatable).",
    command_type=list[str] | None, metavar="INPUT",
)]  # fmt: skip
GroupingOption = Annotated[Grouping, Option(
    "components", "Form of the groups: components (connected by pairs, through chains too), stars (all members similar "
    "to the representative) or cliques (any two members similar).", panel=SIMILARITY_PANEL,
)]  # fmt: skip
KeepPolicy = Annotated[str, Option(
    "first", "Item of each group to keep: first, last, longest, shortest, max:COL, min:COL, priority:COL=a,b,c.",
    panel=SIMILARITY_PANEL, metavar="POLICY",
)]  # fmt: skip
KeepCopies = Annotated[int, Option(
    1, "Largest number of items of a group that stay: the representative first, then by `keep`.", range="[1, inf)",
    expected="a number of items, 1 or more", panel=SIMILARITY_PANEL, local_only=True,
)]  # fmt: skip
DropAll = Annotated[bool, Option(
    False, "Keep no member of a group of two or more, not even its representative.", panel=SIMILARITY_PANEL,
    local_only=True,
)]  # fmt: skip
SizeColumns = Annotated[bool, Option(
    False, "Add the columns group_size and copies to the kept rows.", panel=SIMILARITY_PANEL, local_only=True,
)]  # fmt: skip

# Parameters and bounds of nearest.
NearestAgainst = Annotated[Any, Option(
    None, "The collection in which neighbours are searched.", unset="the first collection itself",
    panel=SIMILARITY_PANEL, flags=("--in", "--against"), command_type=list[str] | None, metavar="INPUT",
    command_help="Collection in which the neighbours of INPUT are searched (repeatable).",
)]  # fmt: skip
Top = Annotated[int, Option(
    10, "Largest number of neighbours of an item.", panel=SIMILARITY_PANEL, range="[1, inf)", expected=NEIGHBOURS,
)]  # fmt: skip
AtLeast = Annotated[float | None, Option(
    None, "Lowest similarity of a neighbour.", unset="no limit", panel=SIMILARITY_PANEL,
)]  # fmt: skip
AtMost = Annotated[float | None, Option(
    None, "Largest distance of a neighbour.", unset="no limit", panel=SIMILARITY_PANEL, range="[0, inf)",
)]  # fmt: skip

WithText = Literal["none", "beginning", "all"]

# What is similar, and how surely it is found.
Threshold = Annotated[float, Option(
    0.8, "Lowest similarity of a pair.", flags=("-t", "--threshold"), panel=SIMILARITY_PANEL, range="(0, 1]",
)]  # fmt: skip
Recall = Annotated[float, Option(
    0.99, "Probability to find a pair at the threshold.", range="(0, 1)", panel=SIMILARITY_PANEL,
)]  # fmt: skip
Exact = Annotated[bool, Option(False, "Find every pair; the same as method exact.", panel=SIMILARITY_PANEL)]
RowMethodOption = Annotated[RowMethod, Option(
    "auto", "How candidates are generated; auto takes the cheapest method that keeps the promised recall.",
    panel=SIMILARITY_PANEL,
)]  # fmt: skip
Verdicts = Annotated[Any, Option(
    None, "Verdicts on pairs: those judged the same are in one group, those judged different never are.",
    unset="none", panel=SIMILARITY_PANEL, command_type=list[Path] | None, local_only=True,
    command_help="File of verdicts on pairs (repeatable): those judged the same are in one group, those judged "
    "different never are.",
)]  # fmt: skip
MinShared = Annotated[int | None, Option(
    None, "Lowest number of shared shingles of a pair, instead of a threshold.", unset="the threshold decides",
    panel=SIMILARITY_PANEL,
)]  # fmt: skip
Audit = Annotated[int, Option(
    2000, "Number of items whose recall is measured; 0 for none.", panel=SIMILARITY_PANEL, range="[0, inf)",
    expected="a number of items to check, or 0 for none",
)]  # fmt: skip
MaxShare = Annotated[float | None, Option(
    None, "Drop shingles that occur in a larger share of the documents.", unset="keep all", range="(0, 1]",
    expected=SHARE, panel=SIMILARITY_PANEL,
)]  # fmt: skip
RowAudit = Annotated[int, changed(Audit, default=128, reason="each audited row is compared with all others")]

# Signatures and other random choices.
Seed = Annotated[int, Option(
    42, "Seed of all random choices.", panel=SIGNATURES_PANEL, range=f"[0, {LARGEST_SEED}]",
    expected=f"a whole number from 0 to {LARGEST_SEED}", rare=True,
)]  # fmt: skip
NumHashes = Annotated[int, Option(128, "Length of a signature.", panel=SIGNATURES_PANEL, rare=True)]

# Input, output and run.
Id = Annotated[str | None, Option(None, "Column of the ids; none for row numbers.", unset="id, if there is one")]
Text = Annotated[str | None, Option(None, "Column of the texts.", unset="guessed")]
MaxPairs = Annotated[
    int,
    Option(
        100_000_000,
        "Largest number of pairs of a result; the run stops where there are more.",
        range="[1, inf)",
        rare=True,
    ),
]
OnBadTextOption = Annotated[
    OnBadText,
    Option("error", "What to do with text that is not UTF-8: stop, replace the bad bytes by U+FFFD, or skip the item."),
]
Column = Annotated[
    str | None, Option(None, "Column of the lists of numbers, or array of a .npz file.", unset="guessed")
]
OnBadItemOption = Annotated[
    OnBadItem,
    Option(
        "error",
        "What to do with an item with NaN, infinite or missing numbers, or of zeros only (angle): stop, or skip it.",
    ),
]
OnBadFileOption = Annotated[
    OnBadFile,
    Option(
        "error",
        "What to do with a file that cannot be read: stop, or skip it and list it in the receipt.",
        local_only=True,
        rare=True,
    ),
]
Lines = Annotated[
    bool,
    Option(
        False, "Read text files line by line; without, each file is a document, but one file alone is read by lines."
    ),
]
Threads = Annotated[
    int | None, Option(None, "Number of threads.", unset="all cores", range="[1, inf)", local_only=True)
]
Memory = Annotated[int | str | None, Option(
    None, "Memory budget of the process, such as 2GB.", unset="half of the free memory", command_type=str | None,
    metavar="SIZE", local_only=True,
)]  # fmt: skip
MemoryLimitOption = Annotated[int | str | None, changed(
    Memory, help="Memory limit of the process, such as 2GB; work that does not fit is refused with what it needs.",
    unset="no limit", reason="the items are in memory; only documents and passages work on disk",
)]  # fmt: skip
WorkDir = Annotated[str | Path | None, Option(
    None, "Folder that keeps what was read for later runs, and checkpoints.",
    unset="next to the output, until a large run is done", command_type=Path | None, local_only=True,
)]  # fmt: skip
Beside = Annotated[str | Path | None, Option(
    None, "Without `work_dir`: where a large run keeps these files until it is done.", unset="nowhere",
    python_only=True, local_only=True, rare=True,
)]  # fmt: skip
ProgressOption = Annotated[
    Progress, Option(silent, "Function that is called with (stage, done, total).", python_only=True)
]


class LocalOptions(TypedDict, total=False):
    """The base of the options of a kind that runs on this machine only."""

    engine: Annotated[
        Literal["local"],
        Option("local", "Where to run: only on this machine.", panel=CLUSTER_PANEL, command_type=str, local_only=True,
               rare=True),
    ]  # fmt: skip


class SparkOptions(TypedDict, total=False):
    """The options of a run on Spark; a kind whose options include these also has the option `engine`."""

    master: Annotated[
        str | None,
        Option(None, "Master of the Spark cluster, such as spark://host:7077.", unset="all cores of this machine",
               panel=CLUSTER_PANEL, metavar="URL"),
    ]  # fmt: skip
    spark_conf: Annotated[
        Mapping[str, str] | None,
        Option(None, "Settings of the Spark session, used if none is active.", unset="those of the session",
               panel=CLUSTER_PANEL, command_type=list[str] | None, metavar="KEY=VALUE",
               command_help="A setting of the Spark session, such as spark.executor.memory=4g (repeatable)."),
    ]  # fmt: skip


class NearestOptions(LocalOptions, total=False):
    """The base of the options of `nearest`."""

    max_pairs: Annotated[
        int,
        changed(MaxPairs, help="Largest number of rows of the result; a run that may have more does not start."),
    ]
    threads: Threads
    memory: MemoryLimitOption
    progress: ProgressOption


def take_exact(options: dict[str, Any]) -> None:
    """Replace the option `exact` by the method of that name; UsageError if another method was given."""
    if options.pop("exact", False):
        if options.get("method", "auto") not in ("auto", "exact"):
            raise UsageError(f"exact and method {options['method']!r} do not go together; give one of them.")
        options["method"] = "exact"
