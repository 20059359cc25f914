"""Serve an ASGI application until Ctrl-C or SIGTERM, by default to this machine only, with a graceful shutdown."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import sys
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from typing import TYPE_CHECKING, Any

from lookalike.errors import CannotListen, MissingExtra, UsageError

if TYPE_CHECKING:
    from lookalike.web.connections import ConnectionLimits

LOOPBACK = "127.0.0.1"
BACKLOG = 2048  # connections that may wait to be accepted
KEEP_ALIVE_SECONDS = (
    75  # how long an idle connection is kept open: longer than by proxies, which treat a closed one as an error
)
SHUTDOWN_SECONDS = 30  # time for running requests to finish at shutdown

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]


def run(
    app: App, host: str = LOOPBACK, port: int = 0, *,
    title: str = "Serving", names: Collection[str] = (), query: str = "",
    limits: ConnectionLimits | None = None, ready: Callable[[str], object] | None = None,
) -> None:  # fmt: skip
    """Serve until Ctrl-C or SIGTERM; then wait up to SHUTDOWN_SECONDS for running requests.

    port: 0 for any free port; the address is printed as soon as connections are accepted. On a loopback host, requests
    whose Host header is neither this machine nor one of `names` are refused, which prevents DNS rebinding: a web page
    whose domain resolves to this machine could read the responses. limits: of connections, by default
    `ConnectionLimits()`. query: added to the address that is printed. ready: called with this address.
    """
    check_installed()
    from uvicorn import Config, Server

    from lookalike.web import connections

    with contextlib.closing(listen(host, port)) as listener, contextlib.suppress(KeyboardInterrupt):
        address = url(host, listener.getsockname()[1]) + query
        sys.stdout.write(f"{title} at {address} (Ctrl-C to stop)\n")
        sys.stdout.flush()
        if ready is not None:
            ready(address)
        config = Config(
            local_names_only(app, names) if is_loopback(host) else app, interface="asgi3",
            http=connections.limited(limits or connections.ConnectionLimits()), ws="none",
            log_config=None, log_level="error", access_log=False, server_header=False, proxy_headers=False,
            timeout_graceful_shutdown=SHUTDOWN_SECONDS, timeout_keep_alive=KEEP_ALIVE_SECONDS,
        )  # fmt: skip
        Server(config).run([listener])


def check_installed() -> None:
    """Raise MissingExtra, with the pip command, if the web server is not installed."""
    try:
        import fastapi  # noqa: F401
        import httptools  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingExtra("a server", "serve") from error


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; CannotListen, in one line, if the host or port is not available."""
    if not 0 <= port <= 65535:
        raise UsageError(f"a port is a number from 0 (any free one) to 65535, not {port}.")
    try:
        family, _, _, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (socket.gaierror, UnicodeError) as error:
        raise CannotListen(f"no such host: {host!r}. Try {LOOPBACK} for this machine, 0.0.0.0 for all.") from error
    listener = socket.socket(family, socket.SOCK_STREAM)
    if sys.platform != "win32":  # on Windows, the option would let two servers share a port
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(where)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        reason = error.strerror or str(error)
        words = f"{reason[:1].lower()}{reason[1:]}. Try another `port`, or 0 for any free one."
        raise CannotListen(f"cannot listen on {host} port {port}: {words}") from error
    return listener


def url(host: str, port: int) -> str:
    """Return the URL of the server for a browser on this machine.

    >>> url("::1", 80), url("0.0.0.0", 8080)
    ('http://[::1]:80', 'http://127.0.0.1:8080')
    """
    seen = {"0.0.0.0": LOOPBACK, "::": "::1", "": LOOPBACK}.get(host, host)
    return f"http://[{seen}]:{port}" if ":" in seen else f"http://{seen}:{port}"


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach the host.

    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "10.0.0.7", "example.org")]
    [True, True, True, False, False, False]
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def local_names_only(app: App, names: Collection[str] = ()) -> App:
    """Wrap an application so that requests whose Host is neither this machine nor one of `names` get a 403."""
    allowed = {name.lower() for name in names}

    async def answer(scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            named = next((value for key, value in scope["headers"] if key == b"host"), b"").decode("latin-1").lower()
            name = named.rpartition("]")[0][1:] if named.startswith("[") else named.partition(":")[0]
            if not (is_loopback(name) or name in allowed):
                body = b'{"error":"WrongHost","message":"this server answers to names of this machine only."}'
                headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
                await send({"type": "http.response.start", "status": 403, "headers": headers})
                await send({"type": "http.response.body", "body": body})
                return
        await app(scope, receive, send)

    return answer
