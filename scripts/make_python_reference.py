"""Write docs/reference/python.md from the docstrings of the public names: python scripts/make_python_reference.py"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import lookalike as la

PAGE = Path(__file__).parents[1] / "docs/reference/python.md"
FIRST = (
    "pairs",
    "groups",
    "dedup",
    "Result",
    "forecast",
    "plan",
    "Plan",
    "jaccard",
    "evaluate",
    "passages",
    "Passages",
)
GIVEN_BACK = ("Result", "Passages", "Stories", "Evaluation", "Explanation")  # nobody makes these by hand
MORE = (
    "lookalike.planning.amplification",
    "lookalike.planning.families",
    "lookalike.errors",
)  # public, by their own names
USUAL = {  # options that mean the same wherever they occur; a comment beside one says more
    "id": "the column of ids; guessed, else row numbers",
    "column": "the column of lists of numbers",
    "num_hashes": "length of a signature: 128",
    "bands": "taken over from the plan",
    "rows": "taken over from the plan",
    "scheme": "of signatures: fss-1",
    "seed": "of all that is drawn at random: 42",
    "verify": "score every candidate exactly: yes",
    "max_share": "leave out what is in more than this share of the items",
    "max_pairs": "refuse a larger answer: 100 million",
    "audit": "items whose recall is measured: 2,000",
    "on_bad": "what to do with a broken item: error",
    "on_bad_text": "what to do with a text that is not UTF-8: error",
    "on_bad_file": "what to do with a file that cannot be read: error",
    "threads": "all cores",
    "progress": "called with (stage, done, total)",
    "bag": "repeated shingles count: no",
    "fold_case": "ignore upper and lower case (documents: yes, strings: no)",
    "normalize": "a Unicode normal form: none",
    "strip_accents": "é is e: no",
    "ignore_punctuation": "leave it out: no; it never belongs to a word",
    "squeeze_space": "several blanks are one: yes",
    "hash_bits": "of a shingle: 64",
}

INTRO = """# Python

Made from the docstrings by `scripts/make_python_reference.py`; a test keeps it current. `import lookalike as la` costs
nothing: names are loaded when they are first used. All options are keyword-only. Examples are run as doctests."""


def markdown(doc: str | None) -> str:
    """A docstring as Markdown: examples in fences, stars and brackets as they stand."""
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
    words: list[str] = []
    stars = False
    for at, (name, one) in enumerate(found.parameters.items()):
        if method and at == 0:
            continue
        if one.kind is one.KEYWORD_ONLY and not stars:
            words.append("*")
            stars = True
        stars = stars or one.kind is one.VAR_POSITIONAL
        prefix = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        kind = "" if one.annotation is one.empty or prefix == "**" else f": {one.annotation}"
        value = "" if one.default is one.empty else f" = {_default(one.default)}"
        words.append(f"{prefix}{name}{kind}{value}")
    result = "" if found.return_annotation is found.empty else f" -> {found.return_annotation}"
    return f"({', '.join(words)}){result}"


def _default(value: Any) -> str:
    return "..." if callable(value) or " at 0x" in repr(value) else repr(value)


def directive(kind: str, head: str, body: str, depth: int = 4) -> str:
    fence = ":" * depth
    return f"{fence}{{py:{kind}}} {head}\n{body}\n{fence}"


def function(thing: Any, name: str) -> str:
    return directive("function", name + signature(thing), markdown(thing.__doc__))


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
            parts.append(directive("method", member + signature(inner, method=method), markdown(inner.__doc__), 3))
        elif inspect.isfunction(value):
            parts.append(directive("method", member + signature(value, method=True), markdown(value.__doc__), 3))
    return directive("class", name + _made_with(thing), "\n\n".join(parts))


def _made_with(thing: Any) -> str:
    """How a class is called, if people are to call it."""
    known = inspect.isfunction(vars(thing).get("__init__")) and thing.__name__ not in GIVEN_BACK
    return signature(thing.__init__, method=True).removesuffix(" -> None") if known else ""


def option_table(module: ModuleType, used: str) -> str:
    """The fields of a TypedDict of options, with the comments beside them."""
    rows = [f"| `{name}` | {kind} | {said} |" for name, kind, said in _fields(getattr(module, used))]
    return "\n".join(["| option | type | meaning, default |", "|---|---|---|", *rows])


def _fields(options: Any) -> Iterator[tuple[str, str, str]]:
    source = Path(sys.modules[options.__module__].__file__ or "").read_text(encoding="utf-8")
    lines = source.splitlines()
    node = next(n for n in ast.parse(source).body if isinstance(n, ast.ClassDef) and n.name == options.__name__)
    for field in node.body:
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            comment = lines[field.lineno - 1].partition("  # ")[2]
            kind = ast.unparse(field.annotation).replace("|", "\\|")
            comment = comment or USUAL.get(field.target.id, "")
            assert comment, f"{options.__module__}: write a comment beside the option {field.target.id}"
            yield field.target.id, f"`{kind}`", re.sub(r"([*<|])", r"\\\1", comment)
    for base in node.bases:
        if isinstance(base, ast.Name) and base.id != "TypedDict":
            yield from _fields(getattr(sys.modules[options.__module__], base.id))


def options_of(module: ModuleType, things: list[Any]) -> str:
    """The table of the options that these functions take, once."""
    used = {}
    for thing in things:
        for one in inspect.signature(thing).parameters.values() if inspect.isfunction(thing) else ():
            found = re.fullmatch(r"Unpack\[(\w+)\]", str(one.annotation))
            if found:
                used.setdefault(found[1], []).append(thing.__name__)
    parts = []
    for name, users in used.items():
        home = sys.modules[things[0].__module__]
        parts.append(f"Options of `{'`, `'.join(users)}`:\n\n{option_table(home, name)}")
    return "\n\n".join(parts)


def module_part(module: ModuleType, name: str) -> str:
    """A module: its functions, its classes, the options they share."""
    own = [v for k, v in vars(module).items() if not k.startswith("_") and getattr(v, "__doc__", None)]
    own = [v for v in own if getattr(v, "__module__", "") == module.__name__]
    functions = [v for v in own if inspect.isfunction(v)]
    classes = [v for v in own if inspect.isclass(v) and v.__name__ != "Options"]
    parts = [f"## {name}", markdown(module.__doc__)]
    parts += [function(v, f"{name}.{v.__name__}") for v in functions]
    parts.append(options_of(module, functions))
    parts += [class_(v, f"{name}.{v.__name__}") for v in classes]
    return "\n\n".join(part for part in parts if part)


def reference() -> str:
    """The page: first what stands in `la` itself, then its modules."""
    names = [*FIRST, *(name for name in la.__all__ if name not in FIRST)]
    things = {name: getattr(la, name) for name in names}
    modules = {name: thing for name, thing in things.items() if inspect.ismodule(thing)}
    parts = [INTRO, "## la"]
    for name, thing in things.items():
        if inspect.isclass(thing):
            parts.append(class_(thing, f"la.{name}"))
        elif name not in modules:
            parts.append(function(thing, f"la.{name}"))
            if name in ("forecast", "passages"):  # the last of those that share a table
                known = [v for v in things.values() if getattr(v, "__module__", "") == thing.__module__]
                parts.append(options_of(sys.modules[thing.__module__], [v for v in known if inspect.isfunction(v)]))
    parts += [module_part(thing, f"la.{name}") for name, thing in modules.items()]
    parts += [module_part(__import__(name, fromlist=["_"]), name) for name in MORE]
    return "\n\n".join(part for part in parts if part) + "\n"


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
