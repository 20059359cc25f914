"""The command `lookalike classify`."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

from lookalike.cli import options as o
from lookalike.core.formatting import share
from lookalike.core.options import Option
from lookalike.kinds.documents.options import ClassifyOptions

if TYPE_CHECKING:
    import pyarrow as pa


class LabelledOptions(ClassifyOptions, total=False):
    """The options of `classify`, with the labelled texts."""

    against: Annotated[
        list[str] | None,
        Option(
            None,
            "Labelled texts (repeatable).",
            unset="the rows of INPUT that have a label",
            panel=o.WHAT,
            metavar="INPUT",
        ),
    ]


@o.takes(o.OutputOptions, LabelledOptions)
def classify(
    inputs: o.Inputs,
    label: Annotated[str, o.option(o.WHAT, help="Column of the labels.", show_default=False)],
    options: dict[str, Any],
) -> None:
    """Label texts by the labelled texts most similar to them: id, label, share, neighbours, similarities.

    The accuracy is measured on the labelled texts themselves: each is labelled by the others (leave-one-out).
    """
    from lookalike.cli import output as show
    from lookalike.cli import terminal
    from lookalike.core.formatting import count

    target = o.Target.of(options)
    outputs = show.Outputs.check(target.output, force=target.force)
    from lookalike.kinds.documents.classify import classify as find

    against = o.paths(options.pop("against"))
    with terminal.progress(target.quiet) as progress:
        result = find(o.paths(inputs), label=label, against=against, progress=progress, **options)
        wrote = outputs.write_result(result, target.output)
    if target.json:
        sys.stdout.write(json.dumps(result.receipt, indent=2, default=str) + "\n")
    elif target.output is None:
        show.print_rows(_readable(result.labels), "texts")
    if target.quiet:
        return
    counts, measured = result.receipt["counts"], result.accuracy
    terminal.err.say("Read", f"{count(counts['labelled'], 'labelled texts')}, {counts['classified']:,} to label")
    terminal.err.say("Compared", f"{result.receipt['compared']} · {options['neighbours']} nearest vote")
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
