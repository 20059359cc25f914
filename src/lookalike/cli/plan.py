"""The command `lookalike plan`."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from lookalike.cli import options as o
from lookalike.cli.cost_estimate import calibrate as print_calibration
from lookalike.cli.cost_estimate import print_estimate
from lookalike.cli.forecast import print_forecast
from lookalike.core import run_options as shared
from lookalike.core.formatting import share
from lookalike.core.options import Option, changed
from lookalike.core.shingle_options import ShingleLength, ShingleUnit
from lookalike.cost_model.options import ESTIMATE_PANEL, EstimateOptions
from lookalike.errors import RecallWarning, UsageError
from lookalike.planning.options import FamilyOptions

if TYPE_CHECKING:
    from lookalike.planning.banding import Plan
    from lookalike.planning.family_banding import FamilyPlan


class PlanOptions(FamilyOptions, total=False):
    """The options of `plan`: a curve, a forecast for files, or an estimate without data."""

    threshold: Annotated[float | None, changed(shared.Threshold, default=None, unset="0.8", range="")]
    recall: shared.Recall
    measure: Annotated[
        Literal["jaccard", "cosine", "euclidean", "hamming"] | None,
        Option(None, "Plan for the hash family of this distance, with `distance`.", unset="the similarity of sets",
               panel=o.WHAT),
    ]  # fmt: skip
    distance: Annotated[
        float | None,
        Option(None, "Largest distance of a pair; for cosine, the angle in degrees.", unset="the threshold decides",
               panel=o.WHAT),
    ]  # fmt: skip
    cascade: Annotated[
        str | None,
        Option(None, "Show a cascade of ANDs and ORs instead, such as 'and4 or4'.", unset="none", panel=o.MECHANISM),
    ]
    num_hashes: Annotated[int, changed(shared.NumHashes, rare=False)]
    bands: Annotated[int | None, Option(None, "Number of bands.", unset="planned", panel=o.MECHANISM)]
    rows: Annotated[int | None, Option(None, "Rows of a band.", unset="planned", panel=o.MECHANISM)]
    text: Annotated[str | None, changed(shared.Text, help="Column of the texts of INPUTS.")]
    unit: ShingleUnit
    k: ShingleLength
    method: Annotated[
        Literal["auto", "lsh", "exact", "dcm", "folding"], Option("auto", "How a run on INPUTS generates candidates.")
    ]
    max_share: Annotated[
        float | None,
        changed(shared.MaxShare, help="Drop shingles of a larger share of INPUTS.", panel=o.SHINGLES_PANEL),
    ]
    lines: shared.Lines
    memory: shared.Memory
    items: Annotated[
        str | None,
        Option(None, "Estimate the cost of a run over this many documents, such as 1e9 or 10M.", unset="no estimate",
               panel=ESTIMATE_PANEL),
    ]  # fmt: skip
    mean_bytes: Annotated[
        str | None,
        Option(None, "Mean length of a document, such as 2kB.", unset="needed with `items`", panel=ESTIMATE_PANEL),
    ]
    executors: Annotated[
        int | None,
        Option(None, "Executors of a Spark cluster.", unset="a run on this machine", panel=ESTIMATE_PANEL),
    ]
    calibrate: Annotated[
        bool, Option(False, "Measure the costs of this machine, for all later estimates.", panel=ESTIMATE_PANEL)
    ]
    output: Annotated[
        Path | None,
        Option(None, "Where to draw the curve: a .svg, .png or .html file.", unset="no picture",
               flags=("-o", "--output")),
    ]  # fmt: skip
    force: o.Force
    json: Annotated[bool, Option(False, "Print the plan as JSON on standard output.")]


COMPOSITION = o.only(EstimateOptions, "cores", "copies", "partners", "background")
ESTIMATED = ("threshold", "recall", "num_hashes", "unit", "executors", *COMPOSITION)
FORECAST = (
    "threshold",
    "recall",
    "num_hashes",
    "bands",
    "rows",
    "text",
    "unit",
    "k",
    "lines",
    "memory",
    "method",
    "max_share",
)


@o.takes(PlanOptions, COMPOSITION)
def plan(
    options: dict[str, Any],
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            help="Files, folders or globs (Parquet, Arrow, JSON Lines, CSV, TSV, text): forecast a run on them.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Plan bands and rows for a threshold (or a distance), a recall and a number of hashes, and show the S-curve.

    With INPUTS, read a sample of them and forecast a run: documents, pairs, candidates, the largest crowds, time,
    memory and disk.

    With --items and --mean-bytes, estimate the cost of a run without data, on this machine or on a cluster of
    --executors: processor hours, time, shuffled bytes, memory, disk and recall. The costs are those that --calibrate
    measured on this machine, or shipped ones.
    """
    given, as_json = _with_defaults(options), options["json"]
    if options["calibrate"]:
        print_calibration(json=as_json)
    elif options["items"] is not None:
        if inputs:
            raise UsageError("--items is for documents that are not here; leave the inputs out, or --items.")
        asked = {name: given[name] for name in ESTIMATED}
        print_estimate(options["items"], options["mean_bytes"], asked | {"unit": given["unit"] or "word"}, json=as_json)
    elif options["mean_bytes"] is not None or options["executors"] is not None:
        raise UsageError("--mean-bytes and --executors go with --items: how many documents are there, such as 1e9?")
    elif options["cascade"] is not None:
        sys.stdout.write(_cascade(options["cascade"]) + "\n")
    elif inputs:
        print_forecast(inputs, {name: given[name] for name in FORECAST}, json=as_json)
    elif options["method"] != "auto" or options["max_share"] is not None:
        raise UsageError("--method and --max-share are for a run on INPUTS; name files, or leave them out.")
    else:
        _print_plan(options)


def _with_defaults(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options with the threshold of a run where none is given."""
    return options | {"threshold": 0.8 if options["threshold"] is None else options["threshold"]}


def _print_plan(options: dict[str, Any]) -> None:
    """Plan for a threshold, or for a distance of a hash family, and print the plan with its table."""
    from lookalike.cli.terminal import err
    from lookalike.io.atomic import check_place
    from lookalike.planning.banding import plan as make_plan
    from lookalike.planning.plots import save_curve, terminal_curve

    output, measure, distance = options["output"], options["measure"], options["distance"]
    family = {name: options[name] for name in ("bits", "width")}
    if output is not None:
        check_place(output, force=options["force"])
    shape: Any = {name: options[name] for name in ("recall", "num_hashes", "bands", "rows")}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RecallWarning)
        if measure is None and distance is None and family == {"bits": None, "width": None}:
            planned: Any = make_plan(_with_defaults(options)["threshold"], **shape)
        elif measure is None or distance is None or options["threshold"] is not None:
            raise UsageError("give --measure and --distance together, without a threshold.")
        elif output is not None:
            raise UsageError("curves over a distance are shown as a table; leave -o out.")
        else:
            planned = make_plan(measure=measure, distance=distance, **family, **shape)
    for warning in caught:
        err.say("Warning:", str(warning.message), style="yellow")
    if options["json"]:
        sys.stdout.write(json.dumps(planned.as_dict(), indent=2) + "\n")
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
