"""Pages that run: the Python and shell blocks of a Markdown page, executed from top to bottom in an empty folder.

    ```python       executed; where it has >>> prompts, what is shown under them must come out (... matches any text)
    ```console      lines after "$ " are commands; where output is shown under one, it must come out
    ```sh           every line is a command that must succeed; what it prints is not looked at
    <!-- run: ...   Python that readers do not see, to the closing -->: makes the data of a page
    <!-- not run: WHY -->   the next block is not executed

`$ cat FILE` writes the file that it shows, where there is none yet. A page is one Python session: names stay. What is
shown may be standard output alone, or followed by standard error, as on a terminal. `lookalike` runs in this process
unless it is in a pipe. `pip install` is taken as done. What needs a minute or never ends (ELSEWHERE) is left to the tests of
the service and the explorer; what needs a cluster is run only on pages that have one (on_spark: the active session's).
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Any

BLOCK = re.compile(
    r"^<!-- run:[ ]*\n(?P<hidden>.*?)^-->$"
    r"|^(?P<mute><!-- not run: [^\n]+ -->\n\n?)?^(?P<fence>```+)(?P<kind>[a-z-]*)[^\n]*\n(?P<body>.*?)^(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)
SHELL = re.compile(r"[|<>&;`]|\$\(")  # what the program alone does not understand
ELSEWHERE = re.compile(r"--calibrate|lookalike (serve|explore) |la\.explore\(")
ON_SPARK = re.compile(r"engine[ =]\"?spark")
OUTPUT = doctest.OutputChecker()


@dataclass(frozen=True)
class Snippet:
    kind: str  # run, python, console, sh
    body: str
    line: int  # of the page


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


def snippets(page: str) -> Iterator[Snippet]:
    """The blocks of a page that are to be executed, in order."""
    for found in BLOCK.finditer(page):
        line = page.count("\n", 0, found.start()) + 1
        if found["hidden"] is not None:
            yield Snippet("run", found["hidden"], line)
        elif found["kind"] in ("python", "console", "sh") and not found["mute"]:
            yield Snippet(found["kind"], found["body"], line)


def run_page(path: Path, *, on_spark: bool = False) -> int:
    """Execute a page in the current folder and say how many blocks it had; an AssertionError tells what differed."""
    names: dict[str, Any] = {"__name__": "__main__"}
    found = list(snippets(path.read_text(encoding="utf-8")))
    left = re.compile(ELSEWHERE.pattern if on_spark else f"{ELSEWHERE.pattern}|{ON_SPARK.pattern}")
    for snippet in found:
        where = f"{path.name}, line {snippet.line}"
        if snippet.kind in ("run", "python"):
            if not left.search(snippet.body):
                run_python(snippet.body, names, where)
        else:
            for command, shown in commands(snippet):
                if not left.search(command):
                    run_shown(command, shown, where)
    return len(found)


def run_python(code: str, names: dict[str, Any], where: str) -> None:
    if ">>> " not in code:
        exec(compile(code, where, "exec"), names)
        return
    report = io.StringIO()
    test = doctest.DocTestParser().get_doctest(code, names, where, where, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    runner.run(test, out=report.write, clear_globs=False)
    names.update(test.globs)
    assert not runner.summarize(verbose=False).failed, report.getvalue()


def commands(snippet: Snippet) -> Iterator[tuple[str, str]]:
    """(command, what is shown under it) of a block."""
    if snippet.kind == "sh":
        lines = snippet.body.replace("\\\n", " ").splitlines()
        yield from ((line, "") for line in lines if line.strip() and not line.lstrip().startswith("#"))
        return
    for part in re.split(r"^\$ ", snippet.body, flags=re.MULTILINE)[1:]:
        command, _, shown = part.replace("\\\n", " ").partition("\n")
        yield command, shown.rstrip("\n") + "\n" if shown.strip() else ""


def run_shown(command: str, shown: str, where: str) -> None:
    words = shlex.split(command, comments=True)
    if words[:2] == ["pip", "install"]:
        return
    if words[0] == "cat" and len(words) == 2 and not Path(words[1]).exists() and shown:
        Path(words[1]).parent.mkdir(parents=True, exist_ok=True)
        Path(words[1]).write_text(shown, encoding="utf-8")
        return
    done = in_shell(command) if words[0] != "lookalike" or SHELL.search(" ".join(words)) else in_process(command)
    fails = re.search(r"^(\w+: |usage: )", shown, re.IGNORECASE) is not None  # the page shows an error
    assert done.code == 0 or fails, f"{where}: {command}\nexit code {done.code}\n{done.out}{done.err}"
    if shown:
        printed = [_plain(text) for text in (done.out, done.out + done.err, done.err)]
        fits = any(OUTPUT.check_output(_plain(shown), text, doctest.ELLIPSIS) for text in printed)
        assert fits, f"{where}: {command}\nshown:\n{shown}\nprinted:\n{done.out}{done.err}"


def in_process(command: str) -> Done:
    """`lookalike ...` without a new interpreter. Names with * are expanded as a shell does it, quoted ones not."""
    from lookalike.cli.main import main

    known: list[str] = []
    for raw, word in zip(_raw_words(command), shlex.split(command, comments=True), strict=True):
        known += (sorted(glob(word)) if raw == word else []) or [word]
    before, out, err, code = signal.getsignal(signal.SIGTERM), io.StringIO(), io.StringIO(), 0
    old_words, sys.argv = sys.argv, known
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the command line prints its own
            main()
    except SystemExit as stop:
        code = int(stop.code or 0)
    finally:
        sys.argv = old_words
        signal.signal(signal.SIGTERM, before)
    return Done(code, out.getvalue(), err.getvalue())


def in_shell(command: str) -> Done:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, timeout=120,
        env=os.environ | {"PATH": path},
    )  # fmt: skip
    return Done(done.returncode, done.stdout, done.stderr)


def _raw_words(command: str) -> list[str]:
    """As `shlex.split`, with the quotes left in place."""
    lexer = shlex.shlex(command, posix=False, punctuation_chars=False)
    lexer.whitespace_split = True
    return list(lexer)


def _plain(text: str) -> str:
    """Without blanks at the ends of lines, which a page does not show."""
    return "\n".join(line.rstrip() for line in text.rstrip().splitlines()) + "\n"
