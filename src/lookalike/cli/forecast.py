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
        f"Method      {way}, {counted(made.candidates, made.candidates_interval)} "
        f"candidate{'s' * (made.candidates_interval != (1, 1))}: {made.why}",
    ]
    out += [f"Crowd       {crowd}" for crowd in made.crowds]
    where = f"in a work folder, about {sized(made.disk, made.disk_interval)} of disk"
    where = where if made.work_folder else "no work folder, no disk"
    core = f"about {duration(made.core_seconds)} of processor time ({spanned(made.core_seconds_interval)})"
    out += [
        f"Time        about {duration(made.seconds)} ({spanned(made.seconds_interval)}) "
        f"on {count(made.threads, 'threads')} without other load; {core}",
        f"Memory      about {sized(made.memory, made.memory_interval)} of the {size(made.budget)} allowed; {where}",
    ]
    return out


def counted(value: int, interval: tuple[int, int]) -> str:
    """Format a count, with its interval if it is an estimate.

    >>> counted(393, (393, 393)), counted(2900, (2100, 4200))
    ('393', 'about 2,900 (2,100 to 4,200)')
    """
    low, high = interval
    return f"{value:,}" if low == high else f"about {value:,} ({low:,} to {high:,})"


def sized(value: int, interval: tuple[int, int]) -> str:
    """Format a number of bytes with its interval.

    >>> sized(250_000_000, (200_000_000, 350_000_000))
    '250.0 MB (200.0 MB to 350.0 MB)'
    """
    low, high = interval
    return f"{size(value)} ({size(low)} to {size(high)})"


def spanned(interval: tuple[float, float]) -> str:
    """Format an interval of seconds.

    >>> spanned((0.18, 4.2)), spanned((50, 400)), spanned((4000, 9000))
    ('0.2 to 4 s', '50 s to 7 minutes', '67 minutes to 2.5 hours')
    """
    low, high = (duration(limit) for limit in interval)
    number, _, unit = low.partition(" ")
    return f"{number} to {high}" if unit == high.partition(" ")[2] else f"{low} to {high}"


def duration(seconds: float) -> str:
    """Format a duration in seconds, minutes or hours.

    >>> duration(0.42), duration(4.2), duration(400), duration(9000)
    ('0.4 s', '4 s', '7 minutes', '2.5 hours')
    """
    if seconds < 120:
        return f"{seconds:.1f} s" if seconds < 1.95 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.1f} hours"
