"""Articles that tell the same story."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lookalike as la
from lookalike.errors import UsageError

WORDS = [f"w{i}" for i in range(3000)]


def noise(seed: int, n: int) -> list[str]:
    rng = random.Random(seed)
    return [rng.choice(WORDS) for _ in range(n)]


def articles() -> dict[str, str]:
    """A story in four versions, a story in two, a digest of both, and one alone."""
    story = noise(1, 120)
    rewritten = [word if i % 11 else f"x{i}" for i, word in enumerate(story)]  # no run of 12, but a high Jaccard
    turned = story[60:] + noise(2, 15) + story[:60]
    other = noise(3, 100)
    return {
        "wire": " ".join(story),
        "rewritten": " ".join(rewritten),
        "turned": " ".join(turned),
        "cut": " ".join(story[:70]),
        "other": " ".join(other),
        "other again": " ".join([*noise(4, 5), *other]),
        "digest": " ".join(story[:20] + other[:20] + noise(5, 120)),
        "alone": " ".join(noise(6, 100)),
    }


@pytest.mark.promise("docs/how-to/passages.md", "A digest that quotes many stories joins none of them")
@pytest.mark.promise("docs/how-to/group-the-same-story.md", "A digest that quotes many stories joins none of them")
def test_what_is_cut_turned_or_rewritten_is_one_story() -> None:
    reported = articles()
    found = la.stories(pa.table({"id": list(reported), "text": list(reported.values())}))
    groups: dict[int, list[str]] = {}
    for row in found.stories.to_pylist():
        groups.setdefault(row["story"], []).append(row["id"])
        assert row["first"] in ("wire", "other")
    assert groups == {0: ["wire", "rewritten", "turned", "cut"], 1: ["other", "other again"]}
    assert found.stories["size"].to_pylist() == [4, 4, 4, 4, 2, 2]
    why = {(row["left"], row["right"]): row for row in found.pairs.to_pylist()}
    assert why["wire", "rewritten"]["contained"] == 0.0
    assert why["wire", "rewritten"]["jaccard"] > 0.3
    assert why["wire", "turned"]["contained"] > 0.8
    assert found.receipt["counts"]["stories"] == 2


def test_what_belongs_together_can_be_set(tmp_path: Path) -> None:
    reported = list(articles().values())
    assert la.stories(reported, share=0.05, jaccard=1.0).stories["size"].to_pylist()[0] == 6
    assert la.stories(reported, share=1.0, jaccard=1.0).stories.num_rows == 0
    folder = la.stories(reported).save(tmp_path / "out")
    assert pq.read_table(folder / "stories.parquet").num_rows == 6
    assert pq.read_table(folder / "pairs.parquet").column_names == ["left", "right", "contained", "jaccard"]
    assert la.stories([]).stories.num_rows == 0
    with pytest.raises(UsageError, match="share is 0; expected"):
        la.stories(reported, share=0)
