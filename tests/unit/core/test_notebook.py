"""What a notebook shows: whole HTML, escaped, without scripts, and with the numbers of the thing itself."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lookalike as la
from browser import Browser, needs_browser
from lookalike.core.arrays import Pairs

EVIL = "<script>alert(1)</script>"
TEXT = "the quick brown fox jumps over the lazy dog by the river and sleeps"
VOID = {"br", "img", "input", "meta"}
ALLOWED = {"div", "b", "svg", "path", "line", "text", "rect", "title", "table", "tr", "th", "td"}


class Checker(HTMLParser):
    """Every tag is known and closed, no attribute acts or loads."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ALLOWED, tag
        assert not [name for name, _ in attrs if name.startswith("on") or name in ("href", "src")]
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ALLOWED, tag

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def shown(thing: Any) -> Checker:
    checker = Checker()
    checker.feed(thing._repr_html_())
    checker.close()
    assert checker.open == []
    return checker


def documents(asked: Any = la.pairs, **options: Any) -> Any:
    near = f"{TEXT} tonight"
    rows = pa.table({"id": ["a", EVIL, "c", "d"], "text": [TEXT, near, TEXT, "other words"]})
    return asked(rows, threshold=0.5, **options)


def test_pairs_groups_and_dedup() -> None:
    pairs = shown(documents()).text
    assert "3 pairs" in pairs
    assert EVIL in pairs  # as text
    assert "4 documents" in pairs
    assert "representative" in shown(documents(la.groups)).text
    assert "2 removed" in shown(documents(la.dedup)).text


def test_nothing_found_and_too_many_to_write_down() -> None:
    empty = shown(la.pairs(["a b c d e f", "g h i j k l"]))
    assert "0 pairs" in empty.text
    assert "svg" not in la.pairs(["a b c d e f", "g h i j k l"])._repr_html_()
    against = la.pairs([TEXT], against=[TEXT])
    assert "1 pair" in shown(against).text


def test_a_measured_recall_is_told() -> None:
    assert "recall, measured" in shown(documents(method="lsh")).text
    assert "recall, measured" not in shown(documents(method="exact")).text


def test_distances_rise_from_the_left() -> None:
    html = la.bits.pairs([0b1, 0b11, 0b1111], max_bits=3)._repr_html_()
    assert "distance of the pairs" in html
    assert "-1" not in html.replace("font-size", "").replace("margin-top", "")


def test_a_plan_draws_its_curve() -> None:
    plan = la.plan(0.8)
    assert str(plan) in shown(plan).text
    assert plan._repr_html_().count("<path") == 4  # two errors, the curve, the axes
    assert "30 degrees" in shown(la.plan(measure="cosine", distance=30)).text
    assert "distance" in shown(la.plan(measure="euclidean", distance=2.0)).text


def test_pairs_of_numbers() -> None:
    many = Pairs(np.arange(30), np.arange(30) + 1, np.linspace(0.8, 1, 30))
    text = shown(many).text
    assert "30 pairs" in text
    assert "and 20 more" in text


def test_passages() -> None:
    text = shown(la.passages([TEXT + " one", "two " + TEXT])).text
    assert "shared_tokens" in text
    assert "2 documents" in text


@needs_browser
@pytest.mark.parametrize("dark", [False, True])
def test_a_browser_shows_it_and_asks_for_nothing(tmp_path: Path, dark: bool) -> None:
    page = tmp_path / "card.html"
    body = documents()._repr_html_() + la.plan(0.8)._repr_html_()
    page.write_text(
        f"<!doctype html><meta charset=utf-8><body style='color-scheme:light dark'>{body}", encoding="utf-8"
    )
    with Browser() as browser:
        browser.dark(dark)
        browser.open(page)
        assert browser.value("document.scripts.length") == 0
        assert browser.value("document.querySelectorAll('svg').length") == 2
        assert browser.value("getComputedStyle(document.querySelector('svg text')).fill") == browser.value(
            "getComputedStyle(document.body).color"
        )
        assert [url for url in browser.asked if not url.startswith(("file:", "about:", "data:"))] == []
        assert browser.errors == []
