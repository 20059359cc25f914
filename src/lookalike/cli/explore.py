"""The commands `lookalike explore` and `lookalike report`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from lookalike.cli import options as o
from lookalike.cli.browser import open_page
from lookalike.core.formatting import size

WHERE = "Where it listens"
By = Annotated[str | None, o.option(o.RUN, help="Who judges (default: the user of this process).", show_default=False)]
Inputs = Annotated[
    list[Path] | None,
    o.option(
        o.RUN, "--input", help="Where the items are now, if not where the run read them; one for each of its inputs."
    ),
]
Open = Annotated[
    bool | None,
    o.option(
        o.RUN, "--open/--no-open", help="Open the page in the browser (default: on a terminal).", show_default=False
    ),
]


@o.takes()
def report(
    result: Annotated[
        Path,
        typer.Argument(
            help="A result folder (-o FOLDER of pairs, groups, dedup or scrub), or a file of pairs or groups."
        ),
    ],
    output: Annotated[Path, o.option(o.RUN, "-o", "--output", help="The page to write.")] = Path("report.html"),
    input: Inputs = None,  # noqa: A002  (the option's name)
    open: Open = None,  # noqa: A002
    verdicts: Annotated[
        Path | None,
        o.option(o.RUN, "--verdicts", help="File of verdicts (.jsonl) to estimate precision and recall from.",
                 show_default=False),
    ] = None,
    force: o.RunOptions.Force = False,
    quiet: o.RunOptions.Quiet = False,
) -> None:  # fmt: skip
    """Write a page about a result, one file for any browser: thresholds, recall, groups, and pairs side by side.

    It asks for nothing from elsewhere; of a large result it holds a part, and says which.
    """
    from lookalike.cli.terminal import err
    from lookalike.io.atomic import check_place
    from lookalike.kinds.scrub.page import is_scrub_folder
    from lookalike.web.report import report as write
    from lookalike.web.result_loader import open_result

    check_place(output, force=force)
    if is_scrub_folder(result):
        path = write(result, output, force=force)
    else:
        opened = open_result(result, inputs=input)
        path = write(opened, output, force=force, verdicts=verdicts)
        _tell(opened.notes)
    if not quiet:
        err.say("Wrote", f"{path} ({size(path.stat().st_size)})")
    open_page(path.absolute().as_uri(), wanted=open)


def explore(
    source: Annotated[
        str,
        typer.Argument(
            help="A result folder, a file of pairs or groups, an index, or a postgresql:// URL.", show_default=False
        ),
    ],
    input: Inputs = None,  # noqa: A002
    open: Open = None,  # noqa: A002
    port: Annotated[int, o.option(WHERE, help="0 for any free one.")] = 8300,
    host: Annotated[str, o.option(WHERE, help="127.0.0.1: this machine only.")] = "127.0.0.1",
    verdicts: Annotated[
        Path | None,
        o.option(
            o.RUN, "--verdicts", show_default=False,
            help="File of verdicts (.jsonl) to show and append to (default: NAME.verdicts.jsonl next to the source).",
        ),
    ] = None,
    by: By = None,
) -> None:  # fmt: skip
    """Look at a result, or at an index, in the browser, and judge its pairs and groups.

    All pairs and groups can be seen, however many there are. Verdicts are on disk as soon as they are given.
    """
    from lookalike.kinds.scrub.page import is_scrub_folder
    from lookalike.web.exploring import explore as run
    from lookalike.web.exploring import is_index
    from lookalike.web.result_loader import Opened, open_result
    from lookalike.web.serving import check_installed, is_loopback

    check_installed()
    shown: str | Opened = source
    if not is_index(source) and not is_scrub_folder(source):
        shown = open_result(source, inputs=input)
        _tell(shown.notes)
    if not is_loopback(host):
        sys.stderr.write("Anyone who reaches this machine can look at this, and at the inputs it was made from.\n")
    run(
        shown, port=port, host=host, name=source, verdicts=verdicts, by=by,
        ready=lambda address: open_page(address, wanted=open),
    )  # fmt: skip


def _tell(notes: Sequence[str]) -> None:
    for note in notes:
        sys.stderr.write(f"Warning: {note}\n")
