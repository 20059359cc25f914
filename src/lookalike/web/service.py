"""The HTTP service of an index. Small queries run in the event loop, all others in threads; writes are serialised."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse, PlainTextResponse, RedirectResponse
from pydantic import BaseModel

from lookalike import __version__
from lookalike.errors import UsageError
from lookalike.index.group_commit import Addition, Removal
from lookalike.index.search import WorkLimit
from lookalike.web import request_models
from lookalike.web.admission import Access, Limits, Refused, read_body
from lookalike.web.api_page import api_page
from lookalike.web.item_schemas import form_of
from lookalike.web.metrics import CONTENT_TYPE, Metrics
from lookalike.web.responses import answer, handle_errors
from lookalike.web.serving import Receive, Send
from lookalike.web.writes import Writes

if TYPE_CHECKING:
    from lookalike.index.index import Index

LOOP_ITEMS = 4  # most items of a query in the event loop: for these, a thread would cost more than the query
LOOP_BYTES = 1 << 16  # largest body that is handled in the event loop
LOOP_WORK = WorkLimit(candidates=1000, scored_bytes=1 << 21)  # a few milliseconds; larger queries use a thread
IN_THREADS = ("strings", "records", "images", "faces")  # kinds for which a query of one small item can take seconds
ITEMS_PER_PART = 64  # items between two checks whether the client still waits
QUERY_THREADS = 4
MAX_WAITING = 256  # requests that may use or wait for one of these threads
CLOSED = "Nobody may write here."
NO_ITEM = "No item has this id."
BAD_BODY = {
    400: "The body is not JSON.",
    408: "The body came too slowly.",
    413: "The body is too large.",
    415: "The Content-Type is not application/json.",
    422: "A field is missing, unknown or of the wrong kind, or there are too many items.",
}
PICTURE_KINDS = ("images", "faces")
Made = TypeVar("Made")


class Service:
    """The ASGI application of the service. The caller owns the index and closes it."""

    def __init__(self, index: Index, *, limits: Limits | None = None, access: Access | None = None) -> None:
        self.index, self.limits, self.access = index, limits or Limits(), access or Access()
        self.metrics = Metrics()
        self.kind, self.column = index.kind.name, index.kind.scale.column
        self.form = form_of(index.kind)
        self.finds_passages = index.finds_passages
        self.bodies = request_models.bodies(index.kind, self.form, self.limits.batch)
        in_threads = "://" in index.store.place or self.kind in IN_THREADS  # a database may be slow to answer
        self._loop_items = 0 if in_threads else LOOP_ITEMS
        self._waiting = 0
        self._threads = ThreadPoolExecutor(QUERY_THREADS, thread_name_prefix="lookalike-service")
        self.writes = Writes(index, self.limits.seconds)
        self.app = self._routes()

    def warm(self) -> None:
        """Run one query, so that the first request does not wait for compilation."""
        if self.kind in PICTURE_KINDS:  # the index may store a path, which is no query
            self.index.query(self.form.prepare([self.form.example]), k=1)
            return
        item = self.index.store.raw(first)[0] if len(first := self.index.store.after(-1, 1)) else None
        if item is not None:
            self.index.query([self.index.kind.item(item)], k=1)

    def close(self) -> None:
        """Wait for running work; queued work is cancelled."""
        self._threads.shutdown(cancel_futures=True)
        self.writes.close()

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begin, status = time.perf_counter(), 500

        async def noted(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        self.metrics.under_way += 1
        try:
            await self.app(scope, receive, noted)
        finally:
            self.metrics.under_way -= 1
            path = getattr(scope.get("route"), "path_format", "other")
            self.metrics.answered(path, status, time.perf_counter() - begin)

    # Requests

    async def query(self, request: Request) -> Response:
        """Which items of the index are near each of these, exactly scored, nearest first."""
        until = time.monotonic() + self.limits.seconds
        self.access.check(request, write=False)
        body = await read_body(request, self.limits)
        asked = await self._parse(body, self.bodies.query, until)
        quick: list[Any] | None = None
        if len(asked.items) <= self._loop_items and len(body) <= LOOP_BYTES:
            items = self.form.prepare(asked.items)
            quick = self.index.query_within(items, LOOP_WORK, threshold=asked.threshold, k=asked.k)
        if quick is not None:
            results, response = quick, self._matches(quick)
        else:
            left = threading.Event()
            try:
                results, response = await self._in_time(lambda: self._query(asked, left), until, self._threads)
            finally:
                left.set()
        self.metrics.count("queried_items", len(asked.items))
        self.metrics.count("matches", sum(map(len, results)))
        return response

    def _query(self, asked: Any, left: threading.Event) -> tuple[list[Any], Response]:
        """Query in parts, and stop when `left` is set because the client no longer waits."""
        results: list[Any] = []
        for low in range(0, len(asked.items), ITEMS_PER_PART):
            if left.is_set():
                break
            part = self.form.prepare(asked.items[low : low + ITEMS_PER_PART])
            results += self.index.query(part, threshold=asked.threshold, k=asked.k)
        return results, self._matches(results)

    def _matches(self, found: list[Any]) -> Response:
        return answer({"matches": [[{"id": key, self.column: near} for key, near in row] for row in found]})

    async def passages(self, request: Request) -> Response:
        """Who quotes these texts: the passages that they share with stored texts, and where, in characters."""
        until = time.monotonic() + self.limits.seconds
        self.access.check(request, write=False)
        asked = await self._parse(await read_body(request, self.limits), self.bodies.texts, until)
        found = await self._in_time(lambda: self.index.passages(asked.items, k=asked.k), until, self._threads)
        rows = [
            [{**one._asdict(), "text": text[one.start : one.end]} for one in passages]
            for text, passages in zip(asked.items, found, strict=True)
        ]
        self.metrics.count("queried_items", len(asked.items))
        self.metrics.count("matches", sum(map(len, rows)))
        return answer({"passages": rows})

    async def add(self, request: Request) -> Response:
        """Put items into the index, in place of those with the same ids; with if_new, only what has no match yet."""
        self.access.check(request, write=True)
        until = time.monotonic() + self.limits.seconds
        asked = await self._parse(await read_body(request, self.limits), self.bodies.items, until)
        outcome = await self.writes.write(Addition(self.form.prepare(asked.items), asked.ids, asked.if_new))
        content: dict[str, Any]
        if isinstance(outcome, list):
            shown = [None if match is None else {"id": match[0], self.column: match[1]} for match in outcome]
            content = {"added": outcome.count(None), "replaced": 0, "matches": shown}
        else:
            content = {"added": outcome.count - outcome.replaced, "replaced": outcome.replaced}
        self.metrics.count("added_items", content["added"] + content["replaced"])
        return answer(content)

    async def item(self, request: Request, id: str) -> Response:  # noqa: A002
        """The item with this id, as it was given; null where the index does not store items."""
        self.access.check(request, write=False)

        def found() -> dict[str, Any]:
            try:
                name = self.index.parse_id(id)
                return {"id": name, "item": self.index.content(name)}
            except (UsageError, KeyError):  # text that cannot be an id of this index is not stored
                raise _no_item(id) from None

        return answer(await self._in_time(found, time.monotonic() + self.limits.seconds))

    async def remove(self, request: Request, id: str) -> Response:  # noqa: A002  (the user's word)
        """Take an item out of the index."""
        self.access.check(request, write=True)
        try:
            change = Removal(self.index.parse_id(id))
        except UsageError:  # text that cannot be an id of this index is not stored
            change = None
        removed = 0 if change is None else await self.writes.write(change)
        if not removed:
            raise _no_item(id)
        self.metrics.count("removed_items", removed)
        return answer({"removed": removed})

    async def compare(self, request: Request) -> Response:
        """How similar two items are, whether the index has them or not."""
        until = time.monotonic() + self.limits.seconds
        self.access.check(request, write=False)
        asked = await self._parse(await read_body(request, self.limits), self.bodies.compare, until)
        left, right = self.form.prepare([asked.left, asked.right])
        near = await self._in_time(lambda: self.index.compare(left, right), until, self._threads)
        return answer({self.column: near})

    async def stats(self, request: Request) -> Response:
        """What the index holds, and how it was made."""
        self.access.check(request, write=False)
        return answer(await self._in_time(self.index.info, time.monotonic() + self.limits.seconds))

    async def health(self) -> Response:
        """Whether the index can be read."""
        await self._in_time(lambda: len(self.index), time.monotonic() + self.limits.seconds)
        return answer({"status": "ok"})

    async def metrics_text(self, request: Request) -> Response:
        """Counts and times, for Prometheus."""
        self.access.check(request, write=False)
        count = await self._in_time(lambda: len(self.index), time.monotonic() + self.limits.seconds)
        text = self.metrics.text({"items": count}, {"kind": self.kind, "version": __version__})
        return Response(text, media_type=CONTENT_TYPE)

    async def openapi(self, request: Request) -> Response:
        """The description of this API, for programs."""
        self.access.check(request, write=False)
        return answer(self.app.openapi())

    async def docs(self, request: Request) -> Response:
        """This page."""
        self.access.check(request, write=False)
        policy = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}
        return Response(api_page(self.app.openapi(), str(request.base_url).rstrip("/")), 200, policy, "text/html")

    # Work

    async def _parse(self, body: bytes, into: type[BaseModel], until: float) -> Any:
        """Parse a body; a large one, which can take seconds, is parsed in a thread."""
        if len(body) <= LOOP_BYTES:
            return request_models.parse(body, into, self.limits.batch)
        return await self._in_time(lambda: request_models.parse(body, into, self.limits.batch), until, self._threads)

    async def _in_time(self, work: Callable[[], Made], until: float, threads: ThreadPoolExecutor | None = None) -> Made:
        """Run work in a thread and return its result; after `until`, raise Refused while the thread continues."""
        if threads is not None and self._waiting >= MAX_WAITING:
            raise Refused(503, "Busy", f"{MAX_WAITING} requests are waiting already. Try again later.")
        self._waiting += threads is not None
        try:
            async with asyncio.timeout(until - time.monotonic()):
                return await asyncio.get_running_loop().run_in_executor(threads, work)
        except TimeoutError:
            raise self._too_long() from None
        finally:
            self._waiting -= threads is not None

    def _too_long(self) -> Refused:
        return Refused(
            503, "TookTooLong", f"not done within {self.limits.seconds:g} s. Send fewer items in one request."
        )

    # The application

    def _routes(self) -> FastAPI:
        about = f"Which of these {self.kind} are nearly the same as what is there already?"
        app = FastAPI(
            title=f"lookalike: an index of {self.kind}", version=__version__, description=about,
            docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False,
        )  # fmt: skip
        handle_errors(app)
        models, token = self.bodies, self.access.token is not None
        read, write = token and self.access.reads, token
        _route(app, "POST", "/query", self.query, models.query, models.matches, token=read)
        if self.finds_passages:
            _route(app, "POST", "/passages", self.passages, models.texts, models.quotations, token=read)
        _route(app, "POST", "/items", self.add, models.items, models.added, token=write, also={403: CLOSED})
        _route(
            app, "GET", "/items/{id:path}", self.item, None, models.stored, token=read, also={404: NO_ITEM}
        )  # fmt: skip
        gone = {403: CLOSED, 404: NO_ITEM}
        _route(app, "DELETE", "/items/{id:path}", self.remove, None, request_models.Removed, token=write, also=gone)
        _route(app, "POST", "/compare", self.compare, models.compare, models.compared, token=read)
        _route(app, "GET", "/stats", self.stats, None, None, token=read)
        _route(app, "GET", "/health", self.health, None, request_models.Health, token=False)
        app.add_api_route("/", _to_docs, include_in_schema=False)
        app.add_api_route("/metrics", self.metrics_text, response_class=PlainTextResponse, include_in_schema=False)
        app.add_api_route("/openapi.json", self.openapi, include_in_schema=False)
        app.add_api_route("/docs", self.docs, response_class=HTMLResponse, include_in_schema=False)
        if token:
            app.openapi()["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        return app


def _no_item(id: str) -> Refused:  # noqa: A002
    return Refused(404, "NoSuchItem", f"no item has the id {id!r}.")


async def _to_docs() -> Response:
    """Send a browser that opens the address of the server to the page about the API."""
    return RedirectResponse("/docs")


def _route(
    app: FastAPI, method: str, path: str, call: Callable[..., Any], takes: type[BaseModel] | None,
    gives: type[BaseModel] | None, *, token: bool, also: dict[int, str] | None = None,
) -> None:  # fmt: skip
    """Add a route, with all its possible responses in the schema."""
    fails = {503: "Not done in time, or the store is busy.", **(also or {})}
    more: dict[str, Any] = {}
    if takes is not None:
        fails |= BAD_BODY
        schema = takes.model_json_schema()
        more["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    if token:
        fails[401] = "The token is missing or wrong."
        more["security"] = [{"token": list[str]()}]
    responses: dict[int | str, dict[str, Any]] = {
        status: {"model": request_models.Failure, "description": words} for status, words in sorted(fails.items())
    }
    good = {"description": "Done."} | ({"model": gives} if gives is not None else {})
    app.add_api_route(path, call, methods=[method], responses={200: good, **responses}, openapi_extra=more)
