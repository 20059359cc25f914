"""The command `lookalike`: assembles the commands, one file each, and turns errors into exit codes."""

from __future__ import annotations

import errno
import gc
import os
import resource
import sys

import typer

from lookalike.cli import (
    classify,
    compare,
    demo,
    evaluate,
    explore,
    index,
    plan,
    serve,
    shingles,
    signatures,
    stories,
    tidy,
)
from lookalike.cli.flags import as_flags
from lookalike.cli.runs import runs
from lookalike.cli.signals import ReaderGone, hear_terminate
from lookalike.errors import LookalikeError, OutOfMemory, OutputError
from lookalike.kinds.baskets import cli as baskets
from lookalike.kinds.bits.cli import BITS
from lookalike.kinds.documents.cli import DOCUMENTS
from lookalike.kinds.faces.cli import FACES, query
from lookalike.kinds.images.cli import IMAGES
from lookalike.kinds.passages import cli as passages
from lookalike.kinds.records import cli as records
from lookalike.kinds.scrub import cli as scrub
from lookalike.kinds.strings.cli import STRINGS
from lookalike.kinds.vectors.cli import VECTORS

app = typer.Typer(
    help="Find items that are nearly the same, among millions, with a recall that is stated and measured.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for name, command in DOCUMENTS.commands().items():
    app.command(name)(command)
app.add_typer(baskets.app, name="baskets")
for kind, about in (
    (BITS, "Codes of bits that differ in few places, such as image hashes."),
    (STRINGS, "Names, titles and words that few edits lead into one another."),
    (VECTORS, "Vectors within an angle or a distance."),
    (FACES, "Faces, or any long lists of measurements, that agree in enough of them."),
    (IMAGES, "Pictures that look alike, crops too."),
):
    sub = typer.Typer(help=about, no_args_is_help=True)
    for name, command in kind.commands().items():
        sub.command(name)(command)
    if kind is FACES:
        sub.command("query")(query)
    if kind is IMAGES:
        sub.command("undo")(tidy.undo)
    app.add_typer(sub, name=kind.app.split(".")[-2])
app.command()(passages.passages)
app.command()(stories.stories)
app.command()(scrub.scrub)
app.command()(classify.classify)
app.add_typer(records.app, name="records")
app.command()(plan.plan)
app.command()(shingles.shingles)
app.command()(signatures.signatures)
app.command()(compare.compare)
app.command()(evaluate.evaluate)
app.command()(serve.serve)
app.command()(explore.report)
app.command()(explore.explore)
app.command()(demo.demo)
app.command()(tidy.undo)
app.add_typer(index.app, name="index")
app.add_typer(runs, name="runs")


@app.callback(invoke_without_command=True)
def version(
    show: bool = typer.Option(False, "--version", help="Print the version and stop.", is_eager=True),
) -> None:
    if show:
        from lookalike import __version__

        sys.stdout.write(f"lookalike {__version__}\n")
        raise typer.Exit


def main() -> None:
    """Run the command line. Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C, 143 by SIGTERM."""
    hear_terminate()
    gc.set_threshold(100_000, 50, 50)  # loading the compiler creates many lasting objects: scanning them costs 0.1 s
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except LookalikeError as error:
        sys.stderr.write(f"{type(error).__name__}: {as_flags(str(error))}\n")
        sys.exit(error.exit_code)
    except (ReaderGone, BrokenPipeError):  # the reader, such as `head`, has what it needs
        _let_go()
        sys.exit(0)
    except (OSError, MemoryError, ImportError, RuntimeError) as error:
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
    if isinstance(error, RuntimeError):
        return "can't start new thread" in str(error)  # there is no memory for its stack
    limited = resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY
    return limited and ("shared object" in str(error) or "start new thread" in str(error))


def _let_go() -> None:
    """Discard what is still buffered for standard output, so that Python can exit without an error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
