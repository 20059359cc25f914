"""Near-duplicate pairs on Spark: lookalike next to MLlib and a pipeline of Python functions, with the same recall.

    python benchmarks/scale/spark.py [--documents 1000000] [--only NAME] [--master local-cluster[2,1,2048]]

Every tool is its own process with a session on the same master (two executors of one core), reads the same Parquet
file, and writes a Parquet folder of pairs at Jaccard 0.8 or above over word 5-shingles, verified. It has its shape of
bands that finds a pair at the threshold with probability 0.99 or more. lookalike has the session that it starts by
itself, the others one with Spark's own settings; the number of parts of a shuffle and the memory are the same. Before
the clock each runs twice on 400 of the documents, in four parts (Java compiles what is hot, workers load what they
need); starting Java and the executors is its own column. Core seconds are those of all processes of the cluster
during the work. Shuffled bytes come from Spark's event log. Writes .bench/spark.json and .bench/spark.md.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import above  # noqa: F401

from machine import machine, versions
from measure import measure

# promise: docs/explanation/scale.md | Spark's event log of generated documents of 1.7 kB (212 shingles each
# promise: docs/explanation/scale.md | off one of a million documents in 56 parts, where keys took 222

HERE = Path(__file__).resolve().parents[1]
THRESHOLD, K, BANDS, ROWS = 0.8, 5, 16, 6
TABLES = 3  # of MLlib, each a band of one row: 1 - 0.2^3 = 0.992
FEW = 400  # documents of the run before the clock


def lookalike_spark(session: Any, corpus: Path, answer: Path) -> None:
    import lookalike as la

    frame = session.read.parquet(str(corpus))
    la.pairs(frame, engine="spark", method="lsh", audit=0).pairs.write.parquet(str(answer))


def mllib(session: Any, corpus: Path, answer: Path) -> None:
    """MinHashLSH.approxSimilarityJoin on hashed shingles; the space is so large that hardly two of them meet in it."""
    from pyspark.ml.feature import HashingTF, MinHashLSH, NGram, RegexTokenizer
    from pyspark.sql import functions as F  # noqa: N812

    frame = session.read.parquet(str(corpus))
    words = RegexTokenizer(inputCol="text", outputCol="words", pattern="\\W+").transform(frame)
    shingles = NGram(n=K, inputCol="words", outputCol="shingles").transform(words)
    hashed = HashingTF(inputCol="shingles", outputCol="features", binary=True, numFeatures=1 << 30).transform(shingles)
    vectors = hashed.where(F.size("shingles") > 0).select("id", "features").persist()
    model = MinHashLSH(inputCol="features", outputCol="hashes", numHashTables=TABLES, seed=42).fit(vectors)
    pairs = model.approxSimilarityJoin(vectors, vectors, 1 - THRESHOLD + 1e-9, distCol="distance")
    found = pairs.select(F.col("datasetA.id").alias("left"), F.col("datasetB.id").alias("right"), "distance")
    found.where("left < right").write.parquet(str(answer))


def functions(session: Any, corpus: Path, answer: Path) -> None:
    """datasketch in a Python function for each row, band keys exploded and grouped, pairs checked on their shingles."""
    import re

    from datasketch import MinHash
    from pyspark.sql import functions as F  # noqa: N812

    def shingles(text: str) -> list[bytes]:
        words = re.findall(r"\w+", text.lower())
        return list({" ".join(words[at : at + K]).encode() for at in range(max(1, len(words) - K + 1))})

    @F.udf("array<binary>")
    def keys(text: str) -> list[bytes]:
        sketch = MinHash(num_perm=128, seed=42)
        sketch.update_batch(shingles(text))
        return [bytes([band]) + sketch.hashvalues[band * ROWS : (band + 1) * ROWS].tobytes() for band in range(BANDS)]

    @F.udf("array<struct<left:long,right:long>>")
    def pairs(ids: list[int]) -> list[tuple[int, int]]:
        ids = sorted(ids)
        return [(one, other) for at, one in enumerate(ids) for other in ids[at + 1 :]]

    @F.udf("double")
    def jaccard(one: str, other: str) -> float:
        a, b = set(shingles(one)), set(shingles(other))
        return len(a & b) / len(a | b)

    texts = session.read.parquet(str(corpus))
    buckets = (
        texts.select("id", F.explode(keys("text")).alias("key")).groupBy("key").agg(F.collect_list("id").alias("ids"))
    )
    met = buckets.where(F.size("ids") > 1).select(F.explode(pairs("ids")).alias("pair")).select("pair.*").distinct()
    for side in ("left", "right"):
        met = met.join(texts.withColumnRenamed("id", side).withColumnRenamed("text", f"{side}_text"), side)
    scored = met.select("left", "right", jaccard("left_text", "right_text").alias("similarity"))
    scored.where(f"similarity >= {THRESHOLD}").write.parquet(str(answer))


TOOLS: dict[str, Callable[[Any, Path, Path], None]] = {
    "lookalike": lookalike_spark,
    "MLlib MinHashLSH": mllib,
    "datasketch in functions": functions,
}


def plain_session(master: str, conf: dict[str, str]) -> Any:
    """A session with Spark's own settings, and these."""
    from pyspark.sql import SparkSession

    from lookalike.runtime.spark.java import java_home

    os.environ["JAVA_HOME"] = java_home()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder: Any = SparkSession.builder.master(master)
    quiet = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.driver.host": "127.0.0.1"}
    for name, value in {**quiet, **conf}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def child(tool: str, corpus: Path, answer: Path, master: str, events: Path) -> None:
    """Run one tool; the last line of the output is JSON."""
    from pyspark.sql import SparkSession

    from lookalike.kinds.documents.spark.calibration import processor_time
    from lookalike.runtime.spark.session import open_session

    begin = time.perf_counter()
    conf = {
        "spark.eventLog.enabled": "true", "spark.eventLog.dir": events.as_uri(), "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false", "spark.sql.shuffle.partitions": "4", "spark.driver.memory": "2g",
    }  # fmt: skip
    session: SparkSession = open_session(master, conf) if tool == "lookalike" else plain_session(master, conf)
    session.range(100).repartition(4).count()  # the executors are there
    start = time.perf_counter() - begin
    few = corpus.with_name(f"{corpus.stem}-few-{FEW}.parquet")
    if not few.exists():
        session.read.parquet(str(corpus)).limit(FEW).repartition(4).write.parquet(str(few))
    warm = answer.with_name(f"{answer.name}-few")
    for folder in (answer, warm):
        shutil.rmtree(folder, ignore_errors=True)
    begin = time.perf_counter()
    for _ in range(2):
        shutil.rmtree(warm, ignore_errors=True)
        TOOLS[tool](session, few, warm)
    warmed, since = time.perf_counter() - begin, time.time()
    begin, spent = time.perf_counter(), processor_time()
    TOOLS[tool](session, corpus, answer)
    seconds, cpu = time.perf_counter() - begin, processor_time() - spent
    application = session.sparkContext.applicationId
    session.stop()
    facts = {"start": start, "first": warmed, "work": seconds, "cpu": cpu, **shuffles(events / application, since)}
    sys.stdout.write("\n" + json.dumps(facts) + "\n")


def shuffles(log: Path, since: float) -> dict[str, Any]:
    """Bytes and rows that each stage wrote for a shuffle, of tasks that began after `since` (seconds of the clock)."""
    stages: dict[int, dict[str, float]] = {}
    names: dict[int, str] = {}
    for line in log.read_text().splitlines():
        event = json.loads(line)
        if event["Event"] == "SparkListenerStageCompleted":
            names[event["Stage Info"]["Stage ID"]] = event["Stage Info"]["Stage Name"].split(" at ")[0]
        elif event["Event"] == "SparkListenerTaskEnd" and event["Task Info"]["Launch Time"] >= since * 1000:
            metrics = event.get("Task Metrics") or {}
            one = stages.setdefault(event["Stage ID"], {"bytes": 0, "rows": 0, "run": 0.0})
            written = metrics.get("Shuffle Write Metrics", {})
            one["bytes"] += written.get("Shuffle Bytes Written", 0)
            one["rows"] += written.get("Shuffle Records Written", 0)
            one["run"] += metrics.get("Executor Run Time", 0) / 1000
    listed = [{"stage": number, "name": names.get(number, ""), **one} for number, one in sorted(stages.items())]
    return {"shuffle_bytes": sum(one["bytes"] for one in listed), "stages": [one for one in listed if one["bytes"]]}


def local(corpus: Path, answer: Path, home: Path) -> dict[str, Any]:
    """The local engine on the same file with two threads: the whole command."""
    command = [
        str(Path(sys.executable).parent / "lookalike"),
        "pairs",
        str(corpus),
        "-o",
        str(answer),
        "--threads",
        "2",
    ]
    command += ["--method", "lsh", "--audit", "0", "--force", "-q"]
    measure(command, folder=home, log=home / "logs" / "spark-local.txt", timeout=600)  # kernels are compiled
    made = measure(command, folder=home, log=home / "logs" / "spark-local.txt", timeout=600)
    if made["status"] == "ok":
        receipt = json.loads(answer.with_name(answer.name.split(".")[0] + ".receipt.json").read_text())
        made |= {"work": sum(receipt["seconds"].values()), "cpu": made["cpu_seconds"]}
    return made


def markdown(rows: list[dict[str, Any]], documents: int) -> str:
    ours = next((row["work"] for row in rows if row["tool"] == "lookalike" and row["status"] == "ok"), None)
    lines = [
        "| tool | seconds | ratio | core seconds | start | shuffled each | recall | recall .80–.85 | precision |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        if row["status"] != "ok":
            lines.append(f"| {row['tool']} | {row['status']}: {row.get('message', '')} | | | | | | | |")
            continue
        ratio = f"{row['work'] / ours:.1f}" if ours else ""
        shuffled = f"{row['shuffle_bytes'] / documents:,.0f} B" if "shuffle_bytes" in row else ""
        start = f"{row['start']:.1f}" if "start" in row else ""
        quality = " | ".join(f"{row['quality'][name]:.4f}" for name in ("recall", "recall_80_85", "precision"))
        cells = [row["tool"], f"{row['work']:.1f}", ratio, f"{row.get('cpu', math.nan):.1f}", start, shuffled, quality]
        lines.append("| " + " | ".join(cells) + " |")
    shown = [(row["tool"], stage) for row in rows if row["status"] == "ok" for stage in row.get("stages", [])]
    lines += [
        "",
        "| tool | stage | rows shuffled per document | bytes per document | bytes per row |",
        "|---|---|---:|---:|---:|",
    ]
    for tool, stage in shown:
        each, row = stage["bytes"] / documents, stage["bytes"] / max(1, stage["rows"])
        lines.append(f"| {tool} | {stage['stage']} | {stage['rows'] / documents:.2f} | {each:,.1f} | {row:.1f} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--only", action="append", choices=["local", *TOOLS])
    parser.add_argument(
        "--merge", action="store_true", help="keep the other rows of the last results, of as many documents"
    )
    parser.add_argument("--master", default="local-cluster[2,1,2048]")
    parser.add_argument("--timeout", type=float, default=1800)
    parser.add_argument("--home", type=Path, default=HERE.parent / ".bench")
    parser.add_argument("--child", nargs=3, metavar=("TOOL", "CORPUS", "ANSWER"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    home = given.home.resolve()
    for name in ("corpora", "answers", "logs", "events"):
        (home / name).mkdir(parents=True, exist_ok=True)
    if given.child:
        child(given.child[0], Path(given.child[1]), Path(given.child[2]), given.master, home / "events")
        return
    make = [sys.executable, str(HERE / "corpora.py"), "generated", "--folder", str(home / "corpora")]
    made = subprocess.run([*make, "--documents", str(given.documents)], check=True, capture_output=True, text=True)
    about = json.loads(made.stdout)
    corpus, rows = Path(about["path"]), []
    for tool in given.only or ["local", *TOOLS]:
        answer = home / "answers" / f"spark-{tool.replace(' ', '-')}.parquet"
        if tool == "local":
            row = local(corpus, answer, home)
        else:
            log = home / "logs" / f"spark-{tool.replace(' ', '-')}.txt"
            command = [sys.executable, __file__, "--master", given.master, "--home", str(home)]
            row = measure(
                [*command, "--child", tool, str(corpus), str(answer)], folder=home, log=log, timeout=given.timeout
            )
            if row["status"] == "ok":
                row |= json.loads(log.read_text().splitlines()[-1])
        row |= {"tool": "lookalike on one machine" if tool == "local" else tool, "documents": given.documents}
        if row["status"] == "ok":
            score = [sys.executable, str(HERE / "score.py"), str(corpus), str(answer)]
            reported = subprocess.run(score, check=True, capture_output=True, text=True, cwd=HERE)
            row["quality"] = json.loads(reported.stdout.splitlines()[-1])
        sys.stderr.write(f"{tool}: {row['status']} {row.get('work', '')} s\n")
        rows.append(row)
    held = home / "spark.json"
    if given.merge and held.exists():
        old = json.loads(held.read_text())["runs"]
        again = {row["tool"] for row in rows}
        same = [one for one in old if one.get("documents") == given.documents]
        rows = [*(one for one in same if one["tool"] not in again), *rows]
    facts = {"machine": machine(), "versions": versions(), "corpus": about, "master": given.master, "runs": rows}
    held.write_text(json.dumps(facts, indent=2) + "\n")
    (home / "spark.md").write_text(markdown(rows, given.documents))
    sys.stdout.write(markdown(rows, given.documents))


if __name__ == "__main__":
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    main()
