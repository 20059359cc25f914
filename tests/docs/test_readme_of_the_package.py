"""The README on a package index, where relative links and pictures lead nowhere."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_long_description_has_no_relative_links() -> None:
    hook = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["metadata"]["hooks"][
        "fancy-pypi-readme"
    ]
    text = "".join((ROOT / part["path"]).read_text(encoding="utf-8") for part in hook["fragments"])
    assert "](docs/" in text
    for change in hook["substitutions"]:
        text = re.sub(change["pattern"], change["replacement"], text)
    assert [
        link for link in re.findall(r"\]\(([^)]*)\)", text) if not link.startswith(("https://", "http://", "#"))
    ] == []
    assert "![" not in text
    assert "the how-to guides have a page for each kind" in " ".join(text.split())
