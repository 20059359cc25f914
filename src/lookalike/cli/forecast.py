"""lookalike plan INPUTS: what a run would come to."""

from __future__ import annotations

import json as json_module
import sys
from typing import TYPE_CHECKING, Any

from lookalike.cli import options as o
from lookalike.words import size

if TYPE_CHECKING:
    from lookalike.engines.forecast import Forecast


def print_forecast(inputs: list[str], options: dict[str, Any], *, json: bool) -> None:
    """Read a sample and print what it foretells."""
    from lookalike.apps.documents import forecast

    made = forecast(o.paths(inputs), **options)
    for warning in made.warnings:
        sys.stderr.write(f"Warning: {warning}\n")
    sys.stdout.write(json_module.dumps(made.as_dict(), indent=2) + "\n" if json else "\n".join(lines(made)) + "\n")


def lines(made: Forecast) -> list[str]:
    """A line for each thing worth knowing before a long run."""
    way = {"lsh": "banding", "exact": "the exact join"}.get(made.method, made.method)
    where = "the beginning" if made.places == 1 else f"{made.places} places"
    copies = f"at least {made.exact_copies:.1%} are exact copies of another" if made.exact_copies else "none seen"
    out = [
        f"Documents   about {made.documents:,} ({size(made.bytes)} of text); {made.sampled:,} read at {where}",
        f"Copies      {copies}",
        f"Pairs       about {made.pairs:,}",
        f"Way         {way}, about {made.candidates:,} candidates: {made.why}",
    ]
    out += [f"Crowd       {crowd}" for crowd in made.crowds]
    where = f"in a work folder, about {size(made.disk)} of disk" if made.work_folder else "no work folder, no disk"
    out += [
        f"Time        about {duration(made.seconds)} on {made.threads} threads",
        f"Memory      about {size(made.memory)} of the {size(made.budget)} allowed; {where}",
    ]
    return out


def duration(seconds: float) -> str:
    """
    >>> duration(4.2), duration(400), duration(9000)
    ('4 s', '7 minutes', '2.5 hours')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.1f} hours"
