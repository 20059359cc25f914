"""Golden indexes: one folder for each kind, as it was written when the kind was new, and what it answered.

They are part of the format's promise: an index made today is read tomorrow. Run by hand, only when the format gets a new
number or there is a new kind, into a new folder: `python tests/golden/make_index.py`. Format 1 had six kinds, format 2
has images, faces and passages too.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FOLDERS = (HERE / "index-1", HERE / "index-2", HERE / "index-2-passages")
NEW = ("passages",)  # kinds of the last folder


def answers(index: Any, queries: list[Any]) -> dict[str, Any]:
    """What is asked of a golden index."""
    return {
        "matches": [[list(match) for match in found] for found in index.query(queries)],
        "ids": list(index),
        "groups": index.groups().to_pylist(),
        "merges": index.merges().select(["merged", "into"]).to_pylist(),
        "items": [index.item(one).item for one in ("i1", "i30", "i39")],
    }


def as_json(item: Any) -> Any:
    return {"hex": item.hex()} if isinstance(item, bytes) else item


def from_json(item: Any) -> Any:
    return bytes.fromhex(item["hex"]) if isinstance(item, dict) and "hex" in item else item


def main() -> None:
    sys.path.insert(0, str(HERE.parent))
    import lookalike as la
    from index_kinds import SAMPLES
    from lookalike.index import folder

    folder.MAX_RECENT_ITEMS, place = 5, FOLDERS[-1]
    place.mkdir()
    reported = {}
    for name in NEW:
        sample = SAMPLES[name]
        items = sample.items(40, 77)
        with la.Index.create(place / name, kind=name, **sample.options) as index:
            index.add(items[:30], ids=[f"i{n}" for n in range(30)])  # a segment
            index.remove(["i3", "i4"])
            index.add(items[30:35], ids=[f"i{n}" for n in range(30, 35)])  # recent ones
            index.add(items[35:40], ids=["i5", "i36", "i37", "i38", "i39"])
            queries = sample.items(50, 77)[30:]
            reported[name] = {"queries": [as_json(query) for query in queries], **answers(index, queries)}
        for lock in (place / name).glob("*.lock"):
            lock.unlink()
    (place / "answers.json").write_text(json.dumps(reported, indent=0, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
