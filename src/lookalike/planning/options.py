"""The options of `plan` that belong to one hash family, declared once for Python and the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypedDict

from lookalike.core.options import SIGNATURES_PANEL, SIMILARITY_PANEL, Option


class FamilyOptions(TypedDict, total=False):
    """Parameters of a hash family, and a sample of distances."""

    bits: Annotated[int | None, Option(None, "Bits of a code.", unset="needed for hamming", panel=SIMILARITY_PANEL)]
    width: Annotated[
        float | None, Option(None, "Width of a bucket, for euclidean.", unset="the best one", panel=SIGNATURES_PANEL)
    ]
    sample: Annotated[
        Sequence[float] | None,
        Option(None, "Distances of random pairs, over which false candidates are counted.",
               unset="all distances are equally likely", panel=SIGNATURES_PANEL, python_only=True),
    ]  # fmt: skip
