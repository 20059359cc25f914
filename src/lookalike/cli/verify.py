"""The command `lookalike verify`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from lookalike.errors import InputError, UsageError


def verify(
    result: Annotated[Path, typer.Argument(help="A result folder, or a file with its receipt.", show_default=False)],
    sample: Annotated[int, typer.Option(help="Scores to compute again, drawn at random.")] = 1000,
    every: Annotated[bool, typer.Option("--all", help="Compute every score again.")] = False,
    inputs: Annotated[
        Path | None, typer.Option(help="Folder that holds the inputs, if they were moved.", show_default=False)
    ] = None,
) -> None:
    """Check a result against its inputs with a program that shares no code with the engine.

    Hashes of the receipt and of all tables, the threshold, groups, removed rows and counts are checked; scores of
    documents, strings and vectors are computed again. Exit code 1 if anything differs.
    """
    from lookalike.evaluation.recheck import Unreadable, check_result, lines_of

    if sample < 0:
        raise UsageError(f"sample is {sample}; expected a number of scores, or 0 for none.")
    try:
        report = check_result(result, sample=None if every else sample, folder=inputs)
    except Unreadable as reason:
        raise InputError(str(reason)) from reason
    sys.stdout.write("".join(line + "\n" for line in lines_of(report)))
    if report.problems:
        raise typer.Exit(1)
