"""Remove repeated text from a collection: one copy stays, and no run of tokens occurs twice afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from lookalike.core.options import accepts
from lookalike.kinds.scrub.options import ScrubOptions

if TYPE_CHECKING:
    from lookalike.kinds.scrub.local import Scrubbed


@accepts(ScrubOptions)
def scrub(source: Any, **options: Unpack[ScrubOptions]) -> Scrubbed:
    """Remove text that repeats, so that no run of `min_tokens` tokens occurs twice in the collection afterwards.

    One copy of each passage stays. Cuts begin and end between tokens; the text outside of them is unchanged. Runs that
    arise where a cut brings two texts together are removed too. Time and memory are linear in the text.

    source: paths, a list of strings, an Arrow table, or anything that exports an Arrow stream. The result has
    the tables `kept` and `removed`, and writes them.

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
