"""The commands `lookalike pairs`, `groups` and `dedup` for documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from lookalike.cli import options as o
from lookalike.cli.kind_commands import KindCommands
from lookalike.cli.open_texts import open_documents

if TYPE_CHECKING:
    pass


def pair_options(
    verify: Annotated[
        bool,
        o.option(
            o.WHAT,
            "--verify/--no-verify",
            help="Score pairs exactly, or report those whose signatures agree in at least a share -t of the rows.",
        ),
    ] = True,
) -> None:
    """Declare the options that only `lookalike pairs` takes."""


DOCUMENTS = KindCommands(
    "documents", "lookalike.kinds.documents.api", o.document_options, open_documents, pair_options, works=True
)
