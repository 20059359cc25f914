"""Tokenisation of source code by Pygments, with the character range of each token and identifiers folded."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.token_hashes import token_hashes
from lookalike.errors import MissingExtra, UsageError, nearest
from lookalike.kinds.passages.tokens import PositionedTokens

NAME_TOKEN, STRING, NUMBER_TOKEN = "name", '"', "0"  # tokens that replace every name, string and number
WORD_PATTERN = re.compile(r"\w+")
BY_NAME = "auto"

Piece = tuple[int, int, str]  # start, end, token


def check_language(language: str) -> None:
    """Raise UsageError if Pygments does not know the language; `auto` chooses it by the file name of each document."""
    if language == BY_NAME:
        _pygments()
        return
    _lexer_called(language)


def place_code(texts: pa.Array, names: Sequence[object], language: str, *, comments: bool) -> PositionedTokens:
    """Tokenise source texts. names: file names, for language `auto`; comments: whether words of comments are tokens.

    All identifiers of a program become one token, as do its strings and its numbers, so renaming does not hide a copy.
    Keywords, operators and built-in names are unchanged. Takes a second per megabyte.
    """
    found: list[Piece] = []
    offsets = np.zeros(len(texts) + 1, np.int64)
    for row, (text, name) in enumerate(zip(texts.to_pylist(), names, strict=True)):
        lexer = _lexer_for(str(name).rpartition("/")[2]) if language == BY_NAME else _lexer_called(language)
        found += _pieces(text, lexer, comments=comments)
        offsets[row + 1] = len(found)
    starts, ends = (np.array([piece[side] for piece in found], np.uint32) for side in (0, 1))
    known: dict[str, int] = {}
    number = np.array([known.setdefault(piece[2], len(known)) for piece in found], np.int64)
    hashes = (token_hashes(pa.array(list(known), pa.large_string())) >> np.uint64(32)).astype(np.uint32)
    return PositionedTokens(hashes[number], starts, ends, offsets)


def _pieces(text: str, lexer: Any, *, comments: bool) -> Iterator[Piece]:
    """Yield the tokens of one text; adjacent parts of a string are one token."""
    kinds = _pygments().token
    open_string: tuple[int, int] | None = None
    # Lexers expect a newline at the end; no token includes it.
    for start, kind, value in lexer.get_tokens_unprocessed(text if text.endswith("\n") else text + "\n"):
        if kind in kinds.Literal.String and kind is not kinds.Literal.String.Doc:
            open_string = (start if open_string is None else open_string[0], min(start + len(value), len(text)))
            continue
        if open_string is not None:
            yield (*open_string, STRING)
            open_string = None
        if kind in kinds.Comment or kind is kinds.Literal.String.Doc:
            if comments:
                yield from ((start + m.start(), start + m.end(), m[0].casefold()) for m in WORD_PATTERN.finditer(value))
        elif (token := _folded(kind, value, kinds)) is not None:
            yield start, start + len(value.rstrip()), token
    if open_string is not None:
        yield (*open_string, STRING)


def _folded(kind: Any, value: str, kinds: Any) -> str | None:
    """Return the token that represents a piece of code, or None for white space."""
    if not value.strip() or kind in kinds.Whitespace:
        return None
    if kind in kinds.Literal.Number:
        return NUMBER_TOKEN
    if kind in kinds.Name and kind not in kinds.Name.Builtin:
        return NAME_TOKEN
    return value.strip()


def _pygments() -> Any:
    try:
        import pygments.lexers
        import pygments.token
        import pygments.util
    except ImportError:
        raise MissingExtra("source code", "code") from None
    return pygments


@lru_cache(maxsize=64)
def _lexer_called(language: str) -> Any:
    pygments = _pygments()
    try:
        return pygments.lexers.get_lexer_by_name(language)
    except pygments.util.ClassNotFound:
        names = [alias for _, aliases, _, _ in pygments.lexers.get_all_lexers() for alias in aliases]
        raise UsageError(
            f"language {language!r} is unknown.{nearest(language, names)} Give a name that Pygments knows, or auto."
        ) from None


@lru_cache(maxsize=4096)
def _lexer_for(name: str) -> Any:
    """Return the lexer for a file name; the plain text lexer if none is known."""
    pygments = _pygments()
    find: Callable[[str], Any] = pygments.lexers.get_lexer_for_filename
    try:
        return find(name)
    except pygments.util.ClassNotFound:
        return _lexer_called("text")
