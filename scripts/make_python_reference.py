"""Write docs/reference/python.md from the docstrings of the public names: python scripts/make_python_reference.py"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import lookalike as la
from lookalike.core.docstrings import sections
from lookalike.core.options import CLUSTER_PANEL, Declared, Option

PAGE = Path(__file__).parents[1] / "docs/reference/python.md"
FIRST = (
    "pairs",
    "groups",
    "dedup",
    "nearest",
    "Result",
    "forecast",
    "plan",
    "Plan",
    "jaccard",
    "evaluate",
    "passages",
    "Passages",
)
GIVEN_BACK = (
    "Result",
    "Passages",
    "Stories",
    "Evaluation",
    "Explanation",
    "Scrubbed",
    "Contamination",
)  # nobody makes these by hand
MORE = (
    "lookalike.planning.amplification",
    "lookalike.planning.families",
    "lookalike.errors",
)  # public, by their own names
INTRO = """# Python

Made from the docstrings by `scripts/make_python_reference.py`; a test keeps it current. `import lookalike as la` costs
nothing: names are loaded when they are first used. All options are keyword-only; `**options` are those of the
table after the functions, and `help(la.pairs)` shows them all. Examples are run as doctests."""


def markdown(doc: str | None) -> str:
    """A docstring as Markdown: a list of parameters, examples in fences, stars and brackets as they are."""
    parts = sections(doc or "")
    found = [_plain(parts.pop(""))]
    for heading, text in parts.items():
        entries = heading in ("Parameters", "Returns")
        found.append(_entries(heading, text) if entries else _plain(text))
    return "\n\n".join(part for part in found if part)


def _entries(heading: str, text: str) -> str:
    """A section of parameters or results as a list."""
    entries = re.findall(r"^(\S.*)\n((?:    .*\n?|\n)+)", text, re.MULTILINE)
    lines = [f"- `{name}`: {_plain(' '.join(meaning.split()))}" for name, meaning in entries]
    return f"**{heading}**\n\n" + "\n".join(lines)


def _plain(doc: str) -> str:
    """Paragraphs and examples of a docstring as Markdown."""
    parts = []
    for block in re.split(r"\n\n+", inspect.cleandoc(doc or "")):
        if block.startswith(">>>"):
            parts.append(f"```pycon\n{block}\n```")
        else:
            text, _, example = block.partition("\n>>> ")
            plain = (
                re.sub(r"([*<\[\]])", r"\\\1", part) if i % 2 == 0 else part for i, part in enumerate(text.split("`"))
            )
            parts.append("`".join(plain))
            parts += [f"```pycon\n>>> {example}\n```"] if example else []
    return "\n\n".join(part for part in parts if part)


def signature(thing: Any, *, method: bool = False) -> str:
    """(a, *, b: int = 1) -> int, with annotations as they are written; self is left out."""
    found = inspect.signature(thing)
    hidden = set(getattr(thing, "__options__", ())) - set(
        inspect.signature(getattr(thing, "__wrapped__", thing)).parameters
    )
    words: list[str] = []
    stars = False
    for at, (name, one) in enumerate(found.parameters.items()):
        if (method and at == 0) or name in hidden:
            continue
        if one.kind is one.KEYWORD_ONLY and not stars:
            words.append("*")
            stars = True
        stars = stars or one.kind is one.VAR_POSITIONAL
        prefix = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        kind = "" if one.annotation is one.empty or prefix == "**" else f": {_annotation(one.annotation)}"
        value = "" if one.default is one.empty else f" = {_default(one.default)}"
        words.append(f"{prefix}{name}{kind}{value}")
    words += ["**options"] if hidden else []
    result = "" if found.return_annotation is found.empty else f" -> {found.return_annotation}"
    return f"({', '.join(words)}){result}"


def _annotation(kind: Any) -> str:
    return kind if isinstance(kind, str) else Declared("", kind, Option(None, "")).type_words


def _default(value: Any) -> str:
    return "..." if callable(value) or " at 0x" in repr(value) else repr(value)


def directive(kind: str, head: str, body: str, depth: int = 4) -> str:
    fence = ":" * depth
    return f"{fence}{{py:{kind}}} {head}\n{body}\n{fence}"


def function(thing: Any, name: str) -> str:
    parts = [markdown(inspect.unwrap(thing).__doc__), parameters_of(thing)]
    return directive("function", name + signature(thing), "\n\n".join(part for part in parts if part))


def class_(thing: Any, name: str) -> str:
    """The class, and what it defines itself with a docstring."""
    parts = [markdown(thing.__doc__)]
    for member, value in vars(thing).items():
        if member.startswith("_") or not getattr(value, "__doc__", None):
            continue
        if isinstance(value, property | cached_property):
            body = value.fget if isinstance(value, property) else value.func
            parts.append(directive("property", member, markdown(body.__doc__) if body else "", 3))
        elif isinstance(value, classmethod | staticmethod):
            inner = value.__func__
            method = isinstance(value, classmethod)
            body = "\n\n".join(
                part for part in (markdown(inspect.unwrap(inner).__doc__), _options_of_method(inner)) if part
            )
            parts.append(directive("method", member + signature(inner, method=method), body, 3))
        elif inspect.isfunction(value):
            parts.append(directive("method", member + signature(value, method=True), markdown(value.__doc__), 3))
    return directive("class", name + _made_with(thing), "\n\n".join(parts))


def _options_of_method(thing: Any) -> str:
    options = getattr(thing, "__options__", None)
    return f"Options:\n\n{option_table(options)}" if options else ""


def _made_with(thing: Any) -> str:
    """How a class is called, if people are to call it."""
    known = inspect.isfunction(vars(thing).get("__init__")) and thing.__name__ not in GIVEN_BACK
    return signature(thing.__init__, method=True).removesuffix(" -> None") if known else ""


def option_table(options: Mapping[str, Declared]) -> str:
    """A row for every option: its name, type, default, range, engines, flag and meaning."""
    rows = [
        f"| `{name}` | {_cell(f'`{one.type_words}`')} | {_cell(_shown_default(one.option))} | {one.option.range} | "
        f"{_engines(one.option, options)} | {_cell(_flag(one))} | {_cell(_meaning(one.option))} |"
        for name, one in options.items()
    ]
    return "\n".join(
        ["| option | type | default | range | engines | flag | meaning |", "|---|---|---|---|---|---|---|", *rows]
    )


def _cell(text: str) -> str:
    """Text for a cell of a table: bars are escaped, in code too, and other signs outside of code."""
    parts = text.split("`")
    parts[::2] = [re.sub(r"([*<\[\]])", r"\\\1", part) for part in parts[::2]]
    return "`".join(parts).replace("|", "\\|")


def _shown_default(option: Option) -> str:
    value = f"`{_default(option.default)}`" if not callable(option.default) else "none"
    return f"{value}: {option.unset}" if option.unset else value


def _engines(option: Option, options: Mapping[str, Declared]) -> str:
    if option.panel == CLUSTER_PANEL and not option.local_only:
        return "both" if option is options["engine"].option else "spark"
    return "local" if option.local_only or "master" not in options else "both"


def _flag(one: Declared) -> str:
    return "" if one.option.python_only else f"`{', '.join(one.option.flags) or one.flag}`"


def _meaning(option: Option) -> str:
    return f"{option.help} {option.reason[0].upper()}{option.reason[1:]}." if option.reason else option.help


def options_of(things: Iterable[Any], name: str = "") -> str:
    """The tables of options: functions with the same options share one."""
    tables: dict[str, list[str]] = {}
    for thing in things:
        if options := getattr(thing, "__options__", None):
            own = {key: one for key, one in options.items() if key in ("against", "grouping", "keep", "top")}
            tables.setdefault(option_table({k: v for k, v in options.items() if k not in own}), []).append(
                thing.__name__
            )
    return "\n\n".join(
        f"Options of `{'`, `'.join(f'{name}.{user}' for user in users)}`:\n\n{table}" for table, users in tables.items()
    )


def parameters_of(thing: Any) -> str:
    """The table of the parameters that only some of the functions with the same options have."""
    options = getattr(thing, "__options__", {})
    own = {key: one for key, one in options.items() if key in ("against", "grouping", "keep", "top")}
    rows = [
        f"- `{key}` (default {_cell(_shown_default(one.option))}): {_cell(one.option.help)}" for key, one in own.items()
    ]
    return "\n".join(rows)


def module_part(module: ModuleType, name: str) -> str:
    """A module: its functions, its classes, the options they share."""
    own = [v for k, v in vars(module).items() if not k.startswith("_") and getattr(v, "__doc__", None)]
    own = [v for v in own if getattr(v, "__module__", "") == module.__name__]
    functions = [v for v in own if inspect.isfunction(v)]
    classes = [v for v in own if inspect.isclass(v)]
    parts = [f"## {name}", markdown(module.__doc__)]
    parts += [function(v, f"{name}.{v.__name__}") for v in functions]
    parts.append(options_of(functions, name))
    parts += [class_(v, f"{name}.{v.__name__}") for v in classes]
    return "\n\n".join(part for part in parts if part)


def reference() -> str:
    """The page: first what is in `la` itself, then its modules."""
    names = [*FIRST, *(name for name in la.__all__ if name not in FIRST)]
    things = {name: getattr(la, name) for name in names}
    modules = {name: thing for name, thing in things.items() if inspect.ismodule(thing)}
    parts = [INTRO, "## la"]
    for name, thing in things.items():
        if inspect.isclass(thing):
            parts.append(class_(thing, f"la.{name}"))
        elif name not in modules:
            parts.append(function(thing, f"la.{name}"))
            if name in (
                "forecast",
                "passages",
                "stories",
                "scrub",
                "classify",
                "estimate",
                "plan",
            ):  # the last of those that share a table
                known = [v for v in things.values() if getattr(v, "__module__", "") == thing.__module__]
                parts.append(options_of([v for v in known if inspect.isfunction(v)], "la"))
    parts += [module_part(thing, f"la.{name}") for name, thing in modules.items()]
    parts += [module_part(__import__(name, fromlist=["_"]), name) for name in MORE]
    return "\n\n".join(part for part in parts if part) + "\n"


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
