"""The service: what it answers, and what it says."""

from __future__ import annotations

import base64
import http.client
import json
import threading
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from index_kinds import SAMPLES
from lookalike.index.folder import FolderStore
from lookalike.index.index import Index
from lookalike.index.search import WorkLimit
from lookalike.web import service, writes
from lookalike.web.service import Service
from web_server import JSON, ROSE, TULIP, ask, serving


def test_queries(served: tuple[str, int]) -> None:
    status, answer = ask(served, "POST", "/query", {"items": [ROSE, "nothing of the kind", TULIP]})
    assert status == 200
    assert answer == {"matches": [[{"id": "rose", "similarity": 1.0}], [], [{"id": "red/tulip", "similarity": 1.0}]]}
    many = {"items": [ROSE] * 5, "k": 1, "threshold": 0.9}  # more than the event loop takes itself
    assert ask(served, "POST", "/query", many) == (200, {"matches": [[{"id": "rose", "similarity": 1.0}]] * 5})
    assert ask(served, "POST", "/query", {"items": []}) == (200, {"matches": []})


def test_the_address_alone_leads_to_the_page_about_the_api(served: tuple[str, int]) -> None:
    with closing(http.client.HTTPConnection(*served)) as connection:
        connection.request("GET", "/")
        answer = connection.getresponse()
        assert (answer.status, answer.headers["Location"]) == (307, "/docs")


CROWDED = {
    "documents": (ROSE, {"k": 2}),
    "sets": (["a", "b", "c"], {}),
    "vectors": ([1.0, 2.0, 3.0], {"dimensions": 3, "threshold": 5}),
    "bits": ("0f" * 8, {"bits": 64, "threshold": 3}),
}


@pytest.mark.parametrize("kind", CROWDED)
@pytest.mark.promise("docs/how-to/serve.md", "so that no query keeps others waiting")
def test_a_query_with_many_candidates_leaves_the_event_loop(kind: str, tmp_path: Path) -> None:
    """The server answers others while one looks at everything that shares its keys."""
    item, options = CROWDED[kind]
    begun, go, threads = threading.Event(), threading.Event(), []
    with Index.create(tmp_path / "index", kind=kind, **options) as index:
        index.add([item] * (service.LOOP_WORK.candidates + 1))
        whole = index.query

        def slow(*given: Any, **more: Any) -> Any:
            threads.append(threading.current_thread().name)
            begun.set()
            assert go.wait(30)
            return whole(*given, **more)

        index.query = slow  # type: ignore[method-assign]
        with serving(Service(index)) as where:
            answers: list[Any] = []
            body = {"items": [item], "k": 2}
            asking = threading.Thread(target=lambda: answers.append(ask(where, "POST", "/query", body)))
            asking.start()
            assert begun.wait(30)
            assert ask(where, "GET", "/health") == (200, {"status": "ok"})
            go.set()
            asking.join()
        assert answers[0][0] == 200
        assert [match["id"] for match in answers[0][1]["matches"][0]] == [0, 1]
    assert threads[0].startswith("lookalike-service")


def test_the_work_of_a_quick_query_is_bounded_before_it_is_done(tmp_path: Path) -> None:
    with Index.create(tmp_path / "index", kind="documents", k=2) as index:
        index.add([ROSE, ROSE, TULIP])
        for reopened in (index, Index.open(tmp_path / "index")):
            whole = reopened.query([ROSE])
            assert reopened.query_within([ROSE], WorkLimit(1000, 1 << 20)) == whole
            assert reopened.query_within([ROSE], WorkLimit(1, 1 << 20)) is None
            assert reopened.query_within([ROSE], WorkLimit(1000, 8)) is None
            assert reopened.query_within(["nothing of the kind"], WorkLimit(0, 0)) == [[]]


@pytest.mark.promise("docs/how-to/serve.md", "with 256 of them waiting, further ones get 503")
def test_only_so_many_requests_wait(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    assert service.MAX_WAITING == 256
    monkeypatch.setattr(service, "MAX_WAITING", 0)
    with serving(Service(index)) as where:
        assert ask(where, "POST", "/query", {"items": [ROSE]})[0] == 200
        assert ask(where, "POST", "/query", {"items": [ROSE] * 5}) == (
            503, {"error": "Busy", "message": "0 requests are waiting already. Try again later."},
        )  # fmt: skip


def test_items_come_and_go(served: tuple[str, int]) -> None:
    lily = "a lily is a lily is a lily"
    assert ask(served, "POST", "/items", {"items": [lily, ROSE], "ids": ["lily", "rose"]}) == (
        200, {"added": 1, "replaced": 1},
    )  # fmt: skip
    assert ask(served, "POST", "/items", {"items": [lily, "a daisy and a daisy"], "ids": ["l2", "d"], "if_new": True}) == (
        200, {"added": 1, "replaced": 0, "matches": [{"id": "lily", "similarity": 1.0}, None]},
    )  # fmt: skip
    assert ask(served, "GET", "/items/red/tulip") == (200, {"id": "red/tulip", "item": TULIP})
    assert ask(served, "DELETE", "/items/red/tulip") == (200, {"removed": 1})
    assert ask(served, "GET", "/items/red/tulip")[0] == 404
    assert ask(served, "DELETE", "/items/red/tulip") == (
        404, {"error": "NoSuchItem", "message": "no item has the id 'red/tulip'."},
    )  # fmt: skip
    assert ask(served, "POST", "/query", {"items": [TULIP, lily]})[1]["matches"][0] == []
    assert ask(served, "POST", "/compare", {"left": ROSE, "right": ROSE}) == (200, {"similarity": 1.0})
    assert ask(served, "POST", "/compare", {"left": ROSE, "right": lily}) == (200, {"similarity": 0.2})
    status, stats = ask(served, "GET", "/stats")
    assert (status, stats["items"], stats["kind"]) == (200, 3, "documents")
    assert ask(served, "GET", "/health") == (200, {"status": "ok"})


def test_whole_numbers_as_ids(tmp_path: Path) -> None:
    with Index.create(tmp_path / "index", kind="bits", bits=16, threshold=2) as index, serving(Service(index)) as where:
        assert ask(where, "POST", "/items", {"items": ["1010", "ffff"], "ids": [7, -9]})[1]["added"] == 2
        assert ask(where, "POST", "/query", {"items": ["1011"]}) == (200, {"matches": [[{"id": 7, "distance": 1.0}]]})
        assert ask(where, "DELETE", "/items/-9") == (200, {"removed": 1})
        assert ask(where, "GET", "/items/7") == (200, {"id": 7, "item": "1010"})
        for nobody in ("seven", "9" * 30, str(2**63), "70"):
            assert ask(where, "GET", f"/items/{nobody}")[0] == 404
            assert ask(where, "DELETE", f"/items/{nobody}")[0] == 404
        status, refused = ask(where, "POST", "/query", {"items": ["xyz"]})
        assert (status, refused["error"]) == (422, "BadBody")
        assert refused["message"] == "items[0] should be text that matches '^[0-9a-fA-F]{4}$', not 'xyz'."


@pytest.mark.promise("docs/how-to/serve.md", "Every error is JSON of the same form")
@pytest.mark.parametrize(
    ("path", "body", "status", "error", "message"),
    [
        ("/query", "{", 400, "BadJson", "the body is not JSON: EOF while parsing an object at line 1 column 1."),
        ("/query", "[]", 422, "BadBody", "the body should be an object, not []."),
        ("/query", "{}", 422, "BadBody", "no 'items' in the body, which has nothing."),
        ("/query", '{"items":"a"}', 422, "BadBody", "items should be a list, not 'a'."),
        ("/query", '{"items":[1]}', 422, "BadBody", "items[0] should be a string, not 1."),
        ("/query", '{"items":["a"],"treshold":1}', 422, "BadBody", "no field 'treshold' is known. Nearest: 'threshold'. Fields: items, threshold, k."),
        ("/query", '{"items":["a"],"k":0}', 422, "BadBody", "k should be greater than or equal to 1, not 0."),
        ("/query", '{"items":["a"],"threshold":"x"}', 422, "BadBody", "threshold should be a number, not 'x'."),
        ("/query", '{"items":["a"],"threshold":0.1}', 422, "UsageError", "threshold is 0.1; this index finds"),
        ("/query", '{"items":["a","a","a","a","a","a"]}', 422, "BatchTooLarge", "6 items came in one request; this server takes 5. Send several requests."),
        ("/items", '{"items":["a"],"ids":[1.5]}', 422, "BadBody", "ids[0] should be a string or a whole number, not 1.5."),
        ("/items", '{"items":["a"],"ids":[1]}', 422, "UsageError", "the ids of this index are strings; these are whole numbers."),
        ("/items", '{"items":["a"],"ids":["x","y"]}', 422, "UsageError", "2 ids came for 1 item; expected one for each."),
        ("/nowhere", "{}", 404, "NoSuchPath", "there is nothing at /nowhere. Paths: /compare, /health"),
        ("/stats", "{}", 405, "MethodNotAllowed", "/stats does not take POST."),
    ],
)  # fmt: skip
def test_errors_are_one_line(
    served: tuple[str, int], path: str, body: str, status: int, error: str, message: str
) -> None:
    link = http.client.HTTPConnection(*served, timeout=30)
    link.request("POST", path, body, JSON)
    answer = link.getresponse()
    reported = json.loads(answer.read())
    link.close()
    assert (answer.status, reported["error"]) == (status, error)
    assert reported["message"].startswith(message)
    assert "\n" not in reported["message"]
    assert answer.headers["content-type"] == "application/json"


def test_only_json_is_taken(served: tuple[str, int]) -> None:
    for headers, came in (({"Content-Type": "text/plain"}, "of the type text/plain"), ({}, "without a Content-Type")):
        reported = ask(served, "POST", "/items", {"items": ["a"]}, headers)
        expected = f"the body came {came}; expected Content-Type: application/json."
        assert reported == (415, {"error": "NotJson", "message": expected})


def test_an_unforeseen_error_tells_nothing_of_the_inside(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("a secret of the inside")

    monkeypatch.setattr(index, "_query", fail)
    with serving(Service(index)) as where:
        reported = ask(where, "POST", "/query", {"items": ["a"]})
    assert reported == (
        500,
        {"error": "InternalError", "message": "the server failed (RuntimeError); its log says more."},
    )


# Who may ask


def test_metrics(served: tuple[str, int]) -> None:
    for _ in range(3):
        ask(served, "POST", "/query", {"items": [ROSE, "x"]})
    ask(served, "POST", "/query", {})
    ask(served, "DELETE", "/items/nobody")
    ask(served, "GET", "/no/such/path")
    lines = ask(served, "GET", "/metrics")[1].splitlines()
    for line in (
        'lookalike_requests_total{path="/query",status="200"} 3',
        'lookalike_requests_total{path="/query",status="422"} 1',
        'lookalike_requests_total{path="/items/{id}",status="404"} 1',
        'lookalike_requests_total{path="other",status="404"} 1',
        'lookalike_request_seconds_bucket{path="/query",le="+Inf"} 4',
        'lookalike_request_seconds_count{path="/query"} 4',
        "lookalike_queried_items_total 6",
        "lookalike_matches_total 3",
        "lookalike_items 2",
        "lookalike_requests_under_way 1",
    ):
        assert line in lines
    counts = [
        int(line.rpartition(" ")[2])
        for line in lines
        if line.startswith('lookalike_request_seconds_bucket{path="/query"')
    ]
    assert counts == sorted(counts)


def test_the_page_of_the_api_loads_nothing(served: tuple[str, int]) -> None:
    link = http.client.HTTPConnection(*served, timeout=30)
    link.request("GET", "/docs")
    answer = link.getresponse()
    page = answer.read().decode()
    link.close()
    tags: list[tuple[str, dict[str, str | None]]] = []
    reader = HTMLParser()
    reader.handle_starttag = lambda tag, attributes: tags.append((tag, dict(attributes)))  # type: ignore[method-assign]
    reader.feed(page)
    assert {tag for tag, _ in tags}.isdisjoint({"script", "link", "img", "iframe"})
    assert [values["href"] for tag, values in tags if tag == "a"] == ["openapi.json"]
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    for words in (
        "POST <code>/query",
        "DELETE <code>/items/{id}",
        "the quick brown fox",
        f"curl http://127.0.0.1:{served[1]}/health",
    ):
        assert words in page


def test_many_read_while_one_writes(served: tuple[str, int]) -> None:
    done = threading.Event()
    answers: list[tuple[int, Any]] = []

    def read() -> None:
        while not done.is_set():
            answers.append(ask(served, "POST", "/query", {"items": [ROSE]}))

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    texts = [f"{number} " + " ".join(f"w{number * 7 + i}" for i in range(12)) for number in range(40)]
    try:
        for number, text in enumerate(texts):
            assert ask(served, "POST", "/items", {"items": [text], "ids": [f"n{number}"]})[0] == 200
            found = ask(served, "POST", "/query", {"items": [text], "k": 1})[1]["matches"]
            assert found == [[{"id": f"n{number}", "similarity": 1.0}]]  # who was answered is in
    finally:
        done.set()
        for reader in readers:
            reader.join(30)
    assert len(answers) > 3
    assert all(reported == (200, {"matches": [[{"id": "rose", "similarity": 1.0}]]}) for reported in answers)


# The command


@pytest.mark.promise("docs/how-to/serve.md", "put into groups in steps, between which other writes are committed")
def test_a_removal_waits_for_groups_in_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writes, "FIRST_STEP", 10)
    monkeypatch.setattr(writes, "LARGEST_STEP", 10)
    monkeypatch.setattr(writes, "STEP_SECONDS", 60)
    steps: list[int] = []
    join = FolderStore.join

    def noted(store: FolderStore, items: Any, parents: Any, merges: Any, grouped: int) -> None:
        steps.append(grouped - store.grouped())
        join(store, items, parents, merges, grouped)

    monkeypatch.setattr(FolderStore, "join", noted)
    with Index.create(tmp_path / "index", k=2) as index:
        index.add([f"item number {n // 2} here" for n in range(75)])
        with serving(Service(index)) as where:
            assert ask(where, "DELETE", "/items/70") == (200, {"removed": 1})
            assert steps == [10] * 7 + [5]
            assert ask(where, "POST", "/items", {"items": ["other"], "ids": [3]})[1] == {"added": 0, "replaced": 1}
        assert index.groups().num_rows == 70  # two of each but for the last one and what was removed or replaced


@pytest.mark.promise("docs/how-to/serve.md", "the content of a picture file in base64 for images and faces")
@pytest.mark.parametrize("kind", ["images", "faces"])
def test_pictures_come_as_base64(kind: str, tmp_path: Path) -> None:
    pictures = SAMPLES["images"].items(4, 3)
    items = [base64.b64encode(data).decode() for data in pictures]
    with Index.create(tmp_path / "index", kind=kind) as index, serving(Service(index)) as server:
        status, answer = ask(server, "POST", "/items", {"items": items[:3], "ids": ["a", "b", "c"]})
        assert (status, answer["added"]) == (200, 3)
        status, answer = ask(server, "POST", "/query", {"items": items[1:]})
        assert status == 200
        found = [{match["id"] for match in row} for row in answer["matches"]]
        assert "b" in found[0]
        assert "c" in found[1]
        for bad in ("no base64!", base64.b64encode(b"no picture").decode(), str(tmp_path / "x.png")):
            status, answer = ask(server, "POST", "/query", {"items": [bad]})
            assert status == 422
            assert "base64" in answer["message"] or "cannot be read" in answer["message"]


@pytest.mark.promise("docs/how-to/serve.md", "only of an index of passages")
def test_who_quotes_a_text(tmp_path: Path) -> None:
    quoted = "the quick brown fox jumps over the lazy dog near the old river bank"
    with Index.create(tmp_path / "index", kind="passages", min_tokens=8) as index, serving(Service(index)) as where:
        body: dict[str, Any] = {"items": [f"They say {quoted} again", "nothing here"], "ids": ["a", "b"]}
        assert ask(where, "POST", "/items", body)[0] == 200
        status, answer = ask(where, "POST", "/passages", {"items": [f"Well, {quoted.title()}!", "short"], "k": 5})
        assert status == 200
        place = {"id": "a", "start": 6, "end": 73, "stored_start": 9, "stored_end": 76, "tokens": 14}
        assert answer == {"passages": [[{**place, "text": quoted.title()}], []]}
        status, answer = ask(where, "POST", "/query", {"items": [quoted], "threshold": 0.3})
        assert (status, answer) == (200, {"matches": [[{"id": "a", "similarity": 1.0}]]})
        assert ask(where, "POST", "/passages", {"items": [1]})[0] == 422
        assert ask(where, "POST", "/passages", {"items": ["a"], "threshold": 0.5})[0] == 422
    with Index.create(tmp_path / "plain") as index, serving(Service(index)) as where:
        assert ask(where, "POST", "/passages", {"items": ["a"]})[0] == 404
