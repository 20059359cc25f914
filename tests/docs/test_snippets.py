"""Every snippet of every page is executed; and the runner itself notices what is wrong."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import snippets

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted(p for p in (ROOT / "docs").rglob("*.md") if p.parent.name != "decisions")]
SPARK_PAGES = [ROOT / "docs" / "how-to" / name for name in ("spark.md", "spark-kinds.md")]


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "90")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")


@pytest.mark.promise("docs/tutorial/textbook.md", "every line here is executed by the tests")
@pytest.mark.parametrize(
    "page", [p for p in PAGES if p not in SPARK_PAGES], ids=lambda page: str(page.relative_to(ROOT))
)
def test_a_page_runs(page: Path) -> None:
    snippets.run_page(page)


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("page", SPARK_PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_runs_on_a_cluster(page: Path, spark: Any) -> None:
    assert snippets.run_page(page, on_spark=True) >= 2


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_stands_in_fences_that_name_their_language(page: Path) -> None:
    """Indented blocks and fences without a name would not be executed, and nobody would notice."""
    fence = ""
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        opened = re.match(r"\s*(```+|:::+)(.*)", line)
        if opened and not fence:
            assert opened[2].strip(), f"{page.name}:{number} opens a block without a language"
            fence = opened[1]
        elif opened and opened[1] == fence and not opened[2]:
            fence = ""
        elif not fence:
            hidden = re.match(r"    (\$ |>>> |lookalike |import lookalike)", line)
            assert not hidden or snippets.ELSEWHERE.search(line) or snippets.ON_SPARK.search(line), (
                f"{page.name}:{number} is an indented block"
            )


def page(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "page.md"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_page_with_everything(tmp_path: Path) -> None:
    text = """
<!-- run:
made = "seen"
-->

```console
$ cat people.csv
id,text
1,a b c d e f
2,a b c d e f
$ lookalike pairs people.csv -q
left	right	similarity
1	2	1
$ lookalike pairs people.csv --id nam
ColumnNotFound: no column 'nam'...
$ cat people.csv | wc -l
3
```

```python
made += " twice"
```

```python
>>> made
'seen twice'
```

<!-- not run: it would fail -->
```python
1 / 0
```

```text
not code
```
"""
    assert snippets.run_page(page(tmp_path, text)) == 4


@pytest.mark.parametrize(
    "wrong",
    [
        "```python\n>>> 1 + 1\n3\n```\n",
        "```python\nassert False\n```\n",
        "```console\n$ lookalike --version\nlookalike 99\n```\n",
        "```sh\nlookalike pairs nowhere.csv\n```\n",
        "```sh\nfalse\n```\n",
        "<!-- run:\nassert False\n-->\n",
    ],
)
def test_what_is_wrong_is_noticed(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(AssertionError):
        snippets.run_page(page(tmp_path, wrong))
