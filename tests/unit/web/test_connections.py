"""Connections that send nothing, half a request, or take no answer: how many are kept, and for how long."""

from __future__ import annotations

import json
import resource
import signal
import socket
import sys
import threading
from contextlib import ExitStack
from typing import Any

import pytest

from lookalike.cli.main import main
from lookalike.web import connections
from lookalike.web.connections import ConnectionLimits, Register, spare_descriptors
from web_server import serving

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST /slow HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n"
BRIEF = ConnectionLimits(total=8, per_client=4, head_seconds=0.2, request_seconds=0.2)
BUSY = threading.Semaphore(0)  # released at the beginning of each request to /never
PATIENT = ConnectionLimits(total=3, per_client=3, head_seconds=60, request_seconds=60)


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Answer "ok": at once, to /slow only when the whole body has come, to /never not at all, to /large with 64 MB."""
    if scope["type"] != "http":
        return
    if scope["path"] == "/never":
        BUSY.release()
    more = scope["path"] in ("/slow", "/never")
    while more:
        message = await receive()
        more = message.get("more_body", False) or (scope["path"] == "/never" and message["type"] == "http.request")
    body = b"x" * (1 << 26) if scope["path"] == "/large" else b"ok"
    length = str(len(body)).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", length)]})
    await send({"type": "http.response.body", "body": body})


def all_of(link: socket.socket) -> bytes:
    """Return what comes until the server closes the connection."""
    out = b""
    try:
        while data := link.recv(1 << 16):
            out += data
    except ConnectionResetError:
        pass
    return out


@pytest.mark.promise("docs/how-to/serve.md", "The head of a request must arrive within 10 seconds")
@pytest.mark.parametrize(
    ("sent", "answers"),
    [
        (b"", b""),
        (b"GET / HTTP/1.1\r\nX-a: ", b"HTTP/1.1 408"),
        (POST + b"ab", b""),
        (GET, b"HTTP/1.1 200"),
        (GET + b"GET / HT", b"HTTP/1.1 200"),
        (POST.replace(b"/slow", b"/") + b"ab", b"HTTP/1.1 200"),
    ],
    ids=["nothing", "half a head", "half a body", "idle, then a line break", "half a second head", "unread body"],
)
def test_what_does_not_arrive_in_time_is_closed(sent: bytes, answers: bytes) -> None:
    assert ConnectionLimits().head_seconds == 10
    with serving(app, BRIEF) as where, socket.create_connection(where, timeout=20) as link:
        link.sendall(sent)
        if sent == GET:
            assert link.recv(1000).endswith(b"ok")
            link.sendall(b"\r\n")
            assert all_of(link) == b""
        else:
            received = all_of(link)
            assert received.startswith(answers)
            assert bool(received) == bool(answers)
            if b" 408 " in received:
                expected = {"error": "HeadTooSlow", "message": "the head of the request did not arrive within 0.2 s."}
                assert json.loads(received.rpartition(b"\r\n\r\n")[2]) == expected


def test_bytes_that_drip_do_not_renew_the_time() -> None:
    with serving(app, BRIEF) as where, socket.create_connection(where, timeout=0.02) as link:
        link.sendall(b"GET / HTTP/1.1\r\nX-a: ")
        for _ in range(1000):
            try:
                link.sendall(b"b")
                if link.recv(1000).startswith(b"HTTP/1.1 408"):
                    break
            except TimeoutError:
                continue
        else:
            pytest.fail("the connection was kept")


@pytest.mark.promise("docs/how-to/serve.md", "the connection that has waited longest for a whole request is closed")
@pytest.mark.parametrize("half", [b"", b"GET / HTTP/1.1\r\nX-a: ", POST + b"ab", GET])
def test_half_open_connections_give_way(half: bytes) -> None:
    with serving(app, PATIENT) as where, ExitStack() as stack:
        held = [stack.enter_context(socket.create_connection(where, timeout=20)) for _ in range(3)]
        for link in held:
            link.sendall(half)
            if half == GET:
                assert link.recv(1000).endswith(b"ok")
        with socket.create_connection(where, timeout=20) as link:
            link.sendall(GET)
            assert link.recv(1000).startswith(b"HTTP/1.1 200")
            assert all_of(held[0]) == b""  # the first to come has to go
            held[1].sendall({b"": GET, GET: GET}.get(half, b"\r\n\r\n" if half.endswith(b" ") else b"cd"))
            assert held[1].recv(1000).startswith(b"HTTP/1.1 200")


@pytest.mark.promise("docs/how-to/serve.md", "Where all are busy with requests, a new connection is answered 503")
def test_busy_connections_are_kept() -> None:
    with serving(app, PATIENT) as where, ExitStack() as stack:
        for _ in range(3):
            link = stack.enter_context(socket.create_connection(where, timeout=20))
            link.sendall(GET.replace(b"/ ", b"/never ", 1))
            assert BUSY.acquire(timeout=20)
        with socket.create_connection(where, timeout=20) as link:
            received = all_of(link)
        assert received.startswith(b"HTTP/1.1 503")
        assert b"retry-after: 1" in received
        assert json.loads(received.rpartition(b"\r\n\r\n")[2]) == {
            "error": "TooManyConnections",
            "message": "127.0.0.1 has 3 connections open, as many as one client may have. Try again later.",
        }


def test_an_answer_that_nobody_takes_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "FLUSH_SECONDS", 0.1)
    with serving(app, PATIENT) as where, socket.create_connection(where, timeout=20) as link:
        link.sendall(GET.replace(b"/ ", b"/large ", 1))
        assert not threading.Event().wait(0.5)  # nothing is taken meanwhile
        assert len(all_of(link)) < 1 << 26


class Peer:
    """A connection as the register sees it."""

    def __init__(self, name: str) -> None:
        self.name, self.transport = name, self
        self.is_gone = False

    def leave(self) -> None:
        self.is_gone = True

    def abort(self) -> None:
        assert self.is_gone


def test_a_full_server_takes_room_from_whom_has_waited_longest() -> None:
    register = Register(ConnectionLimits(total=3, per_client=2))
    a, b, c, d = (Peer(name) for name in ("a", "b", "a", "c"))
    for peer in (a, b, c, d):
        peer.leave = lambda peer=peer: (register.leave(peer), setattr(peer, "is_gone", True))  # type: ignore[method-assign]
        assert register.admit(peer) == ""  # type: ignore[arg-type]
    assert [peer.is_gone for peer in (a, b, c, d)] == [True, False, False, False]
    assert (register.count, dict(register.open)) == (3, {"b": 1, "a": 1, "c": 1})
    register.waiting.clear()
    expected = "3 connections are open, as many as this server takes"
    assert register.admit(Peer("d")) == expected  # type: ignore[arg-type]


def test_descriptors_are_left_for_the_index(monkeypatch: pytest.MonkeyPatch) -> None:
    for soft, spare in ((1024, 768), (64, 32), (16, 1), (resource.RLIM_INFINITY, 49_152)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, soft=soft: (soft, soft))
        assert spare_descriptors() == spare
        assert ConnectionLimits().resolved() == (spare, max(1, spare // 2))
    assert ConnectionLimits(total=10, per_client=20).resolved() == (10, 10)


def test_limits_below_zero(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["lookalike", "serve", "nowhere", "--max-connections", "-1"])
    before = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(SystemExit):
            main()
    finally:
        signal.signal(signal.SIGTERM, before)
    expected = "--max-connections is -1; expected 0 for the usual number"
    assert expected in capsys.readouterr().err
