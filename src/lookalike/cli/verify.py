"""The command `lookalike verify`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from lookalike.errors import InputError, UsageError


def verify(
    result: Annotated[
        Path,
        typer.Argument(help="A result folder, a file with its receipt, or a file of verdicts.", show_default=False),
    ],
    sample: Annotated[int, typer.Option(help="Scores to compute again, drawn at random.")] = 1000,
    audit: Annotated[
        int, typer.Option(help="Items to draw and to compare with all others, to look for missing partners.")
    ] = 0,
    every: Annotated[bool, typer.Option("--all", help="Compute every score again.")] = False,
    inputs: Annotated[
        Path | None,
        typer.Option("--input", help="Folder that holds the inputs, if they were moved.", show_default=False),
    ] = None,
) -> None:
    """Check a result against its inputs with a program that shares no code with the engine.

    Hashes of the receipt, of all tables and of the inputs, the threshold, groups, removed rows and counts are checked;
    scores of documents, records, baskets, strings, vectors, codes and faces are computed again, passages read again in
    both texts, and the input of scrub is put together again. Exit code 1 if anything differs.
    """
    from lookalike.evaluation.recheck import Unreadable, check_result, lines_of

    for name, number, what in (("sample", sample, "scores"), ("audit", audit, "items")):
        if number < 0:
            raise UsageError(f"{name} is {number}; expected a number of {what}, or 0 for none.")
    try:
        report = check_result(result, sample=None if every else sample, folder=inputs, audit=audit)
    except Unreadable as reason:
        raise InputError(str(reason)) from reason
    sys.stdout.write("".join(line + "\n" for line in lines_of(report)))
    if report.problems:
        raise typer.Exit(1)
