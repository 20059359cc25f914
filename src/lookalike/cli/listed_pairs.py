"""The command `lookalike groups --pairs FILE`: groups of pairs that another program found."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, TypedDict

from lookalike.cli import options as o
from lookalike.cli.streams import STANDARD_STREAM, streams
from lookalike.core.options import SIMILARITY_PANEL, Option, declared
from lookalike.errors import UsageError

USED_WITH_PAIRS = {"format", "threshold"}  # a given threshold looks like the default


class ListedPairsArguments(TypedDict, total=False):
    """The parameter of `groups` that replaces INPUT."""

    pairs: Annotated[
        Path | None,
        Option(None, "File of pairs (left, right, and a score) to group instead of a search; all of them count, "
               "without INPUT and threshold.", unset="search", panel=SIMILARITY_PANEL),
    ]  # fmt: skip


def group_listed_pairs(
    inputs: list[str], options: dict[str, Any], given: dict[str, Any], target: o.Target, accepted: type
) -> bool:
    """Write the groups of the file of pairs; return whether the options name one. accepted: declares the options."""
    file = options.pop("pairs")
    if file is None:
        if not inputs:
            raise UsageError("no INPUT came; expected files, folders or globs, or `pairs` with a file of pairs.")
        return False
    if inputs:
        raise UsageError(f"`pairs` groups the ids of {file}; leave out {inputs[0]}.")
    known = declared(accepted)
    for name in options.keys() - USED_WITH_PAIRS:
        if name in known and options[name] != known[name].option.default:
            raise UsageError(f"`{name}` is for a search; leave it out with `pairs`.")
    if target.json and str(target.output) == STANDARD_STREAM:
        raise UsageError("-o - takes standard output, where --json would write too; name a file for the groups.")
    with streams(options, [str(file)]) as opened:
        output = opened.target(target.output, [str(file)], "tsv")
        _run(opened.files([str(file)])[0], given, target, output)
        if output is not None and output != target.output:
            opened.send(output)
    return True


def _run(file: str, given: dict[str, Any], target: o.Target, output: Path | None) -> None:
    from lookalike.cli import output as show
    from lookalike.core.trace import Trace
    from lookalike.evaluation.pair_groups import listed_output
    from lookalike.result import answer

    outputs = show.Outputs.check(output, force=target.force)
    trace = Trace()
    job, pairs, found = listed_output(Path(file), given["keep"], trace)
    result = answer("groups", given["grouping"], job, [pairs], found, trace)
    wrote = outputs.write_result(result, output)
    if output is None and not target.json:
        show.print_groups(result)
    show.finish(result, wrote if output == target.output else [], quiet=target.quiet, json=target.json)
