"""Command-line options of `lookalike faces pairs`, `groups`, `dedup` and `query`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from lookalike.cli import options as o
from lookalike.cli.kind_commands import KindCommands
from lookalike.cli.row_options import Bad, Column, Seed
from lookalike.errors import UsageError

if TYPE_CHECKING:
    from lookalike.io.vectors import Vectors


def open_given(inputs: list[str], options: dict[str, Any], given: dict[str, Any]) -> Vectors:
    from lookalike.kinds.faces.source import open_faces

    return open_faces(o.paths(inputs), column=options["column"], id=options["id"], grid=options["grid"])


def face_options(
    column: Column = None,
    id: o.Id = None,  # noqa: A002
    tolerance: Annotated[float, o.option(o.WHAT, help="Difference up to which two measurements agree.")] = 10.0,
    share: Annotated[float, o.option(o.WHAT, help="Share of the measurements that must agree.")] = 0.5,
    grid: Annotated[str, o.option(o.RUN, help="Blocks of a picture, columns x rows: one measurement each.")] = "24x28",
    recall: o.Recall = 0.95,
    method: Annotated[
        o.RowMethod,
        o.option(o.WHAT, help="How to look for pairs; auto takes the cheapest way that keeps the promise."),
    ] = o.RowMethod.auto,
    tables: Annotated[int | None, o.option(o.MECHANISM, help="Hash functions, instead of the planned number.")] = None,
    rows: Annotated[int | None, o.option(o.MECHANISM, help="Measurements in a hash function.")] = None,
    max_scored: Annotated[
        float | None, o.option(o.MECHANISM, help="Plan so that no larger share of all pairs is scored.")
    ] = None,
    audit: o.Audit = 128,
    seed: Seed = 42,
    max_pairs: o.MaxPairs = 100_000_000,
    on_bad: Bad = o.OnBad.error,
    threads: o.Threads = None,
    engine: o.OnlyHere = o.Engine.local,
) -> None:
    """Declare the options of faces pairs, groups, dedup and query; this function is never called."""


def check(options: dict[str, Any]) -> None:
    from lookalike.kinds.faces.api import NOT_ON_SPARK
    from lookalike.runtime.engine_choice import only_local

    only_local(options, "faces", NOT_ON_SPARK)


FACES = KindCommands("faces", "lookalike.kinds.faces.api", face_options, open_given, score="agreement", check=check)


@o.takes(face_options)
def query(
    probes: o.Inputs,
    options: dict[str, Any],
    gallery: Annotated[list[str], o.option(o.WHAT, help="Where to look: files or folders (repeatable).")],
    top: Annotated[int | None, o.option(o.WHAT, help="At most so many matches for each probe.")] = None,
    output: o.Out = None,
    force: o.RunOptions.Force = False,
    quiet: o.RunOptions.Quiet = False,
    json: o.RunOptions.Json = False,
) -> None:
    """Look up each probe in a gallery: probe, match, agreement, the best matches first.

    Every member of a probe's buckets is scored; the summary says how large a share of the gallery that was.
    """
    from lookalike.cli import output as show
    from lookalike.cli import terminal
    from lookalike.kinds.faces.api import query as run

    if top is not None and top < 1:
        raise UsageError(f"top is {top}; expected at least 1.")
    if output is not None and not output.suffix:
        raise UsageError(f"{output} has no extension; query writes one table, for example matches.csv.")
    outputs = show.Outputs.check(output, force=force)
    with terminal.progress(quiet) as progress:
        table, result = run(o.paths(probes), o.paths(gallery), top=top, progress=progress, **options)
        wrote = [] if output is None else outputs.write_table(table, output)
    if output is None and not json:
        show.print_rows(table, "matches")
    show.finish(result, wrote, quiet=quiet, json=json)
