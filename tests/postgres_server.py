"""A real PostgreSQL for a test session: in its own folder, over a socket, gone at the end."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PLACES = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name), reverse=True)
FOUND = next((place for place in PLACES if (place / "initdb").exists()), None)
if FOUND is None and (on_path := shutil.which("initdb")):
    FOUND = Path(on_path).parent
MISSING = "no PostgreSQL server on this machine: apt-get install postgresql"


@contextmanager
def server() -> Iterator[str]:
    """The URL of a new server, without its database; PostgreSQL refuses to run as root, so root lends it to nobody."""
    assert FOUND is not None
    home = Path(tempfile.mkdtemp(prefix="la-pg-", dir="/tmp"))  # the path of a socket must be short
    as_root = os.name == "posix" and os.getuid() == 0
    other: dict[str, Any] = {"user": "nobody", "group": "nogroup", "extra_groups": []} if as_root else {}
    if as_root:
        shutil.chown(home, "nobody", "nogroup")

    def call(*command: str) -> None:
        done = subprocess.run(
            [str(FOUND / command[0]), "-D", str(home / "data"), *command[1:]],
            cwd=home, capture_output=True, text=True, timeout=120, check=False, **other,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr

    try:
        call("initdb", "-A", "trust", "-U", "tester", "--no-sync", "-E", "UTF8", "--locale=C")
        options = f"-k {home} -c listen_addresses= -c fsync=off -c max_connections=60 -c shared_buffers=32MB"
        call("pg_ctl", "start", "-w", "-s", "-l", str(home / "log"), "-o", options)
        try:
            yield f"postgresql://tester@/postgres?host={home}"
        finally:
            call("pg_ctl", "stop", "-s", "-m", "immediate")
    finally:
        shutil.rmtree(home, ignore_errors=True)
