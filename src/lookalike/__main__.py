"""The way in, of `lookalike` and of `python -m lookalike`."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading


def main() -> None:
    """Run the command line. Until it is loaded nothing has begun, and Ctrl-C ends the process without a word."""
    heard = signal.getsignal(signal.SIGINT)
    if heard is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from lookalike.cli.main import main as run

    signal.signal(signal.SIGINT, heard)
    try:
        run()
    except SystemExit as end:
        if end.code is not None and not isinstance(end.code, int):
            raise
        leave(end.code or 0)
    leave(0)


def leave(code: int) -> None:
    """End the process without dismantling the interpreter, which takes a fifth of a short command.

    Functions registered with `atexit` run, and output is flushed. With threads that Python waits for, and with Spark,
    whose Java process ends with the interpreter, the end is the usual one.
    """
    waiting = [thread for thread in threading.enumerate() if not thread.daemon]
    if len(waiting) > 1 or "pyspark" in sys.modules or sys.gettrace() is not None:
        sys.exit(code)
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        sys.exit(code)
    os._exit(code)


if __name__ == "__main__":
    main()
