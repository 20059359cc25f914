"""lookalike shingles from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random


def test_the_curve_and_a_command(tmp_path: Path, lookalike) -> None:
    draw = Random(1)
    lines = [" ".join(draw.choices(["red", "green", "blue", "grey"], k=30)) for _ in range(50)]
    (tmp_path / "texts.txt").write_text("\n".join(lines))
    done = lookalike("shingles", tmp_path / "texts.txt")
    assert done.out.startswith("Sampled 50 unrelated documents, median 30 words, ")
    assert done.out.endswith(f"\nSuggested: lookalike pairs {tmp_path / 'texts.txt'} --unit word -k 6\n")
    marked = [line.split()[:2] for line in done.out.splitlines() if line.endswith("<-")]
    assert marked[-1] == ["word", "6"]
    survey = json.loads(lookalike("shingles", tmp_path / "texts.txt", "--json").out)
    assert (survey["unit"], survey["k"], survey["documents"]) == ("word", 6, 50)
