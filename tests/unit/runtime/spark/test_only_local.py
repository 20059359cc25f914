"""Kinds and methods without an engine on Spark say so in one line, before any session is started."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lookalike as la
from lookalike.errors import UsageError
from lookalike.runtime.spark import session

FACES = "faces do not run on Spark: a probe looks up neighbouring ranges of measurements, and Spark joins equal keys"
STORIES = "stories do not run on Spark: there, ask for passages and for pairs, and connect the pairs of both"


@pytest.mark.promise("docs/how-to/spark-kinds.md", "Faces and stories run on one machine")
@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("faces", "pairs"), FACES), (("faces", "query", "--against", "x.csv"), FACES), (("stories",), STORIES),
        (("pairs", "--method", "dcm"), "Divide-Compute-Merge runs on one machine"),
        (("pairs", "--method", "folding"), "method folding runs on one machine"),
    ],
)  # fmt: skip
def test_commands(
    lookalike: Callable[..., Any], words: tuple[str, ...], reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "open_session", lambda **_: pytest.fail("a session was started"))
    source = tmp_path / "in.csv"
    source.write_text("id,text\n1,a b\n")
    done = lookalike(*words, source, "--engine", "spark")
    assert done.code == 2
    assert done.err.startswith(f"UsageError: {reason}")
    assert len(done.err.splitlines()) == 1


def test_functions() -> None:
    with pytest.raises(UsageError, match=FACES):
        la.faces.groups(np.zeros((2, 3)), engine="spark")  # type: ignore[typeddict-item]
    with pytest.raises(UsageError, match=STORIES):
        la.stories(["a"], engine="spark")
    assert la.faces.pairs(np.zeros((2, 3)), engine="local").pairs.num_rows == 1
