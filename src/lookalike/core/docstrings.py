"""Docstrings in the NumPy format: the options of a function are added to its section of parameters."""

from __future__ import annotations

import functools
import inspect
import textwrap
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lookalike.core.options import Declared

DOCSTRING_WIDTH = 110
PARAMETERS_HEADING = "Parameters\n----------"


def sections(doc: str) -> dict[str, str]:
    """Split a docstring by its headings; the text before the first heading has the key "".

    >>> sections("Add numbers.\\n\\nReturns\\n-------\\nint\\n    The sum.")
    {'': 'Add numbers.', 'Returns': 'int\\n    The sum.'}
    """
    found: dict[str, list[str]] = {"": []}
    lines = inspect.cleandoc(doc).splitlines()
    name = ""
    for at, line in enumerate(lines):
        below = lines[at + 1] if at + 1 < len(lines) else ""
        if line and below and set(below) == {"-"} and len(below) == len(line):
            name = line
            found[name] = []
        elif not (name and set(line) == {"-"} and at and lines[at - 1] == name):
            found[name].append(line)
    return {name: "\n".join(lines).strip("\n") for name, lines in found.items()}


def with_options(doc: str | None, options: Mapping[str, Declared]) -> str:
    """Return a docstring whose parameters include the options, each with its type, default and meaning."""
    parts = sections(doc or "")
    written = parts.pop("Parameters", "")
    start = parts.pop("")
    entries = [written] if written else []
    entries += [_entry(one) for one in options.values()]
    blocks = [start, f"{PARAMETERS_HEADING}\n" + "\n".join(entries)]
    blocks += [f"{name}\n{'-' * len(name)}\n{text}" for name, text in parts.items()]
    return "\n\n".join(blocks) + "\n"


@functools.cache
def _entry(one: Declared) -> str:
    option = one.option
    default = "" if callable(option.default) else f", default {option.unset or repr(option.default)}"
    return f"{one.name} : {one.type_words}{default}\n{_indented([option.help])}"


def _indented(paragraphs: Iterable[str]) -> str:
    return "\n".join(
        textwrap.indent(textwrap.fill(text, DOCSTRING_WIDTH, break_on_hyphens=False), "    ") for text in paragraphs
    )
