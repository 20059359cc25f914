"""Remove repeated text from a collection: one copy stays, and no run of tokens occurs twice afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from lookalike.core.options import accepts
from lookalike.kinds.scrub.options import DecontaminateOptions, ScrubOptions

if TYPE_CHECKING:
    from lookalike.kinds.scrub.decontaminate import Contamination
    from lookalike.kinds.scrub.local import Scrubbed


@accepts(ScrubOptions)
def scrub(source: Any, **options: Unpack[ScrubOptions]) -> Scrubbed:
    """Remove text that repeats, so that no run of `min_tokens` tokens occurs twice in the collection afterwards.

    One copy of each passage stays. Cuts begin and end between tokens; the text outside of them is unchanged. Runs that
    arise where a cut brings two texts together are removed too. Time and memory are linear in the text.

    Parameters
    ----------
    source
        Paths, a list of strings, an Arrow table, or anything that exports an Arrow stream.

    Returns
    -------
    Scrubbed
        The tables `kept` and `removed`; `write` writes them.

    Examples
    --------
    >>> import lookalike as la
    >>> texts = ["All rights reserved by us. One.", "Two. All rights reserved by us, too."]
    >>> result = la.scrub(texts, min_tokens=4)
    >>> result.kept["text"].to_pylist()
    ['All rights reserved by us. One.', 'Two. too.']
    >>> result.removed.select(["row", "text", "kept", "kept_start", "occurrences"]).to_pylist()
    [{'row': 1, 'text': 'All rights reserved by us, ', 'kept': 0, 'kept_start': 0, 'occurrences': 2}]
    """
    from lookalike.kinds.scrub.local import run

    return run(source, dict(options))


@accepts(DecontaminateOptions)
def decontaminate(source: Any, benchmarks: Any, **options: Unpack[DecontaminateOptions]) -> Contamination:
    """Find the items of benchmarks that are in a training set, and remove the documents or spans that hold them.

    An item is contaminated if a document shares a run of `min_tokens` words with it, or has the share `near` of its
    5-word shingles. Items with fewer than 5 words are not searched, and are counted. The benchmarks are in memory; the
    time is linear in the training set.

    Parameters
    ----------
    source
        The training set.
    benchmarks
        A source, a list of paths, or a dict of sources by name.

    Returns
    -------
    Contamination
        The tables `table` (for each benchmark and column: items, contaminated items, their share with its 95 %
        interval) and `matches`; `write` writes the training set without the items.

    Examples
    --------
    >>> import lookalike as la
    >>> train = ["What is the capital of France? It is Paris, of course.", "Nothing to see in this text."]
    >>> result = la.decontaminate(train, {"quiz": ["What is the capital of France?", "Who wrote Hamlet in English?"]})
    >>> result.table.select(["benchmark", "items", "contaminated", "share"]).to_pylist()
    [{'benchmark': 'quiz', 'items': 2, 'contaminated': 1, 'share': 0.5}]
    """
    from lookalike.kinds.scrub.decontaminate import run

    return run(source, benchmarks, dict(options))
