"""The explorer's server: what it answers, what it refuses, and the page that asks it."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import lookalike as la
from browser import Browser, needs_browser
from lookalike.errors import UsageError
from lookalike.web import serving
from lookalike.web.exploring import is_index
from lookalike.web.index_view import IndexView
from lookalike.web.result_loader import open_result
from lookalike.web.view import ResultView
from shown import EVIL, families, save_families

pytest.importorskip("fastapi")


@contextmanager
def served(view: Any) -> Iterator[str]:
    """The explorer of a view on a free port, in a thread."""
    from uvicorn import Config, Server

    from lookalike.web.explorer import explorer

    listener = serving.listen("127.0.0.1", 0)
    server = Server(Config(serving.local_names_only(explorer(view)), log_config=None, ws="none", lifespan="off"))
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(ResultView(open_result(save_families(tmp_path_factory.mktemp("explored"))))) as url:
        yield url


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    table = families()
    with la.Index.create(tmp_path_factory.mktemp("index") / "seen", threshold=0.5) as made:
        made.add(table["text"].to_pylist(), ids=table["id"].to_pylist())
        with served(IndexView(made)) as url:
            yield url


def ask(url: str, path: str, body: Any = None, **query: Any) -> tuple[int, Any]:
    given = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}/{path}?{urllib.parse.urlencode(query)}", given, headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


def test_the_page_may_ask_its_own_server_only(result: str) -> None:
    with urllib.request.urlopen(result) as answer:
        page, headers = answer.read().decode(), answer.headers
    assert "default-src 'none'" in page
    assert "connect-src 'self'" in page
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Frame-Options"] == "DENY"
    assert 'id="data-overview"' not in page  # the data comes when it is asked for
    request = urllib.request.Request(result, headers={"Host": "evil.example"})
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(request)


def test_every_question_has_an_answer(result: str) -> None:
    status, reported = ask(result, "api/overview")
    assert (status, reported["groups"][0]) == (200, 11)
    group = ask(result, "api/groups", limit=1)[1]["rows"][0]
    assert ask(result, "api/group", item=group["item"])[1]["size"] == 5
    pair = ask(result, "api/pairs", order="high", limit=1, offset=3)[1]["rows"][0]
    shown = ask(result, "api/pair", left=pair["left"]["item"], right=pair["right"]["item"])[1]
    assert (shown["score"], shown["view"]["kind"]) == (pair["score"], "text")
    assert ask(result, "api/item", item=0)[1]["view"]["kind"] == "text"
    assert ask(result, "api/search", q="family1/")[1]["total"] == 5
    status, found = ask(result, "api/find", {"text": families()["text"][0].as_py()})
    assert (status, found["rows"][0]["name"]) == (200, "family0/member0")


@pytest.mark.parametrize(
    ("path", "query", "status", "said"),
    [
        ("api/groups", {"cut": 99999}, 422, "no cut 99999"),
        ("api/groups", {"cut": "x"}, 422, "valid integer"),
        ("api/groups", {"offset": -1}, 422, "offset is -1"),
        ("api/group", {"item": "[1]"}, 422, "is no item"),
        ("api/group", {"item": "x"}, 422, "is not JSON"),
        ("api/pairs", {"order": "sideways"}, 422, "order is 'sideways'"),
        ("api/pair", {"left": 0}, 422, "Field required"),
        ("api/nothing", {}, 404, "there is nothing at /api/nothing"),
    ],
)
def test_wrong_questions_are_refused_in_one_line(result: str, path: str, query: Any, status: int, said: str) -> None:
    code, answer = ask(result, path, **query)
    assert code == status
    assert said in answer["message"]


def test_bodies_are_checked(result: str) -> None:
    assert ask(result, "api/find", {"words": 1})[0] == 400
    assert ask(result, "api/find", {"text": 7}) == (400, {"error": "BadJson", "message": '"text" is not a string.'})
    assert ask(result, "api/find", {"text": "x" * 5_000_000})[0] == 413
    assert ask(result, "api/find", {"text": " "})[1]["message"] == "the text is empty; paste some words."


def test_an_index_answers_the_same_questions(index: str) -> None:
    reported = ask(index, "api/overview")[1]
    assert (reported["of"], reported["pairs"], reported["funnel"][0]["count"]) == ("index", None, 53)
    assert reported["curve"]["points"][-1] == [1, 1]
    groups = ask(index, "api/groups")[1]
    assert groups["total"] == reported["groups"][0] > 5
    group = ask(index, "api/group", item=json.dumps(groups["rows"][0]["item"]))[1]
    assert group["size"] == groups["rows"][0]["size"]
    assert group["rows"][0]["excerpt"].startswith("word")
    assert group["links"]
    near = ask(index, "api/pairs", item=json.dumps("family2/member0"))[1]["rows"]
    assert {row["right"]["name"].split("/")[0] for row in near} == {"family2"}
    pair = ask(index, "api/pair", left='"family2/member0"', right='"family2/member1"')[1]
    assert pair["score"] == near[0]["score"]
    assert [both for _, both in pair["view"]["right"]] == [1, 0, 1]
    assert ask(index, "api/search", q="MEMBER3")[1]["total"] == 10
    assert ask(index, "api/search", q="family2/member4")[1]["rows"][0]["item"] == "family2/member4"
    found = ask(index, "api/find", {"text": families()["text"][6].as_py()})[1]
    assert found["rows"][0] == {"item": "family1/member1", "name": "family1/member1", "score": 1.0}
    assert ask(index, "api/item", item='"gone"')[1]["message"].startswith("no item has the id 'gone'")


def test_other_kinds_of_index_take_json(tmp_path: Path) -> None:
    with la.Index.create(tmp_path / "sets", kind="sets", threshold=0.5) as made:
        made.add([["milk", "tea"], ["milk", "tea", "soap"], ["rice"]], ids=[1, 2, 3])
        view = IndexView(made)
        assert [row["item"] for row in view.find('["milk", "tea"]')["rows"]] == [1, 2]
        assert view.pair(1, 2)["view"]["both"] == ["milk", "tea"]
        assert view.search("3")["rows"][0]["item"] == 3
        made.add([["rice"]], ids=[4])
        assert view.pairs(item=3)["rows"][0]["right"]["item"] == 4
        with pytest.raises(UsageError, match="sets are looked for as JSON, such as"):
            view.find("milk tea")


def test_a_place_is_told_from_a_folder_of_a_result(tmp_path: Path) -> None:
    la.Index.create(tmp_path / "seen").close()
    assert is_index(tmp_path / "seen")
    assert is_index("postgresql://somewhere/seen")
    assert not is_index(save_families(tmp_path))
    assert not is_index(7)


@pytest.mark.promise("docs/how-to/explore.md", "No request leaves the machine")
@needs_browser
def test_the_page_shows_what_the_server_says_and_asks_nobody_else(result: str, index: str) -> None:
    with Browser() as browser:
        browser.size(1300, 900)
        browser.open(result)
        browser.wait("document.body.dataset.ready === 'yes'")
        browser.press("p")
        browser.wait("document.querySelectorAll('#detail article').length === 2")
        browser.press("/")
        browser.type("evil")
        browser.wait("document.querySelectorAll('.result').length === 2")
        browser.press("ArrowDown")
        browser.press("ArrowDown")
        browser.press("Enter")
        browser.wait(f"document.getElementById('detail').textContent.includes({json.dumps(EVIL)})")
        assert browser.value("document.querySelectorAll('img, b').length") == 0
        browser.open(index)
        browser.wait("document.body.dataset.ready === 'yes'")
        assert browser.value("document.getElementById('dial').hidden") is True
        browser.press("g")
        browser.wait("document.querySelectorAll('.member').length > 1")
        browser.press("Enter")
        browser.wait("document.querySelectorAll('#detail article').length === 2")
        browser.press("/")
        browser.type(families()["text"][30].as_py())
        browser.wait("document.getElementById('results').textContent.startsWith('No id')")
        browser.press("Enter")
        browser.wait("document.querySelector('.result') !== null")
        browser.press("ArrowDown")
        browser.press("Enter")
        browser.wait("document.getElementById('shown').textContent.includes('of this item')")
        assert browser.errors == []
        assert all(url.startswith((result, index, "about:blank", "data:")) for url in browser.asked)
