"""The options of `pairs`, `groups`, `dedup` and `query` of faces."""

from __future__ import annotations

from typing import Annotated

from lookalike.core import run_options as shared
from lookalike.core.options import SIGNATURES_PANEL, SIMILARITY_PANEL, Option, changed

Top = Annotated[
    int | None,
    Option(None, "Largest number of matches for each probe.", unset="all", panel=SIMILARITY_PANEL, range="[1, inf)"),
]


class FaceOptions(shared.LocalOptions, total=False):
    """The options of `pairs`, `groups`, `dedup` and `query`."""

    tolerance: Annotated[
        float,
        Option(10.0, "Largest difference of two measurements that agree, in their own units (brightness: 0 to 255).",
               panel=SIMILARITY_PANEL, range="(0, inf)", expected="a number above 0, in the units of the numbers"),
    ]  # fmt: skip
    threshold: Annotated[
        float,
        Option(0.5, "Lowest share of the measurements that agree.", panel=SIMILARITY_PANEL, range="(0, 1]",
               flags=("-t", "--threshold"), reason="a share of measurements, in addition to the tolerance of each"),
    ]  # fmt: skip
    recall: Annotated[
        float,
        changed(shared.Recall, default=0.95, help="Probability to find a pair at the threshold, on average.",
                reason="each hash table costs several lookups"),
    ]  # fmt: skip
    method: shared.RowMethodOption
    audit: shared.RowAudit
    tables: Annotated[
        int | None,
        Option(None, "Number of hash functions.", unset="planned", panel=SIGNATURES_PANEL, rare=True, range="[1, inf)"),
    ]
    rows: Annotated[
        int | None,
        Option(None, "Number of measurements in each hash function.", unset="planned", panel=SIGNATURES_PANEL,
               rare=True, range="[1, inf)"),
    ]  # fmt: skip
    max_scored: Annotated[
        float | None,
        Option(None, "Largest share of all pairs that may be scored.", unset="no limit", panel=SIGNATURES_PANEL,
               rare=True, range="(0, 1]", expected=shared.SHARE),
    ]  # fmt: skip
    seed: shared.Seed
    column: shared.Column
    id: shared.Id
    grid: Annotated[
        str | tuple[int, int],
        Option("24x28", "Blocks of a picture, columns x rows: one measurement each.", command_type=str),
    ]
    on_bad: shared.OnBadItemOption
    max_pairs: shared.MaxPairs
    verdicts: shared.Verdicts
    threads: shared.Threads
    memory: shared.MemoryLimitOption
    progress: shared.ProgressOption
