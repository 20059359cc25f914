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
@pytest.mark.parametrize(("words", "reported"), SUMS)
def test_a_sum_is_right(words: str, reported: str) -> None:
    assert value(ast.parse(words, mode="eval").body) == pytest.approx(float(reported), rel=0.006)


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
@pytest.mark.promise("docs/explanation/scale.md", "a bucket of more than 4,096 rows is cut into parts")
@pytest.mark.promise("docs/explanation/scale.md", "On Spark one task gathers the keys of a bucket, 25 bytes each")
@pytest.mark.promise("docs/explanation/scale.md", "Keys that more than 4,194,304 documents have")
def test_the_page_names_the_constants_of_the_engine() -> None:
    from lookalike.cost_model import scale
    from lookalike.runtime.spark import heavy_keys, key_join, session, shuffle

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
    most, one_in = heavy_keys.MAX_BUCKET_ROWS, heavy_keys.SAMPLED_ITEMS // (2 * heavy_keys.MIN_SAMPLED)
    assert f"Keys that more than {most:,} documents have, or more than one in {one_in:,} where" in text
    assert f"in a sample of the documents ({heavy_keys.SAMPLED_ITEMS:,})" in text
    assert f"about {most:,} rows in all, which take {round(3 * row * most / 1e6)} MB" in text
    assert round(most * one_in / 1e9, 1) == 8.6


def test_the_page_names_what_one_process_holds() -> None:
    from lookalike.core import audit_sample
    from lookalike.kinds.bits.spark import run as bits
    from lookalike.kinds.documents.spark import common_shingles
    from lookalike.kinds.images.spark import run as images
    from lookalike.kinds.records.spark import competitors
    from lookalike.kinds.strings.spark import run as strings
    from lookalike.kinds.vectors.spark import joins
    from lookalike.runtime.spark import components, heavy_keys, key_join, limits

    table = PAGE.partition("## What one process must hold on Spark")[2].partition("\n## ")[0]
    rows = {line.split(" | ")[1]: line for line in table.splitlines() if line.startswith("|") and "---" not in line}
    key = sum(np.dtype(kind).itemsize for kind in key_join.KEY_COLUMNS.values())
    stated = {
        "items of candidate pairs": f"{limits.MAX_BROADCAST_SETS:,} rows",
        "shingles that": f"{common_shingles.DRIVER_ELEMENTS:,} ({common_shingles.DRIVER_ELEMENTS * 8 >> 20} MB)",
        "exact pairs of sampled vectors": f"32 bytes each, {audit_sample.MOST_PARTNERS:,} aimed at",
        "keys of one bucket": f"{3 * key} bytes each, of {heavy_keys.MAX_BUCKET_ROWS:,} keys: 315 MB",
        "parts of a bucket": f"two of {key_join.LINKED_TOGETHER:,} sets",
        "the forest of groups": f"{components.MAX_LOCAL_PAIRS:,} pairs | rounds over all tasks, {components.MAX_ROUNDS} ",
        "records": f"{competitors.MOST_TIED:,}",
        "codes": f"{bits.CODES_PER_BLOCK:,}, {strings.STRINGS_PER_BLOCK:,} and {images.IMAGES_PER_BLOCK:,} items",
        "vectors, exactly": f"{joins.TASK_BYTES >> 20} MB each",
    }
    for words, size in stated.items():
        (row,) = [line for name, line in rows.items() if name.startswith(words)]
        assert size in row
    assert f"{-(-(10**9) // bits.CODES_PER_BLOCK):,} times of a billion codes" in table
