"""The commands `lookalike pairs`, `groups` and `dedup` for documents."""

from __future__ import annotations

from lookalike.cli.kind_commands import KindCommands
from lookalike.cli.open_texts import open_documents
from lookalike.kinds.documents.options import DocumentDedupOptions, DocumentNearestOptions, DocumentOptions

DOCUMENTS = KindCommands(
    "documents",
    "lookalike.kinds.documents.api",
    DocumentOptions,
    open_documents,
    lists_pairs=True,
    works=True,
    tidies=True,
    dedup_options=DocumentDedupOptions,
    nearest_options=DocumentNearestOptions,
)
