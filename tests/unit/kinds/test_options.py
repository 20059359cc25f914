"""Options that nobody declared are refused with the nearest that somebody did, by every app."""

from __future__ import annotations

from typing import Any

import pytest

import lookalike as la
from lookalike.errors import UsageError


@pytest.mark.parametrize(
    ("app", "wrong", "nearest"),
    [
        (la, "treshold", "threshold"), (la.vectors, "max_angel", "max_angle"), (la.bits, "max_bit", "max_bits"),
        (la.strings, "maxedits", "max_edits"), (la.faces, "tolerence", "tolerance"), (la.images, "hash", "hashes"),
    ],
)  # fmt: skip
def test_unknown_options(app: Any, wrong: str, nearest: str) -> None:
    with pytest.raises(UsageError, match=f"^there is no option '{wrong}'. Nearest: '{nearest}'.$"):
        app.pairs(["a"], **{wrong: 1})
    with pytest.raises(UsageError, match=r"^there is no option 'xyzzy'. Options: .*threads.*\.$"):
        app.groups(["a"], xyzzy=1)


def test_an_empty_list_may_be_of_texts_or_of_tokens() -> None:
    for source, against in (([], [[1]]), ([[1]], []), ([], ["a b"]), ([], [])):
        assert la.pairs(source, against=against).pairs.num_rows == 0
