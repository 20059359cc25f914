"""Handle Ctrl-C and SIGTERM: the command ends at once, with a message about how to continue."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

STOPPED, TERMINATED = 130, 143


class Terminated(KeyboardInterrupt):
    """SIGTERM was received."""


class ReaderGone(Exception):
    """The reader of standard output has gone, as in `| head`. Not an OSError, for which typer would exit with 1."""


def hear_terminate() -> None:
    """Handle SIGTERM like Ctrl-C from now on."""

    def stop(*_: object) -> None:
        raise Terminated

    signal.signal(signal.SIGTERM, stop)


def stoppable(work: Callable[[], None], folder: Callable[[], Path | None]) -> None:
    """Run the work on a separate thread, so that the main thread handles signals even during long compiled loops.

    folder: returns the work folder of the run, or None.
    """
    failed: list[BaseException] = []

    def call() -> None:
        try:
            work()
        except BaseException as error:  # raised again in the main thread
            failed.append(error)

    thread = threading.Thread(target=call, name="lookalike-work", daemon=True)
    try:
        thread.start()
        while thread.is_alive():
            thread.join(0.2)  # a join without timeout would not be interruptible on every system
    except KeyboardInterrupt as signal_heard:
        _stop(TERMINATED if isinstance(signal_heard, Terminated) else STOPPED, folder())
    if failed and isinstance(failed[0], BrokenPipeError):
        raise ReaderGone from failed[0]
    if failed:
        raise failed[0]


def _stop(code: int, folder: Path | None) -> Any:
    """End the process now, since threads in compiled code cannot be interrupted."""
    from lookalike.io.atomic import stop_writing

    written = stop_writing()
    if written:
        words = f"Stopped after the output was written: {', '.join(map(str, written))}.\n"
    elif folder is not None and folder.is_dir():
        words = (
            f"Stopped. What is done is kept in {folder}: the same command goes on from there. "
            f"To remove it: lookalike runs clean {folder}\n"
        )
    else:
        words = "Stopped. No output was written.\n"
    sys.stderr.write(("\n" if sys.stderr.isatty() else "") + words)
    sys.stderr.flush()
    os._exit(code)
