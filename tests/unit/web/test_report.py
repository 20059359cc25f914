"""The report: one file that shows a result, and what a browser makes of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lookalike as la
from browser import Browser, needs_browser
from lookalike.errors import OutputError
from lookalike.kinds.documents import planner
from lookalike.web import report as module
from shown import EVIL, families, save_families, save_many

READY = "document.body.dataset.ready === 'yes'"
TEXT = "document.getElementById('{}').textContent"
CURRENT = "document.querySelector('.row[aria-current]')?.dataset.at"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    return la.report(save_families(folder), folder / "report.html")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as one:
        yield one


def blocks(page: Path) -> dict[str, Any]:
    """The data of a page, by name."""
    found = re.findall(r'<script type="application/json" id="([\w-]+)">(.*?)</script>', page.read_text(), re.DOTALL)
    return {name: json.loads(text) for name, text in found}


def see(browser: Browser, page: Path, fragment: str = "") -> None:
    browser.dark(False)
    browser.size(1300, 900)
    browser.open(page.as_uri() + fragment)
    browser.wait(READY)


def test_nothing_in_a_result_is_markup(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    data = re.findall(r'<script type="application/json" id="[\w-]+">(.*?)</script>', text, re.DOTALL)
    assert any("document.title=" in block for block in data)
    assert not any(set("<>&\u2028") & set(block) for block in data)
    assert text.count("<script") == text.count("</script>") == len(data) + 1
    assert re.findall(r"(?:src|href)=\"(?!data:|#)", text.split("<script", 1)[0]) == []
    assert "connect-src 'none'" in text


def test_the_file_holds_all_of_a_small_result(page: Path) -> None:
    data = blocks(page)
    assert data["data-kept"]["totals"] == []
    assert len(data["data-kept"]["pairs"]) == data["data-overview"]["pairs"][0]
    assert len(data["data-kept"]["views"]) == len(data["data-kept"]["pairs"])


@pytest.mark.promise("docs/how-to/explore.md", "Counts in a report are of all pairs")
@pytest.mark.promise("docs/how-to/explore.md", "Of the lists it holds a part, and says which")
def test_a_large_result_is_bounded_and_says_what_is_left_out(tmp_path: Path) -> None:
    page = la.report(save_many(tmp_path, 60_000, 30_000), tmp_path / "report.html")
    data = blocks(page)
    assert data["data-overview"]["pairs"][0] == 60_000  # counts are of all
    most = module.NEAR_PAIRS + module.MOST_ALIKE_PAIRS + module.SAMPLED_PAIRS + module.LINKED + 40 * 39 // 2
    assert 3000 < len(data["data-kept"]["pairs"]) <= most
    assert len(data["data-kept"]["order"]) <= module.MAX_GROUP_MEMBERS
    said = " ".join(data["data-kept"]["totals"])
    assert re.search(r"This file lists [\d,]+ of 60,000 pairs", said)
    assert page.stat().st_size < 4_000_000


def test_texts_take_no_more_room_than_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_TEXT_CHARACTERS", 5000)
    data = blocks(la.report(la.pairs(families(), threshold=0.3), tmp_path / "report.html"))
    assert 0 < len(data["data-kept"]["views"]) < 10
    assert any("side by side here" in said for said in data["data-kept"]["totals"])


def test_a_page_is_not_replaced_unasked(tmp_path: Path) -> None:
    result = la.pairs(["one", "two"])
    la.report(result, tmp_path / "report.html")
    with pytest.raises(OutputError, match=r"exists\. Use `force`"):
        la.report(result, tmp_path / "report.html")
    la.report(result, tmp_path / "report.html", force=True)


@needs_browser
def test_hostile_texts_ids_and_columns_show_as_text_and_nothing_is_asked_for(tmp_path: Path, browser: Browser) -> None:
    people = pa.table({EVIL: ["Ann Lee", "Lee, Ann", "Bob"], "town": [f"York{EVIL}", f"York{EVIL}", "Leeds"]})
    pages = [la.report(la.records.pairs(people, threshold=0.5), tmp_path / "records.html")]
    pages.append(la.report(la.pairs(families().slice(50), threshold=0.3), tmp_path / "documents.html"))
    before, errors = len(browser.asked), len(browser.errors)
    for page, wanted in zip(pages, (EVIL.strip(), f"evil {EVIL}".strip()), strict=True):
        for view in ("#overview", "#groups", "#pairs"):
            see(browser, page, view)
            browser.wait("document.querySelector('#overview:not([hidden]), #detail > *') !== null")
        assert wanted in browser.value("document.getElementById('detail').textContent")
        assert browser.value("document.querySelectorAll('img, b').length") == 0
        assert browser.value("document.title").endswith("lookalike")
    assert {url.split("#")[0] for url in browser.asked[before:]} <= {"about:blank", *(page.as_uri() for page in pages)}
    assert browser.errors[errors:] == []


@pytest.mark.promise("docs/how-to/explore.md", "The orange line is the number of groups at every threshold")
@pytest.mark.promise("docs/how-to/explore.md", "pairs, groups and the items in them are counted again at each position")
@needs_browser
def test_the_slider_counts_anew_at_every_threshold(page: Path, browser: Browser) -> None:
    see(browser, page)
    reported = blocks(page)["data-overview"]
    browser.press("s")
    for _ in range(3):
        browser.press("ArrowRight")
    assert browser.value(TEXT.format("at")) == f"{reported['cuts'][3]:.3f}"
    at = reported["cuts"].index(0.7)
    browser.value(
        f"(() => {{ const s = document.getElementById('slider'); s.value = {at}; s.dispatchEvent(new Event('input')); }})()"
    )
    numbers = [browser.value(TEXT.format(f"live-{name}")) for name in ("pairs", "groups", "grouped", "largest")]
    assert numbers == [f"{reported[name][at]:,}" for name in ("pairs", "groups", "grouped", "largest")]
    alone = la.groups(families(), threshold=0.7, exact=True).groups
    assert numbers[1:3] == [str(len(set(alone["group"].to_pylist()))), str(len(alone))]
    browser.press("g")
    browser.wait(f"document.querySelectorAll('.row').length === {reported['groups'][at]}")
    sizes = "[...document.querySelectorAll('.row .size')].map(s => Number(s.textContent))"
    assert sum(browser.value(sizes)) == reported["grouped"][at]
    browser.press("Escape")
    browser.press("Escape")
    assert browser.value("location.hash") == "#overview?at=0.7"


@needs_browser
def test_a_click_in_the_histogram_moves_the_threshold_and_the_address_keeps_it(page: Path, browser: Browser) -> None:
    see(browser, page)
    cuts = blocks(page)["data-overview"]["cuts"]
    browser.value(
        """(() => {
          const svg = document.getElementById('histogram'), box = svg.getBoundingClientRect();
          svg.dispatchEvent(new MouseEvent('click', { clientX: box.left + box.width / 2, bubbles: true }));
        })()"""
    )
    middle = browser.value(TEXT.format("at"))
    assert cuts[len(cuts) // 3] < float(middle) < cuts[2 * len(cuts) // 3]
    browser.press("g")
    browser.wait("location.hash.startsWith('#groups/') && document.querySelectorAll('.row').length > 0")
    address = browser.value("location.hash")
    assert address.endswith(f"?at={float(middle):g}")
    see(browser, page, address)
    browser.wait(f"{TEXT.format('at')} === {json.dumps(middle)}")
    assert browser.value("location.hash") == address


@needs_browser
def test_an_exact_run_shows_no_empty_plots(tmp_path: Path, browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planner, "SMALL_JOIN", 0.0)  # the join by counting has no buckets
    la.pairs(["a b c d e", "a b c d e f"], k=1, threshold=0.5, exact=True).save(tmp_path / "result")
    see(browser, la.report(tmp_path / "result", tmp_path / "report.html"))
    assert browser.value(
        "document.getElementById('buckets-card').hidden && document.getElementById('curve').hasAttribute('hidden')"
    )


@needs_browser
def test_moving_the_slider_costs_little(page: Path, browser: Browser) -> None:
    """A hundred moves are a hundred numbers looked up: no list is drawn again in between."""
    see(browser, page, "#pairs")
    browser.wait("document.querySelectorAll('.row').length > 10")
    redrawn = browser.value(
        """(async () => {
          let count = 0;
          new MutationObserver(() => count++).observe(document.getElementById('rows'), { childList: true });
          const slider = document.getElementById('slider');
          for (let at = 1; at <= 100; at++) { slider.value = at; slider.dispatchEvent(new Event('input')); }
          await new Promise((done) => setTimeout(done, 0));
          return count;
        })()"""
    )
    assert redrawn == 0
    browser.wait(f"{TEXT.format('at')} !== '0.300'")


@needs_browser
def test_keys_walk_open_and_go_back(page: Path, browser: Browser) -> None:
    see(browser, page)
    browser.press("Enter")
    browser.wait(f"{CURRENT} === '0'")
    browser.press("j")
    browser.press("j")
    browser.press("k")
    browser.wait(f"{CURRENT} === '1'")
    browser.wait("document.querySelectorAll('.member').length > 1")
    group = browser.value("location.hash")
    browser.press("Enter")
    browser.wait("document.querySelectorAll('#detail article').length === 2")
    assert browser.value("location.hash").startswith("#pair/")
    browser.press("n")
    browser.wait("document.querySelectorAll('.here').length === 1")
    browser.press("m")
    assert browser.value("document.body.classList.contains('mark-both')") is True
    browser.press("Escape")
    browser.wait(f"location.hash === {json.dumps(group)}")
    browser.press("?")
    assert browser.value("document.getElementById('help').open") is True
    browser.press("Escape")
    browser.wait("document.getElementById('help').open === false")
    browser.press("p")
    browser.wait("document.querySelector('.row.pair') !== null")


@needs_browser
def test_shared_and_differing_text_is_marked(page: Path, browser: Browser) -> None:
    see(browser, page, "#pairs")
    browser.wait("document.querySelectorAll('#detail article').length === 2")
    left, right = browser.value("[...document.querySelectorAll('#detail h2')].map(h => h.textContent)")
    texts = dict(zip(families()["id"].to_pylist(), families()["text"].to_pylist(), strict=True))
    unfolded = "[...document.querySelectorAll('.fold')].forEach(f => f.click())"
    browser.value(unfolded)
    shown = browser.value("[...document.querySelectorAll('#detail article')].map(a => a.textContent)")
    assert shown == [texts[left], texts[right]]
    changed = browser.value("[...document.querySelectorAll('mark.diff')].map(m => m.textContent).join(' ')")
    assert "changed" in changed
    assert "changed" not in browser.value("[...document.querySelectorAll('.both')].map(m => m.textContent).join(' ')")


@needs_browser
def test_search_finds_ids_and_pasted_texts(page: Path, browser: Browser) -> None:
    see(browser, page)
    browser.press("/")
    browser.type("family6/member3")
    browser.wait("document.querySelectorAll('.result').length === 1")
    browser.press("ArrowDown")
    browser.press("Enter")
    browser.wait("document.querySelectorAll('.row.pair').length === 4")
    assert browser.value(TEXT.format("shown")) == "4 pairs of this item"
    browser.press("/")
    browser.type(" ".join(families()["text"][41].as_py().split()[30:50]))
    browser.wait("document.getElementById('results').textContent.startsWith('No id')")
    browser.press("Enter")
    browser.wait("document.querySelector('.result') !== null")
    assert browser.value("document.querySelector('.result').textContent").startswith("family8/")


@needs_browser
def test_long_lists_have_pages(tmp_path: Path, browser: Browser) -> None:
    page = la.report(save_many(tmp_path, 3000, 2000), tmp_path / "report.html")
    see(browser, page, "#pairs")
    browser.wait("document.querySelectorAll('.row').length === 50")
    browser.value("document.getElementById('page-after').click()")
    browser.wait(f"{TEXT.format('page')}.startsWith('2 of')")
    first = browser.value("document.querySelector('.row').textContent")
    browser.value("document.getElementById('page-before').click()")
    browser.wait(f"{TEXT.format('page')}.startsWith('1 of')")
    assert browser.value("document.querySelector('.row').textContent") != first
    browser.value("document.querySelector('.row[data-at=\"49\"]').click()")
    browser.press("j")
    browser.wait(f"{TEXT.format('page')}.startsWith('2 of') && {CURRENT} === '0'")


@needs_browser
def test_light_dark_and_a_window_as_small_as_a_phone(page: Path, browser: Browser) -> None:
    see(browser, page)
    paper = "getComputedStyle(document.body).backgroundColor"
    assert browser.value(paper) == "rgb(251, 250, 247)"
    browser.dark(True)
    browser.wait(f"{paper} === 'rgb(23, 24, 28)'")
    browser.press("t")
    browser.wait(f"{paper} === 'rgb(251, 250, 247)'")
    browser.size(390, 800)
    for view in ("#overview", "#groups", "#pairs"):
        browser.value(f"location.hash = '{view}'")
        browser.wait(f"document.body.dataset.view === '{view[1:]}'")
        assert browser.value("document.documentElement.scrollWidth <= 390")
    browser.wait("document.querySelector('.row') !== null")
    assert browser.value("getComputedStyle(document.getElementById('detail')).display") == "none"
    browser.value("document.querySelector('.row').click()")
    browser.wait("document.querySelectorAll('#detail article').length === 2")
    assert browser.value("getComputedStyle(document.querySelector('.list')).display") == "none"
    browser.value("document.querySelector('.back').click()")
    browser.wait("getComputedStyle(document.querySelector('.list')).display !== 'none'")
    browser.dark(False)
