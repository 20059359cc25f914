"""Containment: the share of the smaller set that lies in the larger. A page copied into a book has containment 1."""

from lookalike.kernels import bounds
from lookalike.measures.record import SetMeasure

CONTAINMENT = SetMeasure(name="containment", code=bounds.CONTAINMENT, formula="c / min(a, b)")
