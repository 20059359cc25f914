"""lookalike pairs, groups and dedup."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from lookalike.cli import options as o
from lookalike.errors import UsageError

if TYPE_CHECKING:
    from lookalike.result import Result


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
    from lookalike.apps import documents
    from lookalike.cli import show

    outputs = show.Outputs.check(output, force=force)
    with show.progress(quiet) as progress:
        result = documents.pairs(
            o.paths(inputs),
            against=[Path(name) for name in against] if against else None,
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
    from lookalike.apps import documents
    from lookalike.cli import show

    outputs = show.Outputs.check(output, force=force)
    with show.progress(quiet) as progress:
        result = documents.groups(o.paths(inputs), grouping=grouping.value, keep=keep, progress=progress, **options)
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
    from lookalike.apps import documents
    from lookalike.cli import show

    if output is None and removed is None and not json:
        raise UsageError("dedup writes the kept rows to a file: give -o OUT, for example -o clean.parquet.")
    outputs = show.Outputs.check(output, removed, force=force)
    with show.progress(quiet) as progress:
        result: Result = documents.dedup(
            o.paths(inputs),
            against=[Path(name) for name in against] if against else None,
            keep=keep,
            progress=progress,
            **options,
        )
        wrote = outputs.write_result(result, output)
        if removed is not None:
            wrote += outputs.write_table(result.removed, removed)
    show.finish(result, wrote, quiet=quiet, json=json)
