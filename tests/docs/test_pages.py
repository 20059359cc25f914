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


@pytest.mark.parametrize(
    "page", sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").rglob("*.md")), ids=lambda p: p.name
)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"
