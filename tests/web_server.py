"""The service on a socket, in a thread of the test's own process."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from lookalike.web.service import Service


@contextmanager
def serving(service: Service) -> Iterator[tuple[str, int]]:
    """The address of the service on a socket, in a thread of this process."""
    from uvicorn import Config, Server

    server = Server(Config(service, port=0, log_config=None, access_log=False, interface="asgi3"))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        try:
            yield listener.getsockname()
        finally:
            server.should_exit = True
            thread.join(30)
            assert not thread.is_alive()
