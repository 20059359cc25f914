"""Write docs/reference/cli.md and src/lookalike/cli/summaries.json from the help texts of the command line.

python scripts/make_cli_reference.py
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "docs/reference/cli.md"
SUMMARIES = Path(__file__).parents[1] / "src/lookalike/cli/summaries.json"


PLAIN = {"COLUMNS": "90", "TERM": "dumb", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}  # a terminal of 90 columns


def helps() -> list[str]:
    """What `lookalike COMMAND --help` prints in a plain terminal, for every command: one process for all of them."""
    run = [sys.executable, __file__, "--print"]
    env = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ} | PLAIN
    done = subprocess.run(run, capture_output=True, text=True, env=env, check=True, encoding="utf-8")
    return ["\n".join(line.rstrip() for line in part.strip("\n").splitlines()) for part in done.stdout.split("\f")[1:]]


def print_helps() -> None:
    """Every help text, each after a form feed."""
    from lookalike.cli.main import app

    for name in commands():
        sys.stdout.write("\f")
        with contextlib.suppress(SystemExit):
            app([*name, "--help-all"], prog_name="lookalike")
        sys.stdout.flush()


def commands() -> list[tuple[str, ...]]:
    """The names of all commands, the whole first, those of a kind of item after its own."""
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
    return [(), *sorted(names)]


def summaries() -> str:
    """The first paragraph about every command, for the list of all commands."""
    import typer

    from lookalike.cli.main import COMMANDS, build

    group: Any = typer.main.get_command(build())
    texts = {name: (group.commands[name].help or "").split("\n\n")[0] for name in COMMANDS}
    return json.dumps({name: " ".join(text.split()) for name, text in texts.items()}, indent=1) + "\n"


def reference() -> str:
    """The page: the help of every command."""
    parts = [
        "# Command line",
        "Made from `--help-all` by `scripts/make_cli_reference.py`; a test keeps it current. Rare options "
        "are not in `--help`.",
    ]
    parts += ["Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C, 143 by SIGTERM."]
    for name, text in zip(commands(), helps(), strict=True):
        parts += [f"{'#' * max(2, 1 + len(name))} {' '.join(('lookalike', *name))}", f"```text\n{text}\n```"]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__" and "--print" in sys.argv:
    print_helps()
elif __name__ == "__main__":
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    SUMMARIES.write_text(summaries(), encoding="utf-8")
    PAGE.write_text(reference(), encoding="utf-8")
