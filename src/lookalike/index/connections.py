"""Pool of PostgreSQL connections, one for each thread that is using one, and the lock that serialises writers."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from lookalike.errors import DatabaseFailed, IndexBusy, MissingExtra, UsageError
from lookalike.index.store import read_only

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.sql import Composed

SCHEMA = "lookalike"
USUAL: dict[str, Any] = {"application_name": "lookalike", "connect_timeout": 10, "keepalives_idle": 30}
STALE = 5.0  # seconds after which an idle connection is tested before it is used again
WRITER_WAIT_SECONDS = 60  # how long a writer waits for the advisory lock
# Queries of an index always look up a few rows by key. The planner does not know that for a table that has just grown,
# and would scan all of it, or spend longer on compiling a plan than on running it.
BY_KEYS = "SET jit = off; SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off"
SCAN_SETTINGS = "SET LOCAL enable_seqscan = on; SET LOCAL enable_hashjoin = on; SET LOCAL enable_mergejoin = on"
GIVEN_UP = 300  # seconds of inactivity after which a writer loses the lock, for example because its machine died


@dataclass(frozen=True)
class DatabaseAddress:
    """The address of an index in PostgreSQL. url: for libpq; schema: of its tables; shown: the URL without password."""

    url: str
    schema: str
    shown: str

    @classmethod
    def of(cls, url: str) -> DatabaseAddress:
        """Parse postgresql://user@host/database?schema=NAME; other parameters of the query are passed on to libpq.

        >>> DatabaseAddress.of("postgresql://me:secret@db/shop?schema=news&sslmode=require")
        DatabaseAddress(url='postgresql://me:secret@db/shop?sslmode=require', schema='news', shown='postgresql://me@db/shop?schema=news')
        """
        try:
            parts = urlsplit(url)
        except ValueError as error:
            raise UsageError(f"not a URL of PostgreSQL ({error}); expected postgresql://user@host/database.") from error
        named = [parameter for parameter in parts.query.split("&") if parameter.startswith("schema=")]
        others = [parameter for parameter in parts.query.split("&") if parameter and parameter not in named]
        schema = unquote(named[-1].removeprefix("schema=")) if named else SCHEMA
        if not schema.isidentifier() or len(schema.encode()) > 63 or schema.startswith("pg_"):
            raise UsageError(f"schema={schema} cannot name the tables of an index: letters, digits and _, 63 at most.")
        user, at, host = parts.netloc.rpartition("@")
        query = "&".join(
            parameter for parameter in parts.query.split("&") if parameter.startswith(("host=", "schema="))
        )
        bare = parts._replace(netloc=user.partition(":")[0] + at + host, query=query)
        return cls(parts._replace(query="&".join(others)).geturl(), schema, bare.geturl())

    @property
    def lock(self) -> int:
        """The number of the advisory lock of this index in its database."""
        digest = hashlib.blake2b(f"lookalike index {self.schema}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, signed=True)

    def sql(self, text: str) -> Composed:
        """Return a statement with {s} replaced by the quoted schema."""
        from psycopg.sql import SQL, Identifier

        return SQL(text).format(s=Identifier(self.schema))


class Connections:
    """The pool of connections to one index. All methods may be called from several threads."""

    def __init__(self, place: DatabaseAddress, *, read_only: bool = False) -> None:
        self.place, self.read_only = place, read_only
        self._idle: list[tuple[float, Connection]] = []
        self._writer = threading.local()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Lend a connection in autocommit mode: each statement sees what is committed."""
        import psycopg

        link = self._take()
        try:
            yield link
        except psycopg.Error as error:
            raise self._failed(error) from error
        finally:
            self._give_back(link)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a transaction as the only writer; nested calls in the same thread use the same transaction."""
        if (mine := self.mine()) is not None:
            yield mine
            return
        self.check_writable()
        import psycopg

        with self.reading() as link, link.transaction():
            for_now = (
                "set_config('lock_timeout', %s, true), set_config('idle_in_transaction_session_timeout', %s, true)"
            )
            link.execute(f"SELECT {for_now}", [f"{WRITER_WAIT_SECONDS}s", f"{GIVEN_UP}s"])
            try:
                link.execute("SELECT pg_advisory_xact_lock(%s)", [self.place.lock])
            except psycopg.errors.LockNotAvailable as error:
                raise IndexBusy(
                    f"{self.place.shown}: others have been writing for {WRITER_WAIT_SECONDS} s. Try again."
                ) from error
            self._writer.link = link
            try:
                yield link
            finally:
                self._writer.link = None

    def check_writable(self) -> None:
        if self.read_only:
            raise read_only(self.place.shown)

    def mine(self) -> Connection | None:
        """Return the connection of the write transaction of this thread, or None if it is not writing."""
        link: Connection | None = getattr(self._writer, "link", None)
        return link

    def close(self) -> None:
        while self._idle:
            self._idle.pop()[1].close()

    def _take(self) -> Connection:
        import psycopg

        while self._idle:
            try:
                since, link = self._idle.pop()
            except IndexError:  # another thread has taken the last one
                break
            if time.monotonic() - since < STALE:
                return link
            try:
                link.execute("")
                return link
            except psycopg.Error:
                link.close()
        return self._connect()

    def _give_back(self, link: Connection) -> None:
        if not link.closed:
            self._idle.append((time.monotonic(), link))

    def _connect(self) -> Connection:
        import psycopg
        from psycopg.conninfo import conninfo_to_dict

        try:
            link = psycopg.connect(**(USUAL | conninfo_to_dict(self.place.url)), autocommit=True)
            link.execute(f"SET tcp_keepalives_idle = 30; {BY_KEYS}")
        except psycopg.Error as error:
            raise self._failed(error) from error
        return link

    def _failed(self, error: Exception) -> DatabaseFailed:
        words = " ".join(str(error).replace(self.place.url, self.place.shown).split())
        return DatabaseFailed(f"PostgreSQL at {self.place.shown}: {words.removesuffix('.')}.")


@contextmanager
def closed_if_it_fails(connections: Connections) -> Iterator[Connections]:
    try:
        yield connections
    except BaseException:
        connections.close()
        raise


def check_installed() -> None:
    """Raise MissingExtra, with the pip command, if psycopg is not installed."""
    try:
        import psycopg  # noqa: F401
    except ImportError as error:
        raise MissingExtra("an index in PostgreSQL", "postgres") from error
