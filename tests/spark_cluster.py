"""A real Spark cluster on loopback for tests: one master and workers, from the pyspark package through spark-class."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyspark

from lookalike.runtime.spark.java import java_home

LOOPBACK = "127.0.0.1"


@dataclass
class Cluster:
    """A standalone cluster. url: of its master; workers: their processes, each with one core."""

    url: str
    folder: Path
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def kill_worker(self, number: int = 0) -> None:
        """End a worker and its executor at once, as a machine that loses power does."""
        worker = self.workers[number]
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()


@contextmanager
def cluster(folder: Path, *, workers: int = 2) -> Iterator[Cluster]:
    """Start one, wait until all workers have come to the master, and stop it."""
    home = os.path.dirname(pyspark.__file__)
    environment = {
        **os.environ,
        "JAVA_HOME": java_home(),
        "SPARK_LOCAL_IP": LOOPBACK,
        "SPARK_HOME": home,
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_DAEMON_MEMORY": "256m",
    }
    port = free_port()
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str, *arguments: str) -> tuple[subprocess.Popen[bytes], Path]:
        log = folder / f"{name}.log"
        with log.open("wb") as out:
            command = [os.path.join(home, "bin", "spark-class"), *arguments]
            process = subprocess.Popen(
                command, env=environment, stdout=out, stderr=subprocess.STDOUT, cwd=folder, start_new_session=True
            )
        started.append(process)
        return process, log

    try:
        place = ("--host", LOOPBACK, "--port", str(port), "--webui-port", "0")
        _, log = start("master", "org.apache.spark.deploy.master.Master", *place)
        wait_for("I have been elected leader", log)
        made = Cluster(f"spark://{LOOPBACK}:{port}", folder)
        for number in range(workers):
            where = ("--host", LOOPBACK, "--webui-port", "0", "--work-dir", str(folder / f"work-{number}"))
            size = ("--cores", "1", "--memory", "1g")
            worker, log = start(f"worker-{number}", "org.apache.spark.deploy.worker.Worker", *where, *size, made.url)
            wait_for("Successfully registered with master", log)
            made.workers.append(worker)
        yield made
    finally:
        for process in reversed(started):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def wait_for(words: str, log: Path, *, seconds: float = 90) -> None:
    """Until a log says so."""
    end = time.monotonic() + seconds
    while words not in log.read_text(errors="replace"):
        if time.monotonic() > end:
            raise TimeoutError(f"{log} does not say {words!r}: {log.read_text(errors='replace')[-2000:]}")
        time.sleep(0.05)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])
