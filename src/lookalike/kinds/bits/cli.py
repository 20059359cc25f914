"""Command-line options of `lookalike bits pairs`, `groups` and `dedup`."""

from __future__ import annotations

from typing import Any

from lookalike.cli import options as o
from lookalike.cli.kind_commands import KindCommands
from lookalike.kinds.bits.options import BitsNearestOptions, BitsOptions


def open_codes(inputs: list[str], options: dict[str, Any], given: dict[str, Any]) -> Any:
    """Open the source of the codes; the columns are checked here, the rows are read later."""
    from lookalike.kinds.bits.source import open_codes as open_source

    return open_source(o.paths(inputs), **{name: options[name] for name in ("column", "id", "form")})


BITS = KindCommands(
    "codes",
    "lookalike.kinds.bits.api",
    BitsOptions,
    open_codes,
    score="distance",
    near="within --max-bits of",
    works=True,
    inputs="Tables with a column of codes (Parquet, Arrow, JSON Lines, CSV, TSV).",
    nearest_options=BitsNearestOptions,
)
