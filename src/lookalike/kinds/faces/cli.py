"""Command-line options of `lookalike faces pairs`, `groups`, `dedup` and `query`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from lookalike.cli import options as o
from lookalike.cli.kind_commands import KindCommands
from lookalike.core.options import SIMILARITY_PANEL, Option, check_values
from lookalike.errors import UsageError
from lookalike.kinds.faces.options import FaceOptions, Top

if TYPE_CHECKING:
    from lookalike.io.vectors import Vectors


def open_given(inputs: list[str], options: dict[str, Any], given: dict[str, Any]) -> Vectors:
    from lookalike.kinds.faces.source import open_faces

    return open_faces(o.paths(inputs), column=options["column"], id=options["id"], grid=options["grid"])


def check(options: dict[str, Any]) -> None:
    from lookalike.kinds.faces.api import NOT_ON_SPARK
    from lookalike.runtime.engine_choice import only_local

    only_local(options, "faces", NOT_ON_SPARK)


FACE_FILES = "Folders, files or globs of pictures, arrays (.npy, .npz), or tables with a column of lists of numbers."

FACES = KindCommands(
    "faces", "lookalike.kinds.faces.api", FaceOptions, open_given, score="agreement", check=check, inputs=FACE_FILES,
)  # fmt: skip
Probes = Annotated[list[str], o.input_argument(FACE_FILES)]


class QueryOptions(TypedDict, total=False):
    """The further options of `query`."""

    against: Annotated[
        list[str],
        Option(..., "Where to look: files or folders (repeatable).", panel=SIMILARITY_PANEL, metavar="INPUT"),
    ]
    top: Top


@o.takes(o.OutputOptions, QueryOptions, FaceOptions)
def query(probes: Probes, options: dict[str, Any]) -> None:
    """Look up each probe in a gallery: probe, match, agreement, the best matches first.

    Every member of a probe's buckets is scored; the summary says how large a share of the gallery that was.
    """
    from lookalike.cli import output as show
    from lookalike.cli import terminal
    from lookalike.kinds.faces.api import query as run

    target, gallery, top = o.Target.of(options), options.pop("against"), options.pop("top")
    check_values(QueryOptions, {"top": top})
    output = target.output
    if output is not None and not output.suffix:
        raise UsageError(f"{output} has no extension; query writes one table, for example matches.csv.")
    outputs = show.Outputs.check(output, force=target.force)
    with terminal.progress(target.quiet) as progress:
        table, result = run(o.paths(probes), o.paths(gallery), top=top, progress=progress, **options)
        wrote = [] if output is None else outputs.write_table(table, output)
    if output is None and not target.json:
        show.print_rows(table, "matches")
    show.finish(result, wrote, quiet=target.quiet, json=target.json)
