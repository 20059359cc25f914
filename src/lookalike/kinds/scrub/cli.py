"""The commands `lookalike scrub` and `lookalike decontaminate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, TypedDict

from lookalike.cli import options as o
from lookalike.core.options import Option
from lookalike.errors import UsageError
from lookalike.kinds.scrub.options import DecontaminateOptions, ScrubOptions

CONTAMINATED_EXIT_CODE = 3


class CutFileOptions(TypedDict, total=False):
    """The options of the command that Python does not have."""

    removed: Annotated[
        Path | None,
        Option(None, "Where to write what was cut (.parquet); `undo` restores the input from it.", unset="nowhere"),
    ]
    like_input: Annotated[
        bool, Option(False, "Write one file for each input file into the folder -o, with its name and compression.")
    ]
    undo: Annotated[bool, Option(False, "Restore the input: INPUT is an output of scrub and its table of cuts.")]


WRITES_REMOVED = "-o FOLDER writes removed.parquet too; leave --removed out."
SCRUB_OUTPUT = o.with_help(
    o.command_parameters(o.OutputOptions), output="Where to write the rows, by extension; a folder for all tables."
)


@o.takes(SCRUB_OUTPUT, CutFileOptions, ScrubOptions)
def scrub(inputs: o.Inputs, options: dict[str, Any]) -> None:
    """Remove text that repeats; one copy stays.

    Afterwards no run of --min-tokens tokens occurs twice in the collection. The text outside of the cuts is
    unchanged. With --removed, a table lists what was cut and where the copy that stays is.
    """
    target, undo = o.Target.of(options, options.pop("removed")), options.pop("undo")
    output, removed, like_input = target.output, target.removed, options.pop("like_input")
    if output is None:
        raise UsageError("scrub writes the rows to a file: give -o OUT, for example -o clean.jsonl.")
    if undo:
        _undo(inputs, output, force=target.force, quiet=target.quiet)
        return
    from lookalike.cli import output as show
    from lookalike.cli import terminal
    from lookalike.io.results import write_receipt

    outputs = show.Outputs.check(output, removed, force=target.force)
    if removed is not None and like_input and removed.suffix:
        raise UsageError(
            f"--like-input writes one table of cuts for each file, and {removed} is the name of a file; give --removed "
            "FOLDER."
        )
    if removed is not None and not output.suffix and not like_input:
        raise UsageError(WRITES_REMOVED)
    if removed is not None and target.safe_cells:
        raise UsageError("--undo needs the text as it was; leave out --safe-cells or --removed.")
    if like_input and output.suffix:
        raise UsageError(f"--like-input writes a folder, and {output} is the name of a file; give -o FOLDER.")
    options["beside"] = o.beside(output)
    source = o.paths(inputs)
    from lookalike.kinds.scrub.api import scrub as run

    with terminal.progress(target.quiet) as progress:
        result = run(source, progress=progress, **options)
        with outputs.together():
            if output.suffix:
                result.write(output, removed=removed, force=target.force)
                receipt = show.receipt_of(output)
                tables = [path for path in (output, removed) if path is not None]
                write_receipt(result.receipt, receipt, tables, force=target.force)
                wrote = [path for path in (output, receipt, removed) if path is not None]
            elif like_input:
                wrote = [result.write_like_input(output, removed=removed, force=target.force)]
                wrote += [] if removed is None else [removed]
            else:
                wrote = [result.save(output, force=target.force)]
    show.print_receipt(result.receipt, json=target.json)
    if not target.quiet:
        from lookalike.kinds.scrub.summary import lines

        for label, line in lines(result.receipt, wrote):
            terminal.err.say(label, line)
    result.done()


def _undo(inputs: list[str], output: Path, *, force: bool, quiet: bool) -> None:
    """Restore the input of a run. inputs: its output and its table of cuts."""
    if len(inputs) != 2:
        raise UsageError(f"--undo takes the output of scrub and its table of cuts; {len(inputs)} names came.")
    from lookalike.cli.terminal import err
    from lookalike.io.atomic import check_output

    check_output(output, force=force)
    from lookalike.kinds.scrub.undo import undo_scrub

    undo_scrub(inputs[0], inputs[1], output, force=force)
    if not quiet:
        err.say("Wrote", str(output))


class GateOptions(TypedDict, total=False):
    """The options of `lookalike decontaminate` that Python does not have."""

    against: Annotated[
        list[str] | None,
        Option(
            None,
            "A benchmark: files with test items (repeatable).",
            unset="needed",
            command_type=list[str] | None,
            metavar="INPUT",
        ),
    ]
    removed: Annotated[
        Path | None,
        Option(None, "Where to write what was removed (.parquet), for `lookalike scrub --undo`.", unset="nowhere"),
    ]
    matches: Annotated[
        Path | None, Option(None, "Where to write each contaminated item with its document.", unset="nowhere")
    ]
    report: Annotated[
        Path | None,
        Option(None, "Where to write a page with the worst matches side by side (.html).", unset="nowhere"),
    ]
    fail_over: Annotated[
        float | None,
        Option(None, "Exit with code 3 if a larger share of the items of a benchmark is contaminated.",
               unset="exit with 0", range="[0, 1)", expected="a share from 0 on and below 1"),
    ]  # fmt: skip


CLEAN_OUTPUT = o.with_help(
    o.command_parameters(o.OutputOptions),
    output="Where to write the training set without the items, by extension; a folder for all tables.",
)


@o.takes(CLEAN_OUTPUT, GateOptions, DecontaminateOptions)
def decontaminate(inputs: o.Inputs, options: dict[str, Any]) -> None:
    """Find test items of benchmarks in a training set: a table for each benchmark, and the rows without them.

    An item is contaminated if a document shares a run of --min-tokens words with it, or the share --near of its 5-word
    shingles. Questions and answers in two columns are searched separately.
    """
    import typer

    from lookalike.cli import output as show
    from lookalike.cli import terminal
    from lookalike.io.atomic import check_place
    from lookalike.io.results import write_receipt

    target, against = o.Target.of(options, options.pop("removed")), options.pop("against")
    matches, fail_over, page = options.pop("matches"), options.pop("fail_over"), options.pop("report")
    if not against:
        raise UsageError("--against is missing; name the files with the test items.")
    if fail_over is not None and not 0 <= fail_over < 1:
        raise UsageError(f"--fail-over is {fail_over}; expected at least 0 and below 1.")
    if target.removed is not None and target.output is None:
        raise UsageError("--removed needs -o OUT, the training set without what was removed.")
    outputs = show.Outputs.check(target.output, target.removed, matches, force=target.force)
    if target.removed is not None and target.output is not None and not target.output.suffix:
        raise UsageError(WRITES_REMOVED)
    if page is not None:
        check_place(page, force=target.force)
    options["beside"] = o.beside(target.output)
    source, benchmarks = o.paths(inputs), o.paths(against)
    from lookalike.kinds.scrub.api import decontaminate as run

    with terminal.progress(target.quiet) as progress:
        result = run(source, benchmarks, progress=progress, **options)
        with outputs.together():
            if target.output is not None and not target.output.suffix:
                result.save(target.output, force=target.force)
            elif target.output is not None:
                result.write(target.output, removed=target.removed, force=target.force)
            if matches is not None:
                outputs.write_table(result.matches, matches)
            if target.output is not None:
                tables = [path for path in (target.output, target.removed, matches) if path is not None]
                write_receipt(result.receipt, show.receipt_of(target.output), tables, force=target.force)
            if page is not None:
                result.report(page, force=target.force)
    if not target.json:
        show.print_rows(result.table, "benchmarks")
    show.print_receipt(result.receipt, json=target.json)
    if not target.quiet:
        terminal.err.say("Compared", f"{result.receipt['compared']} · all items with all documents, none missed")
        for path in [*outputs.paths, *([] if page is None else [page])]:
            terminal.err.say("Wrote", str(path))
    result.done()
    if fail_over is not None and result.worst_share > fail_over:
        worst = f"{result.worst_share:.1%} of a benchmark is contaminated"
        terminal.err.say("Failed", f"{worst}, more than --fail-over {fail_over:.1%}")
        raise typer.Exit(CONTAMINATED_EXIT_CODE)
