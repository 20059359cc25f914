"""JSON responses and error handlers: each error has a status, a name for programs and one line for people."""

from __future__ import annotations

import json
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from lookalike.errors import (
    BadJson,
    BatchTooLarge,
    DamagedIndex,
    DatabaseFailed,
    IndexBusy,
    InputError,
    LookalikeError,
    UsageError,
)
from lookalike.web.admission import Refused

STATUS: list[tuple[type[LookalikeError], int]] = [
    (BadJson, 400), (BatchTooLarge, 422), (UsageError, 422), (DamagedIndex, 500), (InputError, 422),
    (IndexBusy, 503), (DatabaseFailed, 503),
]  # fmt: skip
STATUS_MESSAGES = {
    404: ("NoSuchPath", "there is nothing at {path}. Paths: {paths}."),
    405: ("MethodNotAllowed", "{path} does not take {method}."),
}


def answer(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a JSON response."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), default=str)
    return Response(text.encode(), status, headers, "application/json")


def failure(status: int, error: str, message: str, headers: dict[str, str] | None = None) -> Response:
    return answer({"error": error, "message": " ".join(message.split())}, status, headers)


def handle_errors(app: FastAPI) -> None:
    """Register handlers that turn every error of an application into a response of the same form."""

    @app.exception_handler(Refused)
    async def refused(_: Request, error: Refused) -> Response:
        return failure(error.status, error.error, error.message, error.headers)

    @app.exception_handler(LookalikeError)
    async def ours(_: Request, error: LookalikeError) -> Response:
        status = next((status for kind, status in STATUS if isinstance(error, kind)), 500)
        headers = {"Retry-After": "1"} if status == 503 else None
        return failure(status, type(error).__name__, str(error), headers)

    @app.exception_handler(HTTPException)
    async def of_the_framework(request: Request, error: HTTPException) -> Response:
        name, words = STATUS_MESSAGES.get(error.status_code, ("BadRequest", str(error.detail)))
        paths = ", ".join(sorted(app.openapi()["paths"]))
        message = words.format(path=request.url.path, method=request.method, paths=paths)
        return failure(error.status_code, name, message, dict(error.headers or {}))

    @app.exception_handler(RequestValidationError)
    async def bad_parameter(_: Request, error: RequestValidationError) -> Response:
        return failure(422, "BadParameter", str(error.errors()[0]["msg"]))

    @app.exception_handler(Exception)
    async def unforeseen(_: Request, error: Exception) -> Response:
        return failure(500, "InternalError", f"the server failed ({type(error).__name__}); its log says more.")
