"""Every public function documents its parameters, its result and an example, and begins with a sentence."""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import lookalike as la
from lookalike.core.docstrings import sections, with_options
from lookalike.core.options import Declared, Option

WITHOUT_RESULT = {"explore"}


def public_functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in la.__all__:
        thing = getattr(la, name)
        if inspect.isfunction(thing):
            yield name, thing
        elif isinstance(thing, types.ModuleType) and name != "textbook":  # its functions are formulas of the lectures
            for inner, value in vars(thing).items():
                if inspect.isfunction(value) and value.__module__ == thing.__name__ and inner in DOCUMENTED:
                    yield f"{name}.{inner}", value


DOCUMENTED = {
    "pairs", "groups", "dedup", "nearest", "query", "suggest", "preview", "explain", "score", "merge", "check_axioms",
}  # fmt: skip
FUNCTIONS = dict(public_functions())


def test_the_functions_are_found() -> None:
    assert {
        "pairs",
        "load",
        "records.merge",
        "faces.query",
        "metrics.check_axioms",
        "vectors.nearest",
    } <= FUNCTIONS.keys()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_docstring_has_all_sections(name: str) -> None:
    function = FUNCTIONS[name]
    parts = sections(function.__doc__ or "")
    first = re.split(r"\.\s|\.$|\n\n", parts[""])[0]
    assert first[0].isupper(), first
    assert ":" not in first[:20], first
    assert ">>> " in parts["Examples"]
    assert name in WITHOUT_RESULT or parts["Returns"]
    listed = re.findall(r"^(\w[\w, ]*?)(?: :.*)?$", parts["Parameters"], flags=re.MULTILINE)
    names = {one for line in listed for one in line.split(", ")}
    assert set(inspect.signature(function).parameters) - names == set()


def test_options_are_added_to_the_parameters() -> None:
    options = {"top": Declared("top", int, Option(10, "Number of neighbours."))}
    doc = with_options(
        "Find.\n\nParameters\n----------\nsource\n    Paths.\n\nReturns\n-------\nint\n    A number.", options
    )
    assert sections(doc)["Parameters"] == "source\n    Paths.\ntop : int, default 10\n    Number of neighbours."
    assert sections(doc)["Returns"] == "int\n    A number."
