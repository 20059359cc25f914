"""Every exception and warning of the package. A message is one line: what came, what was expected, what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

LISTED_NAMES = 20  # names in a message
NAME_CHARACTERS = 60  # of each of them


class LookalikeError(Exception):
    """Base of all errors a user can cause or meet. The command line prints its message and exits with `exit_code`."""

    exit_code = 1


class UsageError(LookalikeError, ValueError):
    """An argument that cannot work, whatever the data: a threshold of 1.3, an unknown unit."""

    exit_code = 2


class InputError(LookalikeError):
    """Input that is missing, unreadable, or not what it should be."""


class ColumnNotFound(InputError):
    """A column that the input does not have."""

    def __init__(self, wanted: str, where: str, columns: Iterable[str]) -> None:
        names = list(columns)
        super().__init__(f"no column {wanted!r} in {where}.{nearest(wanted, names)} Columns: {listed(names)}.")


class BadText(InputError):
    """Text that is not valid UTF-8."""


class InputChanged(InputError):
    """A file that is no longer what it was when it was first read."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} has changed since it was first read; nothing was written. Run again.")


class DuplicateIds(InputError):
    """Ids that do not tell the rows apart."""


class DamagedIndex(InputError):
    """A file of an index that is not as it was written."""


class OutputError(LookalikeError):
    """An output that exists already, or cannot be written."""


class IndexBusy(LookalikeError):
    """An index that another process is writing."""


class DatabaseFailed(LookalikeError):
    """A database that cannot be reached, or refuses."""


class CannotListen(LookalikeError):
    """A host or port on which no server can be started."""


class BadJson(InputError):
    """A request whose body is not JSON."""


class BadBody(InputError):
    """A request whose body is not what the schema says."""


class BatchTooLarge(LookalikeError):
    """More items in one request than the server takes."""


class OutOfMemory(LookalikeError):
    """The system gave no more memory."""

    def __init__(self) -> None:
        super().__init__("the system gave no more memory. Allow more (ulimit -v), or work with less: --memory 1GB.")


class TooManyPairs(LookalikeError):
    """The answer is larger than the user allowed."""


class PairLimitReached(TooManyPairs):
    """More pairs than the limit turned up while they were searched for."""


class RecipeMismatch(LookalikeError, ValueError):
    """Signatures of different schemes, seeds, lengths or shingle rules cannot be compared."""


class MissingExtra(LookalikeError, ImportError):
    """An optional dependency that is not installed; the message is the pip line."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f'{what} needs: pip install "lookalike[{extra}]"')


class RecallWarning(UserWarning):
    """The wished recall cannot be reached with this many hashes, or only with a flood of candidates."""


class LeftOutWarning(UserWarning):
    """Files of the input could not be read and were left out."""


def nearest(wanted: str, names: Iterable[str]) -> str:
    """' Nearest: 'text'.' for a name that is close to `wanted`, or nothing.

    >>> nearest("txt", ["id", "text"])
    " Nearest: 'text'."
    """
    close = difflib.get_close_matches(wanted, list(names), n=1, cutoff=0.5)
    return f" Nearest: {close[0]!r}." if close else ""


def listed(names: Iterable[str]) -> str:
    """Names separated by commas, on one line: the first of them, and how many more there are.

    >>> listed(["id", "text"]), listed(map(str, range(22)))
    ('id, text', '0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19 and 2 more')
    >>> listed(["two\\nlines", "x" * 99])
    "'two\\\\nlines', xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx..."
    """
    every = list(names)
    clipped = [name if len(name) <= NAME_CHARACTERS else name[:NAME_CHARACTERS] + "..." for name in every]
    shown = ", ".join(name if name.isprintable() else repr(name) for name in clipped[:LISTED_NAMES])
    return f"{shown} and {len(every) - LISTED_NAMES:,} more" if len(every) > LISTED_NAMES else shown
