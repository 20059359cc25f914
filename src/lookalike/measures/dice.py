"""Dice similarity: shared elements over the mean size. 2J/(1+J) of the Jaccard similarity J."""

from lookalike.kernels import bounds
from lookalike.measures.record import SetMeasure

DICE = SetMeasure(name="dice", code=bounds.DICE, formula="2c / (a + b)", least_jaccard=lambda t: t / (2 - t))
