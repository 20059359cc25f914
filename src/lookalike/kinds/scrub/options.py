"""The options of `scrub`."""

from __future__ import annotations

from typing import Annotated, Literal

from lookalike.core import run_options as shared
from lookalike.core.options import Option, changed
from lookalike.core.shingle_options import FoldCase

CUT_PANEL = "What is cut"
SHORTEST = {"span": 50, "line": 8, "paragraph": 8}  # default min_tokens
SpanUnit = Literal["word", "char", "byte"]
Level = Literal["span", "line", "paragraph"]
Border = Literal["token", "sentence", "line", "paragraph"]
Loss = Literal["drop", "keep"]
BadText = Literal["error", "skip"]


class ScrubOptions(shared.LocalOptions, total=False):
    """The options of `scrub`."""

    min_tokens: Annotated[
        int,
        Option(0, "Number of tokens of the shortest repeat that is removed.", panel=CUT_PANEL, range="[0, inf)",
               unset=f"{SHORTEST['span']}, {SHORTEST['line']} words of a line or paragraph",
               reason="shorter runs repeat in most texts without being copies"),
    ]  # fmt: skip
    unit: Annotated[
        SpanUnit, Option("word", "What a token is.", panel=CUT_PANEL, reason="text is cut, not divided into shingles")
    ]
    level: Annotated[Level, Option("span", "Cut runs of tokens, or whole lines or paragraphs.", panel=CUT_PANEL)]
    max_times: Annotated[
        int, Option(1, "Number of copies of a line or paragraph that stay.", panel=CUT_PANEL, range="[1, inf)")
    ]
    keep: Annotated[
        str,
        changed(shared.KeepPolicy, panel=CUT_PANEL, help="Document whose copy stays: first, last, longest, shortest, "
                "max:COL, min:COL, priority:COL=a,b,c."),
    ]  # fmt: skip
    at: Annotated[Border, Option("token", "Widen cuts to whole sentences, lines or paragraphs.", panel=CUT_PANEL)]
    protect: Annotated[
        str | None,
        Option(None, "Regular expression; text that it matches stays, such as code between fences.", unset="none",
               panel=CUT_PANEL),
    ]  # fmt: skip
    max_loss: Annotated[
        float,
        Option(1.0, "Largest share of its tokens that a document may lose.", panel=CUT_PANEL, range="(0, 1]",
               expected=shared.SHARE),
    ]  # fmt: skip
    on_max_loss: Annotated[
        Loss, Option("drop", "What to do with a document that would lose more: drop it, or keep it whole.",
                     panel=CUT_PANEL)
    ]  # fmt: skip
    fold_case: Annotated[bool, changed(FoldCase, panel=CUT_PANEL, help="Ignore upper and lower case of words.")]
    text: shared.Text
    id: shared.Id
    on_bad_text: Annotated[
        BadText,
        Option("error", "What to do with text that is not UTF-8: stop, or leave the document unchanged.",
               reason="replacing bad bytes would change text outside the cuts"),
    ]  # fmt: skip
    lines: shared.Lines
    threads: shared.Threads
    memory: shared.Memory
    work_dir: shared.WorkDir
    beside: shared.Beside
    progress: shared.ProgressOption
