"""A real PostgreSQL for a test session: in its own folder, over a socket, gone at the end."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PLACES = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name), reverse=True)
FOUND = next((place for place in PLACES if (place / "initdb").exists()), None)
if FOUND is None and (on_path := shutil.which("initdb")):
    FOUND = Path(on_path).parent
MISSING = "no PostgreSQL server on this machine: apt-get install postgresql"


class Server:
    """A server in its own folder. url: of its database; start, stop and kill it at will."""

    def __init__(self, home: Path) -> None:
        self.home, self.url = home, f"postgresql://tester@/postgres?host={home}"
        as_root = os.name == "posix" and os.getuid() == 0  # PostgreSQL refuses to run as root; root lends it to nobody
        self._other: dict[str, Any] = {"user": "nobody", "group": "nogroup", "extra_groups": []} if as_root else {}
        if as_root:
            shutil.chown(home, "nobody", "nogroup")
        self._call("initdb", "-A", "trust", "-U", "tester", "--no-sync", "-E", "UTF8", "--locale=C")

    def _call(self, *command: str) -> None:
        assert FOUND is not None
        done = subprocess.run(
            [str(FOUND / command[0]), "-D", str(self.home / "data"), *command[1:]],
            cwd=self.home, capture_output=True, text=True, timeout=120, check=False, **self._other,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr

    def start(self) -> None:
        options = f"-k {self.home} -c listen_addresses= -c fsync=off -c max_connections=60 -c shared_buffers=32MB"
        self._call("pg_ctl", "start", "-w", "-s", "-l", str(self.home / "log"), "-o", options)

    def stop(self) -> None:
        self._call("pg_ctl", "stop", "-s", "-m", "immediate")

    def kill(self) -> None:
        """Kill the server process, and wait until those that it had started are gone."""
        number = int((self.home / "data/postmaster.pid").read_text().splitlines()[0])
        children = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(number)], capture_output=True, text=True, check=False
        )
        os.kill(number, signal.SIGKILL)
        until = time.monotonic() + 30
        for each in (number, *map(int, children.stdout.split())):
            while _is_alive(each) and time.monotonic() < until:
                time.sleep(0.02)
        for name in ("data/postmaster.pid", ".s.PGSQL.5432.lock"):  # in a container nobody may collect ended processes
            (self.home / name).unlink(missing_ok=True)


def _is_alive(number: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{number}/status").read_text()
    except OSError:
        return False


@contextmanager
def new_server() -> Iterator[Server]:
    """A new server, which is running."""
    home = Path(tempfile.mkdtemp(prefix="la-pg-", dir="/tmp"))  # the path of a socket must be short
    try:
        made = Server(home)
        made.start()
        try:
            yield made
        finally:
            made.stop()
    finally:
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def server() -> Iterator[str]:
    """The URL of a new server, without its database."""
    with new_server() as made:
        yield made.url
