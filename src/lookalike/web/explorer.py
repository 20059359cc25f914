"""The explorer: a local web page for a result or an index, and the server from which alone it loads its data."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any, Protocol

from fastapi import FastAPI, Request, Response
from starlette.concurrency import run_in_threadpool

from lookalike.errors import BadJson, UsageError
from lookalike.io.pages import framed
from lookalike.web.admission import Access, Limits, read_body
from lookalike.web.report import EXPLORER_PAGE, SCRIPTS, STYLES
from lookalike.web.responses import answer, handle_errors
from lookalike.web.review import Review
from lookalike.web.review_routes import add_review_routes

LIMITS = Limits(body=4_000_000)
SAFE = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class View(Protocol):
    """The queries that the explorer sends to a result or an index."""

    review: Review | None

    def overview(self) -> dict[str, Any]: ...
    def groups(self, cut: int, offset: int, limit: int) -> dict[str, Any]: ...
    def group(self, item: Any, cut: int, offset: int, limit: int) -> dict[str, Any]: ...
    def pairs(self, cut: int, order: str, offset: int, limit: int, item: Any) -> dict[str, Any]: ...
    def pair(self, left: Any, right: Any) -> dict[str, Any]: ...
    def item(self, item: Any) -> dict[str, Any]: ...
    def search(self, query: str) -> dict[str, Any]: ...
    def find(self, text: str) -> dict[str, Any]: ...


def static(page: str) -> FastAPI:
    """Return an application with one page, which loads nothing."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)

    @app.get("/")
    def home() -> Response:
        return Response(page.encode("utf-8", "replace"), headers=SAFE, media_type="text/html")

    return app


def explorer(view: View, access: Access | None = None) -> FastAPI:
    """Return the application: the page at /, its data under /api. Requests are answered one at a time.

    access: who may write verdicts, if the view has a file of them; by default nobody.
    """
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    handle_errors(app)
    page = "".join(framed(EXPLORER_PAGE, STYLES, SCRIPTS, connect="'self'"))
    turn = threading.Lock()  # a view caches what it has read and is not thread-safe

    def ask(name: str, *given: Any) -> Response:
        return turned(lambda: getattr(view, name)(*given))

    def turned(question: Callable[[], Any]) -> Response:
        with turn:
            return answer(question(), headers=SAFE)

    if view.review is not None:
        add_review_routes(app, view, turned, access or Access(closed="this server accepts no verdicts."))

    @app.get("/")
    def home() -> Response:
        return Response(page, headers=SAFE, media_type="text/html")

    @app.get("/api/overview")
    def overview() -> Response:
        return ask("overview")

    @app.get("/api/groups")
    def groups(cut: int = 0, offset: int = 0, limit: int = 50) -> Response:
        return ask("groups", cut, _from(offset), limit)

    @app.get("/api/group")
    def group(item: str, cut: int = 0, offset: int = 0, limit: int = 50) -> Response:
        return ask("group", _key(item), cut, _from(offset), limit)

    @app.get("/api/pairs")
    def pairs(cut: int = 0, order: str = "near", offset: int = 0, limit: int = 50, item: str | None = None) -> Response:
        return ask("pairs", cut, order, _from(offset), limit, None if item is None else _key(item))

    @app.get("/api/pair")
    def pair(left: str, right: str) -> Response:
        return ask("pair", _key(left), _key(right))

    @app.get("/api/item")
    def item(item: str) -> Response:
        return ask("item", _key(item))

    @app.get("/api/search")
    def search(q: str) -> Response:
        return ask("search", q)

    @app.post("/api/find")
    async def find(request: Request) -> Response:
        try:
            body = json.loads(await read_body(request, LIMITS))
            text = body["text"]
            str(text).encode()  # half of a surrogate pair is a ValueError
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise BadJson('the body is not JSON with a "text".') from error
        if not isinstance(text, str):
            raise BadJson('"text" is not a string.')
        return await run_in_threadpool(ask, "find", text)

    return app


def _key(text: str) -> Any:
    """Parse an item in the notation of the page: a whole number or a string, as JSON."""
    try:
        key = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"item {text!r} is not JSON; expected a number or a string in quotes.") from error
    if not isinstance(key, int | str) or isinstance(key, bool):
        raise UsageError(f"item {text!r} is no item; expected a number or a string in quotes.")
    return key


def _from(offset: int) -> int:
    if offset < 0:
        raise UsageError(f"offset is {offset}; expected 0 or more.")
    return offset
