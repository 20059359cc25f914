"""The command `lookalike serve`."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any, TypedDict

import typer

from lookalike.cli import options as o
from lookalike.core.options import Option
from lookalike.errors import InputError, UsageError

ANSWER_SECONDS = 5.0  # time for the service itself to refuse a request body that arrives too slowly
ACCESS, LIMITS_PANEL, WHERE = "Who may ask", "Limits", "Where it listens"


class ServeOptions(TypedDict, total=False):
    """The options of `serve`, except the token."""

    port: Annotated[int, Option(8080, "Port; 0 for any free one.", panel=WHERE)]
    host: Annotated[str, Option("127.0.0.1", "Address: 127.0.0.1 for this machine only, 0.0.0.0 for all.", panel=WHERE)]
    allow_host: Annotated[
        list[str] | None,
        Option(None, "Another name to answer to, such as that of a proxy; repeatable.", unset="none", panel=WHERE),
    ]
    token_file: Annotated[
        Path | None, Option(None, "File with the token in its first line.", unset="no token", panel=ACCESS)
    ]
    token_for_reads: Annotated[bool, Option(False, "Require the token of readers, too.", panel=ACCESS)]
    read_only: Annotated[bool, Option(False, "Refuse writes; another process may write.", panel=ACCESS)]
    max_body: Annotated[float, Option(16.0, "Megabytes of a request.", panel=LIMITS_PANEL, range="(0, inf)")]
    max_batch: Annotated[int, Option(1000, "Items of a request.", panel=LIMITS_PANEL, range="[1, inf)")]
    timeout: Annotated[float, Option(30.0, "Seconds of a request.", panel=LIMITS_PANEL, range="(0, inf)")]
    max_connections: Annotated[
        int,
        Option(0, "Open connections; 0 for three quarters of the descriptors that the process may open.",
               panel=LIMITS_PANEL, range="[0, inf)", expected="0 for the usual number, or a number above 0"),
    ]  # fmt: skip
    max_client_connections: Annotated[
        int,
        Option(0, "Open connections from one address; 0 for half of `max_connections`.", panel=LIMITS_PANEL,
               range="[0, inf)", expected="0 for the usual number, or a number above 0"),
    ]  # fmt: skip


@o.takes(ServeOptions, stops_itself=True)
def serve(
    index: Annotated[str, typer.Argument(help="An index: its folder, or a postgresql:// URL.", show_default=False)],
    options: dict[str, Any],
    token: Annotated[
        str | None,
        o.option(
            ACCESS, envvar="LOOKALIKE_TOKEN", help="What writers must send. Other users of the machine can see it."
        ),
    ] = None,
) -> None:
    """Answer queries of an index over HTTP, and add and remove items.

    POST /query, POST /items, GET or DELETE /items/ID, POST /compare, GET /stats, /health, /metrics; GET /docs describes
    them.
    """
    secret, timeout = _token(token, options["token_file"]), options["timeout"]
    host, read_only = options["host"], options["read_only"]
    if options["token_for_reads"] and secret is None:
        raise UsageError("--token-for-reads without a token. Add --token-file FILE.")
    o.check_flags(ServeOptions, options)
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
            opened, limits=Limits(body=int(options["max_body"] * 1e6), batch=options["max_batch"], seconds=timeout),
            access=Access(token=secret, reads=options["token_for_reads"], closed=closed),
        )  # fmt: skip
        stack.callback(service.close)
        service.warm()
        title = f"Serving {len(opened):,} {opened.kind.name} of {opened.store.place}"
        limits = ConnectionLimits(
            total=options["max_connections"], per_client=options["max_client_connections"],
            head_seconds=min(timeout, ConnectionLimits.head_seconds), request_seconds=timeout + ANSWER_SECONDS,
        )  # fmt: skip
        serving.run(service, host, options["port"], title=title, names=options["allow_host"] or (), limits=limits)


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
