"""Explore a result or an index in the browser: `lookalike explore` and `la.explore`."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lookalike.errors import LookalikeError
from lookalike.index.index import Index
from lookalike.index.settings import SETTINGS_FILE as ABOUT
from lookalike.io.results import RECEIPT
from lookalike.web import serving

if TYPE_CHECKING:
    from lookalike.web.verdict_file import VerdictFile

PORT = 8300


def explore(
    source: Any, *, inputs: Sequence[str | os.PathLike[str]] | None = None, port: int = PORT, host: str = "127.0.0.1",
    name: str | None = None, ready: Callable[[str], object] | None = None,
    verdicts: str | os.PathLike[str] | None = None, by: str | None = None,
) -> None:  # fmt: skip
    """Serve the explorer of a result or of an index until Ctrl-C.

    Parameters
    ----------
    source
        A result, its folder or one of its files, or an index, its folder or URL.
    inputs
        Paths from which to read the items of a result, by default those of the run.
    port
        Port to listen on.
    host
        By default, the server answers this machine only.
    name
        The name of the source in the line that prints the address.
    ready
        Called with the address as soon as connections are accepted.
    verdicts
        The file of verdicts (.jsonl), by default NAME.verdicts.jsonl next to the source. The address that is printed
        has the token that is needed to judge.
    by
        Who judges, by default the user of this process.

    Examples
    --------
    >>> import lookalike as la
    >>> la.explore(la.pairs("corpus.jsonl"))  # doctest: +SKIP
    """
    serving.check_installed()
    from lookalike.kinds.scrub.page import is_scrub_folder, page_of_cuts
    from lookalike.web.admission import Access
    from lookalike.web.explorer import View, explorer, static
    from lookalike.web.index_view import IndexView
    from lookalike.web.result_loader import open_result
    from lookalike.web.view import ResultView

    with ExitStack() as stack:
        view: View
        if is_scrub_folder(source):
            shown = static(page_of_cuts(source))
            serving.run(shown, host, port, title=f"Exploring {name or _name(source)}", ready=ready)
            return
        file = verdict_file(source if name is None else name, verdicts, by)
        if isinstance(source, Index):
            view = IndexView(source, file)
        elif is_index(source):
            view = IndexView(stack.enter_context(_opened(source)), file)
        else:
            view = ResultView(open_result(source, inputs=inputs), file)
        if file is not None:
            file.votes  # noqa: B018  (a file that cannot be read is refused before the server starts)
        token = secrets.token_urlsafe(16) if file is not None and serving.is_loopback(host) else None
        closed = "" if token else "verdicts are accepted from this machine only; leave out `host`."
        shown_app = explorer(view, Access(token=token, closed=closed))
        query = f"/?token={token}" if token else ""
        serving.run(shown_app, host, port, title=f"Exploring {name or _name(source)}", ready=ready, query=query)


def verdict_file(source: Any, verdicts: str | os.PathLike[str] | None, by: str | None) -> VerdictFile | None:
    """Return the file of the verdicts on a source, None if it has no place and no file was given."""
    from lookalike.web.verdict_file import VerdictFile, beside

    if verdicts is not None:
        return VerdictFile(Path(verdicts), by)
    if not isinstance(source, str | os.PathLike) or "://" in os.fspath(source):
        return None
    return VerdictFile(beside(os.fspath(source)), by)


def _opened(place: Any) -> Index:
    """Open an index for writing, so that computed groups are stored in it, or else read-only."""
    try:
        return Index.open(place)
    except (LookalikeError, OSError):
        return Index.open(place, read_only=True)


def is_index(source: Any) -> bool:
    """Return whether this is the place of an index and not of a result."""
    if isinstance(source, str) and source.startswith(("postgresql://", "postgres://")):
        return True
    if not isinstance(source, str | os.PathLike):
        return False
    return Path(source, ABOUT).is_file() and not Path(source, RECEIPT).is_file()


def _name(source: Any) -> str:
    return os.fspath(source) if isinstance(source, str | os.PathLike) else "a result"
