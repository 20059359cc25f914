"""The command `lookalike`: assembles the commands, one file each, and turns errors into exit codes."""

from __future__ import annotations

import errno
import gc
import json
import os
import resource
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

from lookalike.cli.flags import as_flags
from lookalike.cli.help import COMPLETION_VARIABLE, App, prepare_completion
from lookalike.cli.signals import ReaderGone, hear_terminate
from lookalike.errors import LookalikeError, OutOfMemory, OutputError
from lookalike.kernels.warming import compile_on_first_miss

SUMMARIES = Path(__file__).with_name("summaries.json")  # written by scripts/make_cli_reference.py
# Name: module and attribute; a kind (KindCommands), a group of commands (Typer) or a function. The help has this order.
COMMANDS = {
    "pairs": "kinds.documents.cli:DOCUMENTS",
    "groups": "kinds.documents.cli:DOCUMENTS",
    "dedup": "kinds.documents.cli:DOCUMENTS",
    "nearest": "kinds.documents.cli:DOCUMENTS",
    "passages": "kinds.passages.cli:passages",
    "stories": "cli.stories:stories",
    "scrub": "kinds.scrub.cli:scrub",
    "decontaminate": "kinds.scrub.cli:decontaminate",
    "classify": "cli.classify:classify",
    "plan": "cli.plan:plan",
    "shingles": "cli.shingles:shingles",
    "suggest": "cli.suggest:suggest",
    "signatures": "cli.signatures:signatures",
    "compare": "cli.compare:compare",
    "evaluate": "cli.evaluate:evaluate",
    "verify": "cli.verify:verify",
    "serve": "cli.serve:serve",
    "mcp": "cli.mcp:mcp",
    "report": "cli.explore:report",
    "explore": "cli.explore:explore",
    "demo": "cli.demo:demo",
    "undo": "cli.tidy:undo",
    "warm": "cli.warm:warm",
    "selftest": "cli.selftest:selftest",
    "completion": "cli.completion:completion",
    "samples": "cli.samples:samples",
    "baskets": "kinds.baskets.cli:app",
    "bits": "kinds.bits.cli:BITS",
    "strings": "kinds.strings.cli:STRINGS",
    "vectors": "kinds.vectors.cli:VECTORS",
    "faces": "kinds.faces.cli:FACES",
    "images": "kinds.images.cli:IMAGES",
    "records": "kinds.records.cli:app",
    "series": "kinds.series.cli:app",
    "index": "cli.index:app",
    "verdicts": "cli.verdicts:app",
    "runs": "cli.runs:runs",
}
KIND_HELP = {
    "bits": "Codes of bits that differ in few places, such as image hashes.",
    "strings": "Names, titles and words that few edits lead into one another.",
    "vectors": "Vectors within an angle or a distance.",
    "faces": "Faces, or any long lists of measurements, that agree in enough of them.",
    "images": "Pictures that look alike, crops too.",
}
KIND_COMMANDS = {"faces": {"query": "kinds.faces.cli:query"}, "images": {"undo": "cli.tidy:undo"}}


def _empty() -> typer.Typer:
    """Return the command line without commands."""
    app = App(
        help="Find items that are nearly the same, among millions, with a recall that is stated and measured.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    app.callback(invoke_without_command=True)(version)
    return app


@cache
def build(name: str | None = None) -> typer.Typer:
    """Return the command line; with the name of a command only that command, which loads few modules."""
    app = _empty()
    for command in [name] if name in COMMANDS else COMMANDS:
        _add(app, command)
    return app


def listing() -> typer.Typer:
    """Return a command line that can only show its help: the list of all commands, without loading them."""
    app = _empty()
    for name, summary in json.loads(SUMMARIES.read_text(encoding="utf-8")).items():
        app.command(name, help=summary)(lambda: None)
    return app


def _asked(words: list[str]) -> typer.Typer:
    """Return the part of the command line that these words need."""
    if COMPLETION_VARIABLE not in os.environ and words in ([], ["--help"], ["-h"]):
        return listing()
    return build(words[0] if words and words[0] in COMMANDS else None)


def _imported(place: str) -> Any:
    """Return what a module and an attribute name."""
    module, attribute = place.split(":")
    return getattr(import_module(f"lookalike.{module}"), attribute)


def _add(app: typer.Typer, name: str) -> None:
    """Import a command or a group of commands, and add it."""
    value = _imported(COMMANDS[name])
    if isinstance(value, typer.Typer):
        app.add_typer(value, name=name)
    elif name in KIND_HELP:
        group = App(help=KIND_HELP[name], no_args_is_help=True)
        for command, function in value.commands().items():
            group.command(command)(function)
        for command, place in KIND_COMMANDS.get(name, {}).items():
            group.command(command)(_imported(place))
        app.add_typer(group, name=name)
    elif hasattr(value, "commands"):
        app.command(name)(value.commands()[name])
    else:
        app.command(name)(value)


def __getattr__(name: str) -> typer.Typer:
    """Return the whole command line as `app`."""
    if name == "app":
        return build()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def version(
    show: bool = typer.Option(False, "--version", help="Print the version and stop.", is_eager=True),
) -> None:
    if show:
        from lookalike import __version__

        sys.stdout.write(f"lookalike {__version__}\n")
        raise typer.Exit


def main() -> None:
    """Run the command line.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 3 contaminated, 130 stopped by Ctrl-C, 143 by SIGTERM.
    """
    hear_terminate()
    prepare_completion()
    compile_on_first_miss(sys.argv[1:3])
    gc.set_threshold(100_000, 50, 50)  # loading the compiler creates many lasting objects: scanning them costs 0.1 s
    try:
        try:
            _asked(sys.argv[1:])()
        finally:
            sys.stdout.flush()
    except LookalikeError as error:
        sys.stderr.write(f"{type(error).__name__}: {as_flags(str(error))}\n")
        sys.exit(error.exit_code)
    except (ReaderGone, BrokenPipeError):  # the reader, such as `head`, has what it needs
        _let_go()
        sys.exit(0)
    except Exception as error:
        if _lacks_memory(error):
            sys.stderr.write(f"{OutOfMemory.__name__}: {as_flags(str(OutOfMemory()))}\n")
            sys.exit(OutOfMemory.exit_code)
        if not isinstance(error, OSError):
            raise
        _let_go()
        sys.stderr.write(f"OutputError: {error.filename or 'standard output'}: {error.strerror or error}.\n")
        sys.exit(OutputError.exit_code)


def _lacks_memory(error: BaseException) -> bool:
    """Return whether the system refused memory, for an allocation, a shared library or a thread."""
    if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
        return True
    if "can't start new thread" in str(error) or "Resource temporarily unavailable" in str(error):
        return True  # there is no memory for its stack; the second message is that of Arrow
    limited = resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY
    return limited and ("shared object" in str(error) or "start new thread" in str(error))


def _let_go() -> None:
    """Discard what is still buffered for standard output, so that Python can exit without an error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
