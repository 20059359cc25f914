"""Run a command as a child process and say how long it took and how much memory it needed at most."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def measure(command: Sequence[str], *, folder: Path, log: Path, timeout: float) -> dict[str, Any]:
    """seconds (wall), cpu_seconds, peak_bytes (resident) of the whole child, and status: ok, failed or timeout.

    The caller must be small: the system counts the memory of the process that starts a child as the child's own until
    the command itself begins. Python may keep its bytecode: where the shell forbids that, every run would compile all
    that it imports again.
    """
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with log.open("wb") as output:
        start = time.perf_counter()
        child = subprocess.Popen(
            command, cwd=folder, stdout=output, stderr=subprocess.STDOUT, start_new_session=True, env=kept
        )
        late = threading.Event()

        def stop() -> None:
            late.set()
            os.killpg(child.pid, 9)

        clock = threading.Timer(timeout, stop)
        clock.start()
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        clock.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
    result: dict[str, Any] = {
        "status": "timeout" if late.is_set() else "ok" if child.returncode == 0 else "failed",
        "seconds": round(seconds, 3),
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 3),
        "peak_bytes": usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
    }
    if result["status"] == "failed":
        lines = log.read_text(errors="replace").strip().splitlines()
        result["message"] = (lines[-1] if lines else f"exit code {child.returncode}")[:200]
    return result
