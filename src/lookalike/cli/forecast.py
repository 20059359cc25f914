"""The forecast of a run: `lookalike plan INPUTS`."""

from __future__ import annotations

import json as json_module
import sys
from typing import TYPE_CHECKING, Any

from lookalike.cli import options as o
from lookalike.cli.flags import as_flags
from lookalike.core.formatting import count, percent, size

if TYPE_CHECKING:
    from lookalike.kinds.documents.forecast import Forecast


def print_forecast(inputs: list[str], options: dict[str, Any], *, json: bool) -> None:
    """Read a sample of the inputs and print the forecast."""
    from lookalike.kinds.documents.api import forecast

    result = forecast(o.paths(inputs), **options)
    for warning in result.warnings:
        sys.stderr.write(f"Warning: {as_flags(warning)}\n")
    sys.stdout.write(json_module.dumps(result.as_dict(), indent=2) + "\n" if json else "\n".join(lines(result)) + "\n")


def lines(made: Forecast) -> list[str]:
    """Format a forecast, with a line per topic."""
    way = {"lsh": "banding", "exact": "the exact join"}.get(made.method, made.method)
    where = "all read" if made.complete else f"{made.sampled:,} read at {made.places} places"
    if made.places == 1 and not made.complete:
        where = f"{made.sampled:,} read at the beginning: the forecast holds if the rest is like it"
    about, at_least = ("", "") if made.complete else ("about ", "at least ")
    copies = f"{at_least}{percent(made.exact_copies)} are exact copies of another" if made.exact_copies else "none seen"
    out = [
        f"Documents   {about}{made.documents:,} ({size(made.bytes)} of text); {where}",
        f"Copies      {copies}",
        f"Pairs       {counted(made.pairs, made.pairs_interval)}",
        f"Method      {way}, {counted(made.candidates, made.candidates_interval)} candidates: {made.why}",
    ]
    out += [f"Crowd       {crowd}" for crowd in made.crowds]
    where = f"in a work folder, about {size(made.disk)} of disk" if made.work_folder else "no work folder, no disk"
    out += [
        f"Time        about {duration(made.seconds)} on {count(made.threads, 'threads')}",
        f"Memory      about {size(made.memory)} of the {size(made.budget)} allowed; {where}",
    ]
    return out


def counted(value: int, interval: tuple[int, int]) -> str:
    """Format a count, with its interval if it is an estimate.

    >>> counted(393, (393, 393)), counted(2900, (2100, 4200))
    ('393', 'about 2,900 (2,100 to 4,200)')
    """
    low, high = interval
    return f"{value:,}" if low == high else f"about {value:,} ({low:,} to {high:,})"


def duration(seconds: float) -> str:
    """Format a duration in seconds, minutes or hours.

    >>> duration(4.2), duration(400), duration(9000)
    ('4 s', '7 minutes', '2.5 hours')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.1f} hours"
