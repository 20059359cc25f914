"""The options of `pairs`, `groups` and `dedup` of documents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

from lookalike.core import run_options as shared
from lookalike.core.options import SIGNATURES_PANEL, SIMILARITY_PANEL, Option, changed
from lookalike.core.shingle_options import RuleOptions, ShingleLength

Method = Literal["auto", "lsh", "exact", "dcm", "folding"]
Scheme = Literal["fss-1", "minhash-1"]
Weight = Literal["idf", "none"]
Measure = Literal["jaccard", "containment", "dice", "cosine", "overlap"]


WeightOption = Annotated[Weight, Option(
    "none", "Weight of a shingle: idf lets rare shingles count more and boilerplate less (with `bag`, times its "
    "number of occurrences); none: all count the same.", panel=SIMILARITY_PANEL, local_only=True,
)]  # fmt: skip
OwnWeightsOption = Annotated[Any, Option(
    None, "Own weights: a dict, or a table with the columns item and weight; what is not listed weighs 1.",
    unset="none", panel=SIMILARITY_PANEL, command_type=Path | None, local_only=True, metavar="FILE",
    command_help="Table with the columns item and weight: own weights; what is not listed weighs 1.",
)]  # fmt: skip


class DocumentOptions(RuleOptions, shared.SparkOptions, total=False):
    """The options of `pairs`, `groups` and `dedup`; `forecast` has them, too."""

    text: Annotated[str | None, changed(shared.Text, help="Column of the texts, or of the lists of tokens.")]
    id: shared.Id
    threshold: Annotated[float, changed(shared.Threshold, range="")]  # a count for the measure overlap
    recall: shared.Recall
    exact: shared.Exact
    method: Annotated[
        Method,
        changed(shared.RowMethodOption,
            help="How candidates are generated; auto takes the cheapest method that keeps the promised recall. dcm is "
            "Divide-Compute-Merge; folding is Hamming LSH on OR-folded columns.",
        ),
    ]  # fmt: skip
    measure: Annotated[Measure, Option("jaccard", "Similarity of two sets of shingles.", panel=SIMILARITY_PANEL)]
    weight: WeightOption
    weights: OwnWeightsOption
    min_shared: shared.MinShared
    max_share: shared.MaxShare
    num_hashes: shared.NumHashes
    bands: Annotated[int | None, Option(None, "Number of bands.", unset="planned", panel=SIGNATURES_PANEL, rare=True)]
    rows: Annotated[int | None, Option(None, "Rows of a band.", unset="planned", panel=SIGNATURES_PANEL, rare=True)]
    scheme: Annotated[Scheme, Option("fss-1", "How signatures are computed.", panel=SIGNATURES_PANEL, rare=True)]
    seed: shared.Seed
    verify: Annotated[
        bool,
        Option(True, "Score pairs exactly; without, report pairs whose signatures agree in a share `threshold` of the "
               "rows.", flags=("--verify/--no-verify",), panel=SIMILARITY_PANEL, commands=("pairs",), rare=True),
    ]  # fmt: skip
    audit: shared.Audit
    max_pairs: shared.MaxPairs
    on_bad_text: shared.OnBadTextOption
    on_bad_file: shared.OnBadFileOption
    lines: shared.Lines
    verdicts: shared.Verdicts
    threads: shared.Threads
    memory: shared.Memory
    work_dir: shared.WorkDir
    beside: shared.Beside
    progress: shared.ProgressOption


class ClassifyOptions(RuleOptions, total=False):
    """The options of `classify`."""

    k: Annotated[int | None, changed(ShingleLength, unset="word 1, char 9, byte 9, line 1, token 1")]
    neighbours: Annotated[
        int, Option(5, "Number of labelled texts that vote.", panel=SIMILARITY_PANEL, range="[1, inf)")
    ]
    weight: Annotated[
        Weight,
        Option("idf", "idf: rare shingles count more (cosine); none: all count the same (Jaccard).",
               panel=SIMILARITY_PANEL),
    ]  # fmt: skip
    test_size: Annotated[
        int,
        Option(2000, "Number of labelled texts on which the accuracy is measured; 0 for no test.",
               panel=SIMILARITY_PANEL, range="[0, inf)", expected="a number of texts, or 0 for no test"),
    ]  # fmt: skip
    text: Annotated[str | None, changed(shared.Text, help="Column of the texts, or of the lists of tokens.")]
    id: shared.Id
    threads: shared.Threads
    memory: shared.MemoryLimitOption
    progress: shared.ProgressOption


class DocumentDedupOptions(TypedDict, total=False):
    """Further options of `dedup`."""

    keep_copies: shared.KeepCopies
    drop_all: shared.DropAll
    size_columns: shared.SizeColumns


class DocumentNearestOptions(RuleOptions, shared.NearestOptions, total=False):
    """The options of `nearest`."""

    at_least: Annotated[float | None, changed(
        shared.AtLeast, unset="a neighbour shares at least one shingle", range="[0, inf)"
    )]  # fmt: skip
    measure: Annotated[Measure, Option("jaccard", "Similarity of two sets of shingles.", panel=SIMILARITY_PANEL)]
    weight: WeightOption
    weights: OwnWeightsOption
    max_share: shared.MaxShare
    text: Annotated[str | None, changed(shared.Text, help="Column of the texts, or of the lists of tokens.")]
    id: shared.Id
    on_bad_text: shared.OnBadTextOption
    on_bad_file: shared.OnBadFileOption
    lines: shared.Lines
