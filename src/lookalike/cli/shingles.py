"""The command `lookalike shingles`."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Annotated

from lookalike.cli import options as o

if TYPE_CHECKING:
    from lookalike.kinds.documents.shingle_length import ShingleLength, ShingleSurvey

BAR_CHARACTERS = 40  # length of the bar for a probability of 1; each power of ten takes an equal part
DECADES = 5  # powers of ten that the bars show


@o.takes()
def shingles(
    inputs: o.Inputs,
    target: Annotated[
        float, o.option(o.WHAT, help="Probability at which a shingle may occur in an unrelated document.")
    ] = 0.01,
    text: Annotated[str | None, o.option(o.RUN, help="Column of the texts.")] = None,
    json: o.RunOptions.Json = False,
) -> None:
    """Look at the data and suggest the unit and the length k of shingles.

    Shows, for each k, the probability that a random shingle of one document occurs in an unrelated one. The suggested k
    is the least at which this is rare.
    """
    import json as json_module

    from lookalike.kinds.documents.shingle_length import suggest_k

    survey = suggest_k(o.paths(inputs), target=target, text=text)
    if json:
        sys.stdout.write(json_module.dumps(survey.as_dict(), indent=2) + "\n")
        return
    sys.stdout.write("\n".join(_lines(survey, " ".join(inputs))) + "\n")


def _lines(survey: ShingleSurvey, inputs: str) -> list[str]:
    size = f"median {survey.words:,} words, {survey.characters:,} characters"
    lines = [
        f"Sampled {survey.documents:,} unrelated documents, {size}.",
        "Probability that a random shingle of one occurs in another, measured and by the formula n / 20^k:",
        "",
        "unit   k   measured  formula",
    ]
    lines += [_line(one, survey) for one in survey.lengths if not _is_dull(one, survey)]
    reached = survey.best(survey.unit)
    if reached is None:
        lines += ["", f"No k up to {survey.k} reaches {survey.target:g}: the texts share long passages."]
    return [*lines, "", f"Suggested: lookalike pairs {inputs} --unit {survey.unit} -k {survey.k}"]


def _line(one: ShingleLength, survey: ShingleSurvey) -> str:
    height = 0 if one.measured == 0 else max(0.0, 1 + math.log10(one.measured) / DECADES)
    formula = "" if one.by_formula is None else f"{one.by_formula:.6f}"
    mark = " <-" if one.k == survey.best(one.unit) else ""
    return f"{one.unit:<5}{one.k:>3}   {one.measured:<10.6f}{formula:<11}{'#' * round(BAR_CHARACTERS * height)}{mark}"


def _is_dull(one: ShingleLength, survey: ShingleSurvey) -> bool:
    """Return whether a shingle length is far beyond the suggested one."""
    best = survey.best(one.unit)
    return best is not None and one.k > best + 3
