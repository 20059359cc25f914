"""The command `lookalike plan`."""

from __future__ import annotations

import sys
import warnings
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lookalike.cli import options as o
from lookalike.cli.cost_estimate import calibrate as print_calibration
from lookalike.cli.cost_estimate import print_estimate
from lookalike.cli.forecast import print_forecast
from lookalike.core.formatting import share

if TYPE_CHECKING:
    from lookalike.planning.banding import Plan
    from lookalike.planning.family_banding import FamilyPlan

SCALE = "A run on paper"


class PlanMeasureChoice(Enum):
    jaccard = "jaccard"
    cosine = "cosine"
    euclidean = "euclidean"
    hamming = "hamming"


@o.takes()
def plan(
    inputs: Annotated[
        list[str] | None,
        typer.Argument(help="Files, folders or globs to look at: what would a run on them cost?", show_default=False),
    ] = None,
    threshold: Annotated[
        float | None,
        o.option(
            o.WHAT,
            "-t",
            "--threshold",
            help="Similarity from which two items match (0.8 unless given).",
            show_default=False,
        ),
    ] = None,
    recall: o.Recall = 0.99,
    measure: Annotated[
        PlanMeasureChoice | None, o.option(o.WHAT, help="Plan for the hash family of this distance, with --distance.")
    ] = None,
    distance: Annotated[
        float | None, o.option(o.WHAT, help="Distance up to which two items match; cosine: the angle in degrees.")
    ] = None,
    bits: Annotated[int | None, o.option(o.WHAT, help="Bits of a code (hamming).")] = None,
    width: Annotated[float | None, o.option(o.MECHANISM, help="Width of a bucket (euclidean).")] = None,
    cascade: Annotated[
        str | None, o.option(o.MECHANISM, help="Show a cascade of ANDs and ORs instead, such as 'and4 or4'.")
    ] = None,
    num_hashes: Annotated[int, o.option(o.MECHANISM, help="Slots of a signature.")] = 128,
    bands: Annotated[int | None, o.option(o.MECHANISM, help="Bands, instead of the planned number.")] = None,
    rows: Annotated[int | None, o.option(o.MECHANISM, help="Rows of a band, instead of the planned number.")] = None,
    text: Annotated[str | None, o.option(o.RUN, help="Column of the texts, of INPUTS.")] = None,
    unit: Annotated[
        o.Unit | None, o.option(o.SHINGLES_PANEL, help="Of what a shingle is made (default: word).", show_default=False)
    ] = None,
    k: Annotated[int | None, o.option(o.SHINGLES_PANEL, "-k", help="Units in a shingle.", show_default=False)] = None,
    method: Annotated[
        o.Method, o.option(o.RUN, help="How a run on INPUTS looks for pairs: auto, lsh, exact or dcm.")
    ] = o.Method.auto,
    max_share: Annotated[
        float | None,
        o.option(o.SHINGLES_PANEL, help="Drop shingles of INPUTS that are in more than this share of the documents."),
    ] = None,
    lines: o.Lines = False,
    memory: Annotated[
        str | None,
        o.option(o.RUN, help="Memory of the run, as 2GB (default: half of what is free).", show_default=False),
    ] = None,
    items: Annotated[
        str | None,
        o.option(SCALE, help="Estimate the cost of a run over this many documents, as 1e9 or 10M.", show_default=False),
    ] = None,
    mean_bytes: Annotated[
        str | None, o.option(SCALE, help="Bytes of a document on average, as 2kB.", show_default=False)
    ] = None,
    executors: Annotated[
        int | None, o.option(SCALE, help="Executors of a Spark cluster (default: this machine).", show_default=False)
    ] = None,
    cores: Annotated[int, o.option(SCALE, help="Cores of an executor.")] = 4,
    copies: Annotated[float, o.option(SCALE, help="Share of the documents that equal another one.")] = 0.05,
    partners: Annotated[float, o.option(SCALE, help="Near copies that a document has on average.")] = 0.4,
    background: Annotated[float, o.option(SCALE, help="Similarity of documents that are not related.")] = 0.02,
    calibrate: Annotated[
        bool, o.option(SCALE, "--calibrate", help="Measure the costs of this machine, for all later plans.")
    ] = False,
    output: Annotated[
        Path | None, o.option(o.RUN, "-o", "--output", help="Draw the curve into a .svg, .png or .html file.")
    ] = None,
    force: o.RunOptions.Force = False,
    json: o.RunOptions.Json = False,
) -> None:
    """Show what a threshold (or a distance), a recall and a number of hashes come to: bands, rows and the S-curve.

    With INPUTS, read a sample of them and show what a run would come to: documents, pairs, candidates, the largest
    crowds, time, memory and disk.

    With --items and --mean-bytes, estimate the cost of a hypothetical run, on this machine or on a cluster of
    --executors: processor hours, time, shuffled bytes, memory, disk and recall. The costs are those that --calibrate
    measured on this machine, or shipped ones.
    """
    import json as json_module

    from lookalike.cli.terminal import err
    from lookalike.errors import RecallWarning, UsageError
    from lookalike.io.atomic import check_place
    from lookalike.planning.banding import plan as make_plan
    from lookalike.planning.plots import save_curve, terminal_curve

    if calibrate:
        print_calibration(json=json)
        return
    if items is not None:
        if inputs:
            raise UsageError("--items speaks of documents that are not here; leave the inputs out, or --items.")
        print_estimate(
            items,
            mean_bytes,
            {
                "threshold": 0.8 if threshold is None else threshold, "recall": recall, "num_hashes": num_hashes,
                "unit": unit.value if unit else "word", "executors": executors, "cores": cores, "copies": copies,
                "partners": partners, "background": background,
            },
            json=json,
        )  # fmt: skip
        return
    if mean_bytes is not None or executors is not None:
        raise UsageError("--mean-bytes and --executors go with --items: how many documents are there, such as 1e9?")
    if cascade is not None:
        sys.stdout.write(_cascade(cascade) + "\n")
        return
    if inputs:
        options = {
            "threshold": 0.8 if threshold is None else threshold, "recall": recall, "num_hashes": num_hashes,
            "bands": bands, "rows": rows, "text": text, "unit": unit.value if unit else None, "k": k, "lines": lines,
            "memory": memory, "method": method.value, "max_share": max_share,
        }  # fmt: skip
        print_forecast(inputs, options, json=json)
        return
    if method is not o.Method.auto or max_share is not None:
        raise UsageError("--method and --max-share are for a run on INPUTS; name files, or leave them out.")
    if output is not None:
        check_place(output, force=force)
    shape: Any = {"recall": recall, "num_hashes": num_hashes, "bands": bands, "rows": rows}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RecallWarning)
        if measure is None and distance is None and bits is None and width is None:
            planned: Any = make_plan(0.8 if threshold is None else threshold, **shape)
        elif measure is None or distance is None or threshold is not None:
            raise UsageError("give --measure and --distance together, without a threshold.")
        elif output is not None:
            raise UsageError("curves over a distance are shown as a table; leave -o out.")
        else:
            planned = make_plan(measure=measure.value, distance=distance, bits=bits, width=width, **shape)
    for warning in caught:
        err.say("Warning:", str(warning.message), style="yellow")
    if json:
        sys.stdout.write(json_module.dumps(planned.as_dict(), indent=2) + "\n")
    elif measure is not None:
        sys.stdout.write(f"{planned}\n\n{_family_table(planned)}\n")
    else:
        sys.stdout.write(f"{planned}\n\n{terminal_curve(planned)}\n\n{_table(planned)}\n")
    if output is not None:
        save_curve(planned, output)
        sys.stderr.write(f"Wrote {output}\n")


def _family_table(made: FamilyPlan) -> str:
    fixed = made.fixed_distance
    lines = ["  distance   one hash agrees   becomes a candidate"]
    lines += [
        f"{distance:10.4g}   {share(one):>15}   {share(probability)}" for distance, one, probability in made.table()
    ]
    lines += [
        "",
        f"hash functions               {made.family.name}",
        f"one hash                     {made.base()}",
        f"all of them                  {made.sensitive()}",
        f"as likely as not at          {made.midpoint:.4g}",
        f"fixed point at               {'none' if fixed is None else format(fixed, '.4g')}",
        f"false candidates             {made.false_candidates:.4g} of the pairs beyond the distance",
    ]
    return "\n".join(lines)


def _cascade(words: str) -> str:
    from lookalike.planning.amplification import Cascade

    steps = Cascade.of(words)
    lines = [f"{steps}: {steps.hashes} hashes", "", "  one hash agrees   the cascade agrees"]
    lines += [f"{i / 10:17.1f}   {share(steps(i / 10))}" for i in range(1, 11)]
    fixed = ", ".join(f"{p:.4f}" for p in steps.fixed_points()) or "none between 0 and 1"
    return "\n".join([*lines, "", f"fixed points                 {fixed}"])


def _table(made: Plan) -> str:
    lines = ["similarity   probability of becoming a candidate"]
    lines += [f"{similarity:10.2f}   {share(probability)}" for similarity, probability in made.table()]
    lines += [
        "",
        f"recall at the threshold      {share(made.recall_at_threshold)}",
        f"steepest near (1/b)^(1/r)    {made.turning_point:.4f}",
        f"as likely as not at          {made.midpoint:.4f}",
        f"false-positive area          {made.false_positive_area:.4f}",
        f"false-negative area          {made.false_negative_area:.4f}",
        f"signature check              at least {made.cut} of {made.num_hashes} slots agree",
    ]
    return "\n".join(lines)
