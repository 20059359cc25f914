"""The sizes of the groups of kept rows."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike as la

TEXTS = st.lists(st.lists(st.sampled_from("abcd"), max_size=8).map(" ".join), max_size=12)


@given(TEXTS, st.sampled_from([0.4, 0.8, 1.0]))
@settings(max_examples=60)
def test_sizes_add_up_to_the_input(texts: list[str], threshold: float) -> None:
    result = la.dedup(texts, threshold=threshold, k=2, exact=True)
    sizes = {row["id"]: row for row in result.sizes.to_pylist()}
    removed = result.removed.to_pylist()
    assert sum(row["group_size"] for row in sizes.values()) - len(sizes) == len(removed)
    for kept, row in sizes.items():
        mine = [one for one in removed if one["kept"] == kept]
        assert row["group_size"] == 1 + len(mine)
        assert 1 <= row["copies"] <= row["group_size"]
        assert (
            row["copies"] == 1 + sum(texts[one["id"]] == texts[kept] for one in mine) or len(texts[kept].split()) != 0
        )


def test_sizes_on_the_command_line(tmp_path: Path, lookalike) -> None:
    (tmp_path / "in.txt").write_text("one two three four five six\n" * 3 + "nothing like the others at all\n")
    given = ("dedup", tmp_path / "in.txt", "-o", tmp_path / "out.txt", "--sizes", tmp_path / "sizes.csv")
    assert lookalike(*given).code == 0
    assert (tmp_path / "sizes.csv").read_text() == '"id","group_size","copies"\n0,3,3\n'
    assert lookalike(*given, "--force", "--lines", "--against", tmp_path / "in.txt").code == 0
    assert (tmp_path / "sizes.csv").read_text() == '"id","group_size","copies"\n0,4,4\n3,2,2\n'
    done = lookalike(*given, "--force", "--engine", "spark")
    assert done.code == 2
    assert "--sizes is for one machine" in done.err
