"""The part of the explorer's server that accepts verdicts: guarded by a token and against requests of other sites."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from typing import Any

from fastapi import FastAPI, Request, Response
from starlette.concurrency import run_in_threadpool

from lookalike.errors import BadJson, InputError, UsageError
from lookalike.io.safe_cells import with_safe_cells
from lookalike.io.verdicts import events_of_rows, of_cells, votes_table
from lookalike.web.admission import Access, Limits, read_body
from lookalike.web.review import Review

WRITE_LIMITS = Limits(body=8_000_000)
MAX_ITEMS = 20_000  # items that one edit may name
Ask = Callable[[Callable[[], Any]], Response]


def add_review_routes(app: FastAPI, view: Any, ask: Ask, access: Access) -> None:
    """Add the routes for verdicts. ask: calls a function while no other request is answered, and responds."""
    review: Review = view.review

    @app.get("/api/review")
    def about() -> Response:
        return ask(review.about)

    @app.get("/api/next")
    def following(request: Request) -> Response:
        if view.sample is None:
            raise UsageError("pairs are drawn from the pairs of a result; here there is no list of them.")
        access.check(request, write=True)  # the first call writes the plan of the sample
        return ask(view.sample.following)

    @app.get("/api/quality")
    def quality() -> Response:
        return ask(view.sample.quality if view.sample is not None else lambda: {"points": []})

    @app.get("/api/verdicts.csv")
    def export() -> Response:
        text = io.StringIO()
        table = with_safe_cells(votes_table(review.file.votes))
        rows = csv.writer(text)
        rows.writerow(table.column_names)
        rows.writerows(row.values() for row in table.to_pylist())
        name = f'attachment; filename="{_plain(review.file.path.stem)}.csv"'
        return Response(text.getvalue().encode("utf-8", "replace"), media_type="text/csv",
                        headers={"Content-Disposition": name, "Cache-Control": "no-store"})  # fmt: skip

    @app.post("/api/judge")
    async def judge(request: Request) -> Response:
        given = await _given(request, access)
        left, right = _item(given.get("left")), _item(given.get("right"))
        return await run_in_threadpool(
            ask, lambda: review.judge(left, right, _text(given, "verdict"), **_more(given))
        )  # fmt: skip

    @app.post("/api/undo")
    async def undo(request: Request) -> Response:
        await _given(request, access)
        return await run_in_threadpool(ask, review.undo)

    @app.post("/api/edit")
    async def edit(request: Request) -> Response:
        given = await _given(request, access)
        action, items, others = _text(given, "action"), _items(given, "items"), _items(given, "others")
        more = _more(given)
        actions: dict[str, Callable[[], Any]] = {
            "same": lambda: review.same(items, **more),
            "split": lambda: review.split(items, others, **more),
            "move": lambda: review.move(items, others, _item(given.get("to")), **more),
            "represent": lambda: review.represent(_item(items[0] if items else None), **more),
        }
        if action not in actions:
            raise UsageError(f"action is {action!r}; expected one of {', '.join(actions)}.")
        return await run_in_threadpool(ask, actions[action])

    @app.post("/api/import")
    async def take(request: Request) -> Response:
        text = _text(await _given(request, access), "text")
        return await run_in_threadpool(ask, lambda: _imported(review, text))


def _imported(review: Review, text: str) -> dict[str, Any]:
    """Append the verdicts of a CSV or of another file of verdicts."""
    if text.lstrip("\ufeff").startswith("{"):
        rows = [row for line in text.split("\n") if line.strip() and "format" not in (row := _object(line))]
    else:
        try:
            rows = [of_cells(row) for row in csv.DictReader(io.StringIO(text.lstrip("\ufeff"), newline=""))]
        except csv.Error as error:
            raise InputError(f"the file is not valid CSV ({error}).") from error
    if rows and not {"left", "verdict"} <= set(rows[0]):
        raise InputError("the file has no columns left, right and verdict; expected a CSV or a .jsonl of verdicts.")
    added = review.file.import_events(events_of_rows(rows, "the file"))
    return {"added": added, "about": review.about()}


def _object(line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"a line of the file is not JSON ({error}).") from error
    if not isinstance(row, dict):
        raise InputError("a line of the file is no JSON object; expected left, right and verdict.")
    return row


async def _given(request: Request, access: Access) -> dict[str, Any]:
    """Return the body of a request that may write."""
    access.check(request, write=True)
    try:
        given = json.loads(await read_body(request, WRITE_LIMITS))
        json.dumps(given, ensure_ascii=False).encode()  # half of a surrogate pair is a ValueError
    except (ValueError, RecursionError) as error:
        raise BadJson("the body is not JSON.") from error
    if not isinstance(given, dict):
        raise BadJson("the body is no JSON object.")
    return given


def _item(value: Any) -> Any:
    if not isinstance(value, int | str) or isinstance(value, bool):
        raise UsageError(f"item {value!r} is no item; expected a number or a string.")
    return value


def _items(given: dict[str, Any], name: str) -> list[Any]:
    listed = given.get(name) or []
    if not isinstance(listed, list) or len(listed) > MAX_ITEMS:
        raise UsageError(f"{name} is no list of at most {MAX_ITEMS:,} items.")
    return [_item(value) for value in listed]


def _text(given: dict[str, Any], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str):
        raise BadJson(f'"{name}" is not a string.')
    return value


def _more(given: dict[str, Any]) -> dict[str, Any]:
    """Return who judges, the note, and whether the pair was drawn."""
    return {name: given.get(name) for name in ("by", "note", "drawn")}


def _plain(name: str) -> str:
    return "".join(letter if letter.isascii() and (letter.isalnum() or letter in "-_.") else "_" for letter in name)
