"""Command-line options of `lookalike baskets pairs`, `groups` and `dedup`, and the command `suggest`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import typer

from lookalike.cli import options as o
from lookalike.cli.help import App
from lookalike.cli.kind_commands import KindCommands
from lookalike.core.formatting import share
from lookalike.core.options import changed
from lookalike.core.run_options import Threshold
from lookalike.errors import UsageError
from lookalike.kinds.baskets.options import BasketNearestOptions, BasketOptions, Neighbours, ReadingOptions, SuggestTop

if TYPE_CHECKING:
    import pyarrow as pa

SHOWN_NEIGHBOURS = 5  # number of neighbours shown by name


def open_baskets(inputs: list[str], options: dict[str, Any], given: dict[str, Any]) -> Any:
    """Return the paths; the API reads them."""
    return o.paths(inputs)


BASKET_FILES = (
    "Tables of baskets and items (Parquet, Arrow, JSON Lines, CSV, TSV), or files with a basket in each line."
)
BASKET_COMMANDS = KindCommands("baskets", "lookalike.kinds.baskets.api", BasketOptions, open_baskets,
    inputs=BASKET_FILES,
    nearest_options=BasketNearestOptions,
)  # fmt: skip

app = App(
    help="Similar customers by what they have, similar products by who has them.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for name, command in BASKET_COMMANDS.commands().items():
    app.command(name)(command)


class SuggestOptions(TypedDict, total=False):
    """The further options of `suggest`."""

    top: SuggestTop
    neighbours: Neighbours
    threshold: Annotated[
        float, changed(Threshold, default=0.0, range="", help="Lowest similarity of a basket that is used.")
    ]


Baskets = Annotated[list[str], o.input_argument(BASKET_FILES)]


def suggest(
    who: Annotated[str, typer.Argument(metavar="CUSTOMER", help="Id of the basket.", show_default=False)],
    inputs: Baskets,
    options: dict[str, Any],
) -> None:
    """List what the most similar baskets hold and this one does not, and who they are.

    score: the share of the neighbours' similarity that speaks for the item. by: the neighbours that have it.
    """
    import json as json_module

    from lookalike.cli import output as show
    from lookalike.cli import terminal
    from lookalike.kinds.baskets.api import suggest as find

    target = o.Target.of(options)
    output, json = target.output, target.json
    if output is not None and not output.suffix:
        raise UsageError(f"suggestions are one table: give -o a file, for example {output}.csv.")
    outputs = show.Outputs.check(output, force=target.force)
    found = find(o.paths(inputs), who, **options)
    if output is not None:
        outputs.write_table(found.items, output)
    if json:
        rows = {"who": found.who, "items": found.items.to_pylist(), "neighbours": found.neighbours.to_pylist()}
        sys.stdout.write(json_module.dumps(rows, indent=2, ensure_ascii=False, default=str) + "\n")
    elif output is None:
        _print_items(found.items)
    if not target.quiet:
        near = [
            f"{row['id']} ({share(row['similarity'], 2)})"
            for row in found.neighbours.slice(0, SHOWN_NEIGHBOURS).to_pylist()
        ]
        more = len(found.neighbours) - len(near)
        text = ", ".join(near) + (f" and {more} more" if more else "")
        terminal.err.print(f"Like {found.who}: {text or 'none'}", markup=False, soft_wrap=True)


def _print_items(items: pa.Table) -> None:
    """Print the items; on a terminal, only the first few neighbours of each by name."""
    from lookalike.cli import output as show

    few = SHOWN_NEIGHBOURS if sys.stdout.isatty() else sys.maxsize
    by = []
    for names in items["by"].to_pylist():
        more = f" and {len(names) - few} more" if len(names) > few else ""
        by.append(", ".join(map(str, names[:few])) + more)
    at = items.schema.get_field_index("by")
    show.print_rows(items.set_column(at, "by", [by]), "items")


app.command("suggest")(o.takes(o.OutputOptions, SuggestOptions, ReadingOptions)(suggest))
