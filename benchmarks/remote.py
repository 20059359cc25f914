"""Compare reading a file from a web server on this machine, at a limited bandwidth, with reading the local file.

    python benchmarks/remote.py --rows 60000 --megabytes 100

The server runs in another process. The local file is read through a limit of the same bandwidth.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from typing import Any

# promise: docs/how-to/object-stores.md | At an equal bandwidth of 10 MB/s
PIECE = 1 << 18


class Bandwidth:
    """Hand out bytes at a limited rate, over all connections."""

    def __init__(self, rate: float) -> None:
        self.rate, self.free_at, self.lock = rate, time.monotonic(), Lock()

    def take(self, nbytes: int) -> None:
        with self.lock:
            self.free_at = max(self.free_at, time.monotonic()) + nbytes / self.rate
            wait = self.free_at - time.monotonic()
        if wait > 0:
            time.sleep(wait)


def serve(folder: str, rate: float) -> None:
    """Serve files with ranges until the process is ended; print the port."""
    bandwidth = Bandwidth(rate)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            with open(folder + self.path, "rb") as file:
                size = file.seek(0, 2)
                start, end = (int(part) for part in self.headers["Range"].removeprefix("bytes=").split("-"))
                end = min(end, size - 1)
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {start}-{end}/{size}")
                self.send_header("Content-Length", str(end + 1 - start))
                self.end_headers()
                file.seek(start)
                for place in range(start, end + 1, PIECE):
                    piece = file.read(min(PIECE, end + 1 - place))
                    bandwidth.take(len(piece))
                    self.wfile.write(piece)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--megabytes", type=float, default=100.0, help="bandwidth in MB per second")
    parser.add_argument("--serve", default="")
    given = parser.parse_args()
    if given.serve:
        serve(given.serve, given.megabytes * 1e6)
        return
    import lookalike as la
    from lookalike.io import reader

    rng = random.Random(0)
    words = [f"word{n}" for n in range(20_000)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "a.jsonl"
        with open(file, "w") as out:
            for row in range(given.rows):
                out.write(json.dumps({"id": row, "text": " ".join(rng.choices(words, k=200))}) + "\n")
        size = file.stat().st_size
        la.pairs(file)  # compiles, and fills the cache of the system
        command = [sys.executable, __file__, "--serve", folder, "--megabytes", str(given.megabytes)]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        address = f"http://127.0.0.1:{server.stdout.readline().strip()}/a.jsonl"
        bandwidth = Bandwidth(given.megabytes * 1e6)
        usual = reader.open_for_arrow

        class Limited:
            def __init__(self, path: Path) -> None:
                self.file = open(path, "rb")  # noqa: SIM115
                self.closed = False
                for name in ("seek", "tell", "close"):
                    setattr(self, name, getattr(self.file, name))

            def read(self, nbytes: int) -> bytes:
                data = self.file.read(nbytes)
                bandwidth.take(len(data))
                return data

        import pyarrow as pa

        try:
            for name, source in (("local", file), ("remote", address), ("local", file), ("remote", address)):
                reader.open_for_arrow = (
                    (lambda path: pa.PythonFile(Limited(path), mode="r")) if name == "local" else usual
                )
                start, cpu = time.perf_counter(), time.process_time()
                la.pairs(source)
                seconds = time.perf_counter() - start
                cpu = time.process_time() - cpu
                print(
                    f"{name}: {size / 1e6:.0f} MB in {seconds:.2f} s, {size / 1e6 / seconds:.0f} MB/s, {cpu:.2f} core s"
                )
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
