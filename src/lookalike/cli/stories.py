"""The command `lookalike stories`."""

from __future__ import annotations

from typing import Any

from lookalike.cli import options as o
from lookalike.kinds.passages.options import StoryOptions


@o.takes(o.OutputOptions, StoryOptions)
def stories(inputs: o.Inputs, options: dict[str, Any]) -> None:
    """Group articles that tell the same story, by shared passages and by shingles: id, story, size, first.

    Without -o, the largest stories go to the terminal or, in a pipe, all of them to standard output as tab-separated
    lines.
    """
    from lookalike.cli import output as show
    from lookalike.cli import terminal

    target = o.Target.of(options)
    outputs = show.Outputs.check(target.output, force=target.force)
    from lookalike.kinds.passages.stories import stories as find

    with terminal.progress(target.quiet) as progress:
        result = find(o.paths(inputs), progress=progress, **options)
        wrote = outputs.write_result(result, target.output)
    if target.output is None and not target.json:
        show.print_best(result.stories, best_of=result.stories, by="size", what="articles")
    show.finish(result, wrote, quiet=target.quiet, json=target.json)
