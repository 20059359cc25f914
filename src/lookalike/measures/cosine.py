"""Cosine of two sets as 0/1 vectors: shared elements over the geometric mean of the sizes."""

from lookalike.kernels import bounds
from lookalike.measures.record import SetMeasure

COSINE = SetMeasure(
    name="cosine", code=bounds.COSINE, formula="c / sqrt(a b)", finest=10**6, least_jaccard=lambda t: t * t
)
