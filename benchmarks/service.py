"""Queries per second through HTTP: one document of 1.7 kB in each request, an index of a million of them.

    python benchmarks/service.py [--documents 1000000] [--connections 8] [--requests 20000] [--seconds 15]
    python benchmarks/service.py --place postgresql://... --documents 100000 --fresh     # the same in PostgreSQL

The server (`lookalike serve`) and the client share the machine. The client keeps one request under way on each
connection and is bounded in count and time. The index is kept in .bench/service-N and used again (--fresh: made again).
The queries are held-out members of the generated clusters; what they should find is every document of the same cluster
with a Jaccard similarity of 0.8 or more over word 5-shingles, counted here with plain Python sets.
"""

from __future__ import annotations

import argparse
import json
import re
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from machine import machine

HELD_OUT = 2000
THRESHOLD = 0.8
K = 5


def corpus(documents: int) -> tuple[Any, Any, Any]:
    """(batches of documents, the original that each copies, which of them are held out: half have copies, half not)."""
    import numpy as np

    import generated

    random = np.random.default_rng(42)
    generated._vocabulary(random)  # as `generate` begins
    original, _, _ = generated._layout(documents + HELD_OUT, random)
    copies = np.bincount(original)[original]
    chosen = np.random.default_rng(7)
    held = [chosen.choice(np.flatnonzero(some), HELD_OUT // 2, replace=False) for some in (copies > 1, copies == 1)]
    return generated.generate(documents + HELD_OUT, seed=42, rows=20_000), original, np.concatenate(held)


def build(folder: Path, place: str, documents: int) -> None:
    """Make the index, and next to it the queries with what they should find."""
    import numpy as np

    import lookalike as la

    batches, original, held = corpus(documents)
    wanted = np.isin(original, original[held])
    stays = np.ones(len(original), np.bool_)
    stays[held] = False
    texts: dict[int, str] = {}
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)

    def stored() -> Any:
        for batch in batches:
            first = batch.column(0)[0].as_py()
            for row in np.flatnonzero(wanted[first : first + len(batch)]).tolist():
                texts[first + row] = batch.column(1)[row].as_py()
            yield batch.filter(stays[first : first + len(batch)])

    begin, spent = time.perf_counter(), 0.0
    with la.Index.create(place, kind="documents", threshold=THRESHOLD) as index:
        for ids, many in in_parts(stored(), 10):
            start = time.perf_counter()
            index.add(many, ids=ids)
            spent += time.perf_counter() - start
        start = time.perf_counter()
        index.compact()
        compacting = time.perf_counter() - start
    clusters = defaultdict(list)
    for number in texts:
        clusters[int(original[number])].append(number)
    shingles = {number: shingle(text) for number, text in texts.items()}
    queries = []
    for query in np.random.default_rng(8).permutation(held).tolist():
        others = [number for number in clusters[int(original[query])] if stays[number]]
        true = [number for number in others if alike(shingles[query], shingles[number])]
        queries.append({"text": texts[query], "true": true})
    facts = {"documents": documents, "add_seconds": round(spent, 1), "compact_seconds": round(compacting, 1)}
    (folder / "queries.json").write_text(json.dumps({"facts": facts, "queries": queries}))
    sys.stderr.write(f"index of {documents:,} made in {time.perf_counter() - begin:.0f} s\n")


def in_parts(batches: Any, size: int) -> Any:
    """(ids, texts) of `size` batches at a time."""
    import pyarrow as pa

    some: list[Any] = []
    for batch in batches:
        some.append(batch)
        if len(some) == size:
            yield tuple(pa.concat_arrays([one.column(column) for one in some]) for column in (0, 1))
            some = []
    if some:
        yield tuple(pa.concat_arrays([one.column(column) for one in some]) for column in (0, 1))


def shingle(text: str) -> set[tuple[str, ...]]:
    words = re.findall(r"\w+", text.lower())
    return {tuple(words[i : i + K]) for i in range(max(1, len(words) - K + 1))}


def alike(one: set[Any], other: set[Any]) -> bool:
    shared = len(one & other)
    return shared >= THRESHOLD * (len(one) + len(other) - shared)


class Link:
    """One connection with one request under way."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.socket = socket.create_connection(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.rest, self.asked, self.since = b"", -1, 0.0

    def ask(self, number: int, request: bytes) -> None:
        self.asked, self.since, self.rest = number, time.perf_counter(), b""
        self.socket.sendall(request)

    def answer(self) -> bytes | None:
        """The body, once it is whole."""
        data = self.socket.recv(1 << 18)
        if not data:
            raise ConnectionError("the server has closed the connection")
        self.rest += data
        head = self.rest.find(b"\r\n\r\n")
        if head < 0:
            return None
        if not self.rest.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(self.rest[:300])
        at = self.rest.find(b"content-length: ") + 16
        size = int(self.rest[at : self.rest.find(b"\r", at)])
        return self.rest[head + 4 :] if len(self.rest) >= head + 4 + size else None


def load(
    address: tuple[str, int], requests: list[bytes], connections: int, count: int, seconds: float
) -> dict[str, Any]:
    """Ask until `count` answers have come or the time is over."""
    choose = selectors.DefaultSelector()
    links = [Link(address) for _ in range(connections)]
    answers: dict[int, bytes] = {}
    times: list[float] = []
    sent = 0
    begin, cpu = time.perf_counter(), time.process_time()
    for link in links:
        choose.register(link.socket, selectors.EVENT_READ, link)
        link.ask(sent % len(requests), requests[sent % len(requests)])
        sent += 1
    while len(times) < count and time.perf_counter() - begin < seconds:
        for key, _ in choose.select(5):
            link = key.data
            body = link.answer()
            if body is None:
                continue
            times.append(time.perf_counter() - link.since)
            answers[link.asked] = body
            link.ask(sent % len(requests), requests[sent % len(requests)])
            sent += 1
    took = time.perf_counter() - begin
    for link in links:
        link.socket.close()
    times.sort()
    return {
        "connections": connections,
        "queries": len(times),
        "per_second": round(len(times) / took),
        "p50_ms": round(times[len(times) // 2] * 1000, 2),
        "p99_ms": round(times[len(times) * 99 // 100] * 1000, 2),
        "client_cpu_ms": round((time.process_time() - cpu) / len(times) * 1000, 3),
        "answers": answers,
    }


def server_cpu(pid: int) -> float:
    """Seconds of processor time of the server so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def recall(answers: dict[int, bytes], queries: list[dict[str, Any]]) -> tuple[float, int]:
    """(share of the true matches that were found, how many there are) over the queries that were asked."""
    found = total = 0
    for number, body in answers.items():
        reported = {match["id"] for match in json.loads(body)["matches"][0]}
        found += len(reported & set(queries[number]["true"]))
        total += len(queries[number]["true"])
    return found / max(1, total), total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--connections", type=int, action="append", help="default: 1, 8 and 32")
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--place", help="a postgresql:// URL without an index, instead of a folder")
    parser.add_argument("--fresh", action="store_true", help="make the index again")
    parser.add_argument("--only-build", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--home", type=Path, default=Path(".bench"))
    given = parser.parse_args()
    folder = given.home / f"service{'-postgres' if given.place else ''}-{given.documents}"
    place = given.place or str(folder / "index")
    if given.only_build:
        build(folder, place, given.documents)
        return
    if given.fresh or not (folder / "queries.json").exists():
        subprocess.run([sys.executable, *sys.argv, "--only-build"], check=True)  # the client stays small
    kept = json.loads((folder / "queries.json").read_text())
    queries = kept["queries"]
    bodies = [json.dumps({"items": [query["text"]]}).encode() for query in queries]
    head = "POST /query HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: "
    requests = [f"{head}{len(body)}\r\n\r\n".encode() + body for body in bodies]
    command = [sys.executable, "-m", "lookalike.cli.main", "serve", place, "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    rows = []
    try:
        line = server.stdout.readline()
        address = ("127.0.0.1", int(re.search(r":(\d+) \(", line)[1]))
        load(address, requests, 8, 2 * len(requests), given.seconds)  # the index is warm from here on
        for connections in given.connections or (1, 8, 32):
            spent = server_cpu(server.pid)
            row = load(address, requests, connections, given.requests, given.seconds)
            row["server_cpu_ms"] = round((server_cpu(server.pid) - spent) / row["queries"] * 1000, 3)
            row["recall"], row["true_matches"] = recall(row.pop("answers"), queries)
            rows.append(row)
        peak = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{server.pid}/status").read_text())
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(30)
    size = sum(len(query["text"]) for query in queries) // len(queries)
    facts = {
        "machine": machine(),
        **kept["facts"],
        "bytes_of_a_query": size,
        "peak_bytes": int(peak[1]) * 1024,
        "runs": rows,
    }
    (given.home / "service.json").write_text(json.dumps(facts, indent=1))
    names = ["connections", "queries", "per_second", "p50_ms", "p99_ms", "server_cpu_ms", "client_cpu_ms", "recall"]
    sys.stdout.write("| " + " | ".join(names) + " |\n|" + "---:|" * len(names) + "\n")
    for row in rows:
        sys.stdout.write(
            "| " + " | ".join(f"{row[name]:.4f}" if name == "recall" else f"{row[name]:,}" for name in names) + " |\n"
        )
    sys.stdout.write(f"peak memory of the server {facts['peak_bytes'] / 1e6:,.0f} MB, queries of {size} bytes\n")


if __name__ == "__main__":
    main()
