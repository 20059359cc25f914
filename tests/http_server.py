"""A web server on this machine, with and without ranges, whose connections break on request."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Site:
    """What the server serves. files: content by path. faults: what happens to the next requests, one each."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.faults: list[str] = []
        self.requests: list[str] = []
        self.url = ""
        self.sent = 0
        self.ranges = self.tells_length = True
        self.before: Callable[[str], None] = lambda path: None
        self.lock = threading.Lock()

    def version(self, path: str) -> str:
        return f'"{hash(self.files[path])}"'


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    site: Site

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        site, path = self.site, self.path.partition("?")[0]
        with site.lock:
            site.requests.append(f"{self.path} {self.headers.get('Range', 'whole')}")
            fault = site.faults.pop(0) if site.faults else ""
            site.before(path)
        if fault.isdecimal() or path not in site.files:
            self.send_response(int(fault or 404))
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if fault == "drop":
            self.connection.close()
            self.close_connection = True
            return
        data, etag = site.files[path], site.version(path)
        asked = self.headers.get("Range", "").removeprefix("bytes=")
        if asked and site.ranges:
            start, end = (int(part) for part in asked.split("-"))
            if start >= len(data):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(data)}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            part = data[start : end + 1]
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{start + len(part) - 1}/{len(data)}")
        else:
            part = data
            self.send_response(200)
        self.send_header("ETag", etag)
        if site.tells_length:
            self.send_header("Content-Length", str(len(part)))
        else:
            self.close_connection = True
            self.send_header("Connection", "close")
        self.end_headers()
        if fault == "cut":
            part = part[: len(part) // 2]
            self.close_connection = True
        self.wfile.write(part)
        site.sent += len(part)


@contextmanager
def web_site() -> Iterator[Site]:
    """Run the server on a thread."""
    site = Site()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"site": site}))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    site.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
