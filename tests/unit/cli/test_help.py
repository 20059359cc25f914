"""The help: commands by task, an example each, no names cut, rare options on request, and completion for three shells."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command

from lookalike.cli.examples import COMMAND_EXAMPLES, COMMANDS_BY_TASK
from lookalike.cli.main import app

GROUP: Any = get_command(app)
RARE = ("--num-hashes", "--bands", "--rows", "--scheme", "--seed", "--hash-bits", "--max-pairs")


def commands(group: Any = GROUP, path: str = "") -> Iterator[tuple[str, Any]]:
    """All commands and groups by their words."""
    yield path, group
    for name, command in getattr(group, "commands", {}).items():
        yield from commands(command, f"{path} {name}".strip())


EVERY_COMMAND = dict(commands())


def help_of(words: str, capsys: pytest.CaptureFixture[str], flag: str = "--help") -> str:
    with pytest.raises(SystemExit):
        app([*words.split(), flag], prog_name="lookalike")
    return capsys.readouterr().out


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def test_commands_are_listed_by_task(capsys: pytest.CaptureFixture[str]) -> None:
    text = help_of("", capsys)
    sections = re.findall(r"^(\S.*):$", text, flags=re.M)
    assert sections == ["Examples", *COMMANDS_BY_TASK, "Options"]  # a command of no task would make another section
    for name in GROUP.commands:
        assert re.search(rf"^  {name}  +\S", text, flags=re.M), name


@pytest.mark.parametrize("words", EVERY_COMMAND)
def test_every_help_has_an_example_that_parses(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = help_of(words, capsys)
    for example in COMMAND_EXAMPLES[words]:
        assert f"\n  lookalike {example}\n" in text
        assert example.startswith(words)
        group, given = GROUP, shlex.split(re.split(" >>? | < ", example)[0])
        context = None
        while hasattr(group, "commands"):
            group = group.commands[given.pop(0)]
        context = group.make_context(words, given)  # raises for an unknown option and a missing argument
        assert context.params is not None


@pytest.mark.parametrize("words", EVERY_COMMAND)
def test_names_are_whole_and_types_are_not_of_python(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = help_of(words, capsys, "--help-all")
    assert max(map(len, text.splitlines()[1:])) <= 80
    assert "…" not in text
    assert not re.search(r"<(bool|str|int|float|path|list)|\blist\[|<int range", text)
    for option in EVERY_COMMAND[words].params:
        for flag in [*option.opts, *option.secondary_opts]:
            assert option.param_type_name == "argument" or flag in text, flag


@pytest.mark.parametrize("words", ["pairs", "groups", "dedup", "index create"])
def test_rare_options_are_shown_on_request(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    usual, everything = help_of(words, capsys), help_of(words, capsys, "--help-all")
    rare = [flag for flag in RARE if flag in everything]
    assert rare
    assert not any(flag in usual for flag in rare)
    assert "--help-all" in usual


def test_inputs_are_described_by_kind(capsys: pytest.CaptureFixture[str]) -> None:
    for words, word in (
        ("images pairs", "JPEG"), ("vectors pairs", ".npy"), ("faces pairs", "pictures"), ("faces query", "pictures"),
        ("baskets pairs", "basket"), ("baskets suggest", "basket"), ("records merge", "record"), ("records score", "record"),
    ):  # fmt: skip
        assert word in help_of(words, capsys).partition("Arguments:")[2].partition("\n\n")[0]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_ask_the_program(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        app(["completion", shell], prog_name="lookalike")
    assert f"_LOOKALIKE_COMPLETE=complete_{shell}" in capsys.readouterr().out


def test_a_shell_gets_completions(lookalike, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_LOOKALIKE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "lookalike pairs --thre")
    monkeypatch.setenv("COMP_CWORD", "2")
    assert lookalike().out.split() == ["--threshold", "--threads"]


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("pairs x -t 80", "0.8"), ("pairs x --recall 99", "0.99"), ("strings pairs x --threshold 75", "0.75"),
        ("plan -t 80", "0.8"),
    ],
)  # fmt: skip
def test_a_percentage_is_understood(lookalike, tmp_path, monkeypatch, words: str, meant: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x").write_text("a b c\n")
    done = lookalike(*words.split())
    assert done.code == 2
    assert done.err.endswith(f"Did you mean {meant}?\n")


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("vectors pairs x.npy -t 0.8", "--max-angle, --max-distance, --min-cosine"),
        ("strings pairs x.csv --min-similarity 0.8", "--max-edits, --threshold"),
        ("index query x --code y", "--column"),
        ("passages x --references y", "--against"),
        ("index query x --nearest 3", "--top"),
        ("pairs x.csv --thresold 1", "--method, --threads, --threshold"),
    ],
)
def test_an_option_of_another_kind_leads_to_the_one_of_this_kind(lookalike: Any, words: str, options: str) -> None:
    done = lookalike(*words.split())
    assert (done.code, done.err.splitlines()[-1].partition("(")[2]) == (2, f"Possible options: {options})")
