"""The options of `pairs` of series."""

from __future__ import annotations

from typing import Annotated

from lookalike.core import run_options as shared
from lookalike.core.options import SIMILARITY_PANEL, Option, changed

SHORTEST_WINDOW = 3  # two z-normalised values are always -1 and 1
ONE_BOUND = "one of `within`, `min_correlation` and `top` is needed"


class SeriesOptions(shared.LocalOptions, total=False):
    """The options of `pairs`; the window and a bound are required."""

    window: Annotated[
        int | None,
        Option(None, "Number of steps in a window.", unset="required", flags=("-w", "--window"),
               panel=SIMILARITY_PANEL, range=f"[{SHORTEST_WINDOW}, inf)",
               expected=f"a whole number of steps, {SHORTEST_WINDOW} or more"),
    ]  # fmt: skip
    within: Annotated[
        float | None,
        Option(None, "Largest Euclidean distance of two z-normalised windows.", unset=ONE_BOUND,
               flags=("-d", "--within"), panel=SIMILARITY_PANEL, range="[0, inf)",
               reason="a distance, where others have a similarity"),
    ]  # fmt: skip
    min_correlation: Annotated[
        float | None,
        Option(None, "Lowest correlation of two windows, instead of a distance: 1 - distance² / (2 × window).",
               unset=ONE_BOUND, panel=SIMILARITY_PANEL, range="[-1, 1]"),
    ]  # fmt: skip
    top: Annotated[
        int | None,
        Option(None, "Number of pairs: the nearest ones, instead of a bound.", unset=ONE_BOUND, panel=SIMILARITY_PANEL,
               range="[1, inf)", expected="a whole number of pairs, 1 or more", reason="pairs, not neighbours of each"),
    ]  # fmt: skip
    exclusion: Annotated[
        int | None,
        Option(None, "Windows of one series that begin fewer steps apart are not compared; of pairs that lie closer "
               "together on both sides, the nearest is reported.", unset="half of `window`", panel=SIMILARITY_PANEL,
               range="[1, inf)", expected="a whole number of steps, 1 or more"),
    ]  # fmt: skip
    overlapping: Annotated[
        bool,
        Option(False, "Report every pair, also next to nearer ones.", panel=SIMILARITY_PANEL),
    ]
    value: Annotated[
        list[str] | str | None,
        Option(None, "Column of values; several are several series.", unset="all columns of numbers, or the one of "
               "lists", command_type=list[str] | None, command_help="Column of values (repeatable)."),
    ]  # fmt: skip
    series: Annotated[
        str | None,
        Option(None, "Column that names the series of each row.", unset="all rows of a file are one series"),
    ]
    motion: Annotated[
        bool,
        Option(False, "The columns of values are one motion: windows are compared in all of them at once.",
               panel=SIMILARITY_PANEL),
    ]  # fmt: skip
    max_pairs: Annotated[
        int,
        changed(shared.MaxPairs, default=20_000_000, help="Largest number of pairs within the bound, before those next "
                "to nearer ones are left out; the run stops where there are more.",
                reason="a row has the places of both windows, too"),
    ]  # fmt: skip
    threads: shared.Threads
    progress: shared.ProgressOption
