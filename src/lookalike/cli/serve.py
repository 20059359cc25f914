"""The command `lookalike serve`."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from lookalike.cli import options as o
from lookalike.errors import InputError, UsageError

ANSWER_SECONDS = 5.0  # time for the service itself to refuse a request body that arrives too slowly
ACCESS, LIMITS_PANEL, WHERE = "Who may ask", "Limits", "Where it listens"


def serve(
    index: Annotated[str, typer.Argument(help="An index: its folder, or a postgresql:// URL.", show_default=False)],
    port: Annotated[int, o.option(WHERE, help="0 for any free one.")] = 8080,
    host: Annotated[str, o.option(WHERE, help="127.0.0.1: this machine only; 0.0.0.0: every one.")] = "127.0.0.1",
    allow_host: Annotated[
        list[str] | None, o.option(WHERE, help="Answer to this name too, as behind a proxy (repeatable).")
    ] = None,
    token: Annotated[
        str | None,
        o.option(
            ACCESS, envvar="LOOKALIKE_TOKEN", help="What writers must send. Other users of the machine can see it."
        ),
    ] = None,
    token_file: Annotated[Path | None, o.option(ACCESS, help="The same, from the first line of a file.")] = None,
    token_for_reads: Annotated[bool, o.option(ACCESS, "--token-for-reads", help="Readers must send it too.")] = False,
    read_only: Annotated[
        bool, o.option(ACCESS, "--read-only", help="Refuse writes; another process may write.")
    ] = False,
    max_body: Annotated[float, o.option(LIMITS_PANEL, help="Megabytes in a request.")] = 16.0,
    max_batch: Annotated[int, o.option(LIMITS_PANEL, help="Items in a request.")] = 1000,
    timeout: Annotated[float, o.option(LIMITS_PANEL, help="Seconds for a request.")] = 30.0,
    max_connections: Annotated[
        int,
        o.option(
            LIMITS_PANEL, help="Open connections; 0: three quarters of the descriptors that this process may open."
        ),
    ] = 0,
    max_client_connections: Annotated[
        int, o.option(LIMITS_PANEL, help="Open connections from one address; 0: half of --max-connections.")
    ] = 0,
) -> None:
    """Answer queries of an index over HTTP, and add and remove items.

    POST /query, POST /items, DELETE /items/ID, POST /compare, GET /stats, /health, /metrics; GET /docs describes them.
    """
    secret = _token(token, token_file)
    if token_for_reads and secret is None:
        raise UsageError("--token-for-reads without a token. Add --token-file FILE.")
    if min(max_body, max_batch, timeout) <= 0:
        raise UsageError(
            f"--max-body {max_body:g}, --max-batch {max_batch}, --timeout {timeout:g}: all must be above 0."
        )
    if min(max_connections, max_client_connections) < 0:
        raise UsageError(
            f"--max-connections {max_connections}, --max-client-connections {max_client_connections}: "
            "expected 0 for the usual number, or a number above 0."
        )
    from lookalike.index.index import Index
    from lookalike.web import serving

    serving.check_installed()
    from lookalike.web.admission import Access, Limits
    from lookalike.web.connections import ConnectionLimits
    from lookalike.web.service import Service

    closed = ""
    if read_only:
        closed = "this server was started with --read-only."
    elif secret is None and not serving.is_loopback(host):
        closed = "other machines can reach this server, so writing needs a token: start it with --token-file."
        sys.stderr.write("Anyone who reaches this server can read the index; nobody can write without --token-file.\n")
    with ExitStack() as stack:
        opened = stack.enter_context(Index.open(index, read_only=read_only))
        service = Service(
            opened, limits=Limits(body=int(max_body * 1e6), batch=max_batch, seconds=timeout),
            access=Access(token=secret, reads=token_for_reads, closed=closed),
        )  # fmt: skip
        stack.callback(service.close)
        service.warm()
        title = f"Serving {len(opened):,} {opened.kind.name} of {opened.store.place}"
        limits = ConnectionLimits(
            total=max_connections, per_client=max_client_connections,
            head_seconds=min(timeout, ConnectionLimits.head_seconds), request_seconds=timeout + ANSWER_SECONDS,
        )  # fmt: skip
        serving.run(service, host, port, title=title, names=allow_host or (), limits=limits)


def _token(token: str | None, file: Path | None) -> str | None:
    if file is not None:
        if token is not None:
            raise UsageError("both --token and --token-file came (or LOOKALIKE_TOKEN is set). Give one of them.")
        try:
            token = file.read_text(encoding="utf-8").split("\n", 1)[0].strip()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"cannot read the token from {file}: {error}.") from error
    if token is not None and (not token or not token.isascii() or not token.isprintable()):
        raise UsageError("the token is empty, or not of plain ASCII characters.")
    return token
