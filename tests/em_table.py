"""A generated table whose fields are independent, for comparing estimates of m and u with other implementations.

python tests/em_table.py vectors.csv

writes its comparison vectors: one row for each pair of records, 1 where the values of a column are equal.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

SIZES = {"given": 30, "family": 40, "town": 25, "street": 60, "year": 50}  # distinct values of each column
SLIP = {"given": 0.05, "family": 0.1, "town": 0.15, "street": 0.2, "year": 0.08}  # share of copies with another value
RECORDS, COPIES = 500, 200


def columns(seed: int = 7) -> dict[str, list[str]]:
    """Return the values of each column; the last records are copies of the first, with slips."""
    rng = np.random.default_rng(seed)
    made = {}
    for name, size in SIZES.items():
        values = rng.integers(0, size, RECORDS)
        values[RECORDS - COPIES :] = values[:COPIES]
        slipped = RECORDS - COPIES + np.flatnonzero(rng.random(COPIES) < SLIP[name])
        values[slipped] = (values[slipped] + rng.integers(1, size, len(slipped))) % size
        made[name] = [f"{name} {value}" for value in values.tolist()]
    return made


def vectors() -> np.ndarray:
    """Return i64[pairs, 2 + columns]: the two records, and 1 for each column in which they are equal."""
    left, right = np.triu_indices(RECORDS, 1)
    parts = [np.array(values)[left] == np.array(values)[right] for values in columns().values()]
    return np.stack([left, right, *parts], axis=1).astype(np.int64)


if __name__ == "__main__":
    lines = [",".join(["left", "right", *SIZES]), *(",".join(map(str, row)) for row in vectors().tolist())]
    Path(sys.argv[1]).write_text("\n".join(lines) + "\n")
