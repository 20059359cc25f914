"""Terminal output: labelled lines and a progress bar per stage; plain lines and no bars in a pipe."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console

from lookalike.cli.flags import as_flags
from lookalike.core.trace import Progress, silent

LABEL = 9  # width of a label, such as "Compared "
STAGES = {
    "open": "Opening",
    "compile": "Compiling, which is done once",
    "item groups": "Grouping items",
    "read": "Reading",
    "common": "Dropping common shingles",
    "collapse": "Collapsing exact copies",
    "choose": "Choosing a way",
    "fields": "Reading the fields",
    "keys": "Sorting the keys",
    "candidates": "Looking for candidates",
    "compare": "Comparing",
    "sketch": "Sketching",
    "index": "Indexing",
    "divide": "Dividing",
    "merge": "Merging",
    "match": "Matching",
    "audit": "Measuring recall",
    "sum up": "Summing up",
    "pairs": "Writing pairs down",
    "groups": "Grouping",
    "dedup": "Choosing what to keep",
}


class Screen(Console):
    """A console that prints text unchanged, and raises BrokenPipeError for `main` if the reader has gone."""

    def __init__(self, *, stderr: bool = False, soft_wrap: bool = False) -> None:
        super().__init__(stderr=stderr, soft_wrap=soft_wrap, highlight=False)

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError

    def say(self, label: str, text: str, *, style: str | None = None) -> None:
        """Print a labelled line: `Read     390 documents`; on a terminal, long text wraps with a hanging indent."""
        whole = f"{label:<{LABEL - 1}} {as_flags(text)}"
        if self.is_terminal:
            whole = textwrap.fill(
                whole, self.width, subsequent_indent=" " * LABEL, break_long_words=False, break_on_hyphens=False
            )
        self.print(whole, style=style, markup=False, soft_wrap=True)


err = Screen(stderr=True)


@contextmanager
def progress(quiet: bool) -> Iterator[Progress]:
    """Show a progress bar per stage on a terminal's standard error; nothing in a pipe or if quiet."""
    if quiet or not err.is_terminal:
        yield silent
        return
    from rich.progress import BarColumn, SpinnerColumn, Task, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars
    from rich.text import Text

    class Count(TextColumn):
        def render(self, task: Task) -> Text:
            return Text(counted(task.completed, task.total), style="progress.download")

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), Count(""), TimeElapsedColumn())
    with Bars(*columns, console=err, transient=True) as bars:
        tasks: dict[str, Any] = {}

        def report(stage: str, done: int, total: int | None) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(STAGES.get(stage, stage), total=total)
            bars.update(tasks[stage], completed=done, total=total)

        from lookalike.kernels import _jit

        _jit.on_compile = lambda: report("compile", 0, None)
        try:
            yield report
        finally:
            _jit.on_compile = None


def counted(done: float, total: float | None) -> str:
    """Format the progress of a stage in numbers; empty for a stage without parts.

    >>> counted(1200, 5000), counted(1200, None), counted(0, None), counted(1, 1)
    ('1,200/5,000', '1,200', '', '')
    """
    if total is None:
        return f"{done:,.0f}" if done else ""
    return f"{done:,.0f}/{total:,.0f}" if total > 1 else ""
