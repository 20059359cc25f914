"""HTML files: the text that they show, its encoding, and where the markup itself is read."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import pytest

import lookalike as la
from lookalike.errors import InputError, MissingExtra
from lookalike.io.read import open_collection

STATED = '<html><head><meta charset="{}"><title>T</title><script>var x = "one";</script></head>'
BODY = "<body><p>Grüße <b>aus</b> Köln</p><!-- no --><p hidden>x</p></body></html>"


@pytest.fixture(autouse=True)
def _in_new_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def page(charset: str, body: str = BODY) -> bytes:
    return (STATED.format(charset) + body).encode(charset)


def rows_of(*paths: str, **options: object) -> list[dict[str, str]]:
    collection = open_collection([Path(path) for path in paths], **options)  # type: ignore[arg-type]
    return [row for batch in collection.rows() for row in batch.to_pylist()]


def test_the_text_of_a_page_is_what_it_shows() -> None:
    Path("pages/sub").mkdir(parents=True)
    Path("pages/a.html").write_bytes(page("utf-8"))
    Path("pages/b.HTM").write_bytes(page("iso-8859-1"))
    Path("pages/c.xhtml.gz").write_bytes(gzip.compress(page("windows-1252")))
    Path("pages/sub/d.html").write_bytes(b"\xef\xbb\xbf" + page("utf-8"))
    Path("pages/e.html").write_bytes(BODY.encode("utf-16"))
    Path("pages/f.html").write_bytes(b"")
    Path("pages/g.html").write_bytes(b"<p>cut of")
    texts = {row["id"]: row["text"] for row in rows_of("pages")}
    assert list(texts) == ["a.html", "b.HTM", "c.xhtml.gz", "e.html", "f.html", "g.html", "sub/d.html"]
    assert {name for name, text in texts.items() if text == "Grüße aus Köln"} == set(texts) - {"f.html", "g.html"}
    assert texts["f.html"] == ""


def test_a_given_encoding_comes_before_the_one_that_a_page_states() -> None:
    Path("a.html").write_bytes((STATED.format("utf-8") + "<p>Привет</p>").encode("koi8-r"))
    [row] = rows_of(*la.Files("a.html", encoding="koi8-r"), lines=False)
    assert row["text"] != "Привет"  # a list of plain paths has no encoding
    collection = open_collection(la.Files("a.html", encoding="koi8-r"), lines=False)
    assert [row["text"] for batch in collection.rows() for row in batch.to_pylist()] == ["Привет"]


def test_pages_that_show_the_same_are_pairs_whatever_their_markup() -> None:
    words = "the quick brown fox jumps over the lazy dog and runs away from here"
    Path("a.html").write_text(f"<nav class=x></nav><style>a {{}}</style><p>{words}</p>")
    Path("b.html").write_text(f"<div><div><em>{words}</em></div></div>")
    pairs = la.pairs([Path("a.html"), Path("b.html")], threshold=1)
    assert pairs.to_arrow().to_pylist() == [{"left": "a.html", "right": "b.html", "similarity": 1.0}]
    assert pairs.receipt["inputs"][0]["html"] == "text"
    la.dedup([Path("a.html"), Path("b.html")], k=3).write("kept.jsonl")
    assert json.loads(Path("kept.jsonl").read_text()) == {"id": "a.html", "text": words}


def test_one_page_is_one_document_and_lines_are_lines_of_the_markup() -> None:
    Path("a.html").write_text("<p>one</p>\n<p>two</p>\n")
    assert [row["text"].split() for row in rows_of("a.html")] == [["one", "two"]]
    assert [row["text"] for row in rows_of("a.html", lines=True)] == ["<p>one</p>", "<p>two</p>"]


def test_scrub_and_passages_of_programs_read_the_markup() -> None:
    footer = " ".join(f"word{number}" for number in range(60))
    Path("pages").mkdir()
    for name in "ab":
        Path(f"pages/{name}.html").write_text(f"<html><p>{name}</p><footer>{footer}</footer></html>")
    scrubbed = la.scrub("pages", min_tokens=30)
    scrubbed.write_like_input("out")
    assert Path("out/a.html").read_bytes() == Path("pages/a.html").read_bytes()
    assert Path("out/b.html").read_text().startswith("<html><p>b</")
    assert scrubbed.receipt["inputs"][0]["html"] == "markup"
    assert la.passages("pages", language="html").receipt["inputs"][0]["html"] == "markup"
    assert la.passages("pages").receipt["inputs"][0]["html"] == "text"


def test_without_the_extra_pages_are_refused_by_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("a.html").write_text(BODY)
    Path("b.txt").write_text("text")
    monkeypatch.setitem(sys.modules, "resiliparse", None)
    with pytest.raises(MissingExtra, match=r'^reading the text of HTML pages \(a\.html\) needs: pip install "looka'):
        la.pairs([Path("b.txt"), Path("a.html")])
    assert rows_of("a.html", markup=True)[0]["text"] == BODY
    with pytest.raises(InputError, match="unknown extension"):
        la.records.pairs("a.html")
