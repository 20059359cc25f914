"""m- and u-probabilities by recordlinkage: python recordlinkage_ecm.py vectors.csv estimates.json

vectors.csv: left, right, and a column of 0 and 1 for each field (`python tests/em_table.py vectors.csv`). recordlinkage
0.16 needs pandas below 3, so it is not in the test environment: `pip install recordlinkage` in a separate one.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pandas as pd
import recordlinkage


def main() -> None:
    source, target = sys.argv[1:3]
    vectors = pd.read_csv(source, index_col=["left", "right"])
    model = recordlinkage.ECMClassifier(init="jaro", binarize=None, max_iter=500)
    model.fit(vectors)
    made = {
        "recordlinkage": recordlinkage.__version__,
        "share": float(model.p),
        "m": {name: float(made[1]) for name, made in model.m_probs.items()},
        "u": {name: float(made[1]) for name, made in model.u_probs.items()},
    }
    Path(target).write_text(json.dumps(made, indent=1) + "\n")


if __name__ == "__main__":
    main()
