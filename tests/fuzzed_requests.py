"""Mutated requests for `fuzzing`: bodies for the service, the explorer and the agents' tools, addresses, bytes on a socket.

Each reader gets a file with a request, and sends it to a server that lives as long as the process.
"""

from __future__ import annotations

import asyncio
import json
import socket
import tempfile
from contextlib import ExitStack
from functools import cache, partial
from pathlib import Path
from typing import Any

import starlette.testclient

import lookalike as la
from lookalike.web.admission import Access
from lookalike.web.agent_tools import AgentTools
from lookalike.web.service import Service
from web_server import ask, serving

TEXT = "the quick brown fox jumps over the lazy dog and then runs away"
REQUESTS: list[tuple[str, Any]] = [  # path and body
    ("/items", {"items": [TEXT, "another text of some words"], "ids": ["a", "b"]}),
    ("/query", {"items": [TEXT], "threshold": 0.5, "k": 3}),
    ("/compare", {"left": TEXT, "right": TEXT + " again"}),
]
JUDGEMENTS: list[tuple[str, Any]] = [
    ("/api/judge", {"left": 1, "right": 2, "verdict": "same", "by": "a", "note": "n"}),
    ("/api/edit", {"action": "same", "items": [1, 2, 3], "others": [], "by": "a"}),
    ("/api/undo", {}),
    ("/api/import", {"text": "left,right,verdict\n1,2,same\n"}),
    ("/api/find", {"text": TEXT}),
]
CALLS: list[tuple[str, Any]] = [
    ("seen_before", {"text": TEXT, "index": "seen.index", "limit": 3}),
    ("who_quotes", {"text": TEXT, "path": "a.jsonl", "min_words": 5}),
    ("find_duplicates", {"path": "a.jsonl", "threshold": 0.8}),
    ("explain", {"path": "a.jsonl", "left": "a", "right": "b"}),
    ("compare", {"left": TEXT, "right": TEXT}),
]
ADDRESSES = (
    "/api/pair?left=0&right=1", "/api/pairs?cut=0&order=near&offset=0&limit=5&item=1", "/api/group?item=0&cut=0",
    "/api/search?q=fox", "/api/item?item=2",
)  # fmt: skip
ANSWERS = (200, 400, 403, 404, 405, 409, 413, 422)
STACK = ExitStack()  # what lives as long as the process


@cache
def _folder() -> Path:
    folder = Path(STACK.enter_context(tempfile.TemporaryDirectory(prefix="fuzzed-")))
    rows = [{"id": name, "text": f"{TEXT} {name}"} for name in "abc"]
    (folder / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with la.Index.create(folder / "seen.index", kind="documents", k=2) as index:
        index.add([TEXT], ["a"])
    return folder


@cache
def _service() -> Service:
    return Service(STACK.enter_context(la.Index.open(_folder() / "seen.index")))


@cache
def _service_socket() -> tuple[str, int]:
    return STACK.enter_context(serving(_service()))


@cache
def _client(app: Any) -> Any:
    return STACK.enter_context(starlette.testclient.TestClient(app))


@cache
def _explorer() -> Any:
    from lookalike.web.explorer import explorer
    from lookalike.web.result_loader import open_result
    from lookalike.web.verdict_file import VerdictFile
    from lookalike.web.view import ResultView

    place = la.pairs(_folder() / "a.jsonl", threshold=0.3).save(_folder() / "result")
    return explorer(ResultView(open_result(place), VerdictFile(_folder() / "v.jsonl", "a")), Access(token="t"))


def _send(client: Any, path: str, content: bytes) -> Any:
    headers = {"Content-Type": "application/json", "Authorization": "Bearer t"}
    answer = client.post(path, content=content, headers=headers)
    assert answer.status_code in ANSWERS, f"status {answer.status_code}: {answer.text[:200]}"
    return answer.json()


def request_body(path: str, file: Path) -> Any:
    """Send a body to the service."""
    return _send(_client(_service()), path, file.read_bytes())


def judgement(path: str, file: Path) -> Any:
    """Send a body to the explorer."""
    return _send(_client(_explorer()), path, file.read_bytes())


def address(file: Path) -> Any:
    """Ask the explorer for a path with its query."""
    try:
        answer = _client(_explorer()).get(file.read_bytes().decode("latin-1"), headers={"Authorization": "Bearer t"})
    except (ValueError, starlette.testclient.httpx.InvalidURL):  # not an address
        return None
    assert answer.status_code in ANSWERS, f"status {answer.status_code}: {answer.text[:200]}"
    return answer.status_code


def http_bytes(file: Path) -> Any:
    """Send bytes to a socket of the service, which answers or closes, and afterwards answers others."""
    where = _service_socket()
    with socket.create_connection(where, timeout=10) as link:
        link.sendall(file.read_bytes())
        link.shutdown(socket.SHUT_WR)
        answer = b""
        while part := link.recv(65536):
            answer += part
    assert not answer or answer.startswith(b"HTTP/1.1 "), answer[:80]
    assert not answer.startswith(b"HTTP/1.1 5"), answer[:300]
    status, _ = ask(where, "GET", "/health")
    assert status == 200
    return answer[:15]


def agent_call(name: str, file: Path) -> Any:
    """Call a tool, with arguments as they come, through the server of the protocol."""
    from mcp import Client

    from lookalike.web.mcp_server import server_of

    try:
        arguments = json.loads(file.read_bytes())
        json.dumps(arguments, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    if not isinstance(arguments, dict):
        return None

    async def call() -> Any:
        async with Client(server_of(AgentTools([_folder()], writes=False))) as client:
            return await client.call_tool(name, arguments)

    done = asyncio.run(call())
    text = done.content[0].text if done.content else ""
    assert "Traceback" not in text, text
    assert "the tool failed (" not in text, text
    return done.is_error


def raw_request() -> bytes:
    body = json.dumps(REQUESTS[1][1]).encode()
    head = f"POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body + b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


READERS = {  # name: file, what is valid, who reads it
    **{f"request {path}": ("body.json", body, partial(request_body, path)) for path, body in REQUESTS},
    **{f"judgement {path}": ("body.json", body, partial(judgement, path)) for path, body in JUDGEMENTS},
    **{f"agent {name}": ("body.json", body, partial(agent_call, name)) for name, body in CALLS},
}
