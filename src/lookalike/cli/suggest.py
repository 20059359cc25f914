"""The command `lookalike suggest`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from lookalike.cli import options as o
from lookalike.core.formatting import count

if TYPE_CHECKING:
    from lookalike.kinds.documents.suggest import Suggestion

LISTED_CONFIGURATIONS = 6
EXAMPLES_PANEL = "Examples"


@o.takes()
def suggest(
    inputs: o.Inputs,
    same: Annotated[
        tuple[str, str] | None,
        o.option(EXAMPLES_PANEL, "--same", metavar="ID ID", help="Ids of two texts that are the same.",
                 show_default=False),
    ] = None,
    different: Annotated[
        tuple[str, str] | None,
        o.option(EXAMPLES_PANEL, "--different", metavar="ID ID", show_default=False,
                 help="Ids of two texts that are different."),
    ] = None,
    verdicts: Annotated[
        list[Path] | None,
        o.option(EXAMPLES_PANEL, help="Files of verdicts with more examples (repeatable).", show_default=False),
    ] = None,
    text: Annotated[str | None, o.option(o.RUN, help="Column of the texts.")] = None,
    id: o.Id = None,  # noqa: A002
    json: o.RunOptions.Json = False,
) -> None:  # fmt: skip
    """Suggest the unit, k, the measure and the threshold from pairs of texts that are the same or different.

    Two examples are enough to begin. Shows which configurations separate them with most room, which other pairs the
    best one finds in the data, and the command for it.
    """
    import json as json_module

    from lookalike.kinds.documents.suggest import suggest as find

    made = find(
        o.paths(inputs), same=[same] if same else (), different=[different] if different else (),
        verdicts=verdicts or None, text=text, id=id,
    )  # fmt: skip
    if json:
        sys.stdout.write(json_module.dumps(made.as_dict(), indent=2, default=str) + "\n")
        return
    options = [word for flag, value in (("--text", text), ("--id", id)) if value for word in (flag, value)]
    sys.stdout.write("\n".join(_lines(made, [*inputs, *options])) + "\n")


def _lines(made: Suggestion, words: list[str]) -> list[str]:
    best = made.best
    lines = [f"{count(made.same, 'examples')} judged the same, {count(made.different, 'examples')} different.", ""]
    lines.append("unit   k  measure      threshold   room  wrong")
    lines += [
        f"{one.unit:<5}{one.k:>3}  {one.measure:<11}{one.threshold:>11g}{one.room:>7.3f}{one.wrong:>7}"
        for one in made.separations[:LISTED_CONFIGURATIONS]
    ]
    if best.wrong:
        lines += ["", f"No configuration separates all examples: the best has {best.wrong} on the wrong side."]
    found = "too many pairs to list" if made.pairs is None else count(made.pairs, "pairs")
    lines += ["", f"In this data the best finds {found}."]
    if made.nearest:
        lines[-1] += " Those nearest to its threshold, examples aside:"
        lines += [f"  {similarity:.3f}  {left}  {right}" for left, right, similarity in made.nearest]
    measure = "" if best.measure == "jaccard" else f" --measure {best.measure}"
    command = f"lookalike pairs {shlex.join(words)} --unit {best.unit} -k {best.k}{measure} -t {best.threshold:g}"
    return [*lines, "", f"Suggested: {command}"]
