"""The options of `pairs`, `groups`, `dedup` and `suggest` of baskets."""

from __future__ import annotations

from typing import Annotated, TypedDict

from lookalike.core import run_options as shared
from lookalike.core.options import SIMILARITY_PANEL, Option, changed
from lookalike.kinds.documents.options import Measure, Method, OwnWeightsOption, Weight, WeightOption

BASKETS_PANEL = "Baskets"
SuggestTop = Annotated[
    int,
    Option(10, "Largest number of items to suggest.", panel=SIMILARITY_PANEL, range="[1, inf)"),
]
Neighbours = Annotated[
    int, Option(20, "Largest number of similar baskets to use.", panel=SIMILARITY_PANEL, range="[1, inf)")
]


ItemWeight = changed(
    WeightOption, help="Weight of an item: idf lets rare items count more (with `bag`, times its multiplicity); none: "
    "all count the same.",
)  # fmt: skip


class BasketSourceOptions(TypedDict, total=False):
    """How baskets are read."""

    set: Annotated[
        str | None,
        Option(None, "Column that identifies the basket, such as the customer.", unset="guessed", panel=BASKETS_PANEL),
    ]
    item: Annotated[
        str | None, Option(None, "Column of the items, or of lists of items.", unset="guessed", panel=BASKETS_PANEL)
    ]
    lines: Annotated[bool, Option(False, "Read each line of a file as a basket.", panel=BASKETS_PANEL)]
    separator: Annotated[
        str | None,
        Option(None, "Separator of the items of a line, or of a text in the column `item`.",
               unset="guessed: comma, tab, ;, | or white space", panel=BASKETS_PANEL),
    ]  # fmt: skip
    rating: Annotated[str | None, Option(None, "Column of the ratings.", unset="none", panel=BASKETS_PANEL)]
    min_rating: Annotated[
        float | None, Option(None, "Leave out items with a lower rating.", unset="keep all", panel=BASKETS_PANEL)
    ]
    bag: Annotated[
        bool, Option(False, "Count repeated items, or ratings, as multiplicities: compare bags, not sets.",
                     panel=BASKETS_PANEL)
    ]  # fmt: skip
    dual: Annotated[bool, Option(False, "Compare items by the baskets that contain them.", panel=BASKETS_PANEL)]


class ReadingOptions(BasketSourceOptions, total=False):
    """The options that `suggest` has, too: how baskets are read, and which measure compares them."""

    via_groups: Annotated[
        bool,
        Option(False, "Group items first, then compare baskets by the groups of their items.", panel=BASKETS_PANEL,
               local_only=True),
    ]  # fmt: skip
    group_threshold: Annotated[
        float | None,
        Option(None, "Similarity at which items form a group.", unset="`threshold`, or 0.2 with `min_shared`",
               panel=BASKETS_PANEL, local_only=True),
    ]  # fmt: skip
    measure: Annotated[Measure, Option("jaccard", "Similarity of two sets of items.", panel=SIMILARITY_PANEL)]
    min_shared: Annotated[
        int | None,
        changed(shared.MinShared, help="Lowest number of shared items (groups with `via_groups`) of a pair, instead "
                "of a threshold."),
    ]  # fmt: skip


class BasketOptions(ReadingOptions, shared.SparkOptions, total=False):
    """The options of `pairs`, `groups` and `dedup`."""

    threshold: Annotated[
        float,
        changed(shared.Threshold, default=0.2, range="", reason="baskets of similar customers share few of many items"),
    ]  # a count for the measure overlap
    method: Annotated[
        Method,
        changed(
            shared.RowMethodOption,
            default="exact",
            help="How candidates are generated; auto may choose banding at high thresholds.",
            reason="at low thresholds the exact join is the cheaper one",
        ),
    ]
    recall: Annotated[
        float, changed(shared.Recall, help="Probability to find a pair at the threshold, if the method is not exact.")
    ]
    weight: Annotated[Weight, ItemWeight]
    weights: OwnWeightsOption
    max_share: Annotated[
        float | None, changed(shared.MaxShare, help="Leave out items in a larger share of the baskets.",
                              panel=BASKETS_PANEL)
    ]  # fmt: skip
    num_hashes: shared.NumHashes
    seed: shared.Seed
    audit: shared.Audit
    max_pairs: shared.MaxPairs
    verdicts: shared.Verdicts
    threads: shared.Threads
    memory: shared.MemoryLimitOption
    progress: shared.ProgressOption


class BasketNearestOptions(BasketSourceOptions, shared.NearestOptions, total=False):
    """The options of `nearest`."""

    at_least: Annotated[float | None, changed(
        shared.AtLeast, unset="a neighbour shares at least one item", range="[0, inf)"
    )]  # fmt: skip
    measure: Annotated[Measure, Option("jaccard", "Similarity of two sets of items.", panel=SIMILARITY_PANEL)]
    weight: Annotated[Weight, ItemWeight]
    weights: OwnWeightsOption
    max_share: Annotated[
        float | None, changed(shared.MaxShare, help="Leave out items in a larger share of the baskets.",
                              panel=BASKETS_PANEL)
    ]  # fmt: skip
