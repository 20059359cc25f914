"""The service: whom it refuses, and how much it takes."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from lookalike.index.index import Index
from lookalike.web import request_models
from lookalike.web.admission import Access, Limits
from lookalike.web.service import Service
from web_server import JSON, ROSE, ask, bearer, serving


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
        for method, path, body in [
            *reads,
            ("GET", "/stats", None),
            ("GET", "/metrics", None),
            ("GET", "/openapi.json", None),
            ("GET", "/docs", None),
        ]:
            assert ask(where, method, path, body)[0] == 401
            assert ask(where, method, path, body, bearer("secret"))[0] == 200
        assert ask(where, "GET", "/health")[0] == 200
        schema = ask(where, "GET", "/openapi.json", headers=bearer("secret"))[1]
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
        reported = ask(where, "POST", "/items", {"items": ["a"]}, bearer("secret"))
        assert reported == (403, {"error": "WritesAreClosed", "message": "not here."})
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


@pytest.mark.promise("docs/how-to/serve.md", "A body that is too large is refused while it comes in")
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
        reported = ask(where, "POST", "/query", {"items": ["a"] * 200})
        assert reported == (
            503,
            {"error": "TookTooLong", "message": "not done within 0.2 s. Send fewer items in one request."},
        )
        release.set()
    assert asked == [64]  # the parts that nobody waits for were not begun


def test_health_answers_while_a_single_string_is_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, release = threading.Event(), threading.Event()

    def slow(items: list[str], **_: object) -> list[list[object]]:
        begun.set()
        release.wait(30)
        return [[] for _ in items]

    with Index.create(tmp_path / "strings", kind="strings", threshold=0.8) as strings:
        monkeypatch.setattr(strings, "query", slow)
        with serving(Service(strings)) as where:
            asking = threading.Thread(target=ask, args=(where, "POST", "/query", {"items": ["a"]}))
            asking.start()
            try:
                assert begun.wait(30)
                link = http.client.HTTPConnection(*where, timeout=5)
                link.request("GET", "/health")
                assert link.getresponse().status == 200
                link.close()
            finally:
                release.set()
                asking.join()


@pytest.mark.parametrize("path", ["/query", "/items"])
def test_health_answers_while_a_large_body_is_parsed(index: Index, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    begun, release = threading.Event(), threading.Event()
    parse = request_models.parse

    def slow(*arguments: Any) -> Any:
        begun.set()
        release.wait(30)
        return parse(*arguments)

    monkeypatch.setattr(request_models, "parse", slow)
    with serving(Service(index)) as where:
        asking = threading.Thread(target=ask, args=(where, "POST", path, {"items": ["a " * 50_000], "ids": ["a"]}))
        asking.start()
        try:
            assert begun.wait(30)
            link = http.client.HTTPConnection(*where, timeout=5)
            link.request("GET", "/health")
            assert link.getresponse().status == 200
            link.close()
        finally:
            release.set()
            asking.join()


def test_a_write_that_waits_too_long_was_not_begun(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, release = threading.Event(), threading.Event()
    add = index.add

    def slow(items: list[str], ids: list[str]) -> Any:
        begun.set()
        release.wait(30)
        return add(items, ids)

    monkeypatch.setattr(index, "add", slow)
    with serving(Service(index, limits=Limits(seconds=0.3))) as where:
        reported: list[Any] = []
        first = threading.Thread(
            target=lambda: reported.append(ask(where, "POST", "/items", {"items": ["b"], "ids": ["b"]}))
        )
        first.start()
        assert begun.wait(30)
        status, refused = ask(where, "POST", "/items", {"items": ["c"], "ids": ["c"]})
        assert (status, refused["error"]) == (503, "WritersWait")
        assert refused["message"] == "other writes took longer than 0.3 s; nothing was written. Try again."
        release.set()
        first.join(30)
        assert reported == [(200, {"added": 1, "replaced": 0})]  # it took longer, but was begun
        assert ("b" in index, "c" in index) == (True, False)


# Around it
