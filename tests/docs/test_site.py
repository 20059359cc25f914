"""The site builds without a warning, its links lead somewhere, and it asks no other machine for anything."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from browser import Browser, needs_browser

ROOT = Path(__file__).parents[2]
LOADS = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src"), ("video", "src")}
NOT_LOADED = {"index", "search", "next", "prev", "canonical"}  # links that a browser does not follow by itself

pytestmark = pytest.mark.xdist_group("site")  # built once


class Page(HTMLParser):
    """What a page loads, links to, and can be linked at."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.places: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.places |= {str(values[name]) for name in ("id", "name") if values.get(name)}
        if tag == "a" and values.get("href"):
            self.links.append(str(values["href"]))
        for name, value in attrs:
            if (tag, name) in LOADS and value and values.get("rel") not in NOT_LOADED:
                self.loads.append(value)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as `make docs` does it."""
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going", "--fresh-env"]
    done = subprocess.run(
        [*command, "-b", "html", "-d", str(out / "kept"), str(ROOT / "docs"), str(out / "html")],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return out / "html"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}


def test_every_page_is_in_the_site(site: Path) -> None:
    written = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    assert {path for path in written if not (site / path).exists()} == set()


def test_nothing_is_loaded_from_outside(pages: dict[Path, Page]) -> None:
    outside = [(path.name, url) for path, page in pages.items() for url in page.loads if urlsplit(url).netloc]
    assert outside == []


def test_styles_load_nothing_from_outside(site: Path) -> None:
    for style in site.rglob("*.css"):
        text = style.read_text(encoding="utf-8")
        assert "url(http" not in text.replace('"', "").replace("'", ""), style.name
        assert "@import" not in text, style.name


def test_links_lead_to_places_that_are_there(site: Path, pages: dict[Path, Page]) -> None:
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            place = unquote(parts.fragment)
            if not target.exists() or (place and target in pages and place not in pages[target].places):
                broken.append((str(path.relative_to(site)), link))
    assert broken == []


@needs_browser
def test_a_browser_shows_it_without_a_network(site: Path) -> None:
    with Browser() as browser:
        for name in ("index.html", "explanation/curves.html"):
            browser.open(site / name)
            assert browser.value("[...document.images].every(i => i.complete && i.naturalWidth > 0)")
        assert [url for url in browser.asked if not url.startswith(("file:", "about:", "data:"))] == []
        assert [error for error in browser.errors if "favicon" not in error] == []
