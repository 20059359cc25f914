"""The command `lookalike mcp`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lookalike.cli import options as o


@o.takes(stops_itself=True)
def mcp(
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="DIR...", help="Folders that files are confined to.", show_default=False),
    ],
    read_only: Annotated[bool, o.option(o.RUN, "--read-only", help="Write nothing.")] = False,
) -> None:
    """Answer agents over the Model Context Protocol, on standard input and output.

    Tools: seen_before, who_quotes, find_duplicates, explain, compare. What writes a file needs a confirmation.
    """
    from lookalike.web.agent_tools import AgentTools
    from lookalike.web.mcp_server import server_of

    server_of(AgentTools(folders, writes=not read_only)).run("stdio")
