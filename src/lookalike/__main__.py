"""The way in, of `lookalike` and of `python -m lookalike`."""

from __future__ import annotations

import signal


def main() -> None:
    """Run the command line. Until it is loaded nothing has begun, and Ctrl-C ends the process without a word."""
    heard = signal.getsignal(signal.SIGINT)
    if heard is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from lookalike.cli.main import main as run

    signal.signal(signal.SIGINT, heard)
    run()


if __name__ == "__main__":
    main()
