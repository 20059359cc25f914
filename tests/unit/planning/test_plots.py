"""The pictures hold what they say, appear whole or not at all, and ask no other machine."""

from __future__ import annotations

import os
import re
import struct
import sys
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.errors import MissingExtra, OutputError, UsageError
from lookalike.planning.banding import Plan, plan
from lookalike.planning.plots import save_curve, terminal_curve

SVG = "{http://www.w3.org/2000/svg}"
LOW = Plan(threshold=0.8, recall=0.99, num_hashes=128, bands=9, rows=13)
FLAT = Plan(threshold=0.2, recall=0.99, num_hashes=128, bands=21, rows=1)


Draw = Callable[..., ElementTree.Element]


@pytest.fixture(scope="module")
def draw(tmp_path_factory: pytest.TempPathFactory) -> Draw:
    """The parsed SVG of a plan; each is drawn once."""

    @cache
    def svg_of(one: Plan, *others: Plan) -> ElementTree.Element:
        path = tmp_path_factory.mktemp("curve") / "curve.svg"
        save_curve(one, path, others=others)
        return ElementTree.parse(path).getroot()

    return svg_of


def words_of(picture: ElementTree.Element) -> set[str]:
    return {"".join(node.itertext()) for node in picture.iter(f"{SVG}text")} | {
        span.text or "" for span in picture.iter(f"{SVG}tspan")
    }


def path_points(picture: ElementTree.Element, attribute: str, colour: str) -> list[tuple[float, float]]:
    """The corners of the first path with this colour, x to the right and y down, in pixels of the plot."""
    drawn = next(p for p in picture.iter(f"{SVG}path") if p.get(attribute) == colour)
    return [(float(x), float(y)) for x, y in re.findall(r"[ML](-?[\d.e-]+),(-?[\d.e-]+)", drawn.get("d", ""))]


def test_the_svg_says_what_the_plan_says(draw: Draw) -> None:
    picture = draw(plan(0.8))
    assert (picture.get("width"), picture.get("height")) == ("700", "420")
    assert words_of(picture) >= {
        "16 bands of 6 rows: recall 0.9922 at similarity 0.8",
        "96 of 128 hashes, curve 1 − (1 − s^6)^16",
        "similarity of the pair",
        "probability that it becomes a candidate",
        "threshold 0.8",
        "recall 0.9922",
        "requested recall 0.99",
        "false candidates",
        "area 0.22",
        "missed pairs",
        "area 0.00015",
    }


def test_the_curve_is_drawn_where_it_is(draw: Draw) -> None:
    points = path_points(draw(LOW), "stroke", "#1c5d99")
    (left, bottom), (right, top) = points[0], points[-1]
    drawn = [((x - left) / (right - left), (bottom - y) / (bottom - top)) for x, y in points]
    assert len(drawn) > 100
    assert all(p == pytest.approx(LOW.probability(s), abs=0.01) for s, p in drawn)


@pytest.mark.parametrize(("colour", "side"), [("#e08a00", "left"), ("#c62f3b", "right")])
def test_each_error_lies_on_its_side_of_the_threshold(draw: Draw, colour: str, side: str) -> None:
    picture = draw(LOW)
    curve = path_points(picture, "stroke", "#1c5d99")
    threshold = curve[0][0] + LOW.threshold * (curve[-1][0] - curve[0][0])
    area = [x for x, _ in path_points(picture, "fill", colour)]
    assert (max(area) if side == "left" else min(area)) == pytest.approx(threshold, abs=0.1)
    assert (min(area) if side == "left" else max(area)) == pytest.approx(curve[0 if side == "left" else -1][0], abs=0.1)


@pytest.mark.parametrize("one", [LOW, FLAT, plan(1.0), plan(0.95), plan(0.5)], ids=str)
def test_every_label_is_inside_the_picture(draw: Draw, one: Plan) -> None:
    picture = draw(one)
    parents = {child: parent for parent in picture.iter() for child in parent}
    seen = 0
    for node in picture.iter(f"{SVG}text"):
        x = 0.0
        place: ElementTree.Element | None = node
        while place is not None:
            moved = re.match(r"translate\((-?[\d.]+)", place.get("transform", ""))
            x += float(moved[1]) if moved else 0.0
            place = parents.get(place)
        longest = max(len(span.text or "") for span in [node, *node.iter(f"{SVG}tspan")])
        if node.get("text-anchor") == "start" and node.get("font-size") == "13px":
            seen += 1
            assert 60 <= x <= 700 - 6.4 * longest  # letters of 13 pixels are 6.4 wide on average
    assert seen >= 4  # two labels, each with its halo


def test_others_are_thin_lines_with_their_names(draw: Draw) -> None:
    words = words_of(draw(plan(0.95), plan(0.5), plan(0.8)))
    assert {"35 × 3", "16 × 6", "128 of 128 hashes, curve 1 − (1 − s^16)^8, thin lines: other bands × rows"} <= words


def test_a_flat_curve_has_its_labels_on_the_right(draw: Draw) -> None:
    assert {"false candidates", "requested recall 0.99", "area 0.15"} <= words_of(draw(FLAT))


def test_areas_too_small_to_say_and_none_at_all(draw: Draw) -> None:
    assert "area below 0.0001" in words_of(draw(plan(0.95)))
    assert "area 0" in words_of(draw(plan(1.0)))


def test_the_png_is_twice_as_fine(tmp_path: Path) -> None:
    save_curve(plan(0.8), str(tmp_path / "curve.PNG"))
    head = (tmp_path / "curve.PNG").read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", head[16:24]) == (1400, 840)


class Asked(HTMLParser):
    """Addresses that a browser would fetch while it opens the page."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.scripts = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href", "srcset", "data")]


def test_the_page_holds_all_it_needs(tmp_path: Path) -> None:
    save_curve(plan(0.8), tmp_path / "curve.html")
    page = (tmp_path / "curve.html").read_text(encoding="utf-8")
    asked = Asked()
    asked.feed(page)
    assert asked.scripts >= 1
    assert asked.addresses == []
    assert "16 bands of 6 rows: recall 0.9922 at similarity 0.8" in page
    assert "cdn.jsdelivr" not in page
    assert '"actions": false' in page


def test_unknown_extension(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        save_curve(plan(0.8), tmp_path / "curve.pgn")
    assert str(caught.value) == "cannot draw a curve as '.pgn'. Nearest: '.png'. Choices: .svg, .png, .html."
    with pytest.raises(UsageError, match=r"cannot draw a curve as 'curve'\. Choices: \.svg, \.png, \.html\."):
        save_curve(plan(0.8), tmp_path / "curve")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("module", ["altair", "vl_convert"])
def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra) as caught:
        save_curve(plan(0.8), tmp_path / "curve.svg")
    assert str(caught.value) == 'a picture of the curve needs: pip install "lookalike[plots]"'


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    target = tmp_path / "none" / "curve.svg"
    with pytest.raises(OutputError) as caught:
        save_curve(plan(0.8), target)
    assert str(caught.value) == f"cannot write {target}: No such file or directory."


def test_a_failed_write_leaves_the_old_picture_and_no_litter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    target = tmp_path / "curve.svg"
    target.write_text("old")
    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OutputError, match="No space left on device"):
        save_curve(plan(0.8), target)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("curve.svg", "old")]


def test_a_picture_replaces_the_one_before(tmp_path: Path) -> None:
    (tmp_path / "curve.svg").write_text("old")
    save_curve(plan(0.8), tmp_path / "curve.svg")
    assert [path.name for path in tmp_path.iterdir()] == ["curve.svg"]
    assert (tmp_path / "curve.svg").read_text(encoding="utf-8").startswith("<svg")


# in the terminal


def test_the_default_terminal_curve() -> None:
    lines = terminal_curve(plan(0.8)).split("\n")
    assert len(lines) == 14
    assert [line[:5] for line in lines[:11]] == [f"{1 - i / 10:.1f} ┤" for i in range(11)]
    assert lines[12].split() == ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]
    assert lines[13].strip() == "similarity of the pair   ▲ threshold 0.8, recall 0.9922"
    mark = lines[11].index("▲")
    assert mark == lines[12].index("0.8") + 1
    assert all(line[mark] == "┊" for line in lines[1:11])


@given(st.floats(0.01, 1.0), st.integers(1, 60), st.integers(1, 60), st.integers(44, 120), st.integers(8, 40))
@settings(max_examples=60, deadline=None)
def test_the_dots_follow_the_curve(t: float, bands: int, rows: int, width: int, height: int) -> None:
    one = Plan(threshold=t, recall=0.99, num_hashes=bands * rows, bands=bands, rows=rows)
    lines = terminal_curve(one, width, height).split("\n")
    assert len(lines) == height
    assert max(map(len, lines)) <= width
    columns, levels = width - 6, height - 3
    for column in range(2 * columns):
        bits = (0x01, 0x02, 0x04, 0x40) if column % 2 == 0 else (0x08, 0x10, 0x20, 0x80)
        cells = [line[5:].ljust(columns)[column // 2] for line in lines[:levels]]
        dots = [
            4 * level + i
            for level, cell in enumerate(cells)
            for i, bit in enumerate(bits)
            if "\u2800" <= cell <= "\u28ff" and (ord(cell) - 0x2800) & bit
        ]
        height_of_dot = 1 - min(dots) / (4 * levels - 1)
        assert height_of_dot == pytest.approx(
            one.probability(column / (2 * columns - 1)), abs=0.5001 / (4 * levels - 1)
        )


@pytest.mark.parametrize(("width", "height"), [(43, 14), (60, 7)])
def test_too_small_a_terminal(width: int, height: int) -> None:
    with pytest.raises(UsageError) as caught:
        terminal_curve(plan(0.8), width, height)
    expected = f"a curve of {width} x {height} characters cannot be read; expected 44 x 8 or more."
    assert str(caught.value) == expected
