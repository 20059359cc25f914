"""Overlap: the number of shared elements itself."""

from lookalike.kernels import bounds
from lookalike.measures.record import SetMeasure

OVERLAP = SetMeasure(name="overlap", code=bounds.OVERLAP, formula="c", is_count=True)
