"""The options of `pairs`, `groups` and `dedup` of bit codes."""

from __future__ import annotations

from typing import Annotated, Literal

from lookalike.core import run_options as shared
from lookalike.core.options import SIMILARITY_PANEL, Option, changed

Form = Literal["auto", "hex", "binary", "int"]
CodeColumnOption = Annotated[str | None, Option(None, "Column of the codes.", unset="guessed")]
FormOption = Annotated[
    Form,
    Option("auto", "How codes are written in a column of text: hexadecimal, 0 and 1 (binary), or decimal (int)."),
]


class BitsOptions(shared.SparkOptions, total=False):
    """The options of `pairs`, `groups` and `dedup`."""

    max_bits: Annotated[
        int,
        Option(8, "Largest number of bits in which two codes differ.", flags=("-d", "--max-bits"),
               panel=SIMILARITY_PANEL, range="[0, inf)",
               expected="a whole number of bits that may differ, 0 or more",
               reason="a number of differing bits, where others have a similarity"),
    ]  # fmt: skip
    method: shared.RowMethodOption
    recall: Annotated[
        float, changed(shared.Recall, help="Probability to find a pair at `max_bits`, if the method is lsh.")
    ]
    audit: shared.Audit
    seed: shared.Seed
    column: CodeColumnOption
    id: shared.Id
    form: FormOption
    max_pairs: shared.MaxPairs
    verdicts: shared.Verdicts
    threads: shared.Threads
    memory: shared.Memory
    work_dir: shared.WorkDir
    beside: shared.Beside
    progress: shared.ProgressOption


class BitsNearestOptions(shared.NearestOptions, total=False):
    """The options of `nearest`."""

    at_most: Annotated[float | None, changed(shared.AtMost, help="Largest number of differing bits of a neighbour.")]
    column: CodeColumnOption
    id: shared.Id
    form: FormOption
