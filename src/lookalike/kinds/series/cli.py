"""The command `lookalike series pairs`."""

from __future__ import annotations

from typing import Any, TypedDict

from lookalike.cli import options as o
from lookalike.cli.help import App
from lookalike.core.run_options import Against
from lookalike.kinds.series.options import SeriesOptions

app = App(help="Time series and motions: windows of the same shape.", no_args_is_help=True)


class SeriesArguments(TypedDict, total=False):
    """The parameters of `pairs`."""

    against: Against


def pairs(inputs: o.Inputs, options: dict[str, Any]) -> None:
    """Find all pairs of windows with the same shape, within series and between them, and where they begin.

    Windows are z-normalised: level and scale do not count. Without -o, pairs go to the terminal (the nearest ones) or,
    in a pipe, to standard output as tab-separated lines.
    """
    from lookalike.cli import output as show
    from lookalike.cli import terminal

    target, against = o.Target.of(options), o.paths(options.pop("against"))
    outputs = show.Outputs.check(target.output, force=target.force)
    with terminal.progress(target.quiet) as progress:
        from lookalike.kinds.series.api import pairs as find

        result = find(o.paths(inputs), against=against, progress=progress, **options)
        wrote = outputs.write_result(result, target.output)
    if target.output is None and not target.json:
        show.print_rows(result.pairs, "pairs")
    show.finish(result, wrote, quiet=target.quiet, json=target.json)


pairs.__annotations__["inputs"] = o.inputs_of(
    "Tables with a row for each step or a column of lists (Parquet, Arrow, JSON Lines, CSV, TSV), or .npy files."
)
app.command("pairs")(o.takes(o.OutputOptions, SeriesArguments, SeriesOptions)(pairs))
