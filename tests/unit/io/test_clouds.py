"""Google Cloud Storage and Azure, against servers on this machine."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

import lookalike as la
from lookalike.cli.main import app
from lookalike.errors import InputError
from lookalike.io import stores

LINES = b"".join(b'{"id": %d, "text": "the quick brown fox %d jumps over it"}\n' % (n, n // 2) for n in range(200))
ACCOUNT = "devstoreaccount1"  # of Azurite, with the key that its manual states
ACCOUNT_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def served(command: list[str], port: int, folder: Path) -> Iterator[None]:
    """Run a server in another process: a thread would wait for the lock of the interpreter that pyarrow holds."""
    running = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    stores._store.cache_clear()
    try:
        for _ in range(300):
            with socket.socket() as one:
                if one.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield
    finally:
        running.kill()
        running.wait()
        stores._store.cache_clear()


# The emulator as it is answers one connection at a time, and waits for the next request of that one.
EMULATOR = """
import sys
from http.server import ThreadingHTTPServer
from gcp_storage_emulator import server
server.server.HTTPServer = ThreadingHTTPServer
server.create_server("127.0.0.1", int(sys.argv[1]), in_memory=True, default_bucket="books").run()
"""


@pytest.fixture
def google(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    pytest.importorskip("gcp_storage_emulator")
    port = free_port()
    monkeypatch.setenv("CLOUD_STORAGE_EMULATOR_ENDPOINT", f"http://127.0.0.1:{port}")
    with served([sys.executable, "-c", EMULATOR, str(port)], port, tmp_path):
        yield "gs://anonymous@books"


@pytest.fixture
def azure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    program = shutil.which("azurite-blob")
    if program is None:
        pytest.skip("Azurite is not installed")
    port = free_port()
    endpoint = f"http://127.0.0.1:{port}/{ACCOUNT}"
    monkeypatch.setenv(
        "AZURE_STORAGE_CONNECTION_STRING", f"AccountName={ACCOUNT};AccountKey={ACCOUNT_KEY};BlobEndpoint={endpoint};"
    )
    options = ["--inMemoryPersistence", "--skipApiVersionCheck", "--silent", "--blobPort", str(port)]
    with served([program, *options], port, tmp_path):
        stores.store_of("az://books/x")._fs.create_dir("books")  # type: ignore[attr-defined]
        yield "az://books"


@pytest.mark.parametrize("cloud", ["google", "azure"])
def test_a_cloud_is_read_and_written(
    cloud: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files, folders, globs, missing files, outputs that exist; the key is in no message and no receipt."""
    place = request.getfixturevalue(cloud)
    monkeypatch.chdir(tmp_path)
    Path("a.jsonl").write_bytes(LINES)
    for name in ("in/0/a.jsonl", "in/1/a.jsonl"):
        stores.upload(Path("a.jsonl"), f"{place}/{name}")
    os.remove("a.jsonl")
    assert la.pairs(f"{place}/in/0/a.jsonl", threshold=0.9).pairs.num_rows == 100
    assert la.pairs(f"{place}/in/*/a.jsonl", threshold=1, id="none").receipt["counts"]["documents"] == 400
    assert la.pairs(f"{place}/in", threshold=1, id="none").receipt["counts"]["documents"] == 400
    for missing in ("none.csv", "none/*.csv"):
        with pytest.raises(InputError, match=r"no such file|no files match"):
            la.pairs(f"{place}/{missing}")
    words = ["dedup", f"{place}/in/0/a.jsonl", "-o", f"{place}/out/clean.jsonl"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert la.pairs(f"{place}/out/clean.jsonl", threshold=1).receipt["counts"]["documents"] == 100
    stored = stores.store_of(place + "/x")
    receipt = f"{place}/out/clean.jsonl.receipt.json"
    info = stored.info(receipt)
    text = stored.read(receipt, 0, info.size, info.version).decode()
    assert json.loads(text)["counts"]["kept"] == 100
    assert ACCOUNT_KEY not in text + done.output
    again = CliRunner().invoke(app, words)
    assert "exists. Use `force`" in str(again.exception)
    assert CliRunner().invoke(app, [*words, "--force"]).exit_code == 0
    assert not list(tmp_path.glob("*.jsonl"))
