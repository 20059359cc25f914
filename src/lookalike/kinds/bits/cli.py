"""Command-line options of `lookalike bits pairs`, `groups` and `dedup`."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any

from lookalike.cli import options as o
from lookalike.cli.kind_commands import KindCommands


class CodeFormat(Enum):
    auto = "auto"
    hex = "hex"
    binary = "binary"
    int = "int"


def open_codes(inputs: list[str], options: dict[str, Any], given: dict[str, Any]) -> Any:
    """Open the source of the codes; the columns are checked here, the rows are read later."""
    from lookalike.kinds.bits.source import open_codes as open_source

    return open_source(o.paths(inputs), **{name: options[name] for name in ("code", "id", "form")})


def bits_options(
    max_bits: Annotated[int, o.option(o.WHAT, "-d", "--max-bits", help="Bits in which two codes may differ.")] = 8,
    code: Annotated[str | None, o.option(o.RUN, help="Column of the codes.")] = None,
    id: o.Id = None,  # noqa: A002
    form: Annotated[
        CodeFormat, o.option(o.RUN, help="How codes are written in text: hexadecimal, 0 and 1, or decimal numbers.")
    ] = CodeFormat.auto,
    method: Annotated[
        o.RowMethod, o.option(o.WHAT, help="How to look for pairs; auto takes lsh where exact is clearly dearer.")
    ] = o.RowMethod.auto,
    recall: Annotated[float, o.option(o.WHAT, help="Share of the pairs at --max-bits that lsh must find.")] = 0.99,
    seed: Annotated[int, o.option(o.MECHANISM, help="Seed of the random order of the bits.")] = 42,
    audit: Annotated[int, o.option(o.WHAT, help="Codes of which the recall is measured; 0 for none.")] = 2000,
    max_pairs: o.MaxPairs = 100_000_000,
    threads: o.Threads = None,
    engine: o.Where = o.Engine.local,
    master: o.Master = None,
    spark_conf: o.SparkConf = None,
) -> None:
    """Declare the options of bits pairs, groups and dedup; this function is never called."""


BITS = KindCommands(
    "codes", "lookalike.kinds.bits.api", bits_options, open_codes, score="distance", near="within --max-bits of"
)
