"""The tools for agents: protocol, confirmation before a write, confined paths, and requests of any shape."""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import lookalike as la
from lookalike.errors import InputError, LookalikeError, OutputError
from lookalike.web.agent_tools import MAX_TEXT, AgentTools

pytest.importorskip("mcp")
TEXT = "the quick brown fox jumps over the lazy dog and then runs away into the dark wood"
NAMES = ("compare", "explain", "find_duplicates", "seen_before", "who_quotes")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    rows = [
        {"id": "a", "text": TEXT},
        {"id": "b", "text": TEXT.upper()},
        {"id": "c", "text": "something else entirely"},
    ]
    (folder / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "essays").mkdir()
    (folder / "essays" / "one.txt").write_text(f"She wrote: {TEXT}, and nothing more.")
    (folder / "essays" / "two.txt").write_text("Nothing of this is quoted here.")
    (tmp_path / "secret.txt").write_text("the secret of the house")
    with la.Index.create(folder / "seen.index") as index:
        index.add([TEXT], ["a"])
    return folder


def call(root: Path, name: str, writes: bool = True, **arguments: Any) -> tuple[bool, Any]:
    """Call a tool through the client of the SDK. Return (whether it failed, its answer)."""
    return calls(AgentTools([root], writes=writes), (name, arguments))[0]


def calls(tools: AgentTools, *requests: tuple[str, Any]) -> list[tuple[bool, Any]]:
    from mcp import Client

    from lookalike.web.mcp_server import server_of

    async def ask() -> list[tuple[bool, Any]]:
        out = []
        async with Client(server_of(tools)) as client:
            for name, arguments in requests:
                done = await client.call_tool(name, arguments)
                text = done.content[0].text if done.content else ""  # type: ignore[union-attr]
                out.append((bool(done.is_error), text if done.is_error else done.structured_content))
        return out

    return asyncio.run(ask())


def test_the_tools_are_described(root: Path) -> None:
    from mcp import Client

    from lookalike.web.mcp_server import server_of

    async def ask() -> Any:
        async with Client(server_of(AgentTools([root]))) as client:
            return (await client.list_tools()).tools

    tools = {tool.name: tool for tool in asyncio.run(ask())}
    assert tuple(sorted(tools)) == NAMES
    assert tools["find_duplicates"].input_schema["required"] == ["path"]
    assert [name for name in NAMES if not tools[name].annotations.read_only_hint] == ["find_duplicates"]
    assert all(tool.description for tool in tools.values())


@pytest.mark.promise("docs/how-to/mcp.md", "the beginnings of at most 20 items")
def test_answers_are_short_and_have_the_numbers(root: Path) -> None:
    (seen, quotes, found, explained, compared) = calls(
        AgentTools([root]),
        ("seen_before", {"text": TEXT + "!", "index": "seen.index"}),
        ("who_quotes", {"text": TEXT, "path": "essays"}),
        ("find_duplicates", {"path": "a.jsonl"}),
        ("explain", {"path": "a.jsonl", "left": "a", "right": "b"}),
        ("compare", {"left": TEXT, "right": "something else"}),
    )
    assert seen == (
        False,
        {
            "seen": True,
            "matches": [{"id": "a", "similarity": 1.0, "beginning": TEXT}],
            "items": 1,
            "compared": "similarity at least 0.8",
        },
    )
    assert quotes[1]["quoted_by"] == [{"document": "one.txt", "tokens": 17, "quoted": TEXT}]
    assert found[1]["largest_groups"] == [["a", "b"]]
    assert found[1]["counts"] == {"documents": 3, "exact_duplicates": 1, "groups": 1, "grouped": 2}
    assert explained[1]["measures"]["jaccard"] == 1
    assert compared[1]["shared_shingles"] == 0
    for failed, answer in (seen, quotes, found, explained, compared):
        assert not failed
        assert len(json.dumps(answer)) < 2000


@pytest.mark.promise("docs/how-to/mcp.md", "within ten minutes and with unchanged input, writes the")
def test_nothing_is_written_without_its_confirmation(root: Path) -> None:
    tools = AgentTools([root])
    request = {"path": "a.jsonl", "output": "clean.jsonl"}
    [(failed, planned)] = calls(tools, ("find_duplicates", request))
    assert not failed
    assert planned["plan"]["documents"] == 3
    assert not (root / "clean.jsonl").exists()
    token = planned["confirmation"]
    other = {**request, "output": "other.jsonl", "confirmation": token}
    stale = tools.find_duplicates(**request)["confirmation"]
    answers = calls(
        tools,
        ("find_duplicates", {**request, "confirmation": "guess"}),
        ("find_duplicates", other),  # uses the confirmation up
        ("find_duplicates", {**request, "confirmation": token}),
        ("find_duplicates", {"path": "a.jsonl", "confirmation": stale}),
    )
    assert [failed for failed, _ in answers] == [True] * 4
    assert ["unknown or too old" in text for _, text in answers] == [True, False, True, False]
    assert sorted(path.name for path in root.iterdir()) == ["a.jsonl", "essays", "seen.index"]
    with open(root / "a.jsonl", "a") as file:
        file.write('{"id": "d", "text": "later"}\n')
    assert "has changed" in calls(tools, ("find_duplicates", {**request, "confirmation": stale}))[0][1]
    token = tools.find_duplicates(**request)["confirmation"]
    [(failed, wrote)] = calls(tools, ("find_duplicates", {**request, "confirmation": token}))
    assert (failed, wrote["wrote"], wrote["counts"]["kept"]) == (False, "clean.jsonl", 3)
    assert len((root / "clean.jsonl").read_text().splitlines()) == 3
    assert "exists" in calls(tools, ("find_duplicates", request))[0][1]


def test_a_server_that_only_reads_writes_nothing(root: Path) -> None:
    failed, text = call(root, "find_duplicates", writes=False, path="a.jsonl", output="clean.jsonl")
    assert failed
    assert "writes nothing" in text


@pytest.mark.parametrize(
    "path",
    ["../secret.txt", "/etc/passwd", "essays/../../secret.txt", "s3://b/a.csv", "https://h/a.csv", "postgresql://h/d", "", "a\0b", "link", "links", "none.jsonl", "*.jsonl"],
)  # fmt: skip
def test_files_outside_the_folders_are_refused(root: Path, path: str) -> None:
    os.symlink(root.parent / "secret.txt", root / "link")
    (root / "links").mkdir()
    os.symlink(root.parent / "secret.txt", root / "links" / "inner.txt")
    tools = AgentTools([root])
    for ask in (
        lambda: tools.find_duplicates(path),
        lambda: tools.who_quotes(TEXT, path),
        lambda: tools.explain(path, "0", "1"),
        lambda: tools.seen_before(TEXT, path),
    ):
        with pytest.raises(InputError) as caught:
            ask()
        assert "secret of the house" not in str(caught.value)
    if path not in ("none.jsonl", "*.jsonl", "links"):
        with pytest.raises((InputError, OutputError)):
            tools.find_duplicates("a.jsonl", output=path if path == "link" else f"{path}.csv" if path else path)


def test_requests_that_are_too_large_or_odd_are_refused(root: Path) -> None:
    tools = AgentTools([root])
    for ask, words in (
        (lambda: tools.compare("a" * (MAX_TEXT + 1), "b"), "at most 1,000,000"),
        (lambda: tools.seen_before(TEXT, "seen.index", limit=0), "expected 1 to 20"),
        (lambda: tools.seen_before(TEXT, "essays"), "essays"),
        (lambda: tools.explain("a.jsonl", "a", "z"), "no item 'z'"),
        (lambda: tools.explain("essays", "0", "1"), "no item '0'"),
        (lambda: tools.find_duplicates("a.jsonl", threshold=80), "Did you mean 0.8"),
        (lambda: tools.find_duplicates("a.jsonl", confirmation="x"), "without an output"),
        (lambda: tools.find_duplicates("a.jsonl", output="folder"), "has no extension"),
        (lambda: AgentTools([]), "no folder"),
        (lambda: AgentTools([root / "none"]), "no such folder"),
    ):
        with pytest.raises(LookalikeError, match=words):
            ask()


def test_requests_of_any_shape_get_an_answer(root: Path) -> None:
    rng = random.Random(5)
    values: list[Any] = [
        None,
        -1,
        0,
        7,
        1e308,
        True,
        "",
        "a",
        "a.jsonl",
        "essays",
        "seen.index",
        "../x",
        "\ud800",
        [],
        {},
        ["a"],
        "x" * 5000,
        {"$ref": "#"},
    ]
    names = (
        "text",
        "path",
        "index",
        "left",
        "right",
        "limit",
        "threshold",
        "output",
        "confirmation",
        "min_words",
        "self",
        "other",
    )
    requests = [
        (rng.choice(NAMES), {name: rng.choice(values) for name in rng.sample(names, rng.randint(0, 5))})
        for _ in range(150)
    ]
    requests = [one for one in requests if "\ud800" not in map(str, one[1].values())]
    answers = calls(AgentTools([root]), *requests, ("compare", {"left": "a b c d e", "right": "a b c d e"}))
    assert len(answers) == len(requests) + 1
    assert answers[-1][1]["measures"]["jaccard"] == 1  # the server still answers
    assert sum(failed for failed, _ in answers) > 100
    assert not any("Traceback" in str(text) or "\n  File" in str(text) for _, text in answers)
    assert sorted(path.name for path in root.iterdir()) == ["a.jsonl", "essays", "seen.index"]


def test_the_command_speaks_the_protocol_and_survives_broken_lines(root: Path) -> None:
    """Standard output holds messages of the protocol and nothing else."""
    begin = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }
    lines = [
        json.dumps(begin), json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}), "{not json", "[]", '"x"', "",
        json.dumps({"jsonrpc": "2.0", "id": 2, "method": "no/such"}), json.dumps({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {}}),
        json.dumps({"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "find_duplicates", "arguments": {"path": "a.jsonl"}}}),
    ]  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-m", "lookalike", "mcp", str(root)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        process.stdin.write("\n".join(lines) + "\n")
        process.stdin.flush()
        answers: dict[Any, Any] = {}
        while 4 not in answers:
            message = json.loads(process.stdout.readline())
            answers[message.get("id")] = message
        process.stdin.close()
        assert process.wait(20) == 0
    assert answers[1]["result"]["serverInfo"]["name"] == "lookalike"
    assert "error" in answers[2]
    assert answers[4]["result"]["structuredContent"]["counts"]["documents"] == 3


def test_the_missing_library_is_named(monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    from lookalike.web.mcp_server import server_of

    monkeypatch.setitem(sys.modules, "mcp.server", None)
    with pytest.raises(LookalikeError, match=r'needs: pip install "lookalike\[mcp\]"'):
        server_of(AgentTools([root]))
