"""Limits of a run on Spark that the cost model knows too."""

from __future__ import annotations

MAX_BROADCAST_SETS = 1 << 20  # sets that candidate pairs want, up to which every task may know which these are
MAX_TASKS = 20_000  # of one shuffle: the driver keeps a map of what each made for each
