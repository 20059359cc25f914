"""The options of `passages` and `stories`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from lookalike.core import run_options as shared
from lookalike.core.options import SHINGLES_PANEL, SIMILARITY_PANEL, Option, changed
from lookalike.core.shingle_options import FoldCase, StripAccents

CODE_PANEL = "Source code"
K = {True: 5, False: 10}  # default tokens in a shingle: prose, code
DEFAULT_MIN_TOKENS = {True: 12, False: 24}  # default tokens in the shortest passage: prose, code
BRIDGED = 3  # shingles in a window if edits are bridged, because runs between edits are short
MOST_GAP = 64  # maximum tokens of an edit that is bridged

StoryEvidence = Literal["text", "topics"]

PassageMaxShare = Annotated[
    float | None,
    changed(
        shared.MaxShare, help="Do not count text that occurs in a larger share of the documents.", unset="all counts"
    ),
]
MinTokens = Annotated[int, Option(
    0, "Number of tokens of the shortest passage.", panel=SIMILARITY_PANEL,
    unset=f"{DEFAULT_MIN_TOKENS[True]} words, {DEFAULT_MIN_TOKENS[False]} tokens of code",
    reason="a passage has a length, not a similarity",
)]  # fmt: skip


class PassageOptions(shared.SparkOptions, total=False):
    """The options of `passages`."""

    against: Annotated[
        Any,
        Option(None, "Sources to compare the documents with, instead of with each other.",
               unset="compare the documents with each other", panel=SIMILARITY_PANEL,
               command_type=list[str] | None, command_help="A source to compare the documents with, instead of "
               "with each other (repeatable).", metavar="INPUT"),
    ]  # fmt: skip
    template: Annotated[
        Any,
        Option(None, "Boilerplate: text whose shingles do not count.", unset="none", panel=SIMILARITY_PANEL,
               command_type=list[str] | None, command_help="A file of boilerplate: text in it does not count "
               "(repeatable).", local_only=True),
    ]  # fmt: skip
    author: Annotated[
        str | None,
        Option(None, "Column of authors: documents of one author are not compared.", unset="compare all",
               panel=SIMILARITY_PANEL, local_only=True),
    ]  # fmt: skip
    min_tokens: MinTokens
    gap: Annotated[
        int,
        Option(0, "Largest number of tokens of an edit within a passage.", panel=SIMILARITY_PANEL,
               range=f"[0, {MOST_GAP}]", expected=f"0 to {MOST_GAP} tokens"),
    ]  # fmt: skip
    reworded: Annotated[
        bool,
        Option(False, "Find passages that say the same in other words, by rare words and their order.",
               flags=("--reworded",), panel=SIMILARITY_PANEL, local_only=True),
    ]  # fmt: skip
    precision: Annotated[
        float,
        Option(0.98, "Expected share of the passages found by `reworded` that are not there by chance.",
               panel=SIMILARITY_PANEL, range="(0, 1)", expected="a share between 0 and 1", local_only=True),
    ]  # fmt: skip
    max_share: PassageMaxShare
    language: Annotated[
        str | None,
        Option(None, "Language of source code, by its name in Pygments; auto for file names.", unset="prose",
               panel=CODE_PANEL),
    ]  # fmt: skip
    comments: Annotated[
        bool,
        Option(True, "Compare the comments of code, too.", flags=("--comments/--no-comments",), panel=CODE_PANEL),
    ]
    k: Annotated[
        int,
        Option(0, "Number of tokens in a shingle.", unset=f"{K[True]} words, {K[False]} tokens of code", flags=("-k",),
               panel=SHINGLES_PANEL),
    ]  # fmt: skip
    window: Annotated[
        int,
        Option(0, "Number of shingles in a window.", unset=f"`min_tokens` - `k` + 1, at most {BRIDGED} with `gap`",
               panel=SHINGLES_PANEL),
    ]  # fmt: skip
    fold_case: FoldCase
    strip_accents: StripAccents
    text: shared.Text
    id: shared.Id
    max_pairs: Annotated[
        int,
        changed(shared.MaxPairs, default=10_000_000, help="Largest number of passages; the run stops where there are "
                "more.", reason="a row has the places of a passage, too"),
    ]  # fmt: skip
    on_bad_text: shared.OnBadTextOption
    on_bad_file: shared.OnBadFileOption
    lines: shared.Lines
    threads: shared.Threads
    memory: shared.Memory
    work_dir: shared.WorkDir
    beside: shared.Beside
    progress: shared.ProgressOption


class StoryOptions(shared.LocalOptions, total=False):
    """The options of `stories`."""

    by: Annotated[
        StoryEvidence,
        Option("text", "What joins two articles: text that both have, or topics, the rare words of articles that were "
               "written independently.", panel=SIMILARITY_PANEL),
    ]  # fmt: skip
    similarity: Annotated[
        float | None,
        Option(None, "Lowest mean cosine of tf-idf of the articles of a story, by topics.",
               unset="learned from what articles share by chance", panel=SIMILARITY_PANEL, range="(0, 1]",
               expected=shared.SHARE),
    ]  # fmt: skip
    share: Annotated[
        float,
        Option(0.4, "Lowest share of each of two articles that is in passages of both.", panel=SIMILARITY_PANEL,
               range="(0, 1]", expected=shared.SHARE),
    ]  # fmt: skip
    jaccard: Annotated[
        float,
        Option(0.3, "Lowest Jaccard similarity of the word shingles of two articles; one of the two bounds suffices.",
               panel=SIMILARITY_PANEL, range="(0, 1]", expected=shared.SHARE),
    ]  # fmt: skip
    min_tokens: Annotated[int, changed(MinTokens, unset=str(DEFAULT_MIN_TOKENS[True]))]
    max_share: PassageMaxShare
    text: shared.Text
    id: shared.Id
    on_bad_text: shared.OnBadTextOption
    lines: shared.Lines
    threads: shared.Threads
    memory: Annotated[int | str | None, changed(shared.Memory, unset="half of the free memory")]
    progress: shared.ProgressOption
