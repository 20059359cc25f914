"""Jaccard similarity: shared elements over all elements. Of bags, where the i-th occurrence is an element of its own."""

from lookalike.kernels import bounds
from lookalike.measures.record import SetMeasure

JACCARD = SetMeasure(name="jaccard", code=bounds.JACCARD, formula="c / (a + b - c)", least_jaccard=lambda t: t)
