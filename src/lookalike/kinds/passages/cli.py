"""The command `lookalike passages`."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from lookalike.cli import options as o
from lookalike.core.options import Option
from lookalike.kinds.passages.options import PassageOptions

PAGE_EXTENSION = ".html"


class ReportOptions(TypedDict, total=False):
    """The options of the command that Python does not have."""

    report_pairs: Annotated[int, Option(300, "Number of pairs of documents in a report.")]


PASSAGES_OUTPUT = o.with_help(
    o.command_parameters(o.OutputOptions),
    output="Where to write: .html for a report, a table, a folder for all tables.",
)


@o.takes(PASSAGES_OUTPUT, PassageOptions, ReportOptions)
def passages(inputs: o.Inputs, options: dict[str, Any]) -> None:
    """Find the passages that documents share, wherever they stand, and where: every run of --min-tokens is found.

    Without -o, the pairs that share most go to the terminal or, in a pipe, all passages with their places (in
    characters) to standard output as tab-separated lines. With -o report.html, a page shows the texts side by side.
    """
    from lookalike.cli import output as show
    from lookalike.cli import terminal
    from lookalike.io.atomic import check_place

    target, report_pairs = o.Target.of(options), options.pop("report_pairs")
    output, force = target.output, target.force
    page = output is not None and output.suffix == PAGE_EXTENSION
    if page and output is not None:
        check_place(output, force=force)
    if options["engine"] == "spark":
        from lookalike.cli.spark import run_on_spark

        def write(result: Any) -> list[str]:
            return [str(result.report(output, pairs=report_pairs, force=force))]

        given = {"against": o.paths(options.pop("against"))}
        with run_on_spark(
            "lookalike.kinds.passages.api", "passages", inputs, options, given, target, write=write if page else None
        ):  # fmt: skip
            return
    outputs = show.Outputs.check(None if page else output, force=force)
    options |= {name: o.paths(options[name]) for name in ("against", "template")}
    options["beside"] = o.beside(output)
    from lookalike.kinds.passages.api import passages as find

    with terminal.progress(target.quiet) as progress:
        result = find(o.paths(inputs), progress=progress, **options)
        if page and output is not None:
            wrote = [result.report(output, pairs=report_pairs, force=force)]
        else:
            wrote = outputs.write_result(result, output)
    if output is None and not target.json:
        show.print_best(result.passages, best_of=result.pairs, by="shared_tokens", what="pairs")
    show.finish(result, wrote, quiet=target.quiet, json=target.json)
    result.done()
