"""Explore a result or an index in the browser: `lookalike explore` and `la.explore`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from lookalike.errors import LookalikeError
from lookalike.index.index import Index
from lookalike.index.settings import SETTINGS_FILE as ABOUT
from lookalike.io.results import RECEIPT
from lookalike.web import serving

PORT = 8300


def explore(
    source: Any, *, inputs: Sequence[str | os.PathLike[str]] | None = None, port: int = PORT, host: str = "127.0.0.1",
    name: str | None = None, ready: Callable[[str], object] | None = None,
) -> None:  # fmt: skip
    """Serve the explorer of a result (or its folder) or of an index (or its folder or URL) until Ctrl-C.

    inputs: paths from which to read the items of a result, by default those of the run. host: by default, the server
    answers this machine only. name: the name of the source in the line that prints the address.
    ready: called with the address as soon as connections are accepted.
    """
    serving.check_installed()
    from lookalike.kinds.scrub.page import is_scrub_folder, page_of_cuts
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
        if isinstance(source, Index):
            view = IndexView(source)
        elif is_index(source):
            view = IndexView(stack.enter_context(_opened(source)))
        else:
            view = ResultView(open_result(source, inputs=inputs))
        serving.run(explorer(view), host, port, title=f"Exploring {name or _name(source)}", ready=ready)


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
