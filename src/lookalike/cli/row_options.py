"""Options of commands over rows of numbers: vectors and faces."""

from __future__ import annotations

from typing import Annotated

from lookalike.cli import options as o

Seed = Annotated[int, o.option(o.MECHANISM, help="Seed of the random choices.")]
Column = Annotated[
    str | None, o.option(o.RUN, help="Column of the vectors (lists of numbers), or array of a .npz file.")
]
Bad = Annotated[
    o.OnBad,
    o.option(o.RUN, help="Vectors with NaN, infinite or missing numbers, or zeros only (angle): stop, or skip."),
]
