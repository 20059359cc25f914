"""Write docs/reference/cli.md from the help texts of the command line: python scripts/make_cli_reference.py"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs/reference/cli.md"


def help_of(*command: str) -> str:
    """What `lookalike COMMAND --help` prints in a plain terminal of 110 columns."""
    plain = {"PATH": os.environ["PATH"], "COLUMNS": "110", "TERM": "dumb", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
    run = [sys.executable, "-m", "lookalike.cli.main", *command, "--help"]
    done = subprocess.run(run, capture_output=True, text=True, env=plain, check=True, encoding="utf-8")
    return "\n".join(
        line.rstrip()
        for line in done.stdout.strip("\n").replace("python -m lookalike.cli.main", "lookalike").splitlines()
    )


def commands() -> list[tuple[str, ...]]:
    """The names of all commands, those of a kind of item after its own."""
    from lookalike.cli.main import app

    names: list[tuple[str, ...]] = []
    for command in app.registered_commands:
        names += [(command.name or command.callback.__name__,)] if command.callback else []
    for group in app.registered_groups:
        assert group.name is not None
        assert group.typer_instance is not None
        names.append((group.name,))
        for command in group.typer_instance.registered_commands:
            names += [(group.name, command.name or command.callback.__name__)] if command.callback else []
    return sorted(names)


def reference() -> str:
    """The page: the help of every command."""
    parts = ["# Command line", "Made from `--help` by `scripts/make_cli_reference.py`; a test keeps it current."]
    parts += ["Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C, 143 by SIGTERM."]
    for name in commands():
        parts += [f"{'#' * (1 + len(name))} lookalike {' '.join(name)}", f"```text\n{help_of(*name)}\n```"]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(reference(), encoding="utf-8")
