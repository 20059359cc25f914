"""Limits of a run on Spark, shared with the cost model."""

from __future__ import annotations

MAX_BROADCAST_SETS = 1 << 20  # maximum rows of a frame that is broadcast, such as the items of candidate pairs
MAX_TASKS = 20_000  # maximum of one shuffle: the driver holds a map of the output of each task for each
