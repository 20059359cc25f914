"""Golden indexes: one folder for each kind, as format 1 wrote it, and what it answered.

They are part of the format's promise: an index made today is read tomorrow. Run by hand, only when the format gets a new
number, into a new folder: `python tests/golden/make_index.py`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FOLDER = HERE / "index-1"


def answers(index: Any, queries: list[Any]) -> dict[str, Any]:
    """What is asked of a golden index."""
    return {
        "matches": [[list(match) for match in found] for found in index.query(queries)],
        "ids": list(index),
        "groups": index.groups().to_pylist(),
        "merges": index.merges().select(["merged", "into"]).to_pylist(),
        "items": [index.item(one).item for one in ("i1", "i30", "i39")],
    }


def main() -> None:
    sys.path.insert(0, str(HERE.parent))
    import lookalike as la
    from index_kinds import SAMPLES
    from lookalike.index import folder

    folder.SMALL = 5
    FOLDER.mkdir()
    told = {}
    for name, sample in SAMPLES.items():
        items = sample.items(40, 77)
        with la.Index.create(FOLDER / name, kind=name, **sample.options) as index:
            index.add(items[:30], ids=[f"i{n}" for n in range(30)])  # a segment
            index.remove(["i3", "i4"])
            index.add(items[30:35], ids=[f"i{n}" for n in range(30, 35)])  # recent ones
            index.add(items[35:40], ids=["i5", "i36", "i37", "i38", "i39"])
            queries = sample.items(50, 77)[30:]
            told[name] = {"queries": queries, **answers(index, queries)}
        for lock in (FOLDER / name).glob("*.lock"):
            lock.unlink()
    (FOLDER / "answers.json").write_text(json.dumps(told, indent=0, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
