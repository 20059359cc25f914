"""Bodies whose parsing would hold up every other request are refused by their shape."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

import lookalike as la
from lookalike.errors import BadBody, BatchTooLarge
from lookalike.web import request_models
from lookalike.web.body_shape import LISTS_BESIDES, MOST_MEMBERS, MOST_VALUES, check_shape
from lookalike.web.item_schemas import form_of

BATCH = 5


@pytest.mark.promise("docs/how-to/serve.md", "more than 1,000,000 values or 50,000 members of objects")
@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        ('{"items":[' + "1," * MOST_VALUES + "1]}", BatchTooLarge, "2 lists and objects with 1,000,001 values came in"),
        ('{"items":[' + "[]," * 20 + "[]]}", BatchTooLarge, "23 lists and objects with 21 values came in one request"),
        ("{" + ",".join(f'"k{n}":1' for n in range(99)) + "}", BadBody, "99 fields are in the body; expected 16 or"),
        (
            '{"items":[{' + ",".join(f'"k{n}":1' for n in range(MOST_MEMBERS + 1)) + "}]}",
            BatchTooLarge,
            "3 lists and objects with 50,001 values came in one request; this server takes 5 items with 1,000,000",
        ),
    ],
)
def test_bodies_with_too_many_values_are_not_parsed(body: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        check_shape(body.encode(), BATCH)


@given(st.lists(st.text('a,[]{}:"\\ é'), max_size=BATCH), st.integers(0, 3))
def test_what_is_written_in_texts_does_not_count(texts: list[str], escapes: int) -> None:
    body = json.dumps({"items": [*texts, ',[{":\\"' * 200 + "\\" * escapes]}, ensure_ascii=bool(escapes % 2))
    check_shape(body.encode(), BATCH)


def test_a_full_batch_is_taken() -> None:
    lists = [[1.5] * 100 for _ in range(BATCH)]
    check_shape(json.dumps({"items": lists, "ids": list(range(BATCH)), "if_new": True}).encode(), BATCH)
    assert LISTS_BESIDES >= 3  # the body, its items and their ids


@pytest.mark.parametrize(
    ("kind", "options", "items"),
    [("sets", {}, [[0.5] * 300]), ("vectors", {"dimensions": 300}, [["x"] * 300]), ("documents", {}, [1] * 300)],
)
def test_the_first_error_of_a_list_ends_it(kind: str, options: dict[str, Any], items: Any, tmp_path) -> None:
    """Each error is an object, and a list may have a million."""
    index = la.Index.create(tmp_path / "x", kind=kind, **options)
    models = request_models.bodies(index.kind, form_of(index.kind), 1000)
    with pytest.raises(ValidationError) as caught:
        models.items.model_validate_json(json.dumps({"items": items}))
    assert caught.value.error_count() <= 3
