"""All exceptions and warnings of the package. A message is one line: the value given, what was expected, what to do.

Messages name parameters as in Python, in backquotes: "raise `max_pairs`", "use `on_bad='skip'`". The command line shows
them as flags (`lookalike.cli.flags`).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

LISTED_NAMES = 20  # maximum number of names listed in a message
NAME_CHARACTERS = 60  # maximum number of characters shown of each name
ID_ADVICE = "Use `id` to name another column, or `id='none'` for row numbers."
NO_PAIRS = (
    "there were too many pairs to materialise, so groups were built directly from the buckets. "
    "Ask for pairs with a higher threshold or a larger `max_pairs`."
)


class LookalikeError(Exception):
    """Base class of all errors for users. The command line prints the message and exits with `exit_code`."""

    exit_code = 1


class UsageError(LookalikeError, ValueError):
    """An argument is invalid for any data, such as a threshold of 1.3 or an unknown unit."""

    exit_code = 2


class InputError(LookalikeError):
    """The input is missing, unreadable, or not as expected."""


class MissingInput(InputError, FileNotFoundError):
    """A file or folder of the input does not exist."""


class ColumnNotFound(InputError):
    """The input does not have the requested column."""

    def __init__(self, wanted: str, where: str, columns: Iterable[str]) -> None:
        names = list(columns)
        super().__init__(f"no column {wanted!r} in {where}.{nearest(wanted, names)} Columns: {listed(names)}.")


class BadText(InputError):
    """A text is not valid UTF-8."""


class InputChanged(InputError):
    """An input file changed after it was first read."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} has changed since it was first read; nothing was written. Run again.")


class DuplicateIds(InputError):
    """The ids of the rows are not unique."""


class DamagedIndex(InputError):
    """A file of an index differs from what was written."""


class OutputError(LookalikeError):
    """An output exists already or cannot be written."""


class IndexBusy(LookalikeError):
    """Another process is writing to the index."""


class DatabaseFailed(LookalikeError):
    """A database cannot be reached or refuses a request."""


class CannotListen(LookalikeError):
    """The server cannot listen on the given host and port."""


class BadJson(InputError):
    """The body of a request is not JSON."""


class BadBody(InputError):
    """The body of a request does not conform to the schema."""


class BatchTooLarge(LookalikeError):
    """A request contains more items than the server accepts."""


class OutOfMemory(LookalikeError):
    """The operating system refused to allocate memory."""

    def __init__(self) -> None:
        super().__init__("the system gave no more memory. Allow more (ulimit -v), or work with less: `memory=1GB`.")


class TooManyPairs(LookalikeError):
    """The result has more pairs than the user allowed."""


class PairLimitReached(TooManyPairs):
    """The search stopped because it found more pairs than the limit."""


class RecipeMismatch(LookalikeError, ValueError):
    """Two signatures cannot be compared: their schemes, seeds, lengths or shingle rules differ."""


class MissingExtra(LookalikeError, ImportError):
    """An optional dependency is not installed; the message contains the pip command."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f'{what} needs: pip install "lookalike[{extra}]"')


class RecallWarning(UserWarning):
    """The requested recall is unreachable with this number of hashes, or only with far too many candidates."""


class LeftOutWarning(UserWarning):
    """Some input files could not be read and were skipped."""


def nearest(wanted: str, names: Iterable[str]) -> str:
    """Return " Nearest: 'text'." for the name that is most similar to `wanted`, or "" if none is similar.

    >>> nearest("txt", ["id", "text"])
    " Nearest: 'text'."
    """
    close = difflib.get_close_matches(wanted, list(names), n=1, cutoff=0.5)
    return f" Nearest: {close[0]!r}." if close else ""


def as_share(value: Any) -> str:
    """Return " Did you mean 0.8?" for 80, which is a share in percent; "" for values that are not percentages.

    >>> as_share(80), as_share(99.5), as_share(1.3), as_share(200)
    (' Did you mean 0.8?', ' Did you mean 0.995?', '', '')
    """
    return f" Did you mean {value / 100:g}?" if isinstance(value, int | float) and 10 <= value < 100 else ""


def listed(names: Iterable[str]) -> str:
    """Join names with commas on one line: the first LISTED_NAMES of them, and the number of the others.

    >>> listed(["id", "text"]), listed(map(str, range(22)))
    ('id, text', '0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19 and 2 more')
    >>> listed(["two\\nlines", "x" * 99])
    "'two\\\\nlines', xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx..."
    """
    every = list(names)
    clipped = [name if len(name) <= NAME_CHARACTERS else name[:NAME_CHARACTERS] + "..." for name in every]
    shown = ", ".join(name if name.isprintable() else repr(name) for name in clipped[:LISTED_NAMES])
    return f"{shown} and {len(every) - LISTED_NAMES:,} more" if len(every) > LISTED_NAMES else shown
