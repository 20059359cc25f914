"""The page that shows passages: what is in the file, and what a browser makes of it."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import lookalike as la
from browser import Browser, needs_browser
from lookalike.errors import OutputError, UsageError
from lookalike.kinds.passages import report as passage_report

EVIL = "</script><script>document.title='broken'</script><img src=x onerror=\"document.title='broken'\"><!-- & \u2028 "
WORDS = [f"word{i}" for i in range(900)]


def quotation(seed: int, n: int = 30) -> str:
    rng = random.Random(seed)
    return " ".join(rng.choice(WORDS) for _ in range(n))


def evil_documents() -> pa.Table:
    """Documents whose text and names try to be markup; one shares two passages with the other, in another order."""
    one, two = quotation(1), quotation(2)
    left = f"😀 {EVIL} {one}\n\n<b>{quotation(3)}</b>\n{two}"
    right = f"{quotation(4)} {two} {EVIL} 漢字 😀😀 {one} the end"
    return pa.table({"id": [f"left {EVIL}", "right", "alone"], "text": [left, right, quotation(5)]})


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as one:
        yield one


def test_nothing_in_a_document_is_markup(tmp_path: Path) -> None:
    path = la.passages(evil_documents()).report(tmp_path / "report.html")
    page = path.read_text(encoding="utf-8")
    assert "document.title=" in page
    for block in re.findall(r'<script type="application/json" id="[\w-]+">(.*?)</script>', page, re.DOTALL):
        json.loads(block)
        assert not set("<>&\u2028") & set(block)
    assert page.count("<script") == page.count("</script>") == 4  # the index, two texts, the page's own
    assert re.findall(r"(?:src|href)=\"(?!data:)", page.split("<script", 1)[0]) == []


def test_a_page_is_not_replaced_unasked(tmp_path: Path) -> None:
    found = la.passages(evil_documents())
    found.report(tmp_path / "report.html")
    with pytest.raises(OutputError, match=r"exists\. Use `force`"):
        found.report(tmp_path / "report.html")
    found.report(tmp_path / "report.html", force=True)
    with pytest.raises(UsageError, match="pairs is 0"):
        found.report(tmp_path / "other.html", pairs=0)


def test_the_pairs_that_share_most_have_room_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [quotation(i // 2, 20 + i) for i in range(20)]
    found = la.passages(texts)
    index = json.loads(
        re.findall(r'id="index">(.*?)</script>', found.report(tmp_path / "a.html", pairs=3).read_text())[0]
    )
    assert [pair[2] for pair in index["pairs"]] == [38, 36, 34]
    assert index["more"] == 7
    monkeypatch.setattr(passage_report, "MOST_TEXT", 700)
    index = json.loads(re.findall(r'id="index">(.*?)</script>', found.report(tmp_path / "b.html").read_text())[0])
    assert len(index["pairs"]) == 1
    assert index["more"] == 9


@needs_browser
def test_scripts_in_documents_show_as_text_and_nothing_is_asked_for(tmp_path: Path, browser: Browser) -> None:
    table = evil_documents()
    before = len(browser.asked)
    path = la.passages(table).report(tmp_path / "report.html")
    browser.open(path)
    assert browser.value("document.title") == "Shared passages"
    assert [browser.value(f"document.getElementById('{side}').textContent") for side in ("left", "right")] == [
        table["text"][0].as_py(),
        table["text"][1].as_py(),
    ]
    assert browser.value("document.querySelector('#head-left h2').textContent") == table["id"][0].as_py()
    assert browser.value("document.querySelectorAll('img, b').length") == 0
    assert browser.asked[before:] == [path.as_uri()]
    assert browser.errors == []


@needs_browser
def test_passages_are_marked_linked_and_drawn(tmp_path: Path, browser: Browser) -> None:
    browser.open(la.passages(evil_documents()).report(tmp_path / "report.html"))
    marked = "[...document.querySelectorAll('#{side} mark')].map(m => [Number(m.dataset.run), m.textContent])"
    one, two = quotation(1), quotation(2)
    left, right = (browser.value(marked.format(side=side)) for side in ("left", "right"))
    assert {run: text for run, text in left if text in (one, two)} == {1: one, 2: two}
    assert {run: text for run, text in right if text in (one, two)} == {1: one, 2: two}
    assert [run for run, _ in left] == [0, 1, 2]
    assert sorted(run for run, _ in right) == [0, 1, 2]
    assert browser.value("document.querySelectorAll('#strips .ribbon').length") == 3
    where = "document.querySelectorAll('#strips .block')[{}].getAttribute('x') * 1"
    lefts = [browser.value(where.format(2 * run)) for run in (0, 1, 2)]
    rights = [browser.value(where.format(2 * run + 1)) for run in (0, 1, 2)]
    assert sorted(range(3), key=lefts.__getitem__) == [0, 1, 2]
    assert sorted(range(3), key=rights.__getitem__) == [2, 0, 1]


@needs_browser
def test_a_click_and_the_keys_go_from_passage_to_passage(tmp_path: Path, browser: Browser) -> None:
    long = " ".join(quotation(i, 40) + "\n" for i in range(100, 160))
    copied = quotation(7, 25)
    texts = [long + copied, copied + " " + quotation(8), " ".join(quotation(i, 40) for i in range(140, 145)), long]
    browser.open(la.passages(texts).report(tmp_path / "report.html"))
    shown = "document.querySelectorAll('#head-left h2, #head-right h2')[{}].textContent"
    assert browser.value("document.querySelectorAll('.pair').length") == 4
    assert (browser.value(shown.format(0)), browser.value(shown.format(1))) == ("0", "3")
    for _ in range(9):
        browser.press("j")
    assert (browser.value(shown.format(0)), browser.value(shown.format(1))) == ("0", "1")
    assert browser.value("document.querySelector('.pair[aria-current=true]').dataset.pair") == "3"
    in_sight = """(() => { const p = document.getElementById('{}'), b = p.getBoundingClientRect(),
        m = p.querySelector('mark').getBoundingClientRect(); return m.top >= b.top && m.bottom <= b.bottom; })()"""
    assert browser.value(in_sight.replace("{}", "left"))
    browser.value("document.getElementById('left').scrollTop = 0; document.querySelector('#right mark').click()")
    assert browser.value(in_sight.replace("{}", "left"))
    assert browser.value("document.activeElement.closest('article').id") == "left"
    browser.press("k")
    assert browser.value(shown.format(1)) != "1"
    browser.press("/")
    assert browser.value("document.activeElement.id") == "filter"
    browser.press("1")
    assert browser.value("document.querySelectorAll('.pair').length") == 1
    assert browser.value("document.getElementById('shown').textContent") == "1 of 4 pairs"
    browser.press("Escape")
    browser.press("?")
    assert browser.value("document.getElementById('help').open")
    assert browser.errors == []


@needs_browser
def test_light_and_dark(tmp_path: Path, browser: Browser) -> None:
    path = la.passages(evil_documents()).report(tmp_path / "report.html")
    paper = "getComputedStyle(document.body).backgroundColor"
    browser.dark(True)
    browser.open(path)
    night = browser.value(paper)
    browser.press("t")
    day = browser.value(paper)
    assert night != day
    browser.dark(False)
    browser.open(path)
    assert browser.value(paper) == day


@needs_browser
def test_hundreds_of_pairs_and_a_long_text_do_not_choke_the_browser(tmp_path: Path, browser: Browser) -> None:
    book = " \n".join(quotation(i, 60) for i in range(1500))  # 700 000 characters
    texts = [book, *(f"{quotation(9000 + i)} {quotation(i * 3, 60)} {quotation(8000 + i, 200)}" for i in range(400))]
    path = la.passages(texts).report(tmp_path / "report.html", pairs=1000)
    browser.open(path)
    assert browser.value("document.querySelectorAll('.pair').length") == 400
    browser.value("location.hash = '#250'")
    browser.wait("document.querySelector('.pair[aria-current=true]').dataset.pair === '249'")
    assert browser.value("document.getElementById('left').textContent.length") == len(book)
    inside = """(() => { const p = document.getElementById('left'), b = p.getBoundingClientRect(),
        m = p.querySelector('mark').getBoundingClientRect(); return m.top >= b.top - 1 && m.top < b.bottom; })()"""
    assert browser.value(inside)
    assert browser.errors == []


@needs_browser
def test_nothing_shared_is_said(tmp_path: Path, browser: Browser) -> None:
    browser.open(la.passages(["one", "two"]).report(tmp_path / "report.html"))
    assert "No two documents share" in browser.value("document.getElementById('main').textContent")
    browser.press("j")
    browser.press("n")
    assert browser.errors == []
