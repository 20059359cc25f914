"""Command-line options of `lookalike baskets pairs`, `groups` and `dedup`, and the command `suggest`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lookalike.cli import options as o
from lookalike.cli.kind_commands import KindCommands
from lookalike.core.formatting import share
from lookalike.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

BASKETS = "Baskets"
SHOWN_NEIGHBOURS = 5  # number of neighbours shown by name


def open_baskets(inputs: list[str], options: dict[str, Any], given: dict[str, Any]) -> Any:
    """Return the paths; the API reads them."""
    return o.paths(inputs)


def reading_options(
    set: Annotated[  # noqa: A002  (the user's word)
        str | None, o.option(BASKETS, help="Column that says whose basket it is, such as the customer.")
    ] = None,
    item: Annotated[str | None, o.option(BASKETS, help="Column of the items, or of lists of items.")] = None,
    lines: Annotated[bool, o.option(BASKETS, "--lines", help="Each line of the file is a basket.")] = False,
    separator: Annotated[
        str | None,
        o.option(
            BASKETS,
            help="Between the items of a line, or of a text; guessed (comma, tab, ;, | or white space) unless given.",
            show_default=False,
        ),
    ] = None,
    rating: Annotated[str | None, o.option(BASKETS, help="Column of the ratings.")] = None,
    min_rating: Annotated[float | None, o.option(BASKETS, help="Leave out items that are rated lower.")] = None,
    bag: Annotated[
        bool, o.option(BASKETS, "--bag", help="Count repeated items, or ratings, as so many copies (bag, not set).")
    ] = False,
    dual: Annotated[bool, o.option(BASKETS, "--dual", help="Compare items, by the baskets that hold them.")] = False,
    via_groups: Annotated[
        bool, o.option(BASKETS, "--via-groups", help="Group items first, then compare baskets by these groups.")
    ] = False,
    group_threshold: Annotated[
        float | None,
        o.option(
            BASKETS,
            help="Similarity at which items form a group (default: as -t, or 0.2 with --min-shared).",
            show_default=False,
        ),
    ] = None,
    measure: Annotated[o.SetMeasureChoice, o.option(o.WHAT, help="What similar means.")] = o.SetMeasureChoice.jaccard,
    min_shared: Annotated[
        int | None,
        o.option(
            o.WHAT,
            help="Match where at least this many items (with --via-groups, groups) are shared, instead of a threshold.",
        ),
    ] = None,
) -> None:
    """Declare the options of every command of baskets."""


def basket_options(
    threshold: o.Threshold = 0.2,
    method: Annotated[
        o.Method, o.option(o.WHAT, help="How to look for pairs; auto may band at high thresholds.")
    ] = o.Method.exact,
    recall: o.Recall = 0.99,
    max_share: Annotated[
        float | None, o.option(BASKETS, help="Leave out items in more than this share of the baskets.")
    ] = None,
    num_hashes: Annotated[int, o.option(o.MECHANISM, help="Slots of a signature.")] = 128,
    seed: Annotated[int, o.option(o.MECHANISM, help="Seed of the signatures.")] = 42,
    audit: Annotated[int, o.option(o.WHAT, help="Baskets of which the recall is measured; 0 for none.")] = 2000,
    max_pairs: o.MaxPairs = 100_000_000,
    threads: o.Threads = None,
    engine: o.Where = o.Engine.local,
    master: o.Master = None,
    spark_conf: o.SparkConf = None,
) -> None:
    """Declare the options of pairs, groups and dedup of baskets."""


OPTIONS = o.together(reading_options, basket_options)
BASKET_COMMANDS = KindCommands("baskets", "lookalike.kinds.baskets.api", OPTIONS, open_baskets)

app = typer.Typer(
    help="Similar customers by what they have, similar products by who has them.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for name, command in BASKET_COMMANDS.commands().items():
    app.command(name)(command)


def suggest(
    who: Annotated[str, typer.Argument(metavar="CUSTOMER", help="Whose basket: its id.", show_default=False)],
    inputs: o.Inputs,
    options: dict[str, Any],
    limit: Annotated[int, o.option(o.WHAT, "-n", "--limit", help="Items to list.")] = 10,
    neighbours: Annotated[int, o.option(o.WHAT, help="Similar baskets to look at.")] = 20,
    threshold: Annotated[
        float, o.option(o.WHAT, "-t", "--threshold", help="Similarity from which a basket is a neighbour.")
    ] = 0.0,
    output: o.Out = None,
    force: o.RunOptions.Force = False,
    quiet: o.RunOptions.Quiet = False,
    json: o.RunOptions.Json = False,
) -> None:
    """List what the most similar baskets hold and this one does not, and who they are.

    score: the share of the neighbours' similarity that speaks for the item. by: the neighbours that have it.
    """
    import json as json_module

    from lookalike.cli import output as show
    from lookalike.cli import terminal
    from lookalike.kinds.baskets.api import suggest as find

    if output is not None and not output.suffix:
        raise UsageError(f"suggestions are one table: give -o a file, for example {output}.csv.")
    outputs = show.Outputs.check(output, force=force)
    found = find(o.paths(inputs), who, limit=limit, neighbours=neighbours, threshold=threshold, **options)
    if output is not None:
        outputs.write_table(found.items, output)
    if json:
        rows = {"who": found.who, "items": found.items.to_pylist(), "neighbours": found.neighbours.to_pylist()}
        sys.stdout.write(json_module.dumps(rows, indent=2, ensure_ascii=False, default=str) + "\n")
    elif output is None:
        _print_items(found.items)
    if not quiet:
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


app.command("suggest")(o.takes(reading_options)(suggest))
