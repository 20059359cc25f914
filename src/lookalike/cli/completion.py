"""The command `lookalike completion`: scripts that let a shell complete commands and options."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from lookalike.cli import options as o
from lookalike.cli.help import COMPLETION_VARIABLE


class Shell(Enum):
    bash = "bash"
    zsh = "zsh"
    fish = "fish"


@o.takes()
def completion(shell: Annotated[Shell, typer.Argument(help="bash, zsh or fish.", show_default=False)]) -> None:
    """Print a script that completes commands and options in a shell.

    Put its output where the shell reads it: ~/.bashrc, ~/.zshrc (after compinit), or
    ~/.config/fish/completions/lookalike.fish.
    """
    from typer.completion import (  # type: ignore[attr-defined]
        get_completion_inspect_parameters,
        get_completion_script,
    )

    get_completion_inspect_parameters()  # registers the shells
    typer.echo(get_completion_script(prog_name="lookalike", complete_var=COMPLETION_VARIABLE, shell=shell.value))
