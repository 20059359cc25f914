"""Options are declared once: signatures, commands, checks and the reference agree, and unknown options are refused."""

from __future__ import annotations

import importlib
import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

import lookalike as la
from lookalike.core.options import Declared, declared
from lookalike.errors import UsageError

KINDS = {"documents": la} | {name: getattr(la, name) for name in la.KINDS}
FUNCTIONS = {
    **{f"{name}.{run}": getattr(kind, run) for name, kind in KINDS.items() for run in ("pairs", "groups", "dedup")},
    **{f"{name}.nearest": KINDS[name].nearest for name in ("documents", "baskets", "bits", "strings", "vectors")},
    "classify": la.classify,
    "documents.forecast": la.forecast,
    "series.pairs": la.series.pairs,
    "passages": la.passages,
    "stories": la.stories,
    "scrub": la.scrub,
    "decontaminate": la.decontaminate,
    "faces.query": la.faces.query,
    "baskets.suggest": la.baskets.suggest,
    "records.preview": la.records.preview,
    "records.explain": la.records.explain,
}
MODULES = [f"lookalike.kinds.{name}.options" for name in (*KINDS, "passages", "scrub", "series")]
REFERENCE = (Path(__file__).parents[3] / "docs/reference/python.md").read_text(encoding="utf-8")
ONLY_ON_THE_COMMAND_LINE = {
    "carry", "output", "removed", "force", "quiet", "json", "save_settings", "truth", "report_pairs", "apply", "yes", "journal",
    "protect", "format", "encoding", "delimiter", "undo", "like_input", "sizes", "pairs", "against", "matches", "fail_over",
    "report", "with_text", "safe_cells",
}  # fmt: skip


def options_of(function: Callable[..., Any]) -> Mapping[str, Declared]:
    return function.__options__  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("app", "wrong", "nearest"),
    [
        (la, "treshold", "threshold"), (la.vectors, "max_angel", "max_angle"), (la.bits, "max_bit", "max_bits"),
        (la.strings, "maxedits", "max_edits"), (la.faces, "tolerence", "tolerance"), (la.images, "hash", "hashes"),
        (la.records, "treshold", "threshold"), (la.baskets, "items", "item"),
    ],
)  # fmt: skip
def test_unknown_options(app: Any, wrong: str, nearest: str) -> None:
    with pytest.raises(UsageError, match=f"^there is no option '{wrong}'. Nearest: '{nearest}'.$"):
        app.pairs(["a"], **{wrong: 1})


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_refuses_unknown_options(name: str) -> None:
    with pytest.raises(UsageError, match=r"^there is no option 'xyzzy'. Options: .*threads.*\.$"):
        FUNCTIONS[name](["a"], xyzzy=1)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_signatures_show_every_option_with_its_default(name: str) -> None:
    function = FUNCTIONS[name]
    parameters = inspect.signature(function).parameters
    assert not any(one.kind is one.VAR_KEYWORD for one in parameters.values())
    for option, one in options_of(function).items():
        assert parameters[option].kind is inspect.Parameter.KEYWORD_ONLY
        assert parameters[option].default == one.option.default


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_reference_lists_every_option(name: str) -> None:
    function = FUNCTIONS[name]
    public = "la." + name.removeprefix("documents.")
    tables = {
        user: table
        for users, table in re.findall(r"Options of (`.*?`):\n\n(\|.*?\n)\n", REFERENCE + "\n", flags=re.S)
        for user in users.replace("`", "").split(", ")
    }
    listed = set(re.findall(r"^\| `(\w+)` \|", tables[public], flags=re.M))
    entry = REFERENCE[REFERENCE.index(f"{{py:function}} {public}(") :]
    listed |= set(re.findall(r"^- `(\w+)` \(default", entry[: entry.index("\n::::\n")], flags=re.M))
    assert listed == set(options_of(function))


@pytest.mark.parametrize("module", MODULES)
def test_defaults_have_their_types_and_are_in_range(module: str) -> None:
    for options in vars(importlib.import_module(module)).values():
        if not (isinstance(options, type) and options.__name__.endswith("Options")):
            continue
        for name, one in declared(options).items():
            default = one.option.default
            one.check(default)
            assert default is None or not one.choices or set(_flat(default)) <= set(one.choices), name
            assert bool(one.option.unset) >= (default is None), f"{name}: say what None means, in `unset`"
            assert one.option.help.endswith("."), name


def _flat(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


@pytest.mark.parametrize("module", MODULES)
def test_declarations_are_light(module: str) -> None:
    """They are loaded for every --help."""
    code = f"import sys, {module}; print([n for n in ('numpy', 'pyarrow', 'numba', 'typer') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def _plain(default: Any) -> Any:
    if isinstance(default, list):
        return tuple(_plain(one) for one in default)
    return default.value if isinstance(default, Enum) else default


def commands() -> dict[str, Any]:
    from typer.main import get_command

    from lookalike.cli.main import app

    group: Any = get_command(app)
    names: dict[str, Any] = {}
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            names |= {f"{name}.{sub}": one for sub, one in command.commands.items()}
        else:
            names[f"documents.{name}" if name in ("pairs", "groups", "dedup", "nearest") else name] = command
    return names


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in ("documents.forecast",)])
def test_commands_and_functions_have_the_same_options(name: str) -> None:
    command = commands()[name]
    run = name.rpartition(".")[2]
    of_command = {one.name: one for one in command.params if one.param_type_name == "option" and one.name != "help"}
    of_python = {
        option: one
        for option, one in options_of(FUNCTIONS[name]).items()
        if not one.option.python_only and (not one.option.commands or run in one.option.commands)
    }
    if name in ("records.preview", "records.explain", "baskets.suggest"):  # these commands take some of the options
        assert of_command.keys() - ONLY_ON_THE_COMMAND_LINE - {"against"} < of_python.keys() | {"against"}
    else:
        more = {"faces.query": {"against"}, "classify": {"label"}}.get(name, set())
        assert of_command.keys() - (ONLY_ON_THE_COMMAND_LINE - of_python.keys()) - more == of_python.keys()
    for option in of_command.keys() & of_python.keys():
        if (name, option) == ("baskets.suggest", "threshold"):  # every basket that shares an item is a neighbour
            continue
        assert _plain(of_command[option].default) == of_python[option].option.default, option


def test_the_checker_of_types_sees_the_options(tmp_path: Path) -> None:
    """Users' calls are checked: a wrong type and a wrong name are errors, and the engine decides on the result."""
    mypy = pytest.importorskip("mypy.api")
    (tmp_path / "use.py").write_text(
        "import lookalike as la\n"
        "la.pairs([], threshold='high')\n"
        "la.pairs([], treshold=0.5)\n"
        "reveal_type(la.pairs([], threshold=0.5))\n"
        "reveal_type(la.bits.pairs([], engine='spark'))\n"
    )
    words, _, _ = mypy.run([str(tmp_path / "use.py"), "--no-error-summary", "--follow-imports=silent"])
    lines = [line for line in words.splitlines() if "use.py" in line]
    assert any(":2:" in line and "threshold" in line for line in lines), words
    assert any(":3:" in line for line in lines), words
    assert any(":4:" in line and "lookalike.result.Result" in line for line in lines), words
    assert any(":5:" in line and "SparkResult" in line for line in lines), words


def test_an_empty_list_may_be_of_texts_or_of_tokens() -> None:
    for source, against in (([], [[1]]), ([[1]], []), ([], ["a b"]), ([], [])):
        assert la.pairs(source, against=against).pairs.num_rows == 0
