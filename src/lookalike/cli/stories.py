"""The command `lookalike stories`."""

from __future__ import annotations

from typing import Annotated

from lookalike.cli import options as o


@o.takes()
def stories(
    inputs: o.Inputs,
    output: o.Out = None,
    share: Annotated[
        float, o.option(o.WHAT, help="Two articles belong together where this share of each stands in shared passages,")
    ] = 0.4,
    jaccard: Annotated[
        float, o.option(o.WHAT, help="or where their 5-word shingles have this Jaccard similarity.")
    ] = 0.3,
    min_tokens: Annotated[int, o.option(o.WHAT, help="Words of the shortest passage [12].", show_default=False)] = 0,
    max_share: Annotated[
        float | None, o.option(o.WHAT, help="What stands in more than this share of the articles does not count.")
    ] = None,
    text: Annotated[str | None, o.option(o.RUN, help="Column of the texts.")] = None,
    id: o.Id = None,  # noqa: A002
    on_bad_text: Annotated[
        o.OnBadTextChoice, o.option(o.RUN, help="What to do with text that is not UTF-8.")
    ] = o.OnBadTextChoice.error,
    lines: o.Lines = False,
    threads: o.Threads = None,
    engine: o.OnlyHere = o.Engine.local,
    force: o.RunOptions.Force = False,
    quiet: o.RunOptions.Quiet = False,
    json: o.RunOptions.Json = False,
) -> None:
    """Group articles that tell the same story, by shared passages and by shingles: id, story, size, first.

    Without -o, the largest stories go to the terminal or, in a pipe, all of them to standard output as tab-separated
    lines.
    """
    from lookalike.cli import output as show
    from lookalike.cli import terminal

    outputs = show.Outputs.check(output, force=force)
    from lookalike.kinds.passages.stories import stories as find

    with terminal.progress(quiet) as progress:
        result = find(
            o.paths(inputs), text=text, id=id, share=share, jaccard=jaccard, min_tokens=min_tokens,
            max_share=max_share, on_bad_text=on_bad_text.value, lines=lines, threads=threads, engine=engine.value,
            progress=progress,
        )  # fmt: skip
        wrote = outputs.write_result(result, output)
    if output is None and not json:
        show.print_best(result.stories, best_of=result.stories, by="size", what="articles")
    show.finish(result, wrote, quiet=quiet, json=json)
