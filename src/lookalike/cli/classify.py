"""The command `lookalike classify`."""

from __future__ import annotations

import sys
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

from lookalike.cli import options as o
from lookalike.core.formatting import share

if TYPE_CHECKING:
    import pyarrow as pa


class Weighting(Enum):
    idf = "idf"
    none = "none"


@o.takes()
def classify(
    inputs: o.Inputs,
    label: Annotated[str, o.option(o.WHAT, help="Column of the labels.", show_default=False)],
    against: Annotated[
        list[str] | None,
        o.option(o.WHAT, help="Labelled texts (default: the rows of INPUT that have a label).", show_default=False),
    ] = None,
    output: o.Out = None,
    neighbours: Annotated[int, o.option(o.WHAT, help="Number of labelled texts that vote.")] = 5,
    weight: Annotated[
        Weighting, o.option(o.WHAT, help="idf: rare words count more (cosine); none: all count the same (Jaccard).")
    ] = Weighting.idf,
    test_size: Annotated[
        int, o.option(o.WHAT, help="Number of labelled texts to test by leaving one out (0 disables the test).")
    ] = 2000,
    unit: Annotated[
        o.Unit | None, o.option(o.SHINGLES_PANEL, help="Unit of a shingle (default: word).", show_default=False)
    ] = None,
    k: Annotated[
        int | None, o.option(o.SHINGLES_PANEL, "-k", help="Units in a shingle (default: 1 word).", show_default=False)
    ] = None,
    text: Annotated[str | None, o.option(o.RUN, help="Column of the texts.")] = None,
    id: o.Id = None,  # noqa: A002
    threads: o.Threads = None,
    force: o.RunOptions.Force = False,
    quiet: o.RunOptions.Quiet = False,
    json: o.RunOptions.Json = False,
) -> None:
    """Label texts by the labelled texts most similar to them: id, label, share, neighbours, similarities.

    The accuracy is measured on the labelled texts themselves: each is labelled by the others (leave-one-out).
    """
    import json as json_module

    from lookalike.cli import output as show
    from lookalike.cli import terminal
    from lookalike.core.formatting import count

    outputs = show.Outputs.check(output, force=force)
    from lookalike.kinds.documents.classify import classify as find

    rule: dict[str, Any] = {
        name: value for name, value in (("unit", unit and unit.value), ("k", k)) if value is not None
    }
    with terminal.progress(quiet) as progress:
        result = find(
            o.paths(inputs), label=label, against=o.paths(against), neighbours=neighbours, weight=weight.value,
            test_size=test_size, text=text, id=id, threads=threads, progress=progress, **rule,
        )  # fmt: skip
        wrote = outputs.write_result(result, output)
    if json:
        sys.stdout.write(json_module.dumps(result.receipt, indent=2, default=str) + "\n")
    elif output is None:
        show.print_rows(_readable(result.labels), "texts")
    if quiet:
        return
    counts, measured = result.receipt["counts"], result.accuracy
    terminal.err.say("Read", f"{count(counts['labelled'], 'labelled texts')}, {counts['classified']:,} to label")
    terminal.err.say("Compared", f"{result.receipt['compared']} · {neighbours} nearest vote")
    if measured is not None:
        low, high = measured["interval_95"]
        terminal.err.say(
            "Accuracy",
            f"{share(measured['accuracy'], 3)} ({share(low, 3)} to {share(high, 3)}) when "
            f"{measured['tested']:,} labelled texts are labelled by the others "
            f"· the most frequent label alone: {share(measured['most_frequent_label'], 3)}",
        )
    if counts["unclassified"]:
        terminal.err.say("Note", f"{counts['unclassified']:,} texts share nothing with a labelled one and get no label")
    for path in wrote:
        terminal.err.say("Wrote", str(path))


def _readable(labels: pa.Table) -> pa.Table:
    """Return the table with one column of neighbours, each with its similarity."""
    rows = zip(labels["neighbours"].to_pylist(), labels["similarities"].to_pylist(), strict=True)
    near = [", ".join(f"{name} ({share(score, 2)})" for name, score in zip(*row, strict=True)) for row in rows]
    return labels.select(["id", "label", "share"]).append_column("neighbours", [near])
