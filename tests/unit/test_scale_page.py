"""Every sum on docs/explanation/scale.md is right, and the commands print what the page shows."""

from __future__ import annotations

import ast
import operator
import re
from pathlib import Path

import numpy as np
import pytest

PAGE = (Path(__file__).parents[2] / "docs/explanation/scale.md").read_text(encoding="utf-8")
SUMS = re.findall(r"^[a-z][a-z ]*?\s{2,}(.+) = ([\d.e+]+)", PAGE, re.MULTILINE)
DO = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}


def value(node: ast.expr) -> float:
    if isinstance(node, ast.BinOp):
        return DO[type(node.op)](value(node.left), value(node.right))
    assert isinstance(node, ast.Constant)
    return float(node.value)


def test_there_are_sums() -> None:
    assert len(SUMS) == 54


@pytest.mark.promise("docs/explanation/scale.md", "whose 20,000 tasks hold gigabytes each")
@pytest.mark.promise("docs/explanation/scale.md", "with the arithmetic shown")
@pytest.mark.parametrize(("words", "told"), SUMS)
def test_a_sum_is_right(words: str, told: str) -> None:
    assert value(ast.parse(words, mode="eval").body) == pytest.approx(float(told), rel=0.006)


@pytest.mark.promise("docs/explanation/scale.md", "16 bands of 6 rows, of 128 slots")
@pytest.mark.parametrize("command", re.findall(r"^lookalike plan (--items .*?)\s+#", PAGE, re.MULTILINE))
def test_the_command_prints_what_the_page_shows(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lookalike.cli.cost_estimate import lines
    from lookalike.cost_model.api import estimate

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert command == "--items 1e9 --mean-bytes 2000 --executors 200"
    assert "\n".join(lines(estimate(1e9, mean_bytes=2000, executors=200))) in PAGE
    large = lines(estimate(1e11, mean_bytes=2000, executors=2000, num_hashes=256))
    assert "\n".join(large[: large.index("")]) in PAGE


@pytest.mark.promise("docs/explanation/scale.md", "no more than 20,000")
@pytest.mark.promise(
    "docs/explanation/scale.md", "A worker that receives more than 256 MB of a shuffle groups it on disk"
)
@pytest.mark.promise("docs/explanation/scale.md", "then a bucket of more than 4,096 rows is cut into parts")
def test_the_page_names_the_constants_of_the_engine() -> None:
    from lookalike.cost_model import scale
    from lookalike.runtime.spark import key_join, session, shuffle

    text = " ".join(PAGE.split())
    assert f"no more than {scale.MAX_TASKS:,}: the driver" in text
    assert key_join.MAX_TASKS == shuffle.MAX_TASKS == session.MAX_TASKS == scale.MAX_TASKS
    assert (
        f"more than {shuffle.HELD_BYTES >> 20} MB of a shuffle groups it on disk, in {shuffle.SPILL_FILES} files"
        in text
    )
    assert f"a bucket of more than {key_join.GIANT:,} rows is cut into parts" in text
    assert f"a task for each {session.INPUT_BYTES_PER_PART >> 20} MB" in text
    row = sum(np.dtype(kind).itemsize for kind in key_join.KEY_COLUMNS.values())
    assert f"{row} bytes each" in text
