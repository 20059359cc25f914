"""The command `lookalike signatures`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lookalike.cli import options as o


@o.takes()
def signatures(
    entries: Annotated[
        Path,
        typer.Argument(help="A table of entries (shingle, document), sorted by shingle.", show_default=False),
    ],
    output: Annotated[
        Path, o.option(o.RUN, "-o", "--output", help="Where to write, by extension.", show_default=False)
    ],
    shingle: Annotated[str, o.option(o.RUN, help="Column of the shingles: strings or integers.")] = "shingle",
    document: Annotated[str, o.option(o.RUN, help="Column of the documents.")] = "document",
    num_hashes: Annotated[int, o.option(o.MECHANISM, help="Number of hash functions.")] = 128,
    seed: Annotated[int, o.option(o.MECHANISM, help="Seed of the hash functions.")] = 42,
    force: o.RunOptions.Force = False,
    quiet: o.RunOptions.Quiet = False,
) -> None:
    """Compute minhash signatures in one pass over (shingle, document) entries, row by row: document, signature.

    The file may be larger than memory: only the signatures and one batch of entries are held. Entries of one shingle
    should follow each other, as in a file sorted by shingle; then each shingle is hashed once.
    """
    from lookalike.cli import output as show
    from lookalike.cli import terminal
    from lookalike.core.formatting import count
    from lookalike.kinds.documents.signature_stream import signatures as compute

    outputs = show.Outputs.check(output, force=force)
    table = compute(entries, shingle=shingle, document=document, num_hashes=num_hashes, seed=seed)
    outputs.write_table(table, output)
    if not quiet:
        terminal.err.say("Wrote", f"{output} · {count(table.num_rows, 'signatures')} of {num_hashes} hashes")
