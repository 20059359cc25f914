"""The command nearest, shared by the kinds of items that have it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypedDict

from lookalike.cli import options as o
from lookalike.core.nearest_options import NearestAgainst, Top
from lookalike.core.options import declared

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
        from lookalike.cli import output as show
        from lookalike.cli import terminal

        given = {name: options.pop(name) for name in declared(NearestArguments)}
        target = o.Target.of(options)
        outputs = show.Outputs.check(target.output, force=target.force)
        given["against"] = o.paths(given["against"])
        with terminal.progress(target.quiet) as progress:
            # The app is loaded when everything else has been checked.
            result: NearestResult = import_module(app).nearest(o.paths(inputs), progress=progress, **given, **options)
            wrote = outputs.write_result(result, target.output)
        if target.output is None and not target.json:
            show.print_rows(result.nearest, "neighbours")
        show.finish(result, wrote, quiet=target.quiet, json=target.json)

    nearest.__doc__ = f"""Find the nearest {noun} of each, exactly: left, right, rank, {score}.

    With --in, the neighbours of INPUT are searched there; without, each is compared with all others of INPUT. Without
    -o, neighbours go to the terminal (the first ones) or, in a pipe, to standard output as tab-separated lines.
    """
    if meaning:
        nearest.__annotations__["inputs"] = o.inputs_of(meaning)
    return o.takes(o.OutputOptions, NearestArguments, accepted)(nearest)
