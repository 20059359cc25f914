"""Results to look at: small ones of known shape, and texts that try to be markup."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import lookalike as la
from lookalike.io.results import write_folder
from lookalike.io.write import write_table

EVIL = (
    "</script><script>document.title='broken'</script><img src=x onerror=\"document.title='broken'\"><!-- & \u2028 '\" "
)
WORDS = [f"word{i}" for i in range(900)]


def words(seed: int, n: int = 60) -> list[str]:
    rng = random.Random(seed)
    return [rng.choice(WORDS) for _ in range(n)]


def varied(seed: int, changes: int) -> str:
    """The words of a seed with this many of them, far apart, replaced."""
    made = words(seed)
    for at in range(changes):
        made[5 + 13 * at] = f"changed{seed}at{at}"
    return " ".join(made)


def families() -> pa.Table:
    """Ten families of five documents, from copies to distant relatives; one of them tries to be markup."""
    rows = [(f"family{f}/member{m}", varied(f, m)) for f in range(10) for m in range(5)]
    rows += [
        (f"evil {EVIL}", f"😀 {EVIL} {varied(77, 0)}"),
        ("evil twin", f"{varied(77, 0)} {EVIL} 漢字"),
        ("alone", varied(99, 0)),
    ]
    return pa.table({"id": [row[0] for row in rows], "text": [row[1] for row in rows]})


def save_families(folder: Path, **options: Any) -> Path:
    """A result folder with its input next to it."""
    write_table(families(), folder / "families.parquet")
    return la.pairs(folder / "families.parquet", threshold=0.3, method="lsh", **options).save(folder / "result")


def save_many(folder: Path, pairs: int, items: int) -> Path:
    """A result of this many pairs, as a run over a large collection leaves it."""
    rng = np.random.default_rng(1)
    left = rng.integers(0, items, pairs)
    right = (left + rng.integers(1, 6, pairs)) % items
    names = pa.array([f"part-{i % 100:02d}/document-{i:07d}" for i in range(items)])
    table = pa.table(
        {
            "left": names.take(pa.array(left)),
            "right": names.take(pa.array(right)),
            "similarity": 0.7 + 0.3 * rng.beta(1, 2, pairs),
        }
    )
    receipt = la.pairs(["one text", "another text"], threshold=0.7).receipt
    write_folder({"pairs": table}, receipt, folder / "many")
    return folder / "many"
