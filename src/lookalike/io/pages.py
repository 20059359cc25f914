"""HTML pages: a shared frame, style and script, and data embedded so that it cannot become markup."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from html import escape
from pathlib import Path

BASE = Path(__file__).with_name("page_base")  # shared by all pages: colours, controls, small functions


def framed(folder: Path, styles: Sequence[str], scripts: Sequence[str], *, connect: str = "'none'") -> tuple[str, str]:
    """Return the page in `folder`, split into the parts before and after its data.

    Styles and scripts are inlined. The content security policy only allows these, by their hashes, inlined images, and
    requests to `connect` ('none', or 'self' for a page from a server).
    """
    style = "\n".join(_part(folder, name) for name in ("base.css", *styles))
    script = '"use strict";\n(() => {\n' + "\n".join(_part(folder, name) for name in ("base.js", *scripts)) + "})();\n"
    frame = (folder / "page.html").read_text(encoding="utf-8")
    rules = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        f"connect-src {connect}; base-uri 'none'; form-action 'none'"
    )
    before, after = frame.replace("$RULES", rules).split("$DATA")
    return before.replace("$STYLE", style), after.replace("$SCRIPT", script)


def static_page(title: str, summary: str, body: str) -> str:
    """Return a page without scripts and requests. body: HTML; title and summary: text."""
    style = (BASE / "static.css").read_text(encoding="utf-8")
    rules = f"default-src 'none'; style-src '{_hash(style)}'; base-uri 'none'; form-action 'none'"
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{rules}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<link rel="icon" href="data:,">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f"<h1>{escape(title)}</h1>\n<p>{escape(summary)}</p>\n{body}\n</body>\n</html>\n"
    )


def block(name: str, value: object) -> str:
    """Return JSON embedded in HTML, without `<`, `>` or `&`, so that nothing in it can end the block or begin another.

    >>> print(block("a", {"b": "</script>"}), end="")
    <script type="application/json" id="a">{"b":"\\u003c/script\\u003e"}</script>
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return f'<script type="application/json" id="{name}">{text}</script>\n'


def _part(folder: Path, name: str) -> str:
    own = folder / name
    return (own if own.exists() else BASE / name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
