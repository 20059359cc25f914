"""The threats of docs/explanation/security.md that have no other test."""

from __future__ import annotations

import ast
import csv
import hmac
import os
import stat
import tempfile
from pathlib import Path
from unittest import mock

import pytest
from fastapi.testclient import TestClient
from typer.testing import CliRunner

import lookalike as la
from lookalike.cli.main import app
from lookalike.errors import UsageError
from lookalike.io.action_journal import Journal
from lookalike.io.safe_cells import safe_cells
from lookalike.web.admission import Access
from lookalike.web.service import Service

PACKAGE = Path(la.__file__).parent
TEXT = "one two three four five six seven"


@pytest.mark.promise("docs/explanation/security.md", "nothing is unpickled or evaluated")
def test_no_pickle_no_eval() -> None:
    for file in PACKAGE.rglob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {alias.name for alias in node.names} | {getattr(node, "module", "") or ""}
                assert not names & {"pickle", "marshal", "shelve", "dill", "cloudpickle"}, file
            if isinstance(node, ast.Call):
                evaluated = isinstance(node.func, ast.Name) and node.func.id in ("eval", "exec")
                assert not evaluated or file.name == "options.py", (file, node.lineno)  # annotations of this package
                for keyword in node.keywords:
                    if keyword.arg == "allow_pickle":
                        assert isinstance(keyword.value, ast.Constant), (file, node.lineno)
                        assert keyword.value.value is False, (file, node.lineno)


@pytest.mark.promise("docs/explanation/security.md", "writes need JSON and the Origin of the server itself")
def test_other_sites_cannot_write(tmp_path: Path) -> None:
    with la.Index.create(tmp_path / "i", kind="documents", k=2) as index:
        service = Service(index)
        try:
            client = TestClient(service)
            body = {"items": [TEXT], "ids": ["a"]}
            for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}):
                assert client.post("/items", json=body, headers=headers).status_code == 403
                assert client.delete("/items/a", headers=headers).status_code == 403
            for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
                assert client.post("/items", content="{}", headers={"Content-Type": kind}).status_code == 415
            assert len(index) == 0
            answer = client.post("/items", json=body, headers={"Origin": "http://testserver"})
            assert answer.status_code == 200
            assert not [name for name in answer.headers if name.startswith("access-control")]
        finally:
            service.close()


@pytest.mark.promise("docs/explanation/security.md", "tokens are compared in constant time")
def test_tokens_are_compared_in_constant_time(tmp_path: Path) -> None:
    with la.Index.create(tmp_path / "i", kind="documents", k=2) as index:
        service = Service(index, access=Access(token="secret"))
        try:
            client = TestClient(service)
            with mock.patch.object(hmac, "compare_digest", wraps=hmac.compare_digest) as compare:
                for token, status in (("wrong", 401), ("secret", 200)):
                    headers = {"Authorization": f"Bearer {token}"}
                    answer = client.post("/items", json={"items": [TEXT]}, headers=headers)
                    assert answer.status_code == status
                    assert "secret" not in answer.text
            assert compare.call_count == 2
        finally:
            service.close()


@pytest.mark.promise("docs/explanation/security.md", "folders for temporary files are private")
def test_temporary_files_are_private(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with tempfile.TemporaryDirectory() as folder:
            assert stat.S_IMODE(Path(folder).stat().st_mode) == 0o700
        with Journal(tmp_path / "journal.jsonl"):
            assert stat.S_IMODE((tmp_path / "journal.jsonl").stat().st_mode) == 0o600
    finally:
        os.umask(before)
    for file in PACKAGE.rglob("*.py"):  # no name in a shared folder that others can guess
        text = file.read_text(encoding="utf-8")
        assert "mktemp(" not in text, file
        assert '"/tmp' not in text, file


@pytest.mark.promise("docs/explanation/security.md", "begins such cells with an apostrophe")
def test_safe_cells(tmp_path: Path) -> None:
    bad = ["=1+1", "+1", "-1+2", "@SUM(A1)", "\t=1", " =1", "|cmd", "\uff1d1"]
    rows = "".join(f'"{cell}",{TEXT} {cell}\n' for cell in bad)
    (tmp_path / "in.csv").write_text("id,=text\n" + rows + f"fine,{TEXT}\n")
    options = ["--text", "=text", "--id", "id", "-t", "0.2", "-q"]
    try:
        for command, out in (("pairs", "pairs.csv"), ("dedup", "kept.csv"), ("groups", "groups.tsv")):
            call = CliRunner().invoke(
                app, [command, str(tmp_path / "in.csv"), "-o", str(tmp_path / out), "--safe-cells", *options]
            )
            assert call.exit_code == 0, call.output
            with (tmp_path / out).open(newline="") as file:
                cells = [
                    cell for row in csv.reader(file, delimiter="\t" if out.endswith(".tsv") else ",") for cell in row
                ]
            assert len(cells) > 3
            assert not [cell for cell in cells if cell.lstrip()[:1] in tuple("=+-@|\uff1d")]
        command = ["scrub", str(tmp_path / "in.csv"), "-o", str(tmp_path / "s.csv"), "--text", "=text", "--safe-cells"]
        with pytest.raises(UsageError, match="leave out --safe-cells or --removed"):
            CliRunner().invoke(app, [*command, "--removed", str(tmp_path / "r.parquet")], catch_exceptions=False)
    finally:
        safe_cells.set(False)
