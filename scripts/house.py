"""Print figures about the structure of the code: python scripts/house.py

Each figure has a bound that `tests/unit/test_house.py` holds, so that it can only improve.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src/lookalike"
KINDS = sorted(folder.name for folder in (PACKAGE / "kinds").iterdir() if (folder / "api.py").exists())
WORDS = re.compile(
    r"\b(foretell\w*|foretold|dearer|dear|reckon\w*|anew|stead|told|stands|so many|from which on|of ours|"
    r"wished|of its own|of their own|of theirs|whatever|whoever|in its place|in vain|hitherto|lest|thereof|"
    r"beside (the|a|an|its|it|each|other|runs|an output))\b",
    re.IGNORECASE,
)
MESSAGE = 32  # characters from which a literal with blanks counts as a message
PARAMETERS = 8


def modules() -> dict[str, ast.Module]:
    """Every module of the package, parsed."""
    return {
        str(path.relative_to(PACKAGE)): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(PACKAGE.rglob("*.py"))
    }


def is_command_line(module: str) -> bool:
    """Whether a module belongs to the command line, or declares options with their flags."""
    return module.startswith("cli/") or module.endswith(("/cli.py", "options.py"))


def repeated_classes(parsed: dict[str, ast.Module]) -> dict[str, list[str]]:
    """Class names that more than one module defines."""
    homes = defaultdict(list)
    for module, tree in parsed.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(module)
    return {name: found for name, found in homes.items() if len(found) > 1}


def ambiguous_constants(parsed: dict[str, ast.Module]) -> dict[str, set[str]]:
    """Constant names that have different values in different modules."""
    values: dict[str, dict[str, str]] = defaultdict(dict)
    for module, tree in parsed.items():
        for node in tree.body:
            for name, value in _constants(node):
                values[name][module] = ast.unparse(value)
    return {name: set(found.values()) for name, found in values.items() if len(set(found.values())) > 1}


def _constants(node: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    if not isinstance(node, ast.Assign) or len(node.targets) != 1:
        return
    target = node.targets[0]
    names = target.elts if isinstance(target, ast.Tuple) else [target]
    values = node.value.elts if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple) else [node.value]
    for name, value in zip(names, values, strict=False):
        if isinstance(name, ast.Name) and re.fullmatch(r"[A-Z][A-Z0-9_]*", name.id):
            yield name.id, value


def long_signatures(parsed: dict[str, ast.Module]) -> list[str]:
    """Functions outside kernels with more than eight parameters."""
    found = []
    for module, tree in parsed.items():
        if "kernels/" in module:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                arguments = node.args
                count = len([*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs])
                if count > PARAMETERS:
                    found.append(f"{module}:{node.name} ({count})")
    return found


def literals(tree: ast.Module) -> Iterator[str]:
    """Every string of a module that is not a docstring; the fixed parts of formatted strings too."""
    documented = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented:
            yield node.value


def flags_in_messages(parsed: dict[str, ast.Module]) -> list[str]:
    """Messages outside the command line that name its flags."""
    return [
        f"{module}: {text.strip()}"
        for module, tree in parsed.items()
        if not is_command_line(module)
        for text in literals(tree)
        if re.search(r"(?<![\w-])--[a-z]", text) and not text.startswith("#!")  # a shell script is no message
    ]


def repeated_messages(parsed: dict[str, ast.Module]) -> list[str]:
    """Messages that more than one module spells out."""
    homes = defaultdict(set)
    for module, tree in parsed.items():
        for text in literals(tree):
            if len(text) > MESSAGE and " " in text.strip():
                homes[text.strip()].add(module)
    return [text for text, found in homes.items() if len(found) > 1]


def loaded_by(code: str) -> int:
    """How many modules of the package a fresh interpreter loads for this code."""
    probe = f"import sys; {code}; print(sum(name.startswith('lookalike') for name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True, cwd=ROOT)
    return int(done.stdout)


def archaic_words() -> list[str]:
    """Lines of code and documentation with a word of the list."""
    pages = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in [*sorted(PACKAGE.rglob("*.py")), *sorted(pages)]
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if WORDS.search(line)
    ]


def archaic_words_in_tests() -> list[str]:
    """Lines of tests, benchmarks and scripts with a word of the list; this script names them."""
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for folder in ("tests", "benchmarks", "scripts")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if path != Path(__file__).resolve()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if WORDS.search(line)
    ]


def lines_of_code() -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in PACKAGE.rglob("*.py"))


def figures() -> dict[str, int]:
    parsed = modules()
    loaded = {"lookalike": loaded_by("import lookalike"), "lookalike.result": loaded_by("import lookalike.result")}
    loaded |= {kind: loaded_by(f"import lookalike.kinds.{kind}.api") for kind in KINDS}
    return {
        **{f"modules loaded by {name}": count for name, count in loaded.items()},
        "class names in two modules": len(repeated_classes(parsed)),
        "constant names with several values": len(ambiguous_constants(parsed)),
        "functions with more than 8 parameters": len(long_signatures(parsed)),
        "messages outside the command line that name flags": len(flags_in_messages(parsed)),
        "messages in two modules": len(repeated_messages(parsed)),
        "lines with words of the list": len(archaic_words()),
        "lines of tests and benchmarks with words of the list": len(archaic_words_in_tests()),
        "lines of src": lines_of_code(),
    }


if __name__ == "__main__":
    details = {
        "classes": lambda: repeated_classes(modules()),
        "constants": lambda: ambiguous_constants(modules()),
        "parameters": lambda: long_signatures(modules()),
        "flags": lambda: flags_in_messages(modules()),
        "messages": lambda: repeated_messages(modules()),
        "words": archaic_words,
        "tests": archaic_words_in_tests,
    }
    if len(sys.argv) > 1:
        listed = details[sys.argv[1]]()
        print(*(f"{k}: {v}" for k, v in listed.items()) if isinstance(listed, dict) else listed, sep="\n")
    else:
        for name, value in figures().items():
            print(f"{value:>7,}  {name}")
