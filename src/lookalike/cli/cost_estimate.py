"""Cost estimates: `lookalike plan --items N`, and `lookalike plan --calibrate`."""

from __future__ import annotations

import json as json_module
import sys
from typing import TYPE_CHECKING, Any

from lookalike.cli.flags import as_flags
from lookalike.cli.forecast import duration
from lookalike.cli.quantities import amount
from lookalike.core.formatting import share, size
from lookalike.errors import UsageError

if TYPE_CHECKING:
    from lookalike.cost_model.scale import Estimate

CALIBRATE = "; lookalike plan --calibrate measures those of this machine"


def print_estimate(items: str, mean_bytes: str | None, options: dict[str, Any], *, json: bool) -> None:
    """Estimate the cost of a run and print it. options: as for `cost_model.api.estimate`."""
    from lookalike.cost_model.api import estimate

    if mean_bytes is None:
        raise UsageError("--items needs --mean-bytes: how long is a document on average, such as 2kB?")
    result = estimate(amount("items", items), mean_bytes=amount("mean-bytes", mean_bytes, unit="B"), **options)
    for warning in result.warnings:
        sys.stderr.write(f"Warning: {as_flags(warning)}\n")
    sys.stdout.write(json_module.dumps(result.as_dict(), indent=2) + "\n" if json else "\n".join(lines(result)) + "\n")


def lines(made: Estimate) -> list[str]:
    """Format an estimate: a line per resource, then the CPU time and the shuffled bytes per step."""
    load, met, each = made.load, made.candidates, made.load.items
    where = f"{made.cores} cores of this machine"
    if made.cluster is not None:
        where = f"{made.cluster.executors} executors of {made.cluster.cores} cores"
    hours = f"{made.cpu_hours:,.3g}" if made.cpu_hours < 1000 else f"{made.cpu_hours:,.0f}"
    out = [
        f"Documents   {count(load.items)} of {size(load.mean_bytes)}: {size(load.bytes)} of text, "
        f"{count(load.classes)} different",
        f"Plan        {made.plan}",
        f"Candidates  {count(met.total)}: {count(met.related)} of near copies, {count(met.unrelated)} of unlike items",
        f"Pairs       {count(met.found)} at or above {made.plan.threshold:g}",
        f"CPU         {hours} hours",
        f"Time        about {duration(made.seconds)} on {where}",
    ]
    if made.cluster is not None:
        out.append(
            f"Shuffle     {size(made.shuffle_bytes)}, {size(made.shuffle_bytes / each)} a document; "
            f"the largest in {made.tasks:,} tasks"
        )
    of = " on each executor" if made.cluster is not None else ""
    out += [
        f"Memory      {size(made.memory)}{of}",
        f"Disk        {size(made.disk)}{of}" if made.disk else "Disk        none",
        f"Recall      {share(made.plan.recall_at_threshold)} at the threshold, "
        f"{share(made.recall)} over matches above it",
        f"Costs       {made.costs}{CALIBRATE * made.costs.startswith('shipped')}",
        "",
        "step            core hours        share",
    ]
    total = sum(made.cpu.values())
    out += [f"{name:<14} {value / 3600:11,.4g}   {value / total:9.1%}" for name, value in made.cpu.items() if value]
    if made.shuffle:
        out += ["", "shuffle              bytes   a document"]
        out += [
            f"{name:<14} {size(one.bytes):>11}   {size(one.bytes / each):>10}" for name, one in made.shuffle.items()
        ]
    return out


def calibrate(*, json: bool) -> None:
    """Measure the costs of this machine, save them and print them."""
    from lookalike.cost_model.costs import SHIPPED, keep_costs
    from lookalike.kinds.documents.calibration import calibrate as measure

    costs = measure(lambda step: sys.stderr.write(f"measuring: {step}\n"))
    file = keep_costs(costs)
    if json:
        sys.stdout.write(json_module.dumps(costs.as_dict(), indent=2) + "\n")
        return
    shipped = SHIPPED.as_dict()
    sys.stdout.write("cost               here   shipped\n")
    for name, value in costs.as_dict().items():
        sys.stdout.write(f"{name:<16} {value:6.4g}   {shipped[name]:7.4g} {'s' if name == 'start' else 'ns'}\n")
    sys.stdout.write(f"Kept in {file}\n")


def count(value: float) -> str:
    """Format a count, from a million on in scientific notation.

    >>> count(1234), count(2.5e9)
    ('1,234', '2.50e+09')
    """
    return f"{value:,.0f}" if value < 1e6 else f"{value:.2e}"
