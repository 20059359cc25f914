"""The documentation is generated or executed."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_cli_reference_is_current() -> None:
    made = runpy.run_path(str(ROOT / "scripts/make_cli_reference.py"))["reference"]()
    assert (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8") == made, "run scripts/make_cli_reference.py"


def test_the_readme_runs() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for code in re.findall(r"```python\n(.*?)```", readme, re.DOTALL):
        names: dict[str, object] = {}
        exec(compile(code, "README.md", "exec"), names)
        assert names["result"].pairs.to_pylist() == [{"left": 0, "right": 1, "similarity": 1.0}]
        assert names["clean"].removed.num_rows == 1


def test_the_page_of_the_index_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every line that says what comes back, after #, is true."""
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs/how-to/index.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(code.split("with la.Index.open")[0].rsplit("index.close()", 1)[0], "index.md", "exec"), names)
    (query,) = names["index"].query(["a new bridge opens in Spring!"])
    assert [tuple(match) for match in query] == [("t2", 1.0)]
    assert list(names["index"]) == ["t2"]
    names["index"].close()
    exec("with la.Index.open" + code.split("with la.Index.open")[1], names)


@pytest.mark.parametrize(
    "page", sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").rglob("*.md")), ids=lambda p: p.name
)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"
