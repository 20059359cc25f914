"""Jaccard similarity: shared elements over all elements. In bags, every occurrence counts."""

from lookalike.kernels import bounds
from lookalike.measures.record import SetMeasure

JACCARD = SetMeasure(name="jaccard", code=bounds.JACCARD, formula="c / (a + b - c)", least_jaccard=lambda t: t)
