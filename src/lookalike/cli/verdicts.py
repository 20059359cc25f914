"""The commands `lookalike verdicts`: show, add and merge verdicts on pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lookalike.cli import options as o
from lookalike.cli.explore import By
from lookalike.cli.help import App

app = App(help="Verdicts on pairs of items: the same, different, unsure.", no_args_is_help=True)
SafeCells = Annotated[
    bool,
    o.option(o.RUN, "--safe-cells", help=o.SAFE_CELLS),
]
Files = Annotated[
    list[Path],
    typer.Argument(help="Files of verdicts: .jsonl, or a table with left, right, verdict.", show_default=False),
]


@app.command("show")
@o.takes()
def show(files: Files) -> None:
    """Print the verdicts in force, those on which people disagree first.

    The latest verdict of a person on a pair counts. Of several people the majority decides; a tie is contested and
    changes nothing.
    """
    from lookalike.cli.output import print_lines
    from lookalike.cli.terminal import err
    from lookalike.core.formatting import count
    from lookalike.io.verdicts import read_verdicts

    verdicts = read_verdicts(files)
    ordered = sorted(verdicts.pairs, key=lambda one: len(set(one.votes.values())) < 2)
    print_lines(type(verdicts)(verdicts.names, tuple(ordered)).to_arrow())
    words = " · ".join(f"{number:,} {name}" for name, number in verdicts.counts().items())
    err.say("Verdicts", f"on {count(len(verdicts.pairs), 'pairs')}: {words}")


@app.command("add")
@o.takes()
def add(
    file: Annotated[Path, typer.Argument(help="The file of verdicts (.jsonl), new or not.", show_default=False)],
    left: Annotated[str, typer.Argument(help="The id of an item.", show_default=False)],
    right: Annotated[str, typer.Argument(help="The id of another item.", show_default=False)],
    verdict: Annotated[
        str, typer.Argument(help="same, different or unsure; withdrawn takes an earlier one back.", show_default=False)
    ],
    by: By = None,
    note: Annotated[str, o.option(o.RUN, help="A note on the verdict.", show_default=False)] = "",
) -> None:
    """Append one verdict to a file. It is on disk when the command returns."""
    from lookalike.io.verdicts import WITHDRAWN, Verdicts

    if verdict == WITHDRAWN:
        Verdicts(file).withdraw(left, right, by=by)
    else:
        Verdicts(file).add(left, right, verdict, by=by, note=note)


@app.command("next")
@o.takes()
def following(
    result: Annotated[
        Path, typer.Argument(help="A result folder, or a file of pairs with scores.", show_default=False)
    ],
    verdicts: Annotated[
        Path | None,
        o.option(o.RUN, help="The file of verdicts (.jsonl), new or not; it gets the plan of the sample.",
                 show_default=False),
    ] = None,
    sample: Annotated[int, o.option(o.RUN, help="Number of pairs to draw.", min=1)] = 200,
    output: Annotated[
        Path | None, o.option(o.RUN, "-o", "--output", help="A table to fill in (.csv, .parquet).", show_default=False)
    ] = None,
    force: o.RunOptions.Force = False,
    cells: SafeCells = False,
) -> None:  # fmt: skip
    """Draw the pairs that should be judged next, where verdicts tell most.

    The pairs are in the order in which to judge them: whenever the judging stops, the verdicts so far are a random
    sample with known weights. Fill in the column verdict, and give the table to --verdicts of other commands, or to
    lookalike verdicts merge.
    """
    from lookalike.cli.output import print_lines
    from lookalike.cli.terminal import err
    from lookalike.evaluation.judged_quality import judging_sample
    from lookalike.io.atomic import check_output
    from lookalike.io.safe_cells import safe_cells
    from lookalike.io.write import write_table

    if output is not None:
        check_output(output, force=force)
    drawn = judging_sample(result, sample, verdicts=verdicts)
    safe_cells.set(cells)
    if output is None:
        print_lines(drawn)
        return
    write_table(drawn, output, force=force)
    err.say("Wrote", f"{output} ({drawn.num_rows:,} pairs to judge)")


@app.command("merge")
@o.takes()
def merge(
    files: Files,
    output: Annotated[
        Path, o.option(o.RUN, "-o", "--output", help="A file of verdicts (.jsonl), or a table (.csv, .parquet).")
    ],
    force: o.RunOptions.Force = False,
    cells: SafeCells = False,
) -> None:
    """Merge the verdicts of several people into one file, or convert them from and to a table.

    A file of verdicts keeps the verdict of each person; a table has one row per pair, with the verdict in force.
    """
    from lookalike.cli.terminal import err
    from lookalike.io.atomic import check_place, replacing
    from lookalike.io.safe_cells import safe_cells
    from lookalike.io.verdicts import read_verdicts, write_verdicts
    from lookalike.io.write import write_table

    check_place(output, force=force)
    safe_cells.set(cells)
    verdicts = read_verdicts(files)
    if output.suffix.lower() == ".jsonl":
        with replacing(output, force=force) as draft:
            write_verdicts(verdicts, draft.path)
    else:
        write_table(verdicts.to_arrow(), output, force=force)
    for one in verdicts.pairs:
        if len(set(one.votes.values())) > 1:
            said = ", ".join(f"{verdict} by {by or 'nobody'}" for by, verdict in one.votes.items())
            err.say("Disagree", f"{one.left} and {one.right}: {said}", style="yellow")
    err.say("Wrote", f"{output} ({len(verdicts.pairs):,} pairs)")
