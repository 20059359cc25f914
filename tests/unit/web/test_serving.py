"""A server on a socket: its address, its errors, its stop."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lookalike.errors import CannotListen, UsageError
from lookalike.web import serving

APP = """
import asyncio, sys
from lookalike.web import serving

async def app(scope, receive, send):
    if scope["type"] != "http":
        raise RuntimeError("no lifespan")
    if scope["path"] == "/slow":
        sys.stdout.write("asked\\n"); sys.stdout.flush()
        await asyncio.sleep(0.5)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})

serving.run(app, title="Testing", names=["box.example"])
sys.stdout.write("done\\n")
"""


@contextmanager
def started() -> Iterator[tuple[subprocess.Popen[str], str]]:
    child = subprocess.Popen([sys.executable, "-c", APP], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        line = child.stdout.readline()
        assert line.startswith("Testing at http://127.0.0.1:"), (line, child.stderr and child.stderr.read())
        yield child, line.split()[2]
    finally:
        child.kill()
        child.communicate()


def ask(url: str, host: str | None = None) -> tuple[int, bytes]:
    request = urllib.request.Request(url, headers={"Host": host} if host else {})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


@pytest.mark.promise("docs/how-to/serve.md", "those under way are finished (30 seconds at most)")
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_finishes_the_requests_under_way(sign: signal.Signals) -> None:
    with started() as (child, url):
        slow = subprocess.Popen(
            [sys.executable, "-c", f"import urllib.request as u; print(u.urlopen('{url}/slow').read().decode())"],
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert child.stdout is not None
        assert child.stdout.readline() == "asked\n"
        child.send_signal(sign)
        said, complained = child.communicate(timeout=30)
        assert slow.communicate(timeout=30)[0] == "ok\n"
        if sign == signal.SIGINT:
            assert (said, complained, child.returncode) == ("done\n", "", 0)


@pytest.mark.promise("docs/how-to/serve.md", "answers only to names of this machine")
@pytest.mark.promise("docs/how-to/explore.md", "answers to names of this machine only")
def test_other_names_are_refused_on_loopback() -> None:
    with started() as (_, url):
        port = url.rpartition(":")[2]
        assert ask(url) == (200, b"ok")
        assert ask(url, f"localhost:{port}") == (200, b"ok")
        assert ask(url, f"[::1]:{port}") == (200, b"ok")
        assert ask(url, "BOX.example") == (200, b"ok")
        status, body = ask(url, "evil.example")
        assert status == 403
        assert b'"error":"WrongHost"' in body


def test_a_port_in_use() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            CannotListen, match=rf"^cannot listen on 127.0.0.1 port {port}: address already in use. Try"
        ):
            serving.listen("127.0.0.1", port)


def test_a_host_that_is_not_there() -> None:
    with pytest.raises(CannotListen, match=r"^no such host: 'no such host'"):
        serving.listen("no such host", 0)


def test_a_port_that_is_none() -> None:
    with pytest.raises(UsageError, match=r"^a port is a number from 0 .* not 70000"):
        serving.listen("127.0.0.1", 70000)


def test_a_port_can_be_taken_again_at_once() -> None:
    with started() as (child, url):
        ask(url)
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=30)
        serving.listen("127.0.0.1", int(url.rpartition(":")[2])).close()
