"""The service under load: python benchmarks/soak.py [--seconds N] [--clients N] [--restarts N]

Each client adds, replaces, queries, reads and removes items that no other client uses, judges pairs of them in an
explorer of the index, and compares each answer with a model; the index is exported again and again. Service and
explorer are killed and started again while they work: what was acknowledged must be there. Times, errors and the
memory of the service are reported.
"""

from __future__ import annotations

import argparse
import atexit
import http.client
import json
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import lookalike as la
from lookalike.evaluation.recheck import check_result
from lookalike.io.verdicts import events_of

WORDS = [a + b for a in ("ka", "mi", "to", "su", "re", "no", "li", "va") for b in ("ran", "til", "sek", "mor", "dan")]
MOST_ITEMS = 60  # items of one client
EXPORT_SECONDS = 10
Answer = tuple[int, Any]


class Server:
    """The processes of the service and of the explorer, each on one port."""

    def __init__(self, index: Path) -> None:
        self.index, self.verdicts = index, index.with_suffix(".verdicts.jsonl")
        self.explorer: subprocess.Popen[str] | None = None
        self.explorer_port, self.token = 0, ""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.up = threading.Event()
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "lookalike", "serve", str(self.index), "--port", str(self.port)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        command = [sys.executable, "-m", "lookalike", "explore", str(self.index), "--port", "0", "--no-open",
                   "--verdicts", str(self.verdicts)]  # fmt: skip
        unbuffered = os.environ | {"PYTHONUNBUFFERED": "1"}
        self.explorer = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=unbuffered
        )
        self._read_address(self.explorer)
        until = time.monotonic() + 120
        while time.monotonic() < until:
            try:
                link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
                link.request("GET", "/health")
                if link.getresponse().status == 200:
                    self.up.set()
                    return
            except OSError:
                time.sleep(0.05)
        raise SystemExit("the server does not start")

    def _read_address(self, explorer: subprocess.Popen[str]) -> None:
        assert explorer.stdout is not None
        for line in explorer.stdout:
            if found := re.search(r"127\.0\.0\.1:(\d+)/\S*token=([\w-]+)", line):
                self.explorer_port, self.token = int(found[1]), found[2]
                threading.Thread(target=explorer.stdout.read, daemon=True).start()  # a full pipe would stop it
                return
        raise SystemExit("the explorer does not start")

    def kill(self) -> None:
        assert self.process is not None
        assert self.explorer is not None
        self.up.clear()
        for process in (self.process, self.explorer):
            process.kill()
            process.wait()

    def memory(self) -> int:
        assert self.process is not None
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))


class Client(threading.Thread):
    """One client, whose items no other client uses. known: id to text; None if a lost answer leaves it open."""

    def __init__(self, number: int, server: Server, stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self.number, self.server, self.stop_event = number, server, stop
        self.draw = random.Random(number)
        self.known: dict[str, list[str | None]] = {}  # the texts that an item may have; None: it may be absent
        self.times: dict[str, list[float]] = {"query": [], "add": [], "remove": [], "read": [], "judge": []}
        self.judged: list[tuple[str, str]] = []  # acknowledged, in order
        self.wrong: list[str] = []
        self.lost = 0
        self.link: http.client.HTTPConnection | None = None

    def run(self) -> None:
        while not self.stop_event.is_set():
            self.server.up.wait(5)
            try:
                self.step()
            except (OSError, http.client.HTTPException):
                self.lost += 1
                self.link = None

    def text(self) -> str:
        return " ".join([f"client{self.number}", *self.draw.choices(WORDS, k=25)])

    def ask(self, what: str, method: str, path: str, body: Any = None) -> Answer:
        if self.link is None:
            self.link = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        begin = time.perf_counter()
        headers = {"Content-Type": "application/json"} if body is not None else {}
        self.link.request(method, path, None if body is None else json.dumps(body), headers)
        response = self.link.getresponse()
        content = response.read()
        self.times[what].append(time.perf_counter() - begin)
        if response.status not in (200, 404):
            self.wrong.append(f"{method} {path}: status {response.status}: {content[:200]!r}")
        return response.status, json.loads(content)

    def step(self) -> None:
        kind = self.draw.random()
        if kind < 0.35 and len(self.known) < MOST_ITEMS:
            name, text = f"c{self.number}-{self.draw.randrange(MOST_ITEMS)}", self.text()
            before = self.known.get(name, [None])
            self.known[name] = [*before, text]
            self.ask("add", "POST", "/items", {"items": [text], "ids": [name]})
            self.known[name] = [text]
        elif not self.known:
            return
        elif kind < 0.45:
            name = self.draw.choice(sorted(self.known))
            self.known[name] = [*self.known[name], None]
            status, _ = self.ask("remove", "DELETE", f"/items/{name}")
            if status == 404 and None not in self.known[name][:-1]:
                self.wrong.append(f"{name} was not there to remove")
            del self.known[name]
        elif kind < 0.48:
            self.judge()
        elif kind < 0.6:
            name = self.draw.choice(sorted(self.known))
            status, found = self.ask("read", "GET", f"/items/{name}")
            item = found.get("item") if status == 200 else None
            if item not in self.known[name]:
                self.wrong.append(f"{name} is {item!r}; expected {self.known[name]}")
            elif len(self.known[name]) > 1:
                self.settle(name, item)
        else:
            name = self.draw.choice(sorted(self.known))
            texts = self.known[name]
            _, found = self.ask("query", "POST", "/query", {"items": [texts[-1] or texts[0] or "x"], "threshold": 0.9})
            ids = {match["id"] for match in found["matches"][0]}
            if len(texts) == 1 and name not in ids:
                self.wrong.append(f"{name} is not found by its own text")
            strange = {one for one in ids if not one.startswith(f"c{self.number}-") or one not in self.known}
            if strange:
                self.wrong.append(f"the query for {name} found {sorted(strange)[:3]}")

    def judge(self) -> None:
        """Judge two items that are surely there."""
        sure = sorted(name for name, texts in self.known.items() if len(texts) == 1 and texts[0] is not None)
        if len(sure) < 2:
            return
        left, right = self.draw.sample(sure, 2)
        link = http.client.HTTPConnection("127.0.0.1", self.server.explorer_port, timeout=60)
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.server.token}"}
        body = {"left": left, "right": right, "verdict": "different", "by": f"client {self.number}"}
        begin = time.perf_counter()
        link.request("POST", "/api/judge", json.dumps(body), headers)
        response = link.getresponse()
        content = response.read()
        self.times["judge"].append(time.perf_counter() - begin)
        if response.status == 200:
            self.judged.append((left, right))
        else:
            self.wrong.append(f"judge {left}, {right}: status {response.status}: {content[:200]!r}")

    def settle(self, name: str, item: str | None) -> None:
        if item is None:
            del self.known[name]
        else:
            self.known[name] = [item]

    def check_all(self) -> None:
        """Read every item once more."""
        for name, texts in sorted(self.known.items()):
            status, found = self.ask("read", "GET", f"/items/{name}")
            item = found.get("item") if status == 200 else None
            if item not in texts:
                self.wrong.append(f"at the end {name} is {item!r}; expected {texts}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--restarts", type=int, default=10)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lookalike-soak-") as folder:
        index = Path(folder) / "soak.index"
        la.Index.create(index, kind="documents", k=2, threshold=0.8).close()
        server, stop = Server(index), threading.Event()
        atexit.register(server.kill)
        server.start()
        clients = [Client(number, server, stop) for number in range(options.clients)]
        for client in clients:
            client.start()
        exports, export_at = 0, time.monotonic() + EXPORT_SECONDS
        begin, memory = time.monotonic(), list[tuple[float, int, int]]()
        restart_at = [
            begin + options.seconds * (number + 1) / (options.restarts + 1) for number in range(options.restarts)
        ]
        while (now := time.monotonic()) < begin + options.seconds:
            if restart_at and now >= restart_at[0]:
                restart_at.pop(0)
                server.kill()
                server.start()
            if now >= export_at:
                exports += export(index, clients)
                export_at = time.monotonic() + EXPORT_SECONDS
            memory.append((now - begin, server.process.pid if server.process else 0, server.memory()))
            time.sleep(1)
        stop.set()
        for client in clients:
            client.join(90)
        for client in clients:
            client.link = None
            client.check_all()
        with la.Index.open(index, read_only=True) as opened:
            possible = {name for client in clients for name in client.known}
            strange = set(opened) - possible
            sound = opened.check().is_sound
        server.kill()
        check_verdicts(server.verdicts, clients)
    print(f"{exports} exports, {sum(len(client.judged) for client in clients):,} verdicts")
    report(clients, memory, options.seconds)
    wrong = [line for client in clients for line in client.wrong]
    print(f"{len(wrong)} wrong answers, {len(strange)} unasked items, index sound: {sound}")
    for line in wrong[:20]:
        print(" ", line)
    return min(1, len(wrong) + len(strange) + (not sound))


def export(index: Path, clients: list[Client]) -> int:
    """Export the index next to the service, and compare the items that no client changed meanwhile."""
    before = {name: list(texts) for client in clients for name, texts in client.known.copy().items()}
    target = index.with_name("export.parquet")
    with la.Index.open(index, read_only=True) as opened:
        opened.export(target, force=True)
    rows = {row["id"]: row["item"] for row in pq.read_table(target).to_pylist()}
    after = {name: list(texts) for client in clients for name, texts in client.known.copy().items()}
    for client in clients:
        prefix = f"c{client.number}-"
        for name, texts in before.items():
            if name.startswith(prefix) and len(texts) == 1 and after.get(name) == texts and rows.get(name) != texts[0]:
                client.wrong.append(f"exported {name} as {rows.get(name)!r}; expected {texts}")
    return 1


def check_verdicts(file: Path, clients: list[Client]) -> None:
    """Check that each acknowledged verdict is in the file, in the order of its client, and that the chain holds."""
    report = check_result(file)
    clients[0].wrong.extend(report.problems)
    by = defaultdict[str, list[tuple[str, str]]](list)
    for event in events_of(file):
        by[event["by"]].append((event["left"], event["right"]))
    for client in clients:
        there = iter(by[f"client {client.number}"])
        if not all(pair in there for pair in client.judged):
            client.wrong.append(f"verdicts of client {client.number} are missing")


def report(clients: list[Client], memory: list[tuple[float, int, int]], seconds: float) -> None:
    for name in ("query", "add", "remove", "read", "judge"):
        times = sorted(one for client in clients for one in client.times[name])
        if times:
            p50, p99 = times[len(times) // 2], times[int(len(times) * 0.99)]
            print(f"{name}: {len(times):,} ({len(times) / seconds:.0f} a second), p50 {p50 * 1000:.0f} ms, "
                  f"p99 {p99 * 1000:.0f} ms, longest {times[-1] * 1000:.0f} ms")  # fmt: skip
    print(f"answers lost in restarts: {sum(client.lost for client in clients):,}")
    runs: dict[int, list[int]] = {}
    for _, process, used in memory:
        runs.setdefault(process, []).append(used)
    for used in runs.values():
        if len(used) > 8:
            early, late = used[len(used) // 4] / 1e6, used[-1] / 1e6
            print(f"memory of a server: {early:.0f} MB after a quarter, {late:.0f} MB at the end")


if __name__ == "__main__":
    sys.exit(main())
