"""The growing index next to what is used for the same job: build time, memory, time of a query, recall, precision.

    python benchmarks/index.py                          1,000,000 documents for lookalike, fewer for the slower peers
    python benchmarks/index.py --documents 100000 --only lookalike

Documents of 1.7 kB from generated.py. The last of them are not put in: they are the queries, one at a time, from the
raw text. What is true is found without any of the tools: near-copies come from one original, so a query is compared,
set by set, with all others that come from the same. Each tool is its own process; reading the Parquet file is
inside the clock for lookalike and outside for the peers, splitting and shingling are inside for all. Redis is started
on loopback, if redis-server is installed.
"""

from __future__ import annotations

import argparse
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from machine import machine
from measure import measure

QUERIES, WARM = 5000, 500
SEED = 42
BATCH = 10_000
THRESHOLD, EDGE = 0.8, 0.85
Build = Callable[[Iterator[tuple[list[int], list[str]]]], None]
Ask = Callable[[str], list[int]]


def make(documents: int, home: Path) -> Path:
    """The corpus, the queries, and what is true of them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from generated import generate
    from peers.shingles import shingles

    folder = home / "corpora" / f"index-{documents}"
    if (folder / "truth.json").exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    originals, total = _originals(documents + QUERIES), documents
    asked = {int(o) for o in originals[documents:]}
    near: dict[int, list[tuple[int, set[str]]]] = {}
    queries: list[str] = []
    writer = None
    for batch in generate(documents + QUERIES, seed=SEED, rows=BATCH):
        first = batch["id"][0].as_py()
        for row in range(len(batch)):
            if originals[first + row] in asked and first + row < total:
                near.setdefault(int(originals[first + row]), []).append(
                    (first + row, shingles(batch["text"][row].as_py()))
                )
        queries += batch["text"].slice(max(0, total - first)).to_pylist() if first + len(batch) > total else []
        table = pa.Table.from_batches([batch.slice(0, max(0, total - first))])
        writer = writer or pq.ParquetWriter(folder / "documents.parquet", table.schema, compression="zstd")
        writer.write_table(table)
    writer.close()
    truth = []
    for number, text in enumerate(queries):
        mine = shingles(text)
        scores = {o: len(mine & s) / len(mine | s) for o, s in near.get(int(originals[total + number]), [])}
        truth.append({o: s for o, s in scores.items() if s >= THRESHOLD})
    (folder / "queries.json").write_text(json.dumps(queries))
    (folder / "truth.json").write_text(json.dumps(truth))
    return folder


def _originals(documents: int) -> Any:
    import numpy as np

    from generated import VOCABULARY, _layout, _vocabulary

    assert VOCABULARY
    random = np.random.default_rng(SEED)
    _vocabulary(random)  # the same draws as in generate()
    return _layout(documents, random)[0]


def batches(folder: Path) -> Iterator[tuple[list[int], list[str]]]:
    import pyarrow.parquet as pq

    for batch in pq.ParquetFile(folder / "documents.parquet").iter_batches(batch_size=BATCH):
        yield batch.column("id").to_pylist(), batch.column("text").to_pylist()


def lookalike(folder: Path, scratch: Path) -> dict[str, Any]:
    """la.Index in a folder on the disk, the texts kept in it too."""
    import lookalike as la

    with la.Index.create(scratch / "warm") as warm:  # kernels are compiled, or read from the disk
        texts = [f"{i} " + "some words of a text " * 40 for i in range(3000)]
        warm.add(texts)
        warm.query(texts[:2])
        warm.add(texts[:1], ids=[0])
        warm.groups()
    index = la.Index.create(scratch / "index", threshold=THRESHOLD, recall=0.99)
    begin, busy = time.perf_counter(), time.process_time()
    index.add_from(folder / "documents.parquet")
    built, busy = time.perf_counter() - begin, time.process_time() - busy
    index.close()
    begin = time.perf_counter()
    index = la.Index.open(scratch / "index")
    opened = time.perf_counter() - begin
    facts = ask(folder, lambda text: [match.id for match in index.query([text])[0]])
    begin = time.perf_counter()
    groups = index.groups().num_rows
    return {
        "build_seconds": built, "build_cpu_seconds": busy, **facts, "open_ms": opened * 1e3,
        "disk_bytes": index.info()["bytes"],
        "segments": index.info()["segments"], "groups_seconds": time.perf_counter() - begin, "grouped": groups,
    }  # fmt: skip


def datasketch(
    folder: Path, scratch: Path, storage: dict[str, Any] | None = None, params: Any = None
) -> dict[str, Any]:
    """MinHashLSH; its own rule gives 9 x 13 bands at 0.8 and 128 permutations."""
    from datasketch import MinHash, MinHashLSH

    from peers.shingles import shingles

    index = MinHashLSH(threshold=THRESHOLD, num_perm=128, params=params, storage_config=storage)

    def sketches(texts: list[str]) -> list[Any]:
        return list(MinHash.bulk([[s.encode() for s in shingles(text)] for text in texts], num_perm=128))

    spent = 0.0
    for ids, texts in batches(folder):
        begin = time.perf_counter()
        with index.insertion_session() as session:
            for number, sketch in zip(ids, sketches(texts), strict=True):
                session.insert(number, sketch, check_duplication=False)
        spent += time.perf_counter() - begin
    return {"build_seconds": spent, **ask(folder, lambda text: index.query(sketches([text])[0]))}


def datasketch_same_bands(folder: Path, scratch: Path) -> dict[str, Any]:
    return datasketch(folder, scratch, params=(16, 6))


def datasketch_redis(folder: Path, scratch: Path) -> dict[str, Any]:
    """MinHashLSH with its tables on a Redis server on this machine; its memory is measured separately."""
    if shutil.which("redis-server") is None:
        raise SystemExit("redis-server is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", str(scratch)]
    server = subprocess.Popen(["redis-server", *options], stdout=subprocess.DEVNULL)
    try:
        import redis

        link = redis.Redis("127.0.0.1", port)
        for _ in range(100):
            try:
                link.ping()
                break
            except redis.ConnectionError:
                time.sleep(0.1)
        place = {"type": "redis", "basename": b"bench", "redis": {"host": "127.0.0.1", "port": port}}
        return {**datasketch(folder, scratch, place), "server_bytes": link.info("memory")["used_memory_peak"]}
    finally:
        server.terminate()
        server.wait()


def rensa(folder: Path, scratch: Path, bands: int = 16) -> dict[str, Any]:
    """RMinHashLSH with 16 x 8 bands; its deduplicator takes 8 x 16, which finds less."""
    from rensa import RMinHash, RMinHashLSH

    from peers.shingles import shingles

    index = RMinHashLSH(THRESHOLD, 128, bands)
    spent = 0.0
    for ids, texts in batches(folder):
        begin = time.perf_counter()
        sketches = RMinHash.from_token_sets(list(map(shingles, texts)), 128, 42)
        index.insert_pairs(list(zip(ids, sketches, strict=True)))
        spent += time.perf_counter() - begin

    def found(text: str) -> list[int]:
        return list(index.query(RMinHash.from_token_sets([shingles(text)], 128, 42)[0]))

    return {"build_seconds": spent, **ask(folder, found)}


TOOLS: dict[str, tuple[Callable[[Path, Path], dict[str, Any]], str]] = {
    "lookalike": (lookalike, "documents"),
    "lookalike (fewer)": (lookalike, "peer_documents"),
    "datasketch": (datasketch, "peer_documents"),
    "datasketch, 16 x 6": (datasketch_same_bands, "peer_documents"),
    "datasketch on Redis": (datasketch_redis, "redis_documents"),
    "rensa, 16 x 8": (rensa, "peer_documents"),
}


def ask(folder: Path, found: Ask) -> dict[str, Any]:
    """Times of single queries, warm, and how much of the truth they tell."""
    import numpy as np

    queries = json.loads((folder / "queries.json").read_text())
    truth = [{int(o): s for o, s in one.items()} for one in json.loads((folder / "truth.json").read_text())]
    for text in queries[:WARM]:
        found(text)
    times, spent, hits, reported = [], [], [], 0
    for text, near in zip(queries, truth, strict=True):
        begin, busy = time.perf_counter(), time.thread_time()
        got = set(found(text))
        times.append(time.perf_counter() - begin)
        spent.append(time.thread_time() - busy)
        reported += len(got)
        hits += [(similarity, other in got) for other, similarity in near.items()]
    edge = [hit for similarity, hit in hits if similarity < EDGE]
    return {
        "queries": len(times), "true": len(hits), "p50_ms": float(np.percentile(times, 50)) * 1e3,
        "p99_ms": float(np.percentile(times, 99)) * 1e3, "p99_cpu_ms": float(np.percentile(spent, 99)) * 1e3,
        "recall": sum(hit for _, hit in hits) / max(1, len(hits)),
        "recall_at_edge": sum(edge) / max(1, len(edge)), "precision": sum(hit for _, hit in hits) / max(1, reported),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description="The growing index, next to datasketch and rensa.")
    parser.add_argument("--documents", type=int, default=1_000_000, help="in the index of lookalike")
    parser.add_argument(
        "--peer-documents", type=int, default=50_000, help="in those of the peers, and once of lookalike"
    )
    parser.add_argument("--redis-documents", type=int, default=10_000, help="on Redis")
    parser.add_argument("--only", action="append", choices=list(TOOLS))
    parser.add_argument("--timeout", type=float, default=1800)
    parser.add_argument("--home", type=Path, default=Path(".bench"))
    parser.add_argument("--child", nargs=2, metavar=("TOOL", "FOLDER"), help=argparse.SUPPRESS)
    parser.add_argument("--make", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.make:
        make(given.make, given.home)
        return
    if given.child:
        with tempfile.TemporaryDirectory(dir=given.home) as scratch:
            facts = TOOLS[given.child[0]][0](Path(given.child[1]), Path(scratch))
        sys.stdout.write(json.dumps(facts) + "\n")
        return
    rows = []
    for tool, (_, size) in TOOLS.items():
        if given.only and tool not in given.only:
            continue
        documents = getattr(given, size)
        mine = [sys.executable, __file__, "--home", str(given.home)]
        subprocess.run([*mine, "--make", str(documents)], check=True)  # elsewhere: a small process measures children
        folder = given.home / "corpora" / f"index-{documents}"
        log = given.home / "index.log"
        run = measure([*mine, "--child", tool, str(folder)], folder=Path.cwd(), log=log, timeout=given.timeout)
        row = {"tool": tool, "documents": documents, **run}
        if run["status"] == "ok":
            row |= json.loads(log.read_text().splitlines()[-1])
            row["per_second"] = documents / row["build_seconds"]
        rows.append(row)
        sys.stderr.write(f"{tool}: {row['status']} {row.get('message', '')}\n")
    given.home.joinpath("index.json").write_text(json.dumps({"machine": machine(), "runs": rows}, indent=1))
    sys.stdout.write(table(rows))


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown. recall: of all true matches; at the threshold: of those below .85."""
    names = "tool | documents | build/s | peak memory | query p50 | p99 | recall | .80-.85 | precision"
    lines = [f"| {names} |", "|---" * 1 + "|---:" * 8 + "|"]
    for row in rows:
        if row["status"] != "ok":
            lines.append(
                f"| {row['tool']} | {row['documents']:,} | {row['status']} {row.get('message', '')} |" + " |" * 6
            )
            continue
        memory = f"{(row['peak_bytes'] + row.get('server_bytes', 0)) / 1e6:,.0f} MB"
        cells = [row["tool"], f"{row['documents']:,}", f"{row['per_second']:,.0f}", memory]
        cells += [f"{row[name]:.2f} ms" for name in ("p50_ms", "p99_ms")]
        cells += [f"{row[name]:.4f}" for name in ("recall", "recall_at_edge", "precision")]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
