"""What the pages on the service and on PostgreSQL show is what comes out."""

from __future__ import annotations

import http.client
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lookalike.cli.main import app
from lookalike.index.index import Index
from lookalike.web.admission import Limits
from lookalike.web.service import Service
from web_server import serving

HOW_TO = Path(__file__).parents[3] / "docs/how-to"
NEWS = [
    {
        "id": "n1",
        "text": "The council of Bern has decided on Monday to close the old bridge over the Aare for repairs until next spring.",
    },
    {
        "id": "n2",
        "text": "A storm took the roof off the school in Thun. Nobody was hurt, and lessons go on in the town hall.",
    },
]
SHOWN = re.compile(r"```sh\n(curl .*?)\n```\n\n```json\n(.*?)\n```", re.DOTALL)


@pytest.fixture(autouse=True)
def news(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("news.jsonl").write_text("".join(json.dumps(one) + "\n" for one in NEWS))


def lookalike(command: str) -> str:
    done = CliRunner().invoke(app, shlex.split(command, comments=True)[1:], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def commands(page: str, beginning: str) -> list[str]:
    return re.findall(rf"^{beginning}.*$", (HOW_TO / page).read_text(encoding="utf-8"), re.MULTILINE)


def test_the_service_answers_as_its_page_shows() -> None:
    page = (HOW_TO / "serve.md").read_text(encoding="utf-8")
    for command in commands("serve.md", "lookalike index (?:create|add)"):
        lookalike(command)
    title = re.search(r"```text\n(Serving .*)\n```", page)
    assert title is not None
    shown = SHOWN.findall(page)
    assert len(shown) == 2
    with Index.open("news.index") as index, serving(Service(index)) as where:
        assert title[1].startswith(f"Serving {len(index):,} {index.kind.name} of {index.store.place} at http://")
        for command, answer in shown:
            words = shlex.split(command.replace("\\\n", " "))
            link = http.client.HTTPConnection(*where, timeout=30)
            path = next(word for word in words if word.startswith("http:")).removeprefix("http://127.0.0.1:8080")
            link.request("POST", path, words[words.index("-d") + 1], {"Content-Type": "application/json"})
            assert link.getresponse().read().decode() == answer
            link.close()
        assert (Limits().body, Limits().batch, Limits().seconds) == (16_000_000, 1000, 30)
        assert "`--max-body 16` (megabytes), `--max-batch 1000` (items) and `--timeout 30` (seconds)" in page
        assert set(re.findall(r"`(?:POST|GET|DELETE) (/\w+)", page)) == {
            "/query", "/passages", "/items", "/compare", "/stats", "/metrics", "/docs",
        }  # fmt: skip


def test_an_index_in_postgresql_as_its_page_shows(postgres: str, new_schema: Callable[[], str]) -> None:
    url = f"{postgres}&schema={new_schema()}"
    page = (HOW_TO / "postgres.md").read_text(encoding="utf-8").replace(
        "postgresql://me@db.example/shop?schema=news", url
    )  # fmt: skip
    for command in re.findall(r"^lookalike index .*$", page, re.MULTILINE):
        lookalike(command)
    code = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    assert code is not None
    names: dict[str, object] = {}
    exec(compile(code[1], "postgres.md", "exec"), names)
    assert names["seen"] == [None]
    with Index.open(url) as index:
        assert sorted(index) == ["n1", "n2", "n5"]
        index.compact()
