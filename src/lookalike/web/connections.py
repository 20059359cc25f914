"""Limits of connections: how many are open, for each client and in total, and how long a request may take to arrive."""

from __future__ import annotations

import asyncio
import ipaddress
from collections import defaultdict
from dataclasses import dataclass
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

UNLIMITED_DESCRIPTORS = 1 << 16  # assumed if the system sets no limit
RESERVED_DESCRIPTORS = 32  # fewest descriptors that are kept free for the files of an index
FLUSH_SECONDS = 10.0  # abort a response when the client reads nothing for this long


@dataclass(frozen=True, kw_only=True)
class ConnectionLimits:
    """Limits of open connections.

    total: simultaneous connections, where 0 means three quarters of the file descriptors of this process; per_client:
    simultaneous connections from one address (for IPv6, one /64 network), where 0 means half of the total.
    head_seconds: time for the head of a request to arrive; request_seconds: time for its body to arrive.
    """

    total: int = 0
    per_client: int = 0
    head_seconds: float = 10.0
    request_seconds: float = 35.0

    def resolved(self) -> tuple[int, int]:
        """Return (total, per_client) with 0 replaced by the defaults."""
        total = self.total or spare_descriptors()
        return total, min(total, self.per_client or max(1, total // 2))


def spare_descriptors() -> int:
    """Return the number of file descriptors for connections: the limit of this process minus a reserve."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return UNLIMITED_DESCRIPTORS
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    limit = UNLIMITED_DESCRIPTORS if limit == resource.RLIM_INFINITY else limit
    return max(1, limit - max(RESERVED_DESCRIPTORS, limit // 4))


def client_of(address: str) -> str:
    """Return the name under which connections from an address are counted.

    >>> client_of("10.0.0.7"), client_of("2001:db8::1:2:3:4"), client_of("::ffff:10.0.0.7")
    ('10.0.0.7', '2001:db8::/64', '10.0.0.7')
    """
    if ":" not in address:
        return address
    parsed = ipaddress.IPv6Address(address.partition("%")[0])
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.IPv6Network((parsed, 64), strict=False))


class Register:
    """The open connections of a server. waiting: those without a complete request, longest waiting first."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self.total, self.per_client = limits.resolved()
        self.count, self.open = 0, defaultdict[str, int](int)
        self.waiting: dict[LimitedProtocol, None] = {}

    def admit(self, connection: LimitedProtocol) -> str:
        """Register a new connection and return "", or return the reason why there is no room for it.

        If a limit is reached, the connection that has waited longest for a complete request is closed; if the client
        has too many connections, it must be one of that client.
        """
        name = connection.name
        if self.open[name] >= self.per_client:
            if not self._evict(name):
                return f"{name} has {self.per_client:,} connections open, as many as one client may have"
        elif self.count >= self.total and not self._evict(None):
            return f"{self.total:,} connections are open, as many as this server takes"
        self.count += 1
        self.open[name] += 1
        self.waiting[connection] = None
        return ""

    def _evict(self, name: str | None) -> bool:
        for connection in self.waiting:
            if name is None or connection.name == name:
                connection.leave()
                connection.transport.abort()
                return True
        return False

    def leave(self, connection: LimitedProtocol) -> None:
        """Unregister a connection."""
        self.waiting.pop(connection, None)
        self.count -= 1
        self.open[connection.name] -= 1
        if not self.open[connection.name]:
            del self.open[connection.name]


class LimitedProtocol(HttpToolsProtocol):
    """HTTP/1.1 protocol that closes its connection when a request does not arrive in time."""

    register: ClassVar[Register]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.name = ""
        self._admitted = False
        self._messages = 0  # requests that have begun to arrive
        self._head_arrived = self._arrived = False  # whether the head and all of the last request have arrived
        self._awaited: tuple[int, str] | None = None  # (number of requests, part) that the timer waits for
        self._timer: asyncio.TimerHandle | None = None
        self._flush: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.name = client_of(self.client[0]) if self.client else "a local client"
        if refusal := self.register.admit(self):
            self._answer_and_close(503, "Service Unavailable", "TooManyConnections", f"{refusal}. Try again later.")
            return
        self._admitted = True
        self._await((0, "head"))

    def connection_lost(self, exc: Exception | None) -> None:
        self.leave()
        self._await(None)
        if self._flush is not None:
            self._flush.cancel()
        super().connection_lost(exc)

    def leave(self) -> None:
        """Unregister this connection, if it is registered."""
        if self._admitted:
            self._admitted = False
            self.register.leave(self)

    def data_received(self, data: bytes) -> None:
        if not self._admitted:  # refused: ignore further data
            return
        super().data_received(data)
        if self.transport.is_closing():
            return
        if not self._arrived:
            self._await((self._messages, "body" if self._head_arrived else "head"))
        elif self._is_idle() and self.timeout_keep_alive_task is None:
            self._await((self._messages, "line break"))  # data between requests has cancelled the keep-alive timer
        else:
            self._await(None)
        if self.pipeline or not (self._is_idle() or self.cycle.more_body):
            self.register.waiting.pop(self, None)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._messages += 1
        self._head_arrived = self._arrived = False

    def on_headers_complete(self) -> None:
        self._head_arrived = True
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._arrived = True
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._admitted and not self.pipeline:
            self.register.waiting.pop(self, None)
            self.register.waiting[self] = None
        if self.transport.get_write_buffer_size():
            self._abort_unless_taken(None)

    def _await(self, what: tuple[int, str] | None) -> None:
        """Close the connection unless `what` arrives in time; a repeated call does not restart the timer."""
        if what == self._awaited:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._awaited, self._timer = what, None
        if what is not None:
            limits = self.register.limits
            seconds = limits.request_seconds if what[1] == "body" else limits.head_seconds
            self._timer = self.loop.call_later(seconds, self._too_late, seconds)

    def _is_idle(self) -> bool:
        """Return whether no response is in progress."""
        return self.cycle is None or self.cycle.response_complete

    def _too_late(self, seconds: float) -> None:
        if self.flow.read_paused:  # the server itself has paused reading
            self._timer = self.loop.call_later(seconds, self._too_late, seconds)
        elif self._messages and self._is_idle() and not self._head_arrived:
            message = f"the head of the request did not arrive within {seconds:g} s."
            self._answer_and_close(408, "Request Timeout", "HeadTooSlow", message)
        else:
            self.transport.abort()

    def _answer_and_close(self, status: int, phrase: str, error: str, message: str) -> None:
        body = f'{{"error":"{error}","message":"{message}"}}'.encode()
        head = f"HTTP/1.1 {status} {phrase}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
        retry = "retry-after: 1\r\n" if status == 503 else ""
        self.transport.write(f"{head}{retry}connection: close\r\n\r\n".encode() + body)
        self.transport.close()

    def _abort_unless_taken(self, before: int | None) -> None:
        """Abort the connection if the client has read nothing of the response since the last check."""
        size = self.transport.get_write_buffer_size()
        if size == before:
            self.transport.abort()
        elif size:
            self._flush = self.loop.call_later(FLUSH_SECONDS, self._abort_unless_taken, size)


def limited(limits: ConnectionLimits) -> type[LimitedProtocol]:
    """Return the protocol class of one server with these limits."""
    return type("ServerProtocol", (LimitedProtocol,), {"register": Register(limits)})
