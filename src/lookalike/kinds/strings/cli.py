"""Commands `lookalike strings pairs`, `groups` and `dedup`."""

from __future__ import annotations

from lookalike.cli.kind_commands import KindCommands
from lookalike.cli.open_texts import open_strings
from lookalike.kinds.strings.options import StringNearestOptions, StringOptions

STRINGS = KindCommands(
    "strings",
    "lookalike.kinds.strings.api",
    StringOptions,
    open_strings,
    inputs="Tables with a column of strings (Parquet, Arrow, JSON Lines, CSV, TSV), or text files: one in each line.",
    score="distance",
    near="near, within the bound,",
    nearest_options=StringNearestOptions,
    works=True,
)
