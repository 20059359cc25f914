"""Measure writes per second through HTTP: clients that add one document at a time, or add and remove in turn.

    python benchmarks/service_writes.py [--clients 1 --clients 8 --clients 64] [--seconds 5] [--mixed] [--replace]

The server (`lookalike serve`) and the clients share the machine. Each client keeps one request under way. With
--mixed, one request in three removes a document that the same client has added before; with --replace, each client
has ten ids, whose documents it replaces. In the end the index is opened
again, and has to hold exactly the documents whose addition was answered and whose removal was not.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import lookalike as la
from machine import machine

# promise: docs/how-to/serve.md | with 64 clients, a write costs the server about a quarter

WORDS = [f"w{number}" for number in range(3000)]


def text(source: random.Random) -> str:
    return " ".join(source.choices(WORDS, k=40))


async def call(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, method: str, path: str, body: object = None
) -> int:
    """Send one request and return the status of its answer."""
    data = b"" if body is None else json.dumps(body).encode()
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(data)}"
    )
    writer.write(f"{head}\r\n\r\n".encode() + data)
    answer = await reader.readuntil(b"\r\n\r\n")
    size = re.search(rb"content-length: (\d+)", answer)
    if size is None:
        raise RuntimeError(answer)
    await reader.readexactly(int(size[1]))
    return int(answer.split()[1])


async def client(number: int, port: int, until: float, how: str, seconds: list[float]) -> set[str]:
    """Write until the time is over; return the ids that have to be there."""
    source, mine = random.Random(number), list[str]()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    count = 0
    while time.perf_counter() < until:
        begin = time.perf_counter()
        if how == "mixed" and mine and count % 3 == 2:
            status = await call(reader, writer, "DELETE", f"/items/{mine.pop(source.randrange(len(mine)))}")
        else:
            mine.append(f"{number}-{count % 10 if how == 'replace' else time.time_ns()}")
            status = await call(reader, writer, "POST", "/items", {"items": [text(source)], "ids": mine[-1:]})
        if status != 200:
            raise RuntimeError(f"status {status}")
        count += 1
        seconds.append(time.perf_counter() - begin)
    writer.close()
    return set(mine)


async def load(clients: int, port: int, seconds: float, how: str) -> tuple[set[str], list[float], float]:
    times: list[float] = []
    begin = time.perf_counter()
    ids = await asyncio.gather(*(client(number, port, begin + seconds, how, times) for number in range(clients)))
    return set().union(*ids), sorted(times), time.perf_counter() - begin


def server_cpu(pid: int) -> float:
    """Return the processor seconds of the server so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, action="append", help="default: 1, 8 and 64")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--documents", type=int, default=2000, help="in the index before")
    parser.add_argument("--mixed", action="store_true", help="one request in three removes a document")
    parser.add_argument("--replace", action="store_true", help="replace documents")
    given = parser.parse_args()
    how = "mixed" if given.mixed else "replace" if given.replace else "add"
    rows = []
    for clients in given.clients or (1, 8, 64):
        with tempfile.TemporaryDirectory() as folder:
            place = f"{folder}/index"
            with la.Index.create(place, threshold=0.7) as index:
                source = random.Random(42)
                index.add([text(source) for _ in range(given.documents)], ids=[f"d{n}" for n in range(given.documents)])
            command = [sys.executable, "-m", "lookalike.cli.main", "serve", place, "--port", "0"]
            server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            try:
                port = int(re.search(r":(\d+) \(", server.stdout.readline())[1])
                before, _, _ = asyncio.run(load(clients, port, 1, how))  # the kernels are compiled from here on
                cpu = server_cpu(server.pid)
                ids, times, took = asyncio.run(load(clients, port, given.seconds, how))
                cpu = server_cpu(server.pid) - cpu
            finally:
                server.send_signal(signal.SIGINT)
                server.wait(60)
            with la.Index.open(place, read_only=True) as index:
                kept = {name for name in index if not str(name).startswith("d")}
            if kept != before | ids:
                raise RuntimeError(f"{len(kept ^ (before | ids))} writes were lost or came back")
        rows.append(
            {
                "clients": clients,
                "writes": len(times),
                "per_second": round(len(times) / took),
                "p50_ms": round(times[len(times) // 2] * 1000, 1),
                "p99_ms": round(times[len(times) * 99 // 100] * 1000, 1),
                "server_cpu_ms": round(cpu / len(times) * 1000, 2),
            }
        )
    sys.stdout.write(json.dumps({"machine": machine(), "writes": how, "runs": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
