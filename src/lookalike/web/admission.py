"""Admission of requests: access tokens, and limits of body size and time."""

from __future__ import annotations

import asyncio
import hmac
from dataclasses import dataclass

from fastapi import Request
from starlette.requests import ClientDisconnect

DRAINED = 4  # read up to this multiple of the limit of a body that is too large, so that its sender gets the answer


class Refused(Exception):
    """Raised for a request that is refused. error: a name for programs; message: one line for people."""

    def __init__(self, status: int, error: str, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.error, self.message, self.headers = status, error, message, headers


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of a request. body: bytes; batch: items; seconds: from its first byte to the end of the work."""

    body: int = 16_000_000
    batch: int = 1000
    seconds: float = 30.0


@dataclass(frozen=True, kw_only=True)
class Access:
    """Access rules. token: needed to write, None for none; reads: needed to read too; closed: why writes are off."""

    token: str | None = None
    reads: bool = False
    closed: str = ""

    def check(self, request: Request, *, write: bool) -> None:
        """Raise Refused if a request is not authorised. Tokens are compared in constant time."""
        if write:
            check_origin(request)
        if write and self.closed:
            raise Refused(403, "WritesAreClosed", self.closed)
        if self.token is None or not (write or self.reads):
            return
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        asks = {"WWW-Authenticate": "Bearer"}
        if not given or scheme.lower() != "bearer":
            raise Refused(401, "TokenMissing", "this needs a token: send the header Authorization: Bearer TOKEN.", asks)
        if not hmac.compare_digest(given.strip().encode(), self.token.encode()):
            raise Refused(401, "TokenWrong", "the token is not the one this server was started with.", asks)


def check_origin(request: Request) -> None:
    """Refuse a request that a page of another site caused, as the browser tells."""
    origin, host = request.headers.get("origin"), request.headers.get("host", "")
    same = origin is None or origin == f"{request.url.scheme}://{host}"
    if not same or request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise Refused(403, "OtherSite", "this request came from a page of another site.")


async def read_body(request: Request, limits: Limits) -> bytes:
    """Read the whole body of a JSON request; Refused if it has another type, is too large or arrives too slowly."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":  # also blocks other sites: a browser sends a preflight request before JSON
        came = f"of the type {kind}" if kind else "without a Content-Type"
        raise Refused(415, "NotJson", f"the body came {came}; expected Content-Type: application/json.")
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > limits.body and "expect" in request.headers:
        raise _too_large(limits)
    try:
        async with asyncio.timeout(limits.seconds):
            return await _read(request, limits)
    except ClientDisconnect:
        raise Refused(400, "BadBody", "the connection was closed before the whole body had come.") from None
    except TimeoutError:
        message = f"the body did not arrive within {limits.seconds:g} s."
        raise Refused(408, "BodyTooSlow", message, {"Connection": "close"}) from None


async def _read(request: Request, limits: Limits) -> bytes:
    pieces, size = [], 0
    async for piece in request.stream():
        size += len(piece)
        if size <= limits.body:
            pieces.append(piece)
        else:
            pieces.clear()
            if size > DRAINED * limits.body:
                break
    if size > limits.body:
        raise _too_large(limits)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _too_large(limits: Limits) -> Refused:
    message = f"the body is larger than the {limits.body:,} bytes this server takes. Send several requests."
    return Refused(413, "BodyTooLarge", message, {"Connection": "close"})
