"""The command nearest, shared by the kinds of items that have it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from lookalike.cli import options as o
from lookalike.cli.streams import STANDARD_STREAM, StreamOptions, streams
from lookalike.core.options import declared
from lookalike.core.run_options import NearestAgainst, Top
from lookalike.errors import UsageError

if TYPE_CHECKING:
    from lookalike.runtime.nearest_result import NearestResult


class NearestArguments(TypedDict, total=False):
    """The parameters of `nearest`."""

    against: NearestAgainst
    top: Top


def nearest_command(noun: str, app: str, accepted: type, score: str, meaning: str) -> Callable[..., None]:
    """Return the command for a kind of item. accepted: the TypedDict that declares its options;
    meaning: the help of INPUT, if not that of documents.
    """

    def nearest(inputs: o.Inputs, options: dict[str, Any]) -> None:
        given = {name: options.pop(name) for name in declared(NearestArguments)}
        target = o.Target.of(options)
        if target.json and str(target.output) == STANDARD_STREAM:
            raise UsageError("-o - and --json both write to standard output: name a file for the table.")
        with streams(options, inputs, given["against"]) as opened:
            inputs = opened.files(inputs)
            given["against"] = o.paths(opened.files(given["against"] or []))
            output = opened.target(target.output, inputs, "tsv")
            _run(app, o.paths(inputs), given | options, target, output)
            if output is not None and output != target.output:
                opened.send(output)

    nearest.__doc__ = f"""Find the nearest {noun} of each, exactly: left, right, rank, {score}.

    With --in, the neighbours of INPUT are searched there; without, each is compared with all others of INPUT. Without
    -o, neighbours go to the terminal (the first ones) or, in a pipe, to standard output as tab-separated lines.
    """
    if meaning:
        nearest.__annotations__["inputs"] = o.inputs_of(meaning)
    return o.takes(o.OutputOptions, StreamOptions, NearestArguments, accepted)(nearest)


def _run(app: str, inputs: list[Path] | None, given: dict[str, Any], target: o.Target, output: Path | None) -> None:
    from lookalike.cli import output as show
    from lookalike.cli import terminal

    outputs = show.Outputs.check(output, force=target.force)
    with terminal.progress(target.quiet) as progress:
        # The app is loaded when everything else has been checked.
        result: NearestResult = import_module(app).nearest(inputs, progress=progress, **given)
        wrote = outputs.write_result(result, output)
    if output is None and not target.json:
        show.print_rows(result.nearest, "neighbours")
    show.finish(result, wrote if output == target.output else [], quiet=target.quiet, json=target.json)
