"""What is generated is current: references, tables, plots. Links lead somewhere."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").rglob("*.md"))


def script(name: str) -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "scripts" / name))


@pytest.mark.parametrize("page", ["cli", "python"])
def test_a_reference_is_current(page: str) -> None:
    made = script(f"make_{page}_reference.py")["reference"]()
    there = (ROOT / f"docs/reference/{page}.md").read_text(encoding="utf-8")
    assert there == made, f"run: python scripts/make_{page}_reference.py"


def test_promises_are_listed_and_quote_their_pages() -> None:
    module = script("make_promises.py")
    assert module["broken"]() == [], "these words do not occur on their page, or it does not name their benchmark"
    there = (ROOT / "docs/reference/promises.md").read_text(encoding="utf-8")
    assert there == module["reference"](), "run: python scripts/make_promises.py"


def test_every_claim_has_a_test_or_a_benchmark() -> None:
    """A sentence with a number, "every", "never", "all" or "same" needs a promise marker, or a line in not_claims.txt."""
    assert script("make_promises.py")["unbacked"]() == []


def test_sentences_that_are_no_claims_still_occur() -> None:
    module = script("make_promises.py")
    flagged = {sentence for page in module["pages"]() for sentence in module["sentences"](page)}
    assert module["not_claims"]() - flagged == set(), "remove these lines from tests/docs/not_claims.txt"


def test_every_public_name_is_in_the_reference() -> None:
    import lookalike as la

    page = (ROOT / "docs/reference/python.md").read_text(encoding="utf-8")
    assert [name for name in la.__all__ if f"la.{name}" not in page] == []


def test_tables_say_what_the_data_say() -> None:
    tables = script("make_tables.py")
    for name in tables["PAGES"]:
        page = (ROOT / name).read_text(encoding="utf-8")
        assert tables["REGION"].search(page), f"{name} has no table"
        assert tables["filled"](page) == page, f"{name}: run: python scripts/make_tables.py"


def test_plots_are_drawn_from_what_the_library_says() -> None:
    plots = script("make_plots.py")
    for name, _, digest in plots["specs"]():
        drawn = (plots["IMAGES"] / f"{name}.svg").read_text(encoding="utf-8")
        assert plots["MARK"].format(digest) in drawn, f"{name}.svg is old; run: python scripts/make_plots.py"


def test_every_plot_is_shown_and_told_in_words() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    shown = {Path(path).name: words for words, path in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", text)}
    drawn = {path.name for path in (ROOT / "docs/images").iterdir()}
    assert drawn <= shown.keys(), f"no page shows {sorted(drawn - shown.keys())}"
    assert [name for name, words in shown.items() if len(words) < 15] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_citation_names_this_version() -> None:
    import lookalike as la

    assert f"\nversion: {la.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_a_changed_decision_names_the_later_one() -> None:
    """Both link to each other, as the index of the decisions says."""
    decisions = {
        int(path.name[:4]): path.read_text(encoding="utf-8") for path in (ROOT / "docs/decisions").glob("0*.md")
    }
    silent = []
    for number, text in decisions.items():
        status = re.sub(r"\([^)]*\)", "", text.split("\n\n", 2)[1])
        for changed in re.findall(r"(?:[Cc]hanges|[Ss]upersedes|[Ee]xtends|[Rr]eplaces)([^.]*)", status):
            for earlier in map(int, re.findall(r"\b\d+\b", changed)):
                if not re.search(rf"\b{number}\b", decisions.get(earlier, str(number))):
                    silent.append((earlier, number))
    assert not silent, "(decision, the later one that changes it and that it does not name)"
