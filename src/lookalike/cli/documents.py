"""lookalike pairs, groups and dedup."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from lookalike.cli import options as o
from lookalike.errors import UsageError

if TYPE_CHECKING:
    from lookalike.io.collection import Collection


def _open(inputs: list[str], options: dict[str, Any], *, keep: str = "first") -> Collection:
    """The collection, already being read: decoding goes on while the compiler is loaded."""
    from lookalike.io.read import open_collection

    columns = {name: options[name] for name in ("text", "id", "on_bad_text")}
    collection = open_collection(o.paths(inputs), **columns)
    if ":" not in keep:  # a policy by column reads one column more
        collection.begin()
    return collection


@o.takes(o.document_options)
def pairs(
    inputs: o.Inputs,
    options: dict[str, Any],
    output: o.Out = None,
    against: o.Against = None,
    verify: Annotated[bool, o.option(o.WHAT, "--verify/--no-verify", help="Score pairs exactly, or estimate.")] = True,
    force: o.RunOptions.Force = False,
    quiet: o.RunOptions.Quiet = False,
    json: o.RunOptions.Json = False,
) -> None:
    """Find pairs of documents that are nearly the same: left, right, similarity.

    Without -o, pairs go to the terminal (the most similar ones) or, in a pipe, to standard output as
    tab-separated lines.
    """
    from lookalike.cli import show

    outputs = show.Outputs.check(output, force=force)
    source = _open(inputs, options)
    from lookalike.apps import documents

    with show.progress(quiet) as progress:
        result = documents.pairs(
            source,
            against=o.paths(against),
            verify=verify,
            progress=progress,
            **options,
        )
        wrote = outputs.write_result(result, output)
    if output is None and not json:
        show.print_pairs(result)
    show.finish(result, wrote, quiet=quiet, json=json)


@o.takes(o.document_options)
def groups(
    inputs: o.Inputs,
    options: dict[str, Any],
    output: o.Out = None,
    grouping: Annotated[
        o.Grouping,
        o.option(o.WHAT, help="components (chained pairs), or stars (all members similar to the representative)."),
    ] = o.Grouping.components,
    keep: o.Keep = "first",
    force: o.RunOptions.Force = False,
    quiet: o.RunOptions.Quiet = False,
    json: o.RunOptions.Json = False,
) -> None:
    """Group documents that are nearly the same: id, group, size, representative.

    Without -o, the largest groups go to the terminal or, in a pipe, all of them to standard output as
    tab-separated lines.
    """
    from lookalike.cli import show

    outputs = show.Outputs.check(output, force=force)
    source = _open(inputs, options, keep=keep)
    from lookalike.apps import documents

    with show.progress(quiet) as progress:
        result = documents.groups(source, grouping=grouping.value, keep=keep, progress=progress, **options)
        wrote = outputs.write_result(result, output)
    if output is None and not json:
        show.print_groups(result)
    show.finish(result, wrote, quiet=quiet, json=json)


@o.takes(o.document_options)
def dedup(
    inputs: o.Inputs,
    options: dict[str, Any],
    output: o.Out = None,
    removed: Annotated[Path | None, o.option(o.RUN, help="Also write what went: id, kept, similarity.")] = None,
    against: o.Against = None,
    keep: o.Keep = "first",
    force: o.RunOptions.Force = False,
    quiet: o.RunOptions.Quiet = False,
    json: o.RunOptions.Json = False,
) -> None:
    """Write the rows without near-duplicates, with all their columns, in the old order.

    Every removed document is similar, at or above the threshold, to the one kept in its stead. With --against,
    removes what is similar to a document there.
    """
    from lookalike.cli import show

    if output is None and removed is None and not json:
        raise UsageError("dedup writes the kept rows to a file: give -o OUT, for example -o clean.parquet.")
    outputs = show.Outputs.check(output, removed, force=force)
    source = _open(inputs, options, keep=keep)
    from lookalike.apps import documents

    with show.progress(quiet) as progress:
        result = documents.dedup(
            source,
            against=o.paths(against),
            keep=keep,
            progress=progress,
            **options,
        )
        wrote = outputs.write_result(result, output)
        if removed is not None:
            wrote += outputs.write_table(result.removed, removed)
    show.finish(result, wrote, quiet=quiet, json=json)
