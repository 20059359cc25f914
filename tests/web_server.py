"""The service on a socket, in a thread of the test's own process."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lookalike.web.connections import ConnectionLimits, limited

ROSE, TULIP = "a rose is a rose is a rose", "a tulip is a tulip is a tulip"
JSON = {"Content-Type": "application/json"}


@contextmanager
def serving(service: Any, limits: ConnectionLimits | None = None) -> Iterator[tuple[str, int]]:
    """Yield the address of an ASGI application on a socket, in a thread of this process."""
    from uvicorn import Config, Server

    http = limited(limits or ConnectionLimits())
    server = Server(Config(service, port=0, log_config=None, access_log=False, interface="asgi3", http=http))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        try:
            yield listener.getsockname()
        finally:
            server.should_exit = True
            thread.join(30)
            assert not thread.is_alive()


def ask(where: tuple[str, int], method: str, path: str, body: Any = None, headers: Any = JSON) -> tuple[int, Any]:
    link = http.client.HTTPConnection(*where, timeout=30)
    try:
        link.request(method, path, None if body is None else json.dumps(body), headers)
        answer = link.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if "json" in answer.headers["content-type"] else text.decode()
    finally:
        link.close()


def bearer(token: str) -> dict[str, str]:
    return JSON | {"Authorization": f"Bearer {token}"}
