"""The Model Context Protocol server: the tools of `AgentTools` for agents, over standard input and output."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from lookalike import __version__
from lookalike.errors import LookalikeError, MissingExtra
from lookalike.web.agent_tools import AgentTools, Answer

INSTRUCTIONS = (
    "Finds near-duplicate texts in files of this machine. Every similarity is exact. find_duplicates with an output "
    "returns a plan and a confirmation first: show the plan to the user before confirming."
)


def server_of(tools: AgentTools) -> Any:
    """Return an MCPServer with the tools. Errors for users become errors of the tool; others are not described."""
    try:
        from mcp.server import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
        from mcp_types import ToolAnnotations
    except ImportError as error:
        raise MissingExtra("the MCP server", "mcp") from error
    server = MCPServer("lookalike", instructions=INSTRUCTIONS, version=__version__, log_level="ERROR")

    def tool(function: Callable[..., Answer], *, writes: bool = False) -> None:
        @wraps(function)
        def call(*given: Any, **options: Any) -> Answer:
            try:
                return function(*given, **options)
            except LookalikeError as error:
                raise ToolError(str(error)) from None
            except Exception as error:  # a message of a library may show paths outside the roots
                raise ToolError(f"the tool failed ({type(error).__name__}).") from None

        hints = ToolAnnotations(read_only_hint=not writes, destructive_hint=False, open_world_hint=False)
        server.tool(annotations=hints)(call)

    for function in (tools.seen_before, tools.who_quotes, tools.explain, tools.compare):
        tool(function)
    tool(tools.find_duplicates, writes=True)
    return server
