"""Open a page in the browser, where there is one."""

from __future__ import annotations

import os
import sys

DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")  # set where windows can be shown, on Linux


def open_page(address: str, *, wanted: bool | None) -> bool:
    """Open a page in the browser, and return whether that worked. wanted: by default, on a terminal with windows."""
    if wanted is None:
        has_windows = sys.platform == "darwin" or any(map(os.environ.get, DISPLAYS))
        wanted = sys.stdout.isatty() and has_windows
    if not wanted:
        return False
    import webbrowser

    return webbrowser.open(address)
