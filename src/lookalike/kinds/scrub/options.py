"""The options of `scrub` and `decontaminate`."""

from __future__ import annotations

from typing import Annotated, Literal

from lookalike.core import run_options as shared
from lookalike.core.options import SIMILARITY_PANEL, Option, changed
from lookalike.core.shingle_options import FoldCase

CUT_PANEL = "What is cut"
ONE_MACHINE = "they run on one machine, within its memory budget"
SHORTEST = {"span": 50, "line": 8, "paragraph": 8}  # default min_tokens
MOST_GAP = 64  # maximum tokens of an edit within a near copy
SpanUnit = Literal["word", "char", "byte"]
Level = Literal["span", "line", "paragraph"]
Border = Literal["token", "sentence", "line", "paragraph"]
Loss = Literal["drop", "keep"]
BadText = Literal["error", "skip"]
Removal = Literal["documents", "spans"]


class ScrubOptions(shared.LocalOptions, total=False):
    """The options of `scrub`."""

    min_tokens: Annotated[
        int,
        Option(0, "Number of tokens of the shortest repeat that is removed.", panel=CUT_PANEL, range="[0, inf)",
               unset=f"{SHORTEST['span']}, {SHORTEST['line']} words of a line or paragraph",
               reason="shorter runs repeat in most texts without being copies"),
    ]  # fmt: skip
    gap: Annotated[
        int,
        Option(0, "Remove near copies too: largest number of words of an edit within one.", panel=CUT_PANEL,
               range=f"[0, {MOST_GAP}]", expected=f"0 to {MOST_GAP} tokens"),
    ]  # fmt: skip
    audit: Annotated[
        int,
        changed(shared.Audit, default=300, help="Number of documents on which the recall of near copies is measured; "
                "0 for none.", panel=CUT_PANEL, reason="each is compared with the text of all others"),
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


class DecontaminateOptions(shared.LocalOptions, total=False):
    """The options of `decontaminate`."""

    min_tokens: Annotated[
        int,
        Option(13, "Number of words of a run that an item and a document must share.", panel=SIMILARITY_PANEL,
               range="[1, inf)", reason="13 words are usual for this purpose"),
    ]  # fmt: skip
    near: Annotated[
        float,
        Option(0.8, "Or the share of the 5-word shingles of an item that are in a document.", panel=SIMILARITY_PANEL,
               range="(0, 1]", expected=shared.SHARE),
    ]  # fmt: skip
    question: Annotated[
        str | None, Option(None, "Column of the benchmarks with the questions.", unset="the column of texts")
    ]
    answer: Annotated[
        str | None, Option(None, "Column of the benchmarks with the answers, which are searched separately.",
                           unset="none")
    ]  # fmt: skip
    remove: Annotated[
        Removal, Option("documents", "What to remove from the training set: documents that hold an item, or spans.",
                        panel=CUT_PANEL)
    ]  # fmt: skip
    text: shared.Text
    id: shared.Id
    lines: shared.Lines
    threads: shared.Threads
    memory: shared.Memory
    work_dir: shared.WorkDir
    beside: shared.Beside
    progress: shared.ProgressOption
