"""lookalike plan."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Annotated

import typer

from lookalike.cli import options as o
from lookalike.cli.forecast import print_forecast


def plan(
    inputs: Annotated[
        list[str] | None,
        typer.Argument(help="Files, folders or globs to look at: what would a run on them cost?", show_default=False),
    ] = None,
    threshold: o.Threshold = 0.8,
    recall: o.Recall = 0.99,
    num_hashes: Annotated[int, o.option(o.MECHANISM, help="Slots of a signature.")] = 128,
    bands: Annotated[int | None, o.option(o.MECHANISM, help="Bands, instead of the planned number.")] = None,
    rows: Annotated[int | None, o.option(o.MECHANISM, help="Rows of a band, instead of the planned number.")] = None,
    text: Annotated[str | None, o.option(o.RUN, help="Column of the texts, of INPUTS.")] = None,
    unit: Annotated[
        o.Unit | None, o.option(o.SHINGLES, help="Of what a shingle is made [default: word].", show_default=False)
    ] = None,
    k: Annotated[int | None, o.option(o.SHINGLES, "-k", help="Units in a shingle.", show_default=False)] = None,
    memory: Annotated[
        str | None,
        o.option(o.RUN, help="Memory of the run, as 2GB [default: half of what is free].", show_default=False),
    ] = None,
    output: Annotated[
        Path | None, o.option(o.RUN, "-o", "--output", help="Draw the curve into a .svg, .png or .html file.")
    ] = None,
    force: o.RunOptions.Force = False,
    json: o.RunOptions.Json = False,
) -> None:
    """Show what a threshold, a recall and a number of hashes come to: bands, rows and the S-curve.

    With INPUTS, read a sample of them and show what a run would come to: documents, pairs, candidates, the largest
    crowds, time, memory and disk.
    """
    import json as json_module

    from rich.console import Console

    from lookalike.apps.curves import save_curve, terminal_curve
    from lookalike.errors import OutputError, RecallWarning
    from lookalike.plan import plan as make_plan

    if inputs:
        options = {"threshold": threshold, "recall": recall, "num_hashes": num_hashes, "bands": bands, "rows": rows,
                   "text": text, "unit": unit.value if unit else None, "k": k, "memory": memory}  # fmt: skip
        print_forecast(inputs, options, json=json)
        return
    if output is not None and output.exists() and not force:
        raise OutputError(f"{output} exists. Use --force to replace it, or another name.")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RecallWarning)
        made = make_plan(threshold, recall=recall, num_hashes=num_hashes, bands=bands, rows=rows)
    for warning in caught:
        Console(stderr=True).print(f"Warning: {warning.message}", style="yellow", markup=False, highlight=False)
    if json:
        sys.stdout.write(json_module.dumps(made.as_dict(), indent=2) + "\n")
    else:
        sys.stdout.write(f"{made}\n\n{terminal_curve(made)}\n\n{_table(made)}\n")
    if output is not None:
        save_curve(made, output)
        sys.stderr.write(f"Wrote {output}\n")


def _table(made: object) -> str:
    from lookalike.plan import Plan

    assert isinstance(made, Plan)
    lines = ["similarity   probability of becoming a candidate"]
    lines += [f"{similarity:10.2f}   {probability:.4f}" for similarity, probability in made.table()]
    lines += [
        "",
        f"recall at the threshold      {made.recall_at_threshold:.4f}",
        f"steepest near (1/b)^(1/r)    {made.turning_point:.4f}",
        f"as likely as not at          {made.midpoint:.4f}",
        f"false-positive area          {made.false_positive_area:.4f}",
        f"false-negative area          {made.false_negative_area:.4f}",
        f"signature check              at least {made.cut} of {made.num_hashes} slots agree",
    ]
    return "\n".join(lines)
