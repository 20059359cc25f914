"""Turn the Python parameters that messages of the library name into command-line flags."""

from __future__ import annotations

import re

PARAMETER = re.compile(r"`([a-z][a-z0-9_]*)(?:=([^`]*))?`")
RENAMED = {"fields": "field", "inputs": "input"}  # parameters that take a list; their flags are repeated


def as_flags(message: str) -> str:
    """Return the message with flags instead of the parameters that it names in backquotes.

    >>> as_flags("2 columns could be the text; give `text=COL`. Use `on_bad='skip'` or `lines=True`.")
    '2 columns could be the text; give --text COL. Use --on-bad skip or --lines.'
    >>> as_flags("more than `max_pairs=1,000`; see `lookalike evaluate`.")
    'more than --max-pairs 1,000; see `lookalike evaluate`.'
    """
    return PARAMETER.sub(_flag, message)


def _flag(match: re.Match[str]) -> str:
    name, value = match.groups()
    flag = "--" + RENAMED.get(name, name).replace("_", "-")
    return flag if value in (None, "True") else f"{flag} {value.strip(chr(39))}"
