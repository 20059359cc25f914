"""The command `lookalike passages`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from lookalike.cli import options as o

CODE, PAGE_EXTENSION = "Source code", ".html"


def passage_options(
    references: Annotated[
        list[str] | None,
        o.option(o.WHAT, "-r", "--references", help="Compare with these sources, not with one another (repeatable)."),
    ] = None,
    template: Annotated[
        list[str] | None,
        o.option(o.WHAT, help="A file of boilerplate: what stands in it does not count (repeatable)."),
    ] = None,
    author: Annotated[
        str | None, o.option(o.WHAT, help="Column of authors: documents of one author are not compared.")
    ] = None,
    min_tokens: Annotated[
        int, o.option(o.WHAT, help="Tokens of the shortest passage [12 words, 24 tokens of code].", show_default=False)
    ] = 0,
    gap: Annotated[int, o.option(o.WHAT, help="Go on across edits of up to this many tokens.")] = 0,
    max_share: Annotated[
        float | None, o.option(o.WHAT, help="What stands in more than this share of the documents does not count.")
    ] = None,
    language: Annotated[
        str | None,
        o.option(CODE, help="Read source code: a language, or auto to go by file names. Names are folded."),
    ] = None,
    comments: Annotated[
        bool, o.option(CODE, "--comments/--no-comments", help="Compare comments too, or leave them out.")
    ] = True,
    k: Annotated[
        int,
        o.option(o.SHINGLES_PANEL, "-k", help="Tokens in a shingle (5 words, 10 tokens of code).", show_default=False),
    ] = 0,
    window: Annotated[
        int,
        o.option(
            o.SHINGLES_PANEL, help="Shingles in a window (min-tokens - k + 1, or 3 with --gap).", show_default=False
        ),
    ] = 0,
    fold_case: Annotated[
        bool, o.option(o.SHINGLES_PANEL, "--fold-case/--keep-case", help="Ignore upper and lower case.")
    ] = True,
    strip_accents: Annotated[
        bool, o.option(o.SHINGLES_PANEL, "--strip-accents", help="Ignore accents of Latin, Greek and Cyrillic letters.")
    ] = False,
    text: Annotated[str | None, o.option(o.RUN, help="Column of the texts.")] = None,
    id: o.Id = None,  # noqa: A002
    max_pairs: Annotated[int, o.option(o.RUN, help="Stop where there are more passages than this.")] = 10_000_000,
    on_bad_text: Annotated[
        o.OnBadTextChoice, o.option(o.RUN, help="What to do with text that is not UTF-8.")
    ] = o.OnBadTextChoice.error,
    on_bad_file: o.OnBadFile = o.OnBad.error,
    lines: o.Lines = False,
    threads: o.Threads = None,
    memory: o.Memory = None,
    work_dir: o.WorkDir = None,
    engine: o.Where = o.Engine.local,
    master: o.Master = None,
    spark_conf: o.SparkConf = None,
) -> None:
    """Declare the options that `lookalike passages` passes on to the API; never called."""


@o.takes(passage_options)
def passages(
    inputs: o.Inputs,
    options: dict[str, Any],
    output: Annotated[
        Path | None,
        o.option(o.RUN, "-o", "--output", help="Where to write: .html for a report, a table, a folder for all."),
    ] = None,
    report_pairs: Annotated[int, o.option(o.RUN, help="Pairs of documents in a report.")] = 300,
    force: o.RunOptions.Force = False,
    quiet: o.RunOptions.Quiet = False,
    json: o.RunOptions.Json = False,
) -> None:
    """Find the passages that documents share, wherever they stand, and where: every run of --min-tokens is found.

    Without -o, the pairs that share most go to the terminal or, in a pipe, all passages with their places (in
    characters) to standard output as tab-separated lines. With -o report.html, a page shows the texts side by side.
    """
    from lookalike.cli import output as show
    from lookalike.cli import terminal
    from lookalike.io.atomic import check_place

    page = output is not None and output.suffix == PAGE_EXTENSION
    if page and output is not None:
        check_place(output, force=force)
    if options["engine"] == "spark":
        from lookalike.cli.spark import run_on_spark

        def write(result: Any) -> list[str]:
            return [str(result.report(output, pairs=report_pairs, force=force))]

        given = {"references": o.paths(options.pop("references"))}
        with run_on_spark(
            "lookalike.kinds.passages.api", "passages", inputs, options, given, output, None, force=force, quiet=quiet,
            json=json, write=write if page else None,
        ):  # fmt: skip
            return
    outputs = show.Outputs.check(None if page else output, force=force)
    options |= {name: o.paths(options[name]) for name in ("references", "template")}
    options["beside"] = o.beside(output)
    from lookalike.kinds.passages.api import passages as find

    with terminal.progress(quiet) as progress:
        result = find(o.paths(inputs), progress=progress, **options)
        if page and output is not None:
            wrote = [result.report(output, pairs=report_pairs, force=force)]
        else:
            wrote = outputs.write_result(result, output)
    if output is None and not json:
        show.print_best(result.passages, best_of=result.pairs, by="shared_tokens", what="pairs")
    show.finish(result, wrote, quiet=quiet, json=json)
    result.done()
