"""The picture of an evaluation."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pytest

from answers import FOUND, TRUTH, groups_of, pairs_of
from lookalike.errors import MissingExtra, OutputError, UsageError
from lookalike.evaluation.api import evaluate
from lookalike.evaluation.plots import save_evaluation

SVG = "{http://www.w3.org/2000/svg}"


def words_of(path: Path) -> list[str]:
    return ["".join(node.itertext()) for node in ElementTree.parse(path).getroot().iter(f"{SVG}text")]


def test_the_picture_says_what_was_found(tmp_path: Path) -> None:
    save_evaluation(evaluate(FOUND, TRUTH), tmp_path / "curve.svg")
    words = words_of(tmp_path / "curve.svg")
    assert {"precision", "recall", "F1", "best F1 0.667 at 0.8"} <= set(words)
    assert "Best F1 0.667 at threshold 0.8: precision 0.667, recall 0.667" in " ".join(words)
    assert "pairs reported: 4, true ones among them: 2 of 3, average precision 0.556" in " ".join(words)
    assert "adjusted Rand" not in words


def test_the_lines_are_drawn_where_the_numbers_are(tmp_path: Path) -> None:
    """Precision 1/2 up to 0.6, 2/3 up to 0.8, 1 up to 0.9: steps that change right at the threshold."""
    save_evaluation(evaluate(FOUND, TRUTH), tmp_path / "curve.svg")
    lines = ElementTree.parse(tmp_path / "curve.svg").getroot().iter(f"{SVG}path")
    blue = next(line for line in lines if line.get("stroke") == "#1c5d99")
    points = [(float(x), float(y)) for x, y in re.findall(r"[ML](-?[\d.]+),(-?[\d.]+)", blue.get("d", ""))]
    low = 0.6 - 0.3 / 40
    drawn = [(low + x / 520 * (0.9 - low), 1 - y / 300) for x, y in points]
    steps = [(low, 1 / 2), (0.6, 1 / 2), (0.6, 2 / 3), (0.8, 2 / 3), (0.8, 1.0), (0.9, 1.0)]
    corners = [corner for i, corner in enumerate(drawn) if i == 0 or corner != pytest.approx(drawn[i - 1], abs=1e-6)]
    assert [value for corner in corners for value in corner] == pytest.approx(
        [value for step in steps for value in step], abs=0.002
    )


def test_groups_stand_beside_the_pairs(tmp_path: Path) -> None:
    save_evaluation(evaluate(FOUND, TRUTH, groups=True), tmp_path / "curve.svg")
    words = words_of(tmp_path / "curve.svg")
    assert {"adjusted Rand", "Pairs", "Groups of connected pairs: B-cubed, and Rand"} <= set(words)
    assert words.count("recall") == 4  # two lines, each name with its halo


@pytest.mark.parametrize("found", [pairs_of(("a", "d", 0.9), ("b", "e", 0.8)), pairs_of(("a", "b", 0.9))])
def test_names_of_lines_that_end_together_do_not_cover_each_other(tmp_path: Path, found: pa.Table) -> None:
    """All lines at 0, or all at 1: the names stay inside of the panel, one below the other."""
    save_evaluation(evaluate(found, groups_of(a=1, b=1)), tmp_path / "curve.svg")
    texts = ElementTree.parse(tmp_path / "curve.svg").getroot().iter(f"{SVG}text")
    names = [node for node in texts if node.text in ("precision", "recall", "F1")]
    moved = [re.match(r"translate\(-?[\d.]+,(-?[\d.]+)", node.get("transform", "")) for node in names]
    heights = sorted({float(match[1]) for match in moved if match})
    assert len(heights) == 3
    assert min(np.diff(heights)) >= 16.9
    assert heights[0] >= 0
    assert heights[-1] <= 300 + 5  # letters stand around the middle of the line


def test_one_pair_only(tmp_path: Path) -> None:
    save_evaluation(evaluate(FOUND.slice(3), FOUND.slice(0, 0)), tmp_path / "curve.svg")
    assert "Best F1 0.000 at threshold 0.6: precision 0.000, recall unknown" in " ".join(
        words_of(tmp_path / "curve.svg")
    )


def test_png_and_a_page_that_asks_no_other_machine(tmp_path: Path) -> None:
    made = evaluate(FOUND, TRUTH)
    save_evaluation(made, tmp_path / "curve.PNG")
    assert (tmp_path / "curve.PNG").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    save_evaluation(made, tmp_path / "curve.html")
    asked: list[str | None] = []

    class Asked(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            asked.extend(value for name, value in attrs if name in ("src", "href", "srcset", "data"))

    page = (tmp_path / "curve.html").read_text(encoding="utf-8")
    Asked().feed(page)
    assert asked == []
    assert "Best F1 0.667" in page


@pytest.mark.parametrize("answer", [FOUND.slice(0, 0), FOUND.drop_columns("similarity"), groups_of(a=1, b=1)])
def test_nothing_to_draw(tmp_path: Path, answer: pa.Table) -> None:
    with pytest.raises(UsageError) as caught:
        save_evaluation(evaluate(answer, TRUTH), tmp_path / "curve.svg")
    assert str(caught.value) == (
        f"{tmp_path / 'curve.svg'}: an answer without similarities has no curve to draw; write -o report.json."
    )
    assert list(tmp_path.iterdir()) == []


def test_pictures_that_cannot_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = evaluate(FOUND, TRUTH)
    with pytest.raises(UsageError) as usage:
        save_evaluation(made, tmp_path / "curve.pgn")
    assert str(usage.value) == "cannot draw a curve as '.pgn'. Nearest: '.png'. Choices: .svg, .png, .html."
    (tmp_path / "curve.svg").write_text("old")
    with pytest.raises(OutputError, match=r"curve\.svg exists\. Use `force` to replace it, or another name\."):
        save_evaluation(made, tmp_path / "curve.svg")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("curve.svg", "old")]
    save_evaluation(made, tmp_path / "curve.svg", force=True)
    assert (tmp_path / "curve.svg").read_text().startswith("<svg")
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(MissingExtra) as extra:
        save_evaluation(made, tmp_path / "other.svg")
    assert str(extra.value) == 'a picture of the curve needs: pip install "lookalike[plots]"'
