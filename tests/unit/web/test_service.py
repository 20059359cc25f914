"""The service: what it answers, whom it refuses, and what it says."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from lookalike.cli.main import main
from lookalike.index.index import Index
from lookalike.web.admission import Access, Limits
from lookalike.web.service import Service
from web_server import serving

ROSE, TULIP = "a rose is a rose is a rose", "a tulip is a tulip is a tulip"
JSON = {"Content-Type": "application/json"}


def ask(where: tuple[str, int], method: str, path: str, body: Any = None, headers: Any = JSON) -> tuple[int, Any]:
    link = http.client.HTTPConnection(*where, timeout=30)
    try:
        link.request(method, path, None if body is None else json.dumps(body), headers)
        answer = link.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if "json" in answer.headers["content-type"] else text.decode()
    finally:
        link.close()


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with Index.create(tmp_path / "index", kind="documents", k=2) as made:
        made.add([ROSE, TULIP], ids=["rose", "red/tulip"])
        yield made


@pytest.fixture
def served(index: Index) -> Iterator[tuple[str, int]]:
    with serving(Service(index, limits=Limits(body=20_000, batch=5, seconds=20))) as where:
        yield where


def test_queries(served: tuple[str, int]) -> None:
    status, answer = ask(served, "POST", "/query", {"items": [ROSE, "nothing of the kind", TULIP]})
    assert status == 200
    assert answer == {"matches": [[{"id": "rose", "similarity": 1.0}], [], [{"id": "red/tulip", "similarity": 1.0}]]}
    many = {"items": [ROSE] * 5, "k": 1, "threshold": 0.9}  # more than the event loop takes itself
    assert ask(served, "POST", "/query", many) == (200, {"matches": [[{"id": "rose", "similarity": 1.0}]] * 5})
    assert ask(served, "POST", "/query", {"items": []}) == (200, {"matches": []})


def test_items_come_and_go(served: tuple[str, int]) -> None:
    lily = "a lily is a lily is a lily"
    assert ask(served, "POST", "/items", {"items": [lily, ROSE], "ids": ["lily", "rose"]}) == (
        200, {"added": 1, "replaced": 1},
    )  # fmt: skip
    assert ask(served, "POST", "/items", {"items": [lily, "a daisy and a daisy"], "ids": ["l2", "d"], "if_new": True}) == (
        200, {"added": 1, "replaced": 0, "matches": [{"id": "lily", "similarity": 1.0}, None]},
    )  # fmt: skip
    assert ask(served, "DELETE", "/items/red/tulip") == (200, {"removed": 1})
    assert ask(served, "DELETE", "/items/red/tulip") == (
        404, {"error": "NoSuchItem", "message": "no item has the id 'red/tulip'."},
    )  # fmt: skip
    assert ask(served, "POST", "/query", {"items": [TULIP, lily]})[1]["matches"][0] == []
    assert ask(served, "POST", "/compare", {"left": ROSE, "right": ROSE}) == (200, {"similarity": 1.0})
    assert ask(served, "POST", "/compare", {"left": ROSE, "right": lily}) == (200, {"similarity": 0.0})
    status, stats = ask(served, "GET", "/stats")
    assert (status, stats["items"], stats["kind"]) == (200, 3, "documents")
    assert ask(served, "GET", "/health") == (200, {"status": "ok"})


def test_whole_numbers_as_ids(tmp_path: Path) -> None:
    with Index.create(tmp_path / "index", kind="bits", bits=16, threshold=2) as index, serving(Service(index)) as where:
        assert ask(where, "POST", "/items", {"items": ["1010", "ffff"], "ids": [7, -9]})[1]["added"] == 2
        assert ask(where, "POST", "/query", {"items": ["1011"]}) == (200, {"matches": [[{"id": 7, "distance": 1.0}]]})
        assert ask(where, "DELETE", "/items/-9") == (200, {"removed": 1})
        for nobody in ("seven", "9" * 30, str(2**63), "70"):
            assert ask(where, "DELETE", f"/items/{nobody}")[0] == 404
        status, refused = ask(where, "POST", "/query", {"items": ["xyz"]})
        assert (status, refused["error"]) == (422, "BadBody")
        assert refused["message"] == "items[0] should be text that matches '^[0-9a-fA-F]{4}$', not 'xyz'."


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
        ("/query", '{"items":["a"],"threshold":0.1}', 422, "UsageError", "threshold is 0.1; the keys of this index"),
        ("/query", '{"items":["a","a","a","a","a","a"]}', 422, "BatchTooLarge", "6 items came in one request; this server takes 5. Send several requests."),
        ("/items", '{"items":["a"],"ids":[1.5]}', 422, "BadBody", "ids[0] should be a string or a whole number, not 1.5."),
        ("/items", '{"items":["a"],"ids":[1]}', 422, "UsageError", "the ids of this index are strings; these are whole numbers."),
        ("/items", '{"items":["a"],"ids":["x","y"]}', 422, "UsageError", "2 ids came for 1 items; expected one for each."),
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
    told = json.loads(answer.read())
    link.close()
    assert (answer.status, told["error"]) == (status, error)
    assert told["message"].startswith(message)
    assert "\n" not in told["message"]
    assert answer.headers["content-type"] == "application/json"


def test_only_json_is_taken(served: tuple[str, int]) -> None:
    for headers, came in (({"Content-Type": "text/plain"}, "of the type text/plain"), ({}, "without a Content-Type")):
        told = ask(served, "POST", "/items", {"items": ["a"]}, headers)
        expected = f"the body came {came}; expected Content-Type: application/json."
        assert told == (415, {"error": "NotJson", "message": expected})


def test_an_unforeseen_error_tells_nothing_of_the_inside(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("a secret of the inside")

    monkeypatch.setattr(index, "query", fail)
    with serving(Service(index)) as where:
        told = ask(where, "POST", "/query", {"items": ["a"]})
    assert told == (500, {"error": "InternalError", "message": "the server failed (RuntimeError); its log says more."})


# Who may ask


def bearer(token: str) -> dict[str, str]:
    return JSON | {"Authorization": f"Bearer {token}"}


def test_a_token_for_writes(index: Index) -> None:
    with serving(Service(index, access=Access(token="secret"))) as where:
        added = {"items": ["b"], "ids": ["b"]}
        assert ask(where, "POST", "/items", added)[1] == {
            "error": "TokenMissing", "message": "this needs a token: send the header Authorization: Bearer TOKEN.",
        }  # fmt: skip
        for wrong in ("Secret", "secret2", "", "sécret"):
            assert ask(where, "POST", "/items", added, bearer(wrong))[0] == 401
        assert ask(where, "POST", "/items", added, bearer("wrong"))[1] == {
            "error": "TokenWrong", "message": "the token is not the one this server was started with.",
        }  # fmt: skip
        assert ask(where, "POST", "/items", added, JSON | {"Authorization": "Basic secret"})[0] == 401
        assert ask(where, "DELETE", "/items/rose")[0] == 401
        assert len(index) == 2
        assert ask(where, "POST", "/items", added, bearer("secret"))[0] == 200
        assert ask(where, "DELETE", "/items/b", headers=bearer("secret"))[0] == 200
        assert ask(where, "POST", "/query", {"items": ["a"]})[0] == 200


def test_a_token_for_reads_too(index: Index) -> None:
    with serving(Service(index, access=Access(token="secret", reads=True))) as where:
        reads = [("POST", "/query", {"items": [ROSE]}), ("POST", "/compare", {"left": "a", "right": "b"})]
        for method, path, body in [*reads, ("GET", "/stats", None), ("GET", "/metrics", None)]:
            assert ask(where, method, path, body)[0] == 401
            assert ask(where, method, path, body, bearer("secret"))[0] == 200
        assert ask(where, "GET", "/health")[0] == 200
        schema = ask(where, "GET", "/openapi.json")[1]
        assert schema["components"]["securitySchemes"] == {"token": {"type": "http", "scheme": "bearer"}}
        assert schema["paths"]["/query"]["post"]["security"] == [{"token": []}]


def test_a_reader_beside_a_writer(index: Index) -> None:
    with Index.open(index.store.place, read_only=True) as reader, serving(Service(reader)) as where:
        index.add(["a lily is a lily is a lily"], ids=["lily"])  # as another process would
        found = ask(where, "POST", "/query", {"items": ["a lily is a lily is a lily"]})
        assert found == (200, {"matches": [[{"id": "lily", "similarity": 1.0}]]})
        assert ask(where, "GET", "/stats")[1]["items"] == 3


def test_closed_to_writers(index: Index) -> None:
    with serving(Service(index, access=Access(token="secret", closed="not here."))) as where:
        told = ask(where, "POST", "/items", {"items": ["a"]}, bearer("secret"))
        assert told == (403, {"error": "WritesAreClosed", "message": "not here."})
        assert ask(where, "DELETE", "/items/rose", headers=bearer("secret"))[0] == 403
        assert ask(where, "POST", "/query", {"items": ["a"]})[0] == 200


# Limits


def test_a_body_that_is_too_large(served: tuple[str, int]) -> None:
    large = json.dumps({"items": ["x" * 30_000]}).encode()
    expected = {
        "error": "BodyTooLarge",
        "message": "the body is larger than the 20,000 bytes this server takes. Send several requests.",
    }
    assert ask(served, "POST", "/query", {"items": ["x" * 30_000]}) == (413, expected)
    link = http.client.HTTPConnection(*served, timeout=30)
    pieces = (large[low : low + 1000] for low in range(0, len(large), 1000))
    link.request("POST", "/query", pieces, JSON, encode_chunked=True)  # nobody says beforehand how long it is
    answer = link.getresponse()
    assert (answer.status, json.loads(answer.read())) == (413, expected)
    link.close()


def test_a_body_without_end_is_cut_off(served: tuple[str, int]) -> None:
    with socket.create_connection(served, timeout=30) as link:
        link.sendall(
            b"POST /query HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        sent, piece = 0, b"1000\r\n" + b"x" * 0x1000 + b"\r\n"
        try:
            while sent < 400_000_000:
                link.sendall(piece)
                sent += len(piece)
        except OSError:
            pass
    assert sent < 20_000_000  # what fits into the buffers of the system comes along


def test_who_asks_before_sending_is_refused_before_sending(served: tuple[str, int]) -> None:
    with socket.create_connection(served, timeout=30) as link:
        head = "POST /query HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9999999\r\n"
        link.sendall(f"{head}Expect: 100-continue\r\n\r\n".encode())
        assert link.recv(1000).startswith(b"HTTP/1.1 413 ")


def test_a_body_that_comes_too_slowly(index: Index) -> None:
    with (
        serving(Service(index, limits=Limits(seconds=0.2))) as where,
        socket.create_connection(where, timeout=30) as link,
    ):
        link.sendall(
            b"POST /query HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{"
        )
        answer = link.recv(1000)
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert b'"message":"the body did not arrive within 0.2 s."' in answer + link.recv(1000)


def test_work_that_takes_too_long(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    release = threading.Event()

    def slow(items: list[str], **_: object) -> list[list[object]]:
        asked.append(len(items))
        release.wait(30)
        return [[] for _ in items]

    monkeypatch.setattr(index, "query", slow)
    with serving(Service(index, limits=Limits(seconds=0.2))) as where:
        told = ask(where, "POST", "/query", {"items": ["a"] * 200})
        assert told == (
            503,
            {"error": "TookTooLong", "message": "not done within 0.2 s. Send fewer items in one request."},
        )
        release.set()
    assert asked == [64]  # the parts that nobody waits for were not begun


def test_a_write_that_waits_too_long_was_not_begun(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, release = threading.Event(), threading.Event()
    add = index.add

    def slow(items: list[str], ids: list[str]) -> Any:
        begun.set()
        release.wait(30)
        return add(items, ids)

    monkeypatch.setattr(index, "add", slow)
    with serving(Service(index, limits=Limits(seconds=0.3))) as where:
        told: list[Any] = []
        first = threading.Thread(
            target=lambda: told.append(ask(where, "POST", "/items", {"items": ["b"], "ids": ["b"]}))
        )
        first.start()
        assert begun.wait(30)
        status, refused = ask(where, "POST", "/items", {"items": ["c"], "ids": ["c"]})
        assert (status, refused["error"]) == (503, "WritersWait")
        assert refused["message"] == "other writes took longer than 0.3 s; nothing was written. Try again."
        release.set()
        first.join(30)
        assert told == [(200, {"added": 1, "replaced": 0})]  # it took longer, but was begun
        assert ("b" in index, "c" in index) == (True, False)


# Around it


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
    assert all(told == (200, {"matches": [[{"id": "rose", "similarity": 1.0}]]}) for told in answers)


# The command


@contextmanager
def command(*arguments: str, **more: Any) -> Iterator[tuple[subprocess.Popen[str], tuple[str, int]]]:
    child = subprocess.Popen(
        [sys.executable, "-m", "lookalike.cli.main", "serve", *arguments, "--port", "0"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more,
    )  # fmt: skip
    try:
        assert child.stdout is not None
        line = child.stdout.readline()
        assert " at http://127.0.0.1:" in line, child.communicate()
        yield child, ("127.0.0.1", int(line.split(" at ")[1].split(":")[2].split()[0]))
    finally:
        child.kill()
        child.communicate()


def test_the_command_serves_and_stops(index: Index, tmp_path: Path) -> None:
    secret = tmp_path / "token"
    secret.write_text("secret\nmore\n")
    place = index.store.place
    index.close()
    with command(place, "--token-file", str(secret), "--max-batch", "3") as (child, where):
        assert ask(where, "POST", "/items", {"items": ["b b b"], "ids": ["b"]}, bearer("secret"))[0] == 200
        assert ask(where, "POST", "/query", {"items": ["a"] * 4})[1]["error"] == "BatchTooLarge"
        child.terminate()
        _, complained = child.communicate(timeout=30)
        assert (child.returncode, complained) == (0, "")
    with Index.open(place) as again:
        assert "b" in again


def test_open_to_other_machines_needs_a_token_to_write(index: Index) -> None:
    index.close()
    with command(index.store.place, "--host", "0.0.0.0") as (child, where):
        status, refused = ask(where, "POST", "/items", {"items": ["b"], "ids": ["b"]})
        assert (status, refused["error"]) == (403, "WritesAreClosed")
        assert refused["message"].endswith("so writing needs a token: start it with --token-file.")
        assert ask(where, "POST", "/query", {"items": [ROSE]})[0] == 200
        child.terminate()
        assert child.communicate(timeout=30)[1].startswith("Anyone who reaches this server can read the index;")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "InputError: no such index: nowhere has no index.json."),
        (["{place}", "--token-for-reads"], "UsageError: --token-for-reads without a token. Add --token-file FILE."),
        (["{place}", "--token", ""], "UsageError: the token is empty, or not of plain ASCII characters."),
        (["{place}", "--token", "a", "--token-file", "b"], "UsageError: both --token and --token-file came"),
        (["{place}", "--token-file", "no/file"], "InputError: cannot read the token from no/file:"),
        (
            ["{place}", "--max-batch", "0"],
            "UsageError: --max-body 16, --max-batch 0, --timeout 30: all must be above 0.",
        ),
        (["{place}", "--port", "99999"], "UsageError: a port is a number from 0"),
    ],
)
def test_the_command_says_what_is_wrong(
    index: Index,
    arguments: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = [one.replace("{place}", index.store.place) for one in arguments]
    monkeypatch.setattr(sys, "argv", ["lookalike", "serve", *given])
    before = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(SystemExit) as stopped:
            main()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert stopped.value.code in (1, 2)
    said = capsys.readouterr()
    assert said.err.startswith(message)
    assert (said.out, said.err.count("\n")) == ("", 1)
